-- Communication kernels of a run put together across ranks; see collective_place for what
-- makes two the same. Ranks leave a collective almost together, so clocks are aligned on
-- the ends: each source file's distance from the median end, by its straight line through
-- the capture (drift) and the running median over 31 instances around that. Only
-- instances of the same ranks, operation and stream tell of each other: pairs that meet
-- among themselves must not move the clock of the others. The root of a broadcast or a
-- reduction, and who only gives to it, may leave early: those take the clock of the
-- operations in which all wait for all, where the same ranks have such.
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
-- call_start_ns  See collective_kernel.
-- step          Step in or after which it was launched; NULL where matched over the whole
--               capture, before the first step or after the last.
-- instance      Number of the collective within the run, in the order of time; NULL when
--               it could not be matched.
-- rank_count    Devices that took part in the instance.
-- is_rooted     Whether the operation has a root, so that some ranks may leave early.
-- start_ns      ns since the capture began.
-- end_ns        ns since the capture began.
-- clock_ns      What to add to its end for a common clock of the instance; NULL when not
--               matched.
-- drift         How much faster its clock runs than the common one; 0 where nothing says.
-- drift_error   How wrong that may be: thresholds clock_drift_share, clock_wander_share.
-- residual_ns   How far this end lies from the common end after alignment; NULL where a
--               single instance says all there is about a clock. Of rooted operations
--               on a borrowed clock: of the instance that it was taken from.
-- reason        Why it could not be matched; else NULL.
WITH placed AS MATERIALIZED (FROM collective_place),
per_device AS (
    SELECT
        run_id, operation, channel, region, beside_step, device_key, source_id,
        count(*) AS kernel_count
    FROM placed
    GROUP BY ALL
),
alike AS MATERIALIZED (
    SELECT *, row_number() OVER () AS alike_key
    FROM (
        SELECT
            run_id, operation, channel, region, beside_step,
            list(device_key ORDER BY device_key) AS devices,
            operation IN ('broadcast', 'reduce', 'gather', 'scatter') AS is_rooted,
            count(*) AS rank_count,
            count(DISTINCT source_id) AS source_count,
            min(kernel_count) = max(kernel_count) AS is_even,
            concat_ws(
                ' ', operation, channel,
                string_agg(device_key::VARCHAR, ' ' ORDER BY device_key)
            ) AS sequence
        FROM per_device
        GROUP BY run_id, operation, channel, region, beside_step
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
-- Of more than two that send and receive nothing but NCCL's payload tells who meets whom:
-- pairs in lockstep look like a group, and a stream may lead to either neighbour.
exchanging AS (
    SELECT run_id, count(DISTINCT device_key) AS device_count
    FROM per_device
    WHERE operation = 'send_recv'
    GROUP BY run_id
),
keyed AS MATERIALIZED (
    SELECT
        p.*, a.alike_key, a.rank_count, a.is_rooted, a.source_count, a.sequence,
        o.offset_ns, o.is_utc,
        CASE
            WHEN p.device_count < 2 THEN 'only one rank is present'
            WHEN p.has_steps AND p.region IS NULL
                THEN 'its launch was not recorded, so its step is unknown'
            WHEN a.rank_count < 2 THEN 'no other rank ran this operation on this stream'
            WHEN p.operation = 'send_recv' AND p.communicator_size IS NULL
                AND e.device_count > 2
                THEN 'which ranks send to each other is not recorded'
            WHEN NOT a.is_even THEN 'ranks ran different numbers of it'
            WHEN a.rank_count < p.communicator_size
                THEN 'only ' || a.rank_count || ' of ' || p.communicator_size
                    || ' ranks of its communicator are present'
            WHEN p.communicator_size IS NULL AND p.device_count < w.world_size
                THEN 'only ' || p.device_count || ' of ' || w.world_size
                    || ' ranks have any on record'
        END AS reason
    FROM placed AS p
    JOIN alike AS a
        ON a.run_id = p.run_id
        AND a.operation IS NOT DISTINCT FROM p.operation
        AND a.channel = p.channel
        AND a.region IS NOT DISTINCT FROM p.region
        AND a.beside_step IS NOT DISTINCT FROM p.beside_step
    JOIN source AS o ON o.run_id = p.run_id AND o.source_id = p.source_id
    LEFT JOIN world AS w ON w.run_id = p.run_id
    LEFT JOIN exchanging AS e ON e.run_id = p.run_id
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
own_clock AS MATERIALIZED (
    SELECT
        a.run_id, a.source_id, a.sequence, a.instance, a.middle_ns, l.instance_count,
        l.drift, a.apart_ns,
        median(a.apart_ns - l.drift * a.middle_ns) OVER (
            PARTITION BY a.run_id, a.source_id, a.sequence ORDER BY a.instance
            ROWS BETWEEN 15 PRECEDING AND 15 FOLLOWING
        ) AS offset_ns
    FROM apart AS a
    JOIN line AS l USING (run_id, source_id, sequence)
),
-- Rooted operations borrow from the sequence of all their ranks with most instances.
sequence_of AS (
    SELECT
        a.run_id, a.sequence, any_value(a.devices) AS devices,
        bool_or(a.is_rooted) AS is_rooted, sum(c.instance_count) AS instance_count
    FROM alike AS a
    JOIN (
        SELECT run_id, alike_key, count(*) AS instance_count FROM common GROUP BY ALL
    ) AS c USING (run_id, alike_key)
    GROUP BY a.run_id, a.sequence
),
lender AS (
    SELECT
        r.run_id, r.sequence,
        arg_max(s.sequence, (s.instance_count, s.sequence)) AS lender
    FROM sequence_of AS r
    JOIN sequence_of AS s
        ON s.run_id = r.run_id AND list_has_all(s.devices, r.devices)
    WHERE r.is_rooted
        -- Neither does a pair that sends and receives leave together.
        AND s.sequence NOT LIKE 'send_recv %'
        AND NOT coalesce(s.is_rooted, false)
    GROUP BY r.run_id, r.sequence
),
clock AS (
    SELECT
        o.run_id, o.source_id, o.instance,
        CASE WHEN l.lender IS NULL THEN o.instance_count
            ELSE coalesce(p.instance_count, n.instance_count) END AS instance_count,
        CASE WHEN l.lender IS NULL THEN o.drift ELSE coalesce(p.drift, n.drift) END
            AS drift,
        CASE WHEN l.lender IS NULL THEN o.drift * o.middle_ns + o.offset_ns
            ELSE coalesce(p.drift * o.middle_ns + p.offset_ns,
                n.drift * o.middle_ns + n.offset_ns) END AS error_ns,
        coalesce(
            p.apart_ns - p.drift * p.middle_ns - p.offset_ns,
            n.apart_ns - n.drift * n.middle_ns - n.offset_ns
        ) AS lent_residual_ns
    FROM own_clock AS o
    LEFT JOIN lender AS l USING (run_id, sequence)
    ASOF LEFT JOIN own_clock AS p
        ON p.run_id = o.run_id
        AND p.source_id = o.source_id
        AND p.sequence = l.lender
        AND o.middle_ns >= p.middle_ns
    ASOF LEFT JOIN own_clock AS n
        ON n.run_id = o.run_id
        AND n.source_id = o.source_id
        AND n.sequence = l.lender
        AND o.middle_ns <= n.middle_ns
),
-- A capture that began some steps later counts its steps from another one: then its clock
-- seems to be wrong by as many steps. Or the clock is wrong: steps differ in length, so
-- they fit better to those that they are. Alike, and as many on every rank, they are
-- taken as they are counted.
step_end AS MATERIALIZED (
    SELECT
        k.run_id, k.source_id, k.step, max(k.end_ns + k.offset_ns) AS end_ns,
        count(*) OVER (PARTITION BY k.run_id, k.source_id) AS step_count,
        row_number() OVER (PARTITION BY k.run_id, k.source_id ORDER BY k.step) AS place,
        min(k.source_id) OVER (PARTITION BY k.run_id) AS first_source
    FROM keyed AS k
    WHERE k.step IS NOT NULL AND k.region = 'in' AND NOT k.is_numbered AND k.is_utc
    GROUP BY k.run_id, k.source_id, k.step
),
step_shift AS (
    SELECT
        s.run_id, s.source_id, s.step_count <> f.step_count AS is_uneven,
        round(median(s.end_ns - f.end_ns) / f.step_ns)::BIGINT AS shift,
        quantile_cont(s.end_ns - f.end_ns, 0.9)
            - quantile_cont(s.end_ns - f.end_ns, 0.1) AS spread_ns
    FROM step_end AS s
    JOIN (
        SELECT
            *,
            (max(end_ns) OVER of_source - min(end_ns) OVER of_source)
                / nullif(step_count - 1, 0) AS step_ns
        FROM step_end
        WHERE source_id = first_source
        WINDOW of_source AS (PARTITION BY run_id, source_id)
    ) AS f ON f.run_id = s.run_id AND f.place = s.place
    WHERE f.step_ns > 0
    GROUP BY s.run_id, s.source_id, is_uneven, f.step_ns
),
shifted AS (
    SELECT DISTINCT run_id FROM step_shift WHERE is_uneven AND shift <> 0
    UNION
    SELECT s.run_id
    FROM step_shift AS s
    JOIN step_end AS e USING (run_id, source_id)
    JOIN step_end AS f
        ON f.run_id = e.run_id
        AND f.source_id = e.first_source
        AND f.place = e.place + s.shift
    WHERE s.shift <> 0
    GROUP BY s.run_id, s.source_id, s.spread_ns
    HAVING count(*) >= 3
        AND s.spread_ns > threshold_of('collective_tail_ns')
        AND s.spread_ns > 2 * (quantile_cont(e.end_ns - f.end_ns, 0.9)
            - quantile_cont(e.end_ns - f.end_ns, 0.1))
),
judged AS (
    SELECT
        k.*, c.instance, c.middle_ns,
        coalesce(k.reason, CASE WHEN s.run_id IS NOT NULL THEN
            'steps have no numbers, and those of another rank fit only some steps later'
            END
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
    j.call_start_ns,
    j.step,
    CASE WHEN j.why_not IS NULL THEN j.instance END AS instance,
    CASE WHEN j.why_not IS NULL THEN j.rank_count END AS rank_count,
    coalesce(j.is_rooted, false) AS is_rooted,
    j.start_ns,
    j.end_ns,
    CASE WHEN j.why_not IS NULL THEN (j.offset_ns - c.error_ns)::BIGINT END AS clock_ns,
    CASE WHEN j.source_count = 1 THEN 0 ELSE coalesce(c.drift, 0) END::DOUBLE AS drift,
    CASE WHEN j.source_count = 1 THEN 0
        WHEN c.instance_count >= 9 THEN threshold_of('clock_wander_share')
        ELSE threshold_of('clock_drift_share') END::DOUBLE AS drift_error,
    CASE WHEN j.why_not IS NULL AND (c.instance_count > 1 OR j.source_count = 1)
        THEN coalesce(
            c.lent_residual_ns, j.end_ns + j.offset_ns - j.middle_ns - c.error_ns
        )::BIGINT END AS residual_ns,
    j.why_not AS reason
FROM judged AS j
LEFT JOIN clock AS c USING (run_id, source_id, instance)
