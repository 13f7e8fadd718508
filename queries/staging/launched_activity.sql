-- GPU work with the API call that launched it. Work without a recorded call is left out.
-- Grain: one row per activity and launching call.
--
-- run_id      Run.
-- source_id   Source file.
-- device_key  Device and process; see traced_device.
-- process     Process id.
-- thread      Thread that launched it.
-- stream_id   CUDA stream that it runs on.
-- call_start_ns  Start of the launching call.
-- call_end_ns  End of the launching call.
-- start_ns    Start on the GPU.
-- end_ns      End on the GPU.
WITH launch AS (
    -- One number for each row to join by: of text keys a hash table holds a copy a row.
    SELECT d.device_key, c.correlation_id, c.thread, c.start_ns, c.end_ns
    FROM api_call AS c
    JOIN traced_device AS d USING (run_id, source_id, process)
)
SELECT
    a.run_id,
    a.source_id,
    a.device_key,
    a.process,
    c.thread,
    a.stream_id,
    c.start_ns AS call_start_ns,
    c.end_ns AS call_end_ns,
    a.start_ns,
    a.end_ns
FROM activity AS a
JOIN launch AS c USING (device_key, correlation_id)
