-- How much of each device's time is communication, how much of that compute hides, and
-- the exclusive split of its span: compute, exposed communication, exposed memory, idle.
-- Grain: one row per (run_id, host, rank, device_id, process, source_id).
-- Better: lower.
-- Value: nccl_share_of_kernel_time, communication_share, exposed_communication_share,
--   idle_share, overlap_share higher, busy_share higher.
--
-- run_id           Run.
-- host             Host; NULL when the trace does not say.
-- rank             Global rank; NULL when the trace does not say.
-- device_id        CUDA ordinal inside the process.
-- process          Process id.
-- span_ns          First start to last end of the process's activity on the device.
-- busy_ns          Union of all activity: kernels, graph launches, copies, sets.
-- idle_ns          span - busy.
-- kernel_busy_ns   Union of kernels.
-- compute_ns       Union of kernels other than communication, and of graph launches.
-- communication_ns  Union of communication kernels.
-- overlap_ns       Communication with compute beside it.
-- exposed_communication_ns  Communication with no compute beside it.
-- exposed_memory_ns  Copies and sets with no kernel and no graph beside them.
-- kernel_sum_ns    Sum of the kernels' durations; streams count twice where they overlap.
-- nccl_sum_ns      Sum of the communication kernels' durations.
-- kernel_count     Kernels.
-- nccl_count       Communication kernels.
-- nccl_share_of_kernel_time  nccl_sum / kernel_sum: what summaries of kernels print.
-- communication_share  communication / span.
-- exposed_communication_share  exposed communication / span: the one a verdict uses.
-- overlap_share    overlap / communication; NULL without communication.
-- busy_share       busy / span.
-- idle_share       idle / span.
-- graph_ns         Union of graph launches recorded as a whole; part of compute_ns,
--                  although they may hold communication that the capture does not show.
-- source_id        Source file.
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    t.end_ns - t.start_ns AS span_ns,
    t.busy_ns,
    t.end_ns - t.start_ns - t.busy_ns AS idle_ns,
    t.kernel_busy_ns,
    t.compute_ns,
    t.communication_ns,
    t.compute_ns + t.communication_ns - t.executing_ns AS overlap_ns,
    t.executing_ns - t.compute_ns AS exposed_communication_ns,
    t.busy_ns - t.executing_ns AS exposed_memory_ns,
    t.kernel_sum_ns,
    t.nccl_sum_ns,
    t.kernel_count,
    t.nccl_count,
    share_of(t.nccl_sum_ns, t.kernel_sum_ns) AS nccl_share_of_kernel_time,
    share_of(t.communication_ns, span_ns) AS communication_share,
    share_of(exposed_communication_ns, span_ns) AS exposed_communication_share,
    share_of(overlap_ns, t.communication_ns) AS overlap_share,
    share_of(t.busy_ns, span_ns) AS busy_share,
    share_of(idle_ns, span_ns) AS idle_share,
    t.graph_ns,
    d.source_id
FROM device_time AS t
JOIN traced_device AS d USING (device_key)
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id
