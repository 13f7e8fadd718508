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
JOIN api_call AS c USING (run_id, source_id, process, correlation_id)
