-- Why the next activity did not start: each gap split to the nanosecond. Until the launch
-- call of that activity has returned, time belongs to what the launching thread did; the
-- rest the activity waited on the device.
-- Grain: one row per part of a gap; the parts of a gap follow each other without a hole.
--
-- gpu_key       Physical GPU; see traced_device.
-- device_key    Device and process whose work ends the gap; see traced_device.
-- gap_start_ns  Begin of the gap; see device_gap.
-- gap_end_ns    End of the gap.
-- start_ns      Begin of the part.
-- end_ns        End of the part.
-- cause         profiler, launch_call, synchronize, memory_management, blocking_copy, the
--               cause of an NVTX range (see range_cause), other_host, dependency or
--               unknown.
-- responsible   The call, range or earlier activity; for unknown, why it is.
WITH gap AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY g.gpu_key, g.start_ns) AS gap_key,
        g.gpu_key,
        g.start_ns,
        g.end_ns,
        g.before,
        g.after.device_key AS device_key,
        d.run_id,
        d.source_id,
        d.process,
        c.thread,
        c.start_ns AS call_start_ns,
        coalesce(k.is_aligned, true) AS is_aligned,
        k.disagreement_ns,
        c.end_ns AS call_end_ns,
        -- Where the launching thread stops being what is waited for; NULL without a call.
        CASE WHEN c.end_ns IS NOT NULL
            THEN least(greatest(c.end_ns, g.start_ns), g.end_ns) END AS launched_ns
    FROM device_gap AS g
    JOIN traced_device AS d ON d.device_key = g.after.device_key
    LEFT JOIN api_call AS c
        ON c.run_id = d.run_id
        AND c.source_id = d.source_id
        AND c.process = d.process
        AND c.correlation_id = g.after.correlation_id
    LEFT JOIN clock_check AS k ON k.device_key = g.after.device_key
    QUALIFY row_number() OVER (
        PARTITION BY g.gpu_key, g.start_ns ORDER BY c.start_ns, c.end_ns, c.thread
    ) = 1
),
late AS MATERIALIZED (
    SELECT * FROM gap WHERE is_aligned AND launched_ns > start_ns
),
-- Intervals are found in gaps through slices of a millisecond: a hash join instead of a
-- comparison of all with all. Of the slices that both share, the first is the one
-- counted.
late_slice AS (
    SELECT
        gap_key, run_id, source_id, process, thread, start_ns, launched_ns,
        start_ns // 1000000 AS first_slice,
        unnest(range(start_ns // 1000000, launched_ns // 1000000 + 1)) AS slice
    FROM late
),
launching_thread AS (
    SELECT DISTINCT run_id, source_id, process, thread FROM late
),
call_slice AS (
    SELECT
        c.run_id, c.source_id, c.process, c.thread, c.start_ns, c.end_ns,
        c.correlation_id, c.name_id,
        c.start_ns // 1000000 AS first_slice,
        unnest(range(c.start_ns // 1000000, c.end_ns // 1000000 + 1)) AS slice
    FROM api_call AS c
    SEMI JOIN launching_thread AS t USING (run_id, source_id, process, thread)
),
near_call AS (
    SELECT
        l.gap_key, c.run_id, c.source_id, c.process, c.start_ns, c.end_ns,
        c.correlation_id, c.name_id,
        -- A runtime call contains the driver calls it makes: only the outer one counts.
        max(c.end_ns) OVER (
            PARTITION BY l.gap_key ORDER BY c.start_ns, c.end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM late_slice AS l
    JOIN call_slice AS c USING (run_id, source_id, process, thread, slice)
    WHERE slice = greatest(l.first_slice, c.first_slice)
        AND c.end_ns > l.start_ns
        AND c.start_ns < l.launched_ns
),
cause_of_name AS (
    SELECT n.name_id, any_value(n.name) AS name, arg_min(c.cause, c.priority) AS cause
    FROM api_name AS n
    LEFT JOIN call_cause AS c ON lower(n.name) LIKE c.pattern
    GROUP BY n.name_id
),
-- A copy holds the host up if it was over before its call returned.
blocking_call AS (
    SELECT DISTINCT c.gap_key, c.start_ns, c.correlation_id
    FROM near_call AS c
    JOIN memory_copy AS m USING (run_id, source_id, process, correlation_id)
    WHERE m.end_ns <= c.end_ns
),
in_call AS MATERIALIZED (
    SELECT
        c.gap_key,
        greatest(c.start_ns, l.start_ns, coalesce(c.covered_until, l.start_ns))
            AS start_ns,
        least(c.end_ns, l.launched_ns) AS end_ns,
        CASE
            -- Itself, or the runtime's call that makes it.
            WHEN c.start_ns <= l.call_start_ns AND c.end_ns >= l.call_end_ns
                THEN 'launch_call'
            WHEN n.cause = 'blocking_copy' AND b.gap_key IS NOT NULL THEN 'blocking_copy'
            WHEN n.cause IN ('synchronize', 'memory_management') THEN n.cause
            ELSE 'other_host'
        END AS cause,
        n.name AS responsible
    FROM near_call AS c
    JOIN late AS l USING (gap_key)
    JOIN cause_of_name AS n USING (name_id)
    LEFT JOIN blocking_call AS b
        ON b.gap_key = c.gap_key
        AND b.start_ns = c.start_ns
        AND b.correlation_id = c.correlation_id
    WHERE c.end_ns > greatest(l.start_ns, coalesce(c.covered_until, l.start_ns))
        AND coalesce(c.covered_until, l.start_ns) < l.launched_ns
),
-- What lies between the calls: before the first, after each.
between_calls AS (
    SELECT l.gap_key, l.start_ns, coalesce(min(c.start_ns), l.launched_ns) AS end_ns
    FROM late AS l
    LEFT JOIN in_call AS c USING (gap_key)
    GROUP BY l.gap_key, l.start_ns, l.launched_ns
    UNION ALL
    SELECT
        c.gap_key,
        c.end_ns,
        coalesce(
            lead(c.start_ns) OVER (PARTITION BY c.gap_key ORDER BY c.start_ns),
            l.launched_ns
        )
    FROM in_call AS c
    JOIN late AS l USING (gap_key)
),
on_host AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY gap_key, start_ns) AS piece_key, *
    FROM (
        SELECT gap_key, start_ns, end_ns, cause, responsible, true AS is_call
        FROM in_call
        UNION ALL
        SELECT gap_key, start_ns, end_ns, 'other_host', NULL, false FROM between_calls
    )
    WHERE end_ns > start_ns
),
-- Patterns are compiled for every name they meet: for the few forms of names, then.
form AS MATERIALIZED (
    SELECT DISTINCT regexp_replace(lower(name), '\d+', '#', 'g') AS form
    FROM named_nvtx_range
    WHERE kind <> 'mark'
),
cause_of_form AS (
    SELECT f.form, arg_min(c.cause, c.priority) AS cause
    FROM form AS f
    JOIN range_cause AS c ON regexp_matches(f.form, c.pattern)
    GROUP BY f.form
),
named_range AS (
    SELECT
        r.run_id, r.source_id, r.process, r.thread, r.start_ns, r.end_ns, r.name, c.cause
    FROM named_nvtx_range AS r
    SEMI JOIN launching_thread AS t USING (run_id, source_id, process, thread)
    JOIN cause_of_form AS c
        ON c.form = regexp_replace(lower(r.name), '\d+', '#', 'g')
    WHERE r.kind <> 'mark' AND r.end_ns > r.start_ns
),
-- Laid over the pieces: the profiler over anything, named ranges over what is no call.
overlay AS (
    SELECT
        run_id, source_id, process, thread, start_ns, end_ns, name, cause, false AS wins
    FROM named_range
    UNION ALL
    SELECT
        o.run_id, o.source_id, o.process, o.thread, o.start_ns, o.end_ns, o.name,
        'profiler', true
    FROM profiler_overhead AS o
    SEMI JOIN launching_thread AS t USING (run_id, source_id, process, thread)
    WHERE o.end_ns > o.start_ns
),
overlay_slice AS (
    SELECT
        *,
        start_ns // 1000000 AS first_slice,
        unnest(range(start_ns // 1000000, end_ns // 1000000 + 1)) AS slice
    FROM overlay
),
near_overlay AS (
    SELECT DISTINCT ON (l.gap_key, o.start_ns, o.end_ns, o.name, o.cause)
        l.gap_key, o.start_ns, o.end_ns, o.name, o.cause, o.wins
    FROM late_slice AS l
    JOIN overlay_slice AS o USING (run_id, source_id, process, thread, slice)
    WHERE o.end_ns > l.start_ns AND o.start_ns < l.launched_ns
    ORDER BY ALL
),
overlaid AS MATERIALIZED (
    SELECT
        p.piece_key,
        greatest(o.start_ns, p.start_ns) AS start_ns,
        least(o.end_ns, p.end_ns) AS end_ns,
        o.cause,
        o.name,
        (o.wins, o.start_ns, -o.end_ns) AS precedence
    FROM on_host AS p
    JOIN near_overlay AS o
        ON o.gap_key = p.gap_key AND o.end_ns > p.start_ns AND o.start_ns < p.end_ns
    WHERE o.wins OR NOT p.is_call
),
cut AS (
    SELECT
        piece_key,
        cut_ns,
        lead(cut_ns) OVER (PARTITION BY piece_key ORDER BY cut_ns) AS next_ns
    FROM (
        SELECT piece_key, start_ns AS cut_ns FROM on_host
        UNION
        SELECT piece_key, end_ns FROM on_host
        UNION
        SELECT piece_key, start_ns FROM overlaid
        UNION
        SELECT piece_key, end_ns FROM overlaid
    )
),
-- Of ranges that hold each other the innermost says most.
settled AS (
    SELECT
        c.piece_key,
        c.cut_ns AS start_ns,
        c.next_ns AS end_ns,
        -- As one value: arg_max passes over a name that is NULL.
        arg_max({'cause': o.cause, 'name': o.name}, o.precedence)
            FILTER (o.cause IS NOT NULL) AS laid
    FROM cut AS c
    LEFT JOIN overlaid AS o
        ON o.piece_key = c.piece_key AND o.start_ns <= c.cut_ns AND o.end_ns >= c.next_ns
    WHERE c.next_ns IS NOT NULL
    GROUP BY c.piece_key, c.cut_ns, c.next_ns
),
host_part AS (
    SELECT
        p.gap_key,
        s.start_ns,
        s.end_ns,
        coalesce(s.laid.cause, p.cause) AS cause,
        CASE WHEN s.laid IS NULL THEN p.responsible ELSE s.laid.name END AS responsible
    FROM settled AS s
    JOIN on_host AS p USING (piece_key)
),
part AS (
    SELECT * FROM host_part
    UNION ALL
    SELECT
        g.gap_key, g.launched_ns, g.end_ns, 'dependency',
        coalesce(n.name, g.before.detail, g.before.kind)
    FROM gap AS g
    LEFT JOIN classified_kernel_name AS n ON n.name_id = g.before.name_id
    WHERE g.is_aligned AND g.launched_ns < g.end_ns
    UNION ALL
    SELECT
        gap_key, start_ns, end_ns, 'unknown',
        CASE WHEN is_aligned THEN 'no launch call on record'
            ELSE 'clocks of CPU and GPU disagree by ' || disagreement_ns || ' ns' END
    FROM gap
    WHERE NOT is_aligned OR launched_ns IS NULL
)
SELECT
    g.gpu_key,
    g.device_key,
    g.start_ns AS gap_start_ns,
    g.end_ns AS gap_end_ns,
    p.start_ns,
    p.end_ns,
    p.cause,
    p.responsible
FROM part AS p
JOIN gap AS g USING (gap_key)
