-- GPUs of a host reach each other over PCIe only.
-- Grain: one row per run_id.
-- Hint: Where communication is a wall: keep tensor parallelism small, communicate less
--   often (accumulation, larger batches), or use hosts with NVLink.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         How many hosts, and the farthest path.
-- value          Hosts without NVLink / hosts whose topology was read.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH hosts AS (
    SELECT
        run_id, source_id, host, table_number,
        count(*) FILTER (kind = 'nvlink') = 0 AS is_without,
        arg_max(kind, list_position(
            ['nvlink', 'psb', 'pix', 'pxb', 'phb', 'node', 'soc', 'sys'], kind
        )) AS farthest
    FROM gpu_pair
    GROUP BY run_id, source_id, host, table_number
),
counted AS (
    SELECT
        run_id,
        count(*) AS host_count,
        count(*) FILTER (is_without) AS without_count,
        string_agg(DISTINCT farthest, ', ' ORDER BY farthest) FILTER (is_without) AS paths
    FROM hosts
    GROUP BY run_id
)
SELECT
    c.run_id,
    CASE WHEN l.is_wall THEN 'warning' ELSE 'info' END AS severity,
    'communication' AS wall,
    NULL::VARCHAR AS subject,
    concat(
        c.without_count, ' of ', c.host_count, ' topologies; longest path: ', c.paths
    ) AS detail,
    c.without_count / c.host_count AS value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'gpu_pair' AS evidence_view,
    'kind <> ''nvlink''' AS evidence
FROM counted AS c
LEFT JOIN wall AS l ON l.run_id = c.run_id AND l.wall = 'communication'
WHERE c.without_count > 0
