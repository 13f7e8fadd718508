-- Measurements of single links by perftest and nvbandwidth against what the link carries:
-- the adapter that run.toml names, NVLink of the GPU it names. Without, the rates that it
-- may be are shown, and nothing is judged.
-- Grain: one row per (run_id, source_id, subject_id).
--
-- run_id        Run.
-- source_id     Source file.
-- subject_kind  link benchmark.
-- subject_id    Number of the measurement within its file.
-- host          Host whose output it is; NULL when not told.
-- rank          NULL.
-- device_id     GPU whose memory was used, where told.
-- gpu_id        NULL.
-- name          Tool and test.
-- conditions    Ends, direction, size.
-- subject_count  Always 1.
-- bytes         Size of a message; NULL when not told.
-- dur_ns        NULL: only rates are printed.
-- bytes_per_s   Average bandwidth, both directions together where both were loaded and
--               perftest measured.
-- reference_bytes_per_s  What the link carries; NULL when not known.
-- reference_source  What it rests on.
-- candidates    Rates that it may be, when not known, each with the share.
-- stated_share  NULL.
-- low_share     Below this share it is low.
-- confidence    high; medium: the path between two GPUs is taken to be all its NVLinks.
-- reason        Why there is no efficiency; else NULL.
WITH measured AS (
    SELECT
        b.*,
        row_number() OVER (
            PARTITION BY b.run_id, b.source_id
            ORDER BY b.table_number, b.line, b.test, b.size_bytes, b.service_level,
                b.source, b.destination, b.side
        ) AS subject_id,
        CASE
            WHEN b.tool = 'perftest' AND b.link_layer = 'Ethernet' THEN 'ethernet'
            WHEN b.tool = 'perftest' AND b.link_layer = 'IB' THEN 'infiniband'
            WHEN b.tool = 'perftest' THEN 'network'
            WHEN b.test LIKE '%host%' THEN 'pcie'
            WHEN b.test LIKE 'device\_to\_device%' ESCAPE '\' THEN 'nvlink'
        END AS path,
        -- perftest adds both directions up, nvbandwidth measures one of them.
        CASE WHEN b.tool = 'perftest' AND b.is_bidirectional THEN 2 ELSE 1 END AS ways,
        n.name AS network_name,
        n.nic_bytes_per_s,
        f.value_text AS gpu_name,
        g.gpu,
        g.form_factor,
        g.nvlink_bytes_per_s::DOUBLE AS nvlink_bytes_per_s
    FROM link_benchmark AS b
    LEFT JOIN network_link AS n ON n.run_id = b.run_id
    LEFT JOIN run_fact AS f
        ON f.run_id = b.run_id AND f.key = 'hardware.gpu' AND f.source <> 'trace'
    LEFT JOIN gpu_name AS m ON m.gpu_name = f.value_text
    LEFT JOIN gpu AS g ON g.gpu = m.gpu
    WHERE b.kind = 'bandwidth' AND b.bandwidth_bytes_per_s IS NOT NULL
),
referred AS (
    SELECT
        *,
        CASE
            WHEN path IN ('ethernet', 'infiniband', 'network') THEN nic_bytes_per_s * ways
            WHEN path = 'nvlink' AND form_factor <> 'PCIe' THEN nvlink_bytes_per_s
        END AS reference
    FROM measured
),
-- The two slowest links that carry it, and NVLink between two GPUs that may have it.
possible AS (
    SELECT
        r.run_id, r.source_id, r.subject_id, l.name,
        l.bytes_per_s * r.ways AS bytes_per_s,
        r.bandwidth_bytes_per_s / (l.bytes_per_s * r.ways) AS share
    FROM referred AS r
    JOIN link_speed AS l
        ON l.bytes_per_s * r.ways >= r.bandwidth_bytes_per_s
        AND CASE r.path
            -- Without NVLink two GPUs copy over PCIe.
            WHEN 'nvlink' THEN l.link = 'pcie' AND l.width = 16 AND l.generation >= 3
            WHEN 'pcie' THEN l.link = 'pcie' AND l.width = 16 AND l.generation >= 3
            WHEN 'network' THEN l.link IN ('infiniband', 'ethernet')
            ELSE l.link = r.path
        END
    WHERE r.reference IS NULL
        AND coalesce(r.size_bytes, threshold_of('copy_floor_bytes'))
            >= threshold_of('network_floor_bytes')
    QUALIFY dense_rank() OVER (
        PARTITION BY r.run_id, r.source_id, r.subject_id ORDER BY l.bytes_per_s
    ) <= 2
    UNION ALL
    SELECT
        run_id, source_id, subject_id, 'NVLink of ' || gpu, nvlink_bytes_per_s,
        bandwidth_bytes_per_s / nvlink_bytes_per_s
    FROM referred
    WHERE reference IS NULL
        AND path = 'nvlink'
        AND nvlink_bytes_per_s >= bandwidth_bytes_per_s
),
candidate AS (
    SELECT
        run_id, source_id, subject_id,
        string_agg(
            format('{}: {:.4f} of {:.1f} GB/s', name, share, bytes_per_s / 1e9), '; '
            ORDER BY bytes_per_s, name
        ) AS candidates
    FROM possible
    GROUP BY run_id, source_id, subject_id
)
SELECT
    r.run_id,
    r.source_id,
    'link benchmark' AS subject_kind,
    r.subject_id,
    r.host,
    NULL::INTEGER AS rank,
    r.cuda_device_id AS device_id,
    NULL::VARCHAR AS gpu_id,
    concat_ws(' ', r.tool, r.test) AS name,
    concat_ws(
        ', ',
        coalesce(r.source_host, r.source) || ' to '
            || coalesce(r.destination_host, r.destination),
        r.device,
        CASE WHEN r.is_bidirectional THEN 'both directions' END,
        r.size_bytes || ' bytes', r.side
    ) AS conditions,
    1::BIGINT AS subject_count,
    r.size_bytes AS bytes,
    NULL::BIGINT AS dur_ns,
    r.bandwidth_bytes_per_s AS bytes_per_s,
    r.reference AS reference_bytes_per_s,
    CASE WHEN r.reference IS NULL THEN NULL
        WHEN r.path = 'nvlink' THEN 'data sheet: NVLink of ' || r.gpu
        ELSE 'nominal: ' || r.network_name END AS reference_source,
    c.candidates,
    NULL::DOUBLE AS stated_share,
    threshold_of('link_low_share') AS low_share,
    CASE WHEN r.reference IS NULL THEN NULL
        WHEN r.path = 'nvlink' THEN 'medium' ELSE 'high' END AS confidence,
    CASE
        WHEN r.size_bytes < threshold_of('network_floor_bytes')
            THEN 'small message: its latency limits it'
        WHEN r.reference IS NOT NULL THEN NULL
        WHEN r.path = 'pcie' THEN 'PCIe generation and width of the link are not known'
        WHEN r.path = 'nvlink' THEN 'the link between the GPUs is not known'
        ELSE 'the rate of the adapter is not known'
    END AS reason
FROM referred AS r
LEFT JOIN candidate AS c
    ON c.run_id = r.run_id AND c.source_id = r.source_id AND c.subject_id = r.subject_id
ORDER BY run_id, source_id, subject_id
