-- Whether the clocks of CPU and GPU agree. No work can start before its launch call (the
-- GPU's clock would be behind), and none can end after a call returned that waited for it
-- (the GPU's clock would be ahead): cudaStreamSynchronize for its stream,
-- cudaDeviceSynchronize and cuCtxSynchronize for the device. Calls that wait for an event
-- say nothing here: what was recorded before the event is not known.
-- Grain: one row per device_key with any launched work.
--
-- device_key     See traced_device.
-- launched_count  Activities with a recorded launch call.
-- early_count    Of these, those that start before that call.
-- worst_early_ns  How long before, at worst; 0 when none does.
-- waited_count   Waiting calls with work launched since the one before.
-- late_count     Of these, those that returned more than threshold clock_late_ns before
--                the end of that work.
-- worst_late_ns  How long before, at worst; 0 when none did, NULL without such a call.
-- is_aligned     Whether times of CPU and GPU can be compared; see thresholds
--                clock_early_share and clock_late_ns.
-- disagreement_ns  By how much they disagree at least; NULL when aligned.
WITH used_stream AS MATERIALIZED (
    SELECT d.device_key, d.run_id, d.source_id, d.process, d.device_id, s.stream_id
    FROM (SELECT DISTINCT device_key, stream_id FROM activity) AS s
    JOIN traced_device AS d USING (device_key)
),
-- Streams are numbered by context: with several on one device it is not told which one
-- was waited for.
several_contexts AS (
    SELECT run_id, source_id, process, device_id
    FROM kernel
    GROUP BY run_id, source_id, process, device_id
    HAVING count(DISTINCT context_id) > 1
),
waiting_name AS (
    SELECT run_id, source_id, name_id, name LIKE '%Stream%' AS is_stream
    FROM api_name
    WHERE regexp_matches(
        name, '^(cuda(Stream|Device|Thread)|cu(Stream|Ctx))Synchronize(_ptsz)?$'
    )
),
wait AS (
    SELECT
        c.run_id, c.source_id, c.process, c.start_ns, c.end_ns, n.is_stream,
        s.device_id, s.stream_id
    FROM api_call AS c
    JOIN waiting_name AS n USING (run_id, source_id, name_id)
    LEFT JOIN synchronization AS s USING (run_id, source_id, process, correlation_id)
    -- A call that failed has not waited.
    WHERE coalesce(c.return_code, 0) = 0
),
-- A device's wait is one for each of its streams. Without a record of the wait only a
-- process with one device leaves no doubt which one it was.
waited_stream AS (
    SELECT DISTINCT u.device_key, u.stream_id, w.start_ns, w.end_ns
    FROM wait AS w
    JOIN used_stream AS u USING (run_id, source_id, process)
    ANTI JOIN several_contexts AS x
        ON x.run_id = u.run_id
        AND x.source_id = u.source_id
        AND x.process = u.process
        AND x.device_id = u.device_id
    WHERE CASE WHEN w.is_stream
        THEN w.device_id = u.device_id AND w.stream_id = u.stream_id
        ELSE coalesce(w.device_id = u.device_id, (
            SELECT count(DISTINCT o.device_id) = 1 FROM used_stream AS o
            WHERE o.run_id = w.run_id
                AND o.source_id = w.source_id
                AND o.process = w.process
        )) END
),
-- Each launch goes to the first wait for its stream that began after its call returned.
judged AS (
    SELECT
        l.device_key,
        w.start_ns AS wait_start_ns,
        w.end_ns AS wait_end_ns,
        count(*) AS launched_count,
        count(*) FILTER (l.start_ns < l.call_start_ns) AS early_count,
        max(l.call_start_ns - l.start_ns) AS early_ns,
        max(l.end_ns) - w.end_ns AS late_ns
    FROM launched_activity AS l
    ASOF LEFT JOIN waited_stream AS w
        ON w.device_key = l.device_key
        AND w.stream_id = l.stream_id
        AND l.call_end_ns <= w.start_ns
    GROUP BY l.device_key, w.start_ns, w.end_ns
),
counted AS (
    SELECT
        device_key,
        sum(launched_count)::BIGINT AS launched_count,
        sum(early_count)::BIGINT AS early_count,
        greatest(0, max(early_ns)) AS worst_early_ns,
        count(late_ns) AS waited_count,
        count(*) FILTER (late_ns > threshold_of('clock_late_ns')) AS late_count,
        CASE WHEN count(late_ns) > 0 THEN greatest(0, max(late_ns)) END AS worst_late_ns
    FROM judged
    GROUP BY device_key
),
decided AS (
    SELECT
        *,
        early_count > threshold_of('clock_early_share') * launched_count AS is_behind,
        late_count > threshold_of('clock_late_share') * waited_count AS is_ahead
    FROM counted
)
SELECT
    device_key,
    launched_count,
    early_count,
    worst_early_ns,
    waited_count,
    late_count,
    worst_late_ns,
    NOT is_behind AND NOT is_ahead AS is_aligned,
    CASE
        WHEN is_behind THEN worst_early_ns
        WHEN is_ahead THEN worst_late_ns
    END AS disagreement_ns
FROM decided
