-- Error counters that grew during the run, and whether by more than the ordinary in any
-- window of time.
-- Grain: one row per counter of a part of a GPU that grew.
--
-- run_id      Run.
-- source_id   Source file.
-- host        Host as the samples say it.
-- gpu_id      Physical GPU.
-- device_id   Index on the host.
-- entity      The gpu itself, or the part of it.
-- entity_id   Which part; NULL for the GPU itself.
-- metric      Counter.
-- error       What it counts; see error_counter.
-- severity    note, warning, error or critical.
-- role        root, or consequence of another error.
-- meaning     What it means.
-- is_over     Whether a window has more than the ordinary; a note never has.
-- increase    What it grew by.
-- peak_window_count  Most in a window of error_window_ns.
-- first_ns    First growth, ns since the source's capture start; NULL where not known.
-- last_ns     Last growth.
-- first_tick  First round, of a source without a clock.
WITH spread AS (
    SELECT
        *,
        ts_ns // threshold_of('error_window_ns')::BIGINT AS place,
        -- Samples further apart than a window: their mean.
        CASE WHEN dur_ns > threshold_of('error_window_ns')
            THEN increase * threshold_of('error_window_ns') / dur_ns ELSE increase END
            AS window_increase
    FROM error_growth
),
windowed AS (
    SELECT
        run_id, source_id, host, gpu_id, device_id, entity, entity_id, metric, place,
        min(ts_ns) AS first_ns,
        max(ts_ns) AS last_ns,
        min(tick) AS first_tick,
        sum(increase) AS increase,
        sum(window_increase) AS window_increase
    FROM spread
    GROUP BY ALL
),
ruled AS (
    SELECT
        *,
        CASE rule
            WHEN 'pcie' THEN threshold_of('pcie_replay_count')
            WHEN 'crc' THEN threshold_of('nvlink_crc_count')
            ELSE 0
        END AS ordinary_count
    FROM error_counter
)
SELECT
    w.run_id,
    w.source_id,
    w.host,
    w.gpu_id,
    w.device_id,
    w.entity,
    w.entity_id,
    w.metric,
    c.error,
    c.severity,
    c.role,
    c.meaning,
    bool_or(c.severity <> 'note' AND w.window_increase > c.ordinary_count) AS is_over,
    sum(w.increase) AS increase,
    max(w.window_increase) AS peak_window_count,
    min(w.first_ns) AS first_ns,
    max(w.last_ns) AS last_ns,
    min(w.first_tick) AS first_tick
FROM windowed AS w
JOIN ruled AS c USING (metric)
GROUP BY ALL
