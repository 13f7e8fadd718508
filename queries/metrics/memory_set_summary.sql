-- Memory sets by kind of memory.
-- Grain: one row per (run_id, host, rank, device_id, process, memory, source_id).
--
-- run_id      Run.
-- host        Host; NULL when the trace does not say.
-- rank        Global rank; NULL when the trace does not say.
-- device_id   CUDA ordinal inside the process.
-- process     Process id.
-- memory      Kind of the memory; NULL when not recorded.
-- set_count   Memory sets.
-- bytes       Sum of their sizes.
-- total_ns    Sum of their durations.
-- source_id   Source file.
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    m.memory,
    count(*) AS set_count,
    sum(m.bytes)::BIGINT AS bytes,
    sum(m.end_ns - m.start_ns)::BIGINT AS total_ns,
    d.source_id
FROM memory_set AS m
JOIN traced_device AS d USING (run_id, source_id, process, device_id)
GROUP BY d.run_id, d.host, d.rank, d.device_id, d.process, m.memory, d.source_id
ORDER BY
    d.run_id, d.host, d.rank, d.device_id, d.process, total_ns DESC, m.memory,
    d.source_id
