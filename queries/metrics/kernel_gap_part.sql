-- Each gap of kernel_gap split to the nanosecond by why the next activity did not start,
-- with the call, range or earlier activity responsible.
-- Grain: one row per part of a gap.
--
-- run_id        Run.
-- host          Host; NULL when the trace does not say.
-- rank          Global rank of the process whose work ends the gap; NULL when unknown.
-- device_id     CUDA ordinal inside that process.
-- process       Process whose work ends the gap.
-- gpu_id        Physical GPU.
-- gap_start_ns  Begin of the gap; see kernel_gap.
-- gap_end_ns    End of the gap.
-- start_ns      Begin of the part.
-- end_ns        End of the part.
-- dur_ns        Length of the part.
-- cause         What the time went to; the glossary of causes is in gap_part.
-- responsible   The call, range or earlier activity; for unknown, why it is.
-- source_id     Source file.
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    d.gpu_id,
    p.gap_start_ns,
    p.gap_end_ns,
    p.start_ns,
    p.end_ns,
    p.end_ns - p.start_ns AS dur_ns,
    p.cause,
    p.responsible,
    d.source_id
FROM gap_part AS p
JOIN traced_device AS d USING (device_key)
ORDER BY d.run_id, d.host, d.rank, d.gpu_id, d.source_id, p.start_ns
