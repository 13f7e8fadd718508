-- Memory copies by direction and kind of memory, with the bandwidth they reached.
-- Grain: one row per (run_id, host, rank, device_id, process, kind, source_memory,
--   destination_memory, source_id).
-- Better: higher.
-- Value: bytes_per_s.
-- Samples: copy_count.
--
-- run_id       Run.
-- host         Host; NULL when the trace does not say.
-- rank         Global rank; NULL when the trace does not say.
-- device_id    CUDA ordinal inside the process.
-- process      Process id.
-- kind         HtoD, DtoH, DtoD, PtoP, ...
-- source_memory  pageable, pinned, device, managed, ...; NULL when not recorded.
-- destination_memory  The same for the memory written.
-- copy_count   Copies.
-- bytes        Sum of their sizes.
-- total_ns     Sum of their durations.
-- bytes_per_s  bytes / total time; NULL when no time passed.
-- min_bytes    Smallest copy.
-- median_bytes  Median.
-- max_bytes    Largest copy.
-- source_id    Source file.
WITH summed AS (
    SELECT
        run_id, source_id, process, device_id, kind, source_memory, destination_memory,
        count(*) AS copy_count,
        sum(bytes)::BIGINT AS bytes,
        sum(end_ns - start_ns)::BIGINT AS total_ns,
        min(bytes) AS min_bytes,
        median(bytes) AS median_bytes,
        max(bytes) AS max_bytes
    FROM memory_copy
    GROUP BY
        run_id, source_id, process, device_id, kind, source_memory, destination_memory
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    s.kind,
    s.source_memory,
    s.destination_memory,
    s.copy_count,
    s.bytes,
    s.total_ns,
    share_of(s.bytes * 1e9, s.total_ns) AS bytes_per_s,
    s.min_bytes,
    s.median_bytes,
    s.max_bytes,
    d.source_id
FROM summed AS s
JOIN traced_device AS d USING (run_id, source_id, process, device_id)
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, s.total_ns DESC, s.kind,
    s.source_memory, s.destination_memory, d.source_id
