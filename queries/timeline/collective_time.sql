-- Each communication kernel split into waiting for the last rank, the common transfer,
-- and the tail in which it leaves later than the first; the three sum to its duration.
-- Grain: one row per communication kernel.
--
-- run_id        Run.
-- device_key    Device and process; see traced_device.
-- operation     Collective operation; NULL when the kernel's name does not tell.
-- stream_id     CUDA stream.
-- communicator_id  See collective_kernel.
-- communicator_size  See collective_kernel.
-- message_bytes  See collective_kernel.
-- call_start_ns  See collective_kernel.
-- step          See collective_match.
-- instance      Number of the collective within the run; NULL when not matched.
-- rank_count    Devices that took part.
-- start_ns      ns since the capture began.
-- end_ns        ns since the capture began.
-- common_start_ns  Start on the instance's common clock; NULL when not matched.
-- arrival_skew_ns  Latest start - earliest start of the instance.
-- late_ns       Own start - median start of the instance; negative when early.
-- wait_ns       Latest start - own start; NULL when it cannot be told.
-- transfer_ns   Earliest end - latest start.
-- tail_ns       Own end - earliest end.
-- is_last       Whether it waited least: the others waited for it.
-- residual_ns   How far its end lies from the common end after clocks were aligned.
-- start_error_ns  How far its start, and with it its wait, may be wrong: the residual and
--               what an unknown rate of its clock makes over its duration.
-- method        common window, or shortest duration where one instance has no common
--               window: then that stands in for the transfer, the rest is waiting.
-- reason        Why there is no split; else NULL.
-- A clock that runs fast is less wrong at the start than at the end.
WITH matched AS MATERIALIZED (
    SELECT
        *,
        (start_ns + clock_ns + drift * (end_ns - start_ns))::BIGINT AS common_start_ns,
        (abs(residual_ns) + drift_error * (end_ns - start_ns))::BIGINT AS start_error_ns
    FROM collective_match
),
bound AS (
    SELECT
        run_id,
        instance,
        any_value(operation) AS operation,
        any_value(channel) AS channel,
        bool_or(is_rooted) AS is_rooted,
        max(common_start_ns) AS latest_start_ns,
        min(end_ns + clock_ns) AS earliest_end_ns,
        max(end_ns + clock_ns) AS latest_end_ns,
        min(end_ns - start_ns) AS shortest_ns,
        max(end_ns - start_ns) AS longest_ns
    FROM matched
    WHERE instance IS NOT NULL
    GROUP BY run_id, instance
),
-- Ranks of different communicators don't meet: they miss each other, or leave scattered.
judged AS (
    SELECT
        *,
        earliest_end_ns >= latest_start_ns AS has_window,
        -- On a common clock; a rank's own may count a nanosecond less.
        least(earliest_end_ns - latest_start_ns, shortest_ns) AS window_ns,
        -- Who gives to a root may be gone before the root comes.
        NOT is_rooted AND (
            latest_start_ns - earliest_end_ns > threshold_of('collective_tail_ns')
            OR latest_end_ns - earliest_end_ns > greatest(
                threshold_of('collective_tail_ns'),
                threshold_of('collective_tail_share') * longest_ns
            )
        ) AS is_missed
    FROM bound
),
met AS (
    SELECT
        *,
        avg(is_missed::INTEGER) OVER (PARTITION BY run_id, operation, channel)
            > threshold_of('collective_apart_share') AS is_apart
    FROM judged
),
split AS (
    SELECT
        m.*,
        b.is_apart,
        b.has_window,
        CASE
            WHEN b.is_apart THEN NULL
            -- In its own nanoseconds, which may be shorter than the common ones.
            WHEN b.has_window THEN least(
                b.latest_start_ns - m.common_start_ns,
                m.end_ns - m.start_ns - b.window_ns
            )
            ELSE m.end_ns - m.start_ns - b.shortest_ns
        END AS wait_ns,
        CASE
            WHEN b.is_apart THEN NULL
            WHEN b.has_window THEN b.window_ns
            ELSE b.shortest_ns
        END AS transfer_ns
    FROM matched AS m
    JOIN met AS b ON b.run_id = m.run_id AND b.instance = m.instance
),
arrival AS (
    SELECT
        run_id,
        instance,
        max(wait_ns) - min(wait_ns) AS skew_ns,
        median(wait_ns) AS median_wait_ns,
        arg_min(device_key, (wait_ns, device_key)) AS last_key
    FROM split
    GROUP BY run_id, instance
)
SELECT
    s.run_id,
    s.device_key,
    s.operation,
    s.stream_id,
    s.communicator_id,
    s.communicator_size,
    s.message_bytes,
    s.call_start_ns,
    s.step,
    s.instance,
    s.rank_count,
    s.start_ns,
    s.end_ns,
    s.common_start_ns,
    a.skew_ns AS arrival_skew_ns,
    (a.median_wait_ns - s.wait_ns)::BIGINT AS late_ns,
    s.wait_ns,
    s.transfer_ns,
    s.end_ns - s.start_ns - s.wait_ns - s.transfer_ns AS tail_ns,
    CASE WHEN NOT s.is_apart THEN s.device_key = a.last_key END AS is_last,
    s.residual_ns,
    s.start_error_ns,
    CASE
        WHEN s.is_apart THEN NULL
        WHEN s.has_window THEN 'common window'
        ELSE 'shortest duration'
    END AS method,
    CASE WHEN s.is_apart
        THEN 'ranks do not meet in it: more than one communicator, or wrong clocks' END
        AS reason
FROM split AS s
JOIN arrival AS a ON a.run_id = s.run_id AND a.instance = s.instance
UNION ALL
SELECT
    run_id, device_key, operation, stream_id, communicator_id, communicator_size,
    message_bytes, call_start_ns, step, NULL, NULL, start_ns, end_ns, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, reason
FROM matched
WHERE instance IS NULL
