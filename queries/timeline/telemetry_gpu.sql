-- GPUs that were sampled, and what is known of each: host, place, product. One GPU that
-- several files tell of has one gpu_key: by UUID, or by its index where another file
-- names the host's UUIDs.
-- Grain: one row per (run_id, source_id, told_host, gpu_id).
--
-- telemetry_key  Number of this row, for joins.
-- gpu_key      Number of the physical GPU; the same in every file that tells of it.
-- run_id       Run.
-- source_id    Source file.
-- told_host    Host as the samples say it; NULL when they do not.
-- gpu_id       Physical GPU as the samples say it.
-- host         Host: of the samples, of the file, else of another file with this UUID.
-- gpu_uuid     UUID; NULL where nothing says it.
-- bus_id       PCI bus id; NULL where nothing says it.
-- device_id    Index on the host.
-- gpu_name     Product.
-- rack         Rack of the host (run.toml).
-- power_domain  What shares a power supply (run.toml).
-- is_profiler  Whether a profiler's own samples, of microseconds, in a short capture.
-- clock        See source_clock.
-- zero_ns      See source_clock.
-- first_ns     First sample, ns since the source's capture start.
-- last_ns      Last sample.
-- is_primary   Whether no other file tells of this GPU for longer.
WITH sampled AS (
    SELECT
        run_id, source_id, host, gpu_id,
        max(device_id) AS device_id,
        min(ts_ns) AS first_ns,
        max(ts_ns) AS last_ns,
        count(*) AS sample_count
    FROM gpu_sample
    WHERE entity = 'gpu'
    GROUP BY run_id, source_id, host, gpu_id
),
described AS (
    SELECT
        run_id, source_id, gpu_id,
        max(uuid) AS uuid,
        max(bus_id) AS bus_id,
        max(name) AS gpu_name
    FROM device
    GROUP BY run_id, source_id, gpu_id
),
named AS (
    SELECT
        s.run_id, s.source_id, s.host AS told_host, s.gpu_id,
        coalesce(s.host, c.host) AS file_host,
        CASE
            WHEN d.uuid IS NOT NULL THEN d.uuid
            WHEN regexp_full_match(s.gpu_id, '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-.{12}')
                THEN s.gpu_id
        END AS own_uuid,
        d.bus_id,
        s.device_id,
        d.gpu_name,
        coalesce(f.format LIKE 'nsys%', false) AS is_profiler,
        c.clock,
        c.zero_ns,
        s.first_ns, s.last_ns, s.sample_count
    FROM sampled AS s
    LEFT JOIN described AS d USING (run_id, source_id, gpu_id)
    LEFT JOIN source_clock AS c USING (run_id, source_id)
    LEFT JOIN source_file AS f USING (run_id, source_id)
),
host_of AS (
    SELECT run_id, own_uuid, min(file_host) AS uuid_host, min(gpu_name) AS uuid_name
    FROM named
    WHERE own_uuid IS NOT NULL
    GROUP BY run_id, own_uuid
    HAVING count(DISTINCT file_host) <= 1
),
-- A profiler numbers GPUs as CUDA does, not as the host does.
index_of AS (
    SELECT run_id, file_host, device_id, min(own_uuid) AS index_uuid
    FROM named
    WHERE file_host IS NOT NULL AND device_id IS NOT NULL AND NOT is_profiler
    GROUP BY run_id, file_host, device_id
    HAVING count(DISTINCT own_uuid) = 1
),
placed AS (
    SELECT run_id, host, min(rack) AS rack, min(power_domain) AS power_domain
    FROM host_placement
    GROUP BY run_id, host
),
known AS (
    SELECT
        n.*,
        coalesce(n.file_host, h.uuid_host) AS host,
        coalesce(n.own_uuid, CASE WHEN NOT n.is_profiler THEN i.index_uuid END)
            AS gpu_uuid
    FROM named AS n
    LEFT JOIN host_of AS h USING (run_id, own_uuid)
    LEFT JOIN index_of AS i USING (run_id, file_host, device_id)
),
keyed AS (
    SELECT
        k.*,
        coalesce(k.gpu_name, h.uuid_name) AS known_name,
        dense_rank() OVER (
            ORDER BY
                k.run_id,
                coalesce(
                    k.gpu_uuid, coalesce(k.host, k.source_id) || ' ' || k.gpu_id
                )
        ) AS gpu_key
    FROM known AS k
    LEFT JOIN host_of AS h ON h.run_id = k.run_id AND h.own_uuid = k.gpu_uuid
)
SELECT
    row_number() OVER (
        ORDER BY k.run_id, k.source_id, k.told_host, k.gpu_id
    ) AS telemetry_key,
    k.gpu_key,
    k.run_id,
    k.source_id,
    k.told_host,
    k.gpu_id,
    k.host,
    k.gpu_uuid,
    k.bus_id,
    k.device_id,
    k.known_name AS gpu_name,
    p.rack,
    p.power_domain,
    k.is_profiler,
    k.clock,
    k.zero_ns,
    k.first_ns,
    k.last_ns,
    row_number() OVER (
        PARTITION BY k.gpu_key
        ORDER BY
            k.is_profiler, k.last_ns - k.first_ns DESC NULLS LAST, k.sample_count DESC,
            k.source_id, k.told_host, k.gpu_id
    ) = 1 AS is_primary
FROM keyed AS k
LEFT JOIN placed AS p ON p.run_id = k.run_id AND p.host = k.host
