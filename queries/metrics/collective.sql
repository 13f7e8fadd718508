-- Every collective on every rank: when it arrived, how long it waited for the last one,
-- how long the transfer took.
-- Grain: one row per communication kernel.
-- Better: higher.
-- Value: busbw_bytes_per_s, transfer_ns lower.
-- Key: operation, message_bytes.
--
-- run_id           Run.
-- step             Step; NULL where matched over the whole capture.
-- operation        Collective operation; NULL when the kernel's name does not tell.
-- instance         Number of the collective within the run; NULL when not matched.
-- host             Host; NULL when the trace does not say.
-- rank             Global rank; NULL when the trace does not say.
-- device_id        CUDA ordinal inside the process.
-- process          Process id.
-- stream_id        CUDA stream.
-- communicator_id  Communicator; NULL when the export holds no payloads of NCCL.
-- communicator_size  Ranks of the communicator, as NCCL says; NULL when it does not.
-- rank_count       Devices that took part, as far as their files are present.
-- start_ns         ns since the capture began.
-- dur_ns           Duration: wait + transfer + tail.
-- arrival_skew_ns  Latest start - earliest start of the instance.
-- late_ns          Own start - median start of the instance.
-- wait_ns          Latest start - own start; NULL when it cannot be told.
-- transfer_ns      Common window: earliest end - latest start.
-- tail_ns          Own end - earliest end.
-- is_last          Whether this rank arrived last.
-- residual_ns      How far its end lies from the common end after clocks were aligned.
-- start_error_ns   How far its wait may be wrong: the residual and what an unknown rate
--                  of its clock makes over the duration.
-- message_bytes    Message by which algbw is defined; NULL when the export does not tell.
-- algbw_bytes_per_s  message / transfer; NULL where not all ranks are present.
-- busbw_bytes_per_s  algbw times the operation's factor (all_reduce 2(n-1)/n; all_gather,
--                  reduce_scatter, all_to_all, gather, scatter (n-1)/n; others 1), as
--                  nccl-tests defines it.
-- method           How the split was made: common window or shortest duration.
-- reason           Why there is no split; else NULL.
-- source_id        Source file.
SELECT
    c.run_id,
    c.step,
    c.operation,
    c.instance,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    c.stream_id,
    c.communicator_id,
    c.communicator_size,
    c.rank_count,
    c.start_ns,
    c.end_ns - c.start_ns AS dur_ns,
    c.arrival_skew_ns,
    c.late_ns,
    c.wait_ns,
    c.transfer_ns,
    c.tail_ns,
    c.is_last,
    c.residual_ns,
    c.start_error_ns,
    c.message_bytes,
    CASE WHEN c.rank_count = c.communicator_size AND c.transfer_ns > 0
        THEN c.message_bytes / (c.transfer_ns / 1e9) END AS algbw_bytes_per_s,
    algbw_bytes_per_s * CASE
        WHEN c.operation = 'all_reduce' THEN 2 * (c.rank_count - 1) / c.rank_count
        WHEN c.operation IN (
            'all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter'
        ) THEN (c.rank_count - 1) / c.rank_count
        ELSE 1 END AS busbw_bytes_per_s,
    c.method,
    c.reason,
    d.source_id
FROM collective_time AS c
JOIN traced_device AS d USING (device_key)
ORDER BY
    c.run_id, c.instance, d.rank, d.host, d.device_id, d.process, d.source_id,
    c.start_ns, c.stream_id, c.operation, dur_ns
