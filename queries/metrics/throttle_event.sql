-- Slowdowns of GPUs as events: when, where, by what, how many GPUs, and what the job
-- lost.
-- Cost is the median step inside the event against the median step outside of all events.
-- Grain: one row per (run_id, event).
--
-- run_id       Run.
-- event        Number of the event within the run.
-- limited_by   Reason of most of its windows.
-- family       power, thermal, setting or unexplained.
-- scope        What its GPUs have in common: device, host, power domain or rack; source
--              where the host is not known.
-- place        Which device (and file, where it has no host and there are several), host,
--              power domain or rack, or file.
-- rack         Rack of all of its GPUs; NULL when there are several or none is known.
-- power_domain  Power domain of all of its GPUs.
-- gpu_count    GPUs slowed down.
-- place_gpu_count  GPUs sampled in that host, power domain or rack; of a device, in its
--              host.
-- run_gpu_count  GPUs sampled in the run.
-- hosts        Hosts of the GPUs.
-- gpus         The GPUs, as host and index; at most 16 are named.
-- start_utc_ns  Start, ns since 1970 UTC; NULL when not known.
-- start_ns     Start on the event's clock; NULL for a source that has rounds only.
-- end_ns       End on that clock.
-- dur_ns       end - start.
-- into_run_ns  Start since the first sample on that clock.
-- clock        utc, local, or the source when times compare within one file only.
-- aligned_by   What the clock rests on: time of day, or activity of a capture's device;
--              NULL without a clock.
-- first_tick   First round, of a source without times.
-- last_tick    Last round.
-- min_clock_hz  Lowest SM clock.
-- fallen_share  Mean distance below the ordinary clock.
-- mean_power_w  Mean board power.
-- max_temperature_celsius  Highest temperature.
-- reason_names  All reasons seen.
-- inside_step_count  Steps that ran mostly inside.
-- outside_step_count  Steps outside of all events.
-- inside_step_ns  Median step inside; NULL without any.
-- outside_step_ns  Median step outside; NULL without any.
-- throughput_loss_share  1 - outside / inside: the part of the throughput that is lost.
-- lost_ns      Steps inside times what each took longer; NULL when not known.
-- cost_reason  Why the cost is not known; NULL when it is.
-- summary      When, how long, and what steps took; NULL when nothing of it is known.
WITH stepped AS (
    SELECT run_id, list(DISTINCT clock) AS clocks
    FROM step_period
    GROUP BY run_id
)
SELECT
    s.run_id,
    s.event,
    s.limited_by,
    s.family,
    s.scope,
    CASE s.scope
        -- GPU 3 of which file, where no host tells them apart.
        WHEN 'device' THEN s.gpus || CASE WHEN s.host IS NULL AND r.source_count > 1
            THEN coalesce(' in ' || f.path, '') ELSE '' END
        WHEN 'host' THEN s.host
        WHEN 'rack' THEN s.rack
        WHEN 'power domain' THEN s.power_domain
        ELSE coalesce(f.path, s.source_id)
    END AS place,
    s.rack,
    s.power_domain,
    s.gpu_count,
    (
        SELECT count(DISTINCT g.gpu_key)
        FROM telemetry_gpu AS g
        WHERE g.run_id = s.run_id
            AND CASE s.scope
                WHEN 'device' THEN g.host IS NOT DISTINCT FROM s.host
                    AND (g.host IS NOT NULL OR g.source_id = s.source_id)
                WHEN 'host' THEN g.host = s.host
                WHEN 'rack' THEN g.rack = s.rack
                WHEN 'power domain' THEN g.power_domain = s.power_domain
                ELSE g.source_id = s.source_id
            END
    ) AS place_gpu_count,
    r.gpu_count AS run_gpu_count,
    s.hosts,
    s.gpus,
    CASE WHEN s.clock = 'utc' THEN s.start_ns END AS start_utc_ns,
    CASE WHEN s.is_timed THEN s.start_ns END AS start_ns,
    CASE WHEN s.is_timed THEN s.end_ns END AS end_ns,
    CASE WHEN s.is_timed THEN s.end_ns - s.start_ns END AS dur_ns,
    CASE WHEN s.is_timed THEN s.start_ns
        - CASE s.aligned_by WHEN 'activity' THEN s.first_ns ELSE z.first_ns END
    END AS into_run_ns,
    s.clock,
    s.aligned_by,
    CASE WHEN NOT s.is_timed THEN s.start_ns END AS first_tick,
    CASE WHEN NOT s.is_timed THEN s.end_ns - 1 END AS last_tick,
    s.min_clock_hz,
    s.fallen_share,
    s.mean_power_w,
    s.max_temperature_celsius,
    (
        SELECT string_agg(n.name, ', ' ORDER BY n.bit)
        FROM clock_reason AS n
        WHERE s.reasons & n.bit > 0
    ) AS reason_names,
    coalesce(c.inside_count, 0)::BIGINT AS inside_step_count,
    coalesce(c.outside_count, 0)::BIGINT AS outside_step_count,
    c.inside_ns::BIGINT AS inside_step_ns,
    c.outside_ns::BIGINT AS outside_step_ns,
    1 - c.outside_ns / c.inside_ns AS throughput_loss_share,
    c.lost_ns::BIGINT AS lost_ns,
    CASE
        WHEN c.lost_ns IS NOT NULL THEN NULL
        WHEN p.clocks IS NULL THEN 'no steps with a time of day'
        WHEN NOT s.is_timed OR s.clock NOT IN ('utc', 'local')
            THEN 'the telemetry has no time of day'
                || ', and activity gives none (activity_alignment)'
        WHEN NOT list_contains(p.clocks, s.clock)
            THEN 'steps and telemetry share no clock: '
                || 'run.toml needs [telemetry] utc_offset'
        WHEN c.inside_count IS NULL THEN 'no step ran inside'
        ELSE 'no step ran outside of slowdowns'
    END AS cost_reason,
    nullif(concat_ws(
        '; ',
        CASE WHEN s.is_timed AND s.clock IN ('utc', 'local') THEN concat(
            strftime(make_timestamp_ns(s.start_ns), '%Y-%m-%d %H:%M:%S'),
            CASE s.clock WHEN 'utc' THEN ' UTC' ELSE ' local time' END,
            CASE s.aligned_by WHEN 'activity' THEN ' by activity' ELSE '' END,
            printf(' for %.0f s', (s.end_ns - s.start_ns) / 1e9)
        ) END,
        printf('steps of %.3f s instead of %.3f s', c.inside_ns / 1e9, c.outside_ns / 1e9)
    ), '') AS summary
FROM throttle_group AS s
JOIN (
    SELECT run_id, count(DISTINCT gpu_key) AS gpu_count,
        count(DISTINCT source_id) AS source_count
    FROM telemetry_gpu
    GROUP BY run_id
) AS r USING (run_id)
LEFT JOIN (
    SELECT
        run_id, coalesce(clock, 'source ' || source_id) AS clock,
        min(coalesce(zero_ns, 0) + first_ns) AS first_ns
    FROM telemetry_gpu
    WHERE NOT is_profiler
    GROUP BY ALL
) AS z USING (run_id, clock)
LEFT JOIN throttle_cost AS c USING (run_id, event)
LEFT JOIN stepped AS p USING (run_id)
LEFT JOIN source_clock AS f ON f.run_id = s.run_id AND f.source_id = s.source_id
ORDER BY s.run_id, s.event
