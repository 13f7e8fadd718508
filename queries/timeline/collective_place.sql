-- Communication kernels numbered so that the same collective has the same key on every
-- rank: the k-th of one operation and stream launched in one step, or before the first,
-- between two, or after the last one (in the whole capture where not every rank has
-- steps). The launch decides, not the time on the GPU: the order
-- of the program is the same on every rank, when things overlap is not.
-- Grain: one row per communication kernel.
--
-- run_id        Run.
-- source_id     Source file.
-- device_key    Device and process; see traced_device.
-- operation     Collective operation; NULL when the kernel's name does not tell.
-- stream_id     CUDA stream.
-- channel       See collective_kernel.
-- communicator_id  See collective_kernel.
-- communicator_size  See collective_kernel.
-- message_bytes  See collective_kernel.
-- step          Step in which it was launched; NULL before the first and after the last,
--               and everywhere where a rank has none.
-- is_after_step  Whether it was launched after this step and before the next.
-- region        in, before or after beside_step; NULL where a rank has no steps, and
--               without a recorded launch.
-- beside_step   The step in, before or after which it was launched.
-- call_start_ns  See collective_kernel.
-- ordinal       Number among those that are alike in all of these, from 1.
-- device_count  Devices of the run with any communication.
-- has_steps     Whether every one of them has annotated steps.
-- is_numbered   Whether the numbers of steps are in their names, so that they mean the
--               same on every rank however early its capture began.
-- start_ns      ns since the capture began.
-- end_ns        ns since the capture began.
WITH own_step AS MATERIALIZED (
    SELECT
        device_key, step, host_start_ns, host_end_ns,
        contains(name, step::VARCHAR) AS is_numbered,
        lead(host_start_ns) OVER (
            PARTITION BY device_key ORDER BY host_start_ns
        ) AS next_start_ns
    FROM device_step
    WHERE origin = 'nvtx'
),
launched AS MATERIALIZED (
    SELECT
        k.*,
        -- Behind the last step nothing says how far it reaches.
        CASE WHEN k.call_start_ns < s.host_end_ns OR s.next_start_ns IS NOT NULL
            THEN s.step END AS launch_step,
        coalesce(k.call_start_ns >= s.host_end_ns, false) AS is_after,
        CASE
            WHEN k.call_start_ns < s.host_end_ns THEN 'in'
            WHEN s.step IS NOT NULL THEN 'after'
            WHEN f.step IS NOT NULL THEN 'before'
        END AS region,
        coalesce(s.step, f.step) AS beside_step
    FROM collective_kernel AS k
    ASOF LEFT JOIN own_step AS s
        ON s.device_key = k.device_key AND k.call_start_ns >= s.host_start_ns
    LEFT JOIN (
        SELECT
            device_key, arg_min(step, host_start_ns) AS step,
            min(host_start_ns) AS host_start_ns
        FROM own_step
        GROUP BY device_key
    ) AS f ON f.device_key = k.device_key AND k.call_start_ns < f.host_start_ns
),
per_device AS (
    SELECT run_id, device_key, count(launch_step) > 0 AS has_steps
    FROM launched
    GROUP BY run_id, device_key
),
numbered_device AS (
    SELECT device_key, bool_and(is_numbered) AS is_numbered
    FROM own_step
    GROUP BY device_key
),
per_run AS (
    SELECT
        run_id,
        count(*) AS device_count,
        bool_and(has_steps) AS has_steps,
        bool_and(coalesce(is_numbered, false)) AS is_numbered
    FROM per_device
    LEFT JOIN numbered_device USING (device_key)
    GROUP BY run_id
),
stepped AS (
    SELECT
        l.*,
        CASE WHEN r.has_steps THEN l.launch_step END AS step,
        r.has_steps AND l.is_after AS is_after_step,
        CASE WHEN r.has_steps THEN l.region END AS place_region,
        CASE WHEN r.has_steps THEN l.beside_step END AS place_step,
        r.device_count,
        r.has_steps,
        r.is_numbered,
        bool_and(l.call_start_ns IS NOT NULL) OVER (
            PARTITION BY l.device_key, l.operation, l.channel
        ) AS is_launch_known
    FROM launched AS l
    JOIN per_run AS r USING (run_id)
)
SELECT
    run_id,
    source_id,
    device_key,
    operation,
    stream_id,
    channel,
    communicator_id,
    communicator_size,
    message_bytes,
    step,
    is_after_step,
    place_region AS region,
    place_step AS beside_step,
    call_start_ns,
    -- On one stream both orders are the same; a communicator may use several.
    row_number() OVER (
        PARTITION BY device_key, operation, channel, place_region, place_step
        ORDER BY
            CASE WHEN is_launch_known THEN call_start_ns ELSE start_ns END,
            start_ns, end_ns
    ) AS ordinal,
    device_count,
    has_steps,
    is_numbered,
    start_ns,
    end_ns
FROM stepped
