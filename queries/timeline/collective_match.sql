-- Communication kernels of a run put together across ranks; see collective_place for what
-- makes two the same. Ranks leave a collective almost together, so clocks are aligned on
-- the ends: each source file's distance from the median end, by its straight line through
-- the capture (drift) and the running median over 31 instances around that. Only
-- instances of the same ranks, operation and stream tell of each other: pairs that meet
-- among themselves, or roots that leave early, must not move the clock of the others.
-- Devices of one file share its clock: their differences are real.
-- Grain: one row per communication kernel.
--
-- run_id        Run.
-- device_key    Device and process; see traced_device.
-- operation     Collective operation; NULL when the kernel's name does not tell.
-- stream_id     CUDA stream.
-- channel       See collective_kernel.
-- communicator_id  See collective_kernel.
-- communicator_size  See collective_kernel.
-- message_bytes  See collective_kernel.
-- step          Step in or after which it was launched; NULL where matched over the whole
--               capture.
-- instance      Number of the collective within the run, in the order of time; NULL when
--               it could not be matched.
-- rank_count    Devices that took part in the instance.
-- start_ns      ns since the capture began.
-- end_ns        ns since the capture began.
-- clock_ns      What to add to both for a common clock of the instance; NULL when not
--               matched.
-- residual_ns   How far this end lies from the common end after alignment; NULL where a
--               single instance says all there is about a clock.
-- reason        Why it could not be matched; else NULL.
WITH placed AS MATERIALIZED (FROM collective_place),
per_device AS (
    SELECT
        run_id, operation, channel, step, is_after_step, device_key, source_id,
        count(*) AS kernel_count
    FROM placed
    GROUP BY ALL
),
alike AS MATERIALIZED (
    SELECT *, row_number() OVER () AS alike_key
    FROM (
        SELECT
            run_id, operation, channel, step, is_after_step,
            count(*) AS rank_count,
            count(DISTINCT source_id) AS source_count,
            min(kernel_count) = max(kernel_count) AS is_even,
            concat_ws(
                ' ', operation, channel,
                string_agg(device_key::VARCHAR, ' ' ORDER BY device_key)
            ) AS sequence
        FROM per_device
        GROUP BY run_id, operation, channel, step, is_after_step
    )
),
-- Without UTC in every file, their own zeros must do: alignment removes the rest.
source AS (
    SELECT
        s.run_id,
        s.source_id,
        bool_and(f.capture_start_utc_ns IS NOT NULL) OVER same AS is_utc,
        CASE WHEN is_utc
            THEN f.capture_start_utc_ns - min(f.capture_start_utc_ns) OVER same
            ELSE 0 END AS offset_ns
    FROM (SELECT DISTINCT run_id, source_id FROM placed) AS s
    LEFT JOIN source_file AS f USING (run_id, source_id)
    WINDOW same AS (PARTITION BY s.run_id)
),
-- The last to arrive may be among those whose files are missing.
world AS (
    SELECT run_id, max(world_size) AS world_size FROM run GROUP BY run_id
),
keyed AS MATERIALIZED (
    SELECT
        p.*, a.alike_key, a.rank_count, a.source_count, a.sequence, o.offset_ns, o.is_utc,
        CASE
            WHEN p.device_count < 2 THEN 'only one rank is present'
            WHEN p.has_steps AND p.step IS NULL THEN 'outside of steps'
            WHEN a.rank_count < 2 THEN 'no other rank ran this operation on this stream'
            WHEN NOT a.is_even THEN 'ranks ran different numbers of it'
            WHEN a.rank_count < p.communicator_size
                THEN 'only ' || a.rank_count || ' of ' || p.communicator_size
                    || ' ranks of its communicator are present'
            WHEN p.communicator_size IS NULL AND p.device_count < w.world_size
                THEN 'only ' || p.device_count || ' of ' || w.world_size
                    || ' ranks are present'
        END AS reason
    FROM placed AS p
    JOIN alike AS a
        ON a.run_id = p.run_id
        AND a.operation IS NOT DISTINCT FROM p.operation
        AND a.channel = p.channel
        AND a.step IS NOT DISTINCT FROM p.step
        AND a.is_after_step = p.is_after_step
    JOIN source AS o ON o.run_id = p.run_id AND o.source_id = p.source_id
    LEFT JOIN world AS w ON w.run_id = p.run_id
),
common AS MATERIALIZED (
    SELECT
        run_id, alike_key, ordinal, any_value(step) AS step,
        median(end_ns + offset_ns) AS middle_ns,
        row_number() OVER (
            PARTITION BY run_id
            ORDER BY
                median(end_ns + offset_ns), any_value(step), any_value(operation),
                any_value(channel), ordinal
        ) AS instance
    FROM keyed
    WHERE reason IS NULL
    GROUP BY run_id, alike_key, ordinal
),
apart AS (
    SELECT
        k.run_id, k.source_id, k.sequence, c.instance,
        any_value(c.middle_ns) AS middle_ns,
        median(k.end_ns + k.offset_ns - c.middle_ns) AS apart_ns,
        ntile(3) OVER (
            PARTITION BY k.run_id, k.source_id, k.sequence ORDER BY c.instance
        ) AS third
    FROM keyed AS k
    JOIN common AS c USING (run_id, alike_key, ordinal)
    GROUP BY k.run_id, k.source_id, k.sequence, c.instance
),
-- Tukey's resistant line: through the medians of the first and the last third.
line AS (
    SELECT
        run_id, source_id, sequence,
        count(*) AS instance_count,
        median(apart_ns) AS apart_ns,
        CASE WHEN count(*) >= 9 THEN coalesce(
            (median(apart_ns) FILTER (third = 3) - median(apart_ns) FILTER (third = 1))
            / nullif(
                median(middle_ns) FILTER (third = 3)
                - median(middle_ns) FILTER (third = 1), 0),
            0) ELSE 0 END AS drift
    FROM apart
    GROUP BY run_id, source_id, sequence
),
clock AS (
    SELECT
        a.run_id, a.source_id, a.instance, l.instance_count,
        l.drift * a.middle_ns + median(a.apart_ns - l.drift * a.middle_ns) OVER (
            PARTITION BY a.run_id, a.source_id, a.sequence ORDER BY a.instance
            ROWS BETWEEN 15 PRECEDING AND 15 FOLLOWING
        ) AS error_ns
    FROM apart AS a
    JOIN line AS l USING (run_id, source_id, sequence)
),
-- A capture that began a step later counts its steps from another one: then its clock
-- seems to be wrong by a step.
step_length AS (
    SELECT s.run_id, median(s.step_ns) AS step_ns
    FROM (
        SELECT
            run_id, source_id, step,
            min(start_ns) - lag(min(start_ns)) OVER (
                PARTITION BY run_id, source_id ORDER BY step
            ) AS step_ns
        FROM placed
        WHERE step IS NOT NULL AND NOT is_numbered
        GROUP BY run_id, source_id, step
    ) AS s
    GROUP BY s.run_id
),
shifted AS (
    SELECT DISTINCT l.run_id
    FROM line AS l
    JOIN step_length AS s USING (run_id)
    GROUP BY l.run_id, l.sequence
    HAVING max(l.apart_ns) - min(l.apart_ns) > any_value(s.step_ns) / 2
),
judged AS (
    SELECT
        k.*, c.instance, c.middle_ns,
        coalesce(k.reason, CASE WHEN k.is_utc AND s.run_id IS NOT NULL
            THEN 'steps have no numbers, and clocks differ by more than half a step' END
        ) AS why_not
    FROM keyed AS k
    LEFT JOIN common AS c USING (run_id, alike_key, ordinal)
    LEFT JOIN shifted AS s USING (run_id)
)
SELECT
    j.run_id,
    j.device_key,
    j.operation,
    j.stream_id,
    j.channel,
    j.communicator_id,
    j.communicator_size,
    j.message_bytes,
    j.step,
    CASE WHEN j.why_not IS NULL THEN j.instance END AS instance,
    CASE WHEN j.why_not IS NULL THEN j.rank_count END AS rank_count,
    j.start_ns,
    j.end_ns,
    CASE WHEN j.why_not IS NULL THEN (j.offset_ns - c.error_ns)::BIGINT END AS clock_ns,
    CASE WHEN j.why_not IS NULL AND (c.instance_count > 1 OR j.source_count = 1)
        THEN (j.end_ns + j.offset_ns - j.middle_ns - c.error_ns)::BIGINT END
        AS residual_ns,
    j.why_not AS reason
FROM judged AS j
LEFT JOIN clock AS c USING (run_id, source_id, instance)
