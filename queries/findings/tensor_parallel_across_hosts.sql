-- Tensor parallelism crosses hosts: every layer waits for the network.
-- Grain: one row per run_id.
-- Hint: Keep a tensor-parallel group inside one NVLink domain (tensor size at most the
--   GPUs of a host) and put pipeline or data parallelism across hosts. Where one NVLink
--   domain spans the hosts (GB200 NVL72) nothing is wrong.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         Which groups, on which hosts.
-- value          Their communication / all communication, as summed durations; NULL when
--                NCCL's own description of its calls is not in the captures.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
-- Ranks of a group are neighbours, as Megatron-LM, torchtitan and DeepSpeed number them:
-- so a communicator of that size among neighbours is a tensor-parallel one, and one among
-- ranks that are further apart is not.
WITH layout AS (
    SELECT
        run_id,
        max(value_number) FILTER (key = 'parallelism.tensor')::BIGINT AS tensor,
        max(value_number) FILTER (key = 'hardware.gpus_per_host')::BIGINT AS host_gpus
    FROM run_fact
    WHERE key IN ('parallelism.tensor', 'hardware.gpus_per_host')
    GROUP BY run_id
    HAVING tensor > 1
),
communicating AS MATERIALIZED (
    SELECT
        run_id, communicator_id, rank, host, operation,
        max(communicator_size) AS communicator_size,
        sum(dur_ns) AS dur_ns
    FROM collective
    GROUP BY run_id, communicator_id, rank, host, operation
),
met AS (
    SELECT
        l.run_id,
        l.tensor,
        min(c.rank) // l.tensor * l.tensor AS first_rank,
        count(DISTINCT c.host) > 1 AS is_crossing,
        list(DISTINCT c.host ORDER BY c.host) AS hosts,
        sum(c.dur_ns) AS dur_ns
    FROM communicating AS c
    JOIN layout AS l USING (run_id)
    WHERE c.communicator_id IS NOT NULL AND c.operation IS DISTINCT FROM 'send_recv'
    GROUP BY l.run_id, l.tensor, c.communicator_id
    HAVING max(c.communicator_size) = l.tensor
        AND count(c.rank) = count(*)
        AND min(c.rank) // l.tensor = max(c.rank) // l.tensor
),
crossing AS (
    SELECT
        run_id,
        any_value(tensor) AS tensor,
        count(DISTINCT first_rank) AS group_count,
        count(DISTINCT first_rank) FILTER (is_crossing) AS crossing_count,
        min(first_rank) FILTER (is_crossing) AS first_rank,
        arg_min(hosts, first_rank) FILTER (is_crossing) AS hosts,
        sum(dur_ns) FILTER (is_crossing) AS dur_ns
    FROM met
    GROUP BY run_id
),
total AS (
    SELECT run_id, sum(dur_ns) AS dur_ns FROM communicating GROUP BY run_id
),
-- Without communicators only what leaves no other way: a group larger than a host.
told AS (
    SELECT
        l.run_id,
        concat(
            c.crossing_count, ' of ', c.group_count, ' groups of ', l.tensor,
            ', e.g. ranks ', c.first_rank, ' to ', c.first_rank + l.tensor - 1, ' on ',
            array_to_string(c.hosts, ', ')
        ) AS detail,
        c.dur_ns / t.dur_ns AS value,
        'collective' AS evidence_view,
        'communicator_size = ' || l.tensor AS evidence
    FROM layout AS l
    JOIN crossing AS c ON c.run_id = l.run_id AND c.crossing_count > 0
    LEFT JOIN total AS t ON t.run_id = l.run_id
    UNION ALL
    SELECT
        l.run_id,
        concat(
            'groups of ', l.tensor, ' on hosts of ', l.host_gpus, ' GPUs; captures of '
            'NCCL''s own ranges would tell how much of communication that is'
        ),
        NULL,
        'run_fact',
        'key IN (''parallelism.tensor'', ''hardware.gpus_per_host'')'
    FROM layout AS l
    ANTI JOIN crossing AS c USING (run_id)
    WHERE l.tensor > l.host_gpus
)
SELECT
    run_id,
    'warning' AS severity,
    'communication' AS wall,
    NULL::VARCHAR AS subject,
    detail,
    value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    evidence_view,
    evidence
FROM told
