-- Memory copies of each device by direction, kind of memory and size: large ones, which
-- the link limits, against the PCIe link that telemetry tells of, and copies within a
-- device against its memory; small ones, which their latency limits, against nothing. A
-- copy between GPUs takes NVLink or PCIe: both are candidates, unless it has no NVLink.
-- Grain: one row per (run_id, source_id, subject_id).
--
-- run_id        Run.
-- source_id     Source file.
-- subject_kind  memory copy.
-- subject_id    Number of the group within its file.
-- host          Host; NULL when not told.
-- rank          Global rank; NULL when not told.
-- device_id     CUDA ordinal inside the process.
-- gpu_id        Physical GPU.
-- name          Direction, and kinds of memory read and written.
-- conditions    Whether large or small, against threshold copy_floor_bytes.
-- subject_count  Copies.
-- bytes         Sum of their sizes; twice that within a device, which reads and writes.
-- dur_ns        Sum of their durations.
-- bytes_per_s   bytes / duration; NULL when no time passed.
-- reference_bytes_per_s  What the link carries; NULL when it is not known.
-- reference_source  What that rests on.
-- candidates    Links that it may be, when it is not known, each with the share.
-- stated_share  NULL.
-- low_share     Below this share it is low.
-- confidence    high, medium or low.
-- reason        Why there is no reference; else NULL.
WITH sized AS (
    SELECT
        * EXCLUDE (kind),
        -- Peer copies by addresses alone are recorded as copies within a device.
        CASE
            WHEN kind = 'DtoD' AND source_device_id <> destination_device_id THEN 'PtoP'
            ELSE kind
        END AS kind,
        bytes >= threshold_of('copy_floor_bytes') AS is_large,
        end_ns - start_ns AS dur_ns
    FROM memory_copy
),
grouped AS (
    SELECT
        run_id, source_id, process, device_id, kind, source_memory, destination_memory,
        is_large,
        count(*) AS copy_count,
        sum(bytes * CASE WHEN kind = 'DtoD' THEN 2 ELSE 1 END)::BIGINT AS bytes,
        sum(dur_ns)::BIGINT AS dur_ns
    FROM sized
    GROUP BY
        run_id, source_id, process, device_id, kind, source_memory, destination_memory,
        is_large
),
placed AS (
    SELECT
        g.*, t.host, t.rank, t.gpu_id, t.device_key, r.uuid, r.bus_id, r.gpu,
        r.memory_bytes_per_s, r.memory_source, r.pcie_generation, r.nvlink_bytes_per_s,
        g.kind = 'PtoP' AS is_peer,
        g.kind IN ('HtoD', 'DtoH')
            OR (g.kind = 'PtoP' AND r.gpu IS NOT NULL AND r.nvlink_bytes_per_s IS NULL)
            AS is_pcie,
        share_of(g.bytes * 1e9, g.dur_ns) AS bytes_per_s
    FROM grouped AS g
    JOIN traced_device AS t USING (run_id, source_id, process, device_id)
    LEFT JOIN device_reference AS r
        ON r.run_id = g.run_id
        AND r.source_id = g.source_id
        AND r.process = g.process
        AND r.device_id = g.device_id
        AND r.origin = 'device'
),
-- The same GPU in telemetry: by UUID, else by host and bus id.
linked AS (
    SELECT
        t.device_key,
        arg_max(l.generation, (l.is_capability, l.generation, l.source_id)) AS generation,
        arg_max(l.width, (l.is_capability, l.generation, l.source_id)) AS width,
        bool_or(l.is_capability) AS is_capability
    FROM (SELECT DISTINCT run_id, device_key, host, uuid, bus_id FROM placed) AS t
    JOIN pcie_link AS l
        ON l.run_id = t.run_id
        AND (l.uuid = t.uuid OR (l.host = t.host AND l.bus_id = t.bus_id))
    GROUP BY t.device_key
),
named AS (
    SELECT p.*, l.generation, l.width, l.is_capability, s.bytes_per_s AS link_bytes_per_s,
        s.name AS link_name
    FROM placed AS p
    LEFT JOIN linked AS l USING (device_key)
    LEFT JOIN link_speed AS s
        ON p.is_pcie
        AND s.link = 'pcie'
        AND s.generation = l.generation
        AND s.width = l.width
),
-- The slowest generation that carries it, the next one, and the GPU's own. No GPU has 6.0
-- of which the data sheet does not say so.
possible AS (
    SELECT
        n.device_key, n.kind, n.source_memory, n.destination_memory,
        s.name, s.bytes_per_s, n.bytes_per_s / s.bytes_per_s AS share,
        row_number() OVER (
            PARTITION BY n.device_key, n.kind, n.source_memory, n.destination_memory
            ORDER BY s.bytes_per_s
        ) <= 2 OR s.generation = n.pcie_generation AS is_listed
    FROM named AS n
    JOIN link_speed AS s
        ON s.link = 'pcie'
        AND s.width = 16
        AND s.generation BETWEEN 3 AND greatest(5, coalesce(n.pcie_generation, 5))
        AND s.bytes_per_s >= n.bytes_per_s
    WHERE (n.is_pcie OR n.is_peer) AND n.is_large AND n.link_name IS NULL
    UNION ALL
    SELECT
        device_key, kind, source_memory, destination_memory, 'NVLink of ' || gpu,
        nvlink_bytes_per_s, bytes_per_s / nvlink_bytes_per_s, true
    FROM named
    WHERE is_peer AND is_large AND nvlink_bytes_per_s >= bytes_per_s
),
candidate AS (
    SELECT
        device_key, kind, source_memory, destination_memory,
        string_agg(
            format('{}: {:.4f} of {:.1f} GB/s', name, share, bytes_per_s / 1e9), '; '
            ORDER BY bytes_per_s, name
        ) AS candidates
    FROM possible
    WHERE is_listed
    GROUP BY device_key, kind, source_memory, destination_memory
)
SELECT
    n.run_id,
    n.source_id,
    'memory copy' AS subject_kind,
    row_number() OVER (
        PARTITION BY n.run_id, n.source_id
        ORDER BY n.process, n.device_id, n.kind, n.source_memory, n.destination_memory,
            n.is_large DESC
    ) AS subject_id,
    n.host,
    n.rank,
    n.device_id,
    n.gpu_id,
    concat_ws(' ', n.kind, coalesce(n.source_memory, 'unknown'), 'to',
        coalesce(n.destination_memory, 'unknown')) AS name,
    CASE WHEN n.is_large THEN 'large' ELSE 'small' END AS conditions,
    n.copy_count AS subject_count,
    n.bytes,
    n.dur_ns,
    n.bytes_per_s,
    CASE
        WHEN NOT n.is_large THEN NULL
        WHEN n.kind = 'DtoD' THEN n.memory_bytes_per_s
        ELSE n.link_bytes_per_s
    END::DOUBLE AS reference_bytes_per_s,
    CASE
        WHEN NOT n.is_large THEN NULL
        WHEN n.kind = 'DtoD' AND n.memory_source = 'trace'
            THEN 'trace: the device says it'
        WHEN n.kind = 'DtoD' AND n.memory_source IS NOT NULL THEN 'data sheet: ' || n.gpu
        WHEN n.link_name IS NOT NULL
            THEN 'telemetry: ' || n.link_name
                || CASE WHEN NOT n.is_capability THEN ', the fastest seen' ELSE '' END
    END AS reference_source,
    c.candidates,
    NULL::DOUBLE AS stated_share,
    CASE WHEN n.is_pcie THEN threshold_of('link_low_share') END AS low_share,
    CASE
        WHEN n.copy_count < 3 THEN 'low'
        WHEN n.kind = 'DtoD' OR n.is_capability THEN 'high'
        ELSE 'medium'
    END AS confidence,
    CASE
        WHEN NOT n.is_large
            THEN 'smaller than threshold copy_floor_bytes: its latency limits it'
        WHEN n.bytes_per_s IS NULL THEN 'the copies took no time'
        WHEN n.kind = 'DtoD' AND n.memory_bytes_per_s IS NULL
            THEN 'the memory bandwidth of the device is not known'
        WHEN n.kind = 'DtoD' OR n.link_name IS NOT NULL THEN NULL
        WHEN n.is_pcie AND n.bytes_per_s > o.bytes_per_s
            THEN 'faster than ' || o.name || ', the most that the GPU itself has'
        WHEN n.is_peer AND n.bytes_per_s > greatest(o.bytes_per_s, n.nvlink_bytes_per_s)
            THEN 'faster than NVLink and PCIe of ' || n.gpu
        WHEN n.is_peer AND n.gpu IS NOT NULL AND NOT n.is_pcie
            THEN 'whether it went by NVLink or PCIe is not known'
        WHEN n.is_peer AND n.gpu IS NULL
            THEN 'whether it went by NVLink or PCIe is not known, nor the GPU'
        WHEN n.is_pcie THEN 'PCIe generation and width of the link are not known'
            || coalesce('; the GPU itself has ' || n.pcie_generation || '.0', '')
        ELSE 'the path of this kind of copy is not known'
    END AS reason
FROM named AS n
LEFT JOIN link_speed AS o
    ON o.link = 'pcie' AND o.generation = n.pcie_generation AND o.width = 16
LEFT JOIN candidate AS c
    ON n.is_large
    AND c.device_key = n.device_key
    AND c.kind = n.kind
    AND c.source_memory IS NOT DISTINCT FROM n.source_memory
    AND c.destination_memory IS NOT DISTINCT FROM n.destination_memory
ORDER BY run_id, source_id, subject_id
