-- Events of throttling: their windows gathered, and what their GPUs have in common.
-- Grain: one row per (run_id, event).
--
-- run_id  Run.
-- event  See throttle_member.
-- family  power, thermal, setting or unexplained.
-- clock  utc, local, or the source when times compare within one file only.
-- is_timed  Whether start and end are times; false for rounds.
-- aligned_by  What the clock rests on: time of day, or activity; NULL without a clock.
-- first_ns  First sample of its GPUs, slowed down or not.
-- limited_by  Reason of most of its windows.
-- start_ns  Start on the clock, or first round.
-- end_ns  End on the clock, or the round after the last.
-- gpu_count  GPUs.
-- host_count  Hosts; 0 when none is known.
-- host  First of the hosts.
-- source_id  First of the source files.
-- rack  Rack of all of its GPUs; NULL when there are several or none is known.
-- power_domain  Power domain of all of its GPUs.
-- hosts  Hosts.
-- gpus  The GPUs, as host and index; at most 16 are named.
-- reasons  Mask of all reasons seen.
-- min_clock_hz  Lowest SM clock.
-- fallen_share  Mean distance below the ordinary clock.
-- mean_power_w  Mean board power.
-- max_temperature_celsius  Highest temperature.
-- scope  device, host, power domain, rack or source.
WITH member AS MATERIALIZED (
    SELECT
        m.*,
        m.start_ns - w.start_ns + g.first_ns AS first_ns,
        g.gpu_key, g.host, g.device_id, g.gpu_id, g.rack, g.power_domain, g.source_id,
        w.limited_by, w.reasons, w.sample_count, w.min_clock_hz, w.fallen_share,
        w.mean_power_w, w.max_temperature_celsius
    FROM throttle_member AS m
    JOIN held_window AS w USING (telemetry_key, window_number)
    JOIN telemetry_gpu AS g USING (telemetry_key)
),
happened AS MATERIALIZED (
    SELECT
        run_id, event, family, clock, is_timed,
        min(aligned_by) AS aligned_by,
        min(first_ns) AS first_ns,
        mode(limited_by ORDER BY limited_by) AS limited_by,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns,
        count(DISTINCT gpu_key) AS gpu_count,
        count(DISTINCT host) AS host_count,
        min(host) AS host,
        min(source_id) AS source_id,
        CASE WHEN count(DISTINCT rack) = 1 AND count(rack) = count(*) THEN min(rack) END
            AS rack,
        CASE WHEN count(DISTINCT power_domain) = 1 AND count(power_domain) = count(*)
            THEN min(power_domain) END AS power_domain,
        string_agg(DISTINCT host, ', ' ORDER BY host) AS hosts,
        array_to_string(
            list_sort(list(DISTINCT gpu_called(host, device_id, gpu_id)))[:16], ', '
        ) AS gpus,
        bit_or(reasons) AS reasons,
        min(min_clock_hz) AS min_clock_hz,
        sum(fallen_share * sample_count)
            / sum(sample_count) FILTER (fallen_share IS NOT NULL) AS fallen_share,
        sum(mean_power_w * sample_count)
            / sum(sample_count) FILTER (mean_power_w IS NOT NULL) AS mean_power_w,
        max(max_temperature_celsius) AS max_temperature_celsius
    FROM member
    GROUP BY run_id, event, family, clock, is_timed
)
SELECT
    run_id,
    event,
    family,
    clock,
    is_timed,
    aligned_by,
    first_ns,
    limited_by,
    start_ns,
    end_ns,
    gpu_count,
    host_count,
    host,
    source_id,
    rack,
    power_domain,
    hosts,
    gpus,
    reasons,
    min_clock_hz,
    fallen_share,
    mean_power_w,
    max_temperature_celsius,
    CASE
        WHEN gpu_count = 1 THEN 'device'
        WHEN host_count = 0 THEN 'source'
        WHEN host_count = 1 THEN 'host'
        WHEN family <> 'thermal' AND power_domain IS NOT NULL THEN 'power domain'
        WHEN rack IS NOT NULL THEN 'rack'
        ELSE 'power domain'
    END AS scope
FROM happened
