-- Windows of throttling, put together to events: those of one place, of one family of
-- reasons, that overlap or follow each other closely. The place of a thermal slowdown is
-- the rack, of any other the power domain; where run.toml does not name one, the other,
-- else the host.
-- Grain: one row per (telemetry_key, window_number).
--
-- telemetry_key  See telemetry_gpu.
-- window_number  See held_window.
-- run_id      Run.
-- event       Number of the event within the run.
-- family      power, thermal, setting or unexplained.
-- place       Rack, power domain, host or source file.
-- clock       utc, local, or the source when times compare within one file only.
-- start_ns    Start on that clock; of a source without times its first round.
-- end_ns      End; of a source without times the round after its last.
-- is_timed    Whether start and end are times; false for rounds.
-- aligned_by  What the clock rests on: time of day, or activity; NULL where the source's
--             times compare within it only.
WITH placed AS (
    SELECT
        w.telemetry_key,
        w.window_number,
        g.run_id,
        w.family,
        CASE
            WHEN w.family = 'thermal'
                THEN coalesce(g.rack, g.power_domain, g.host, g.source_id)
            ELSE coalesce(g.power_domain, g.rack, g.host, g.source_id)
        END AS place,
        coalesce(g.clock, c.clock, 'source ' || g.source_id) AS clock,
        coalesce(coalesce(g.zero_ns, c.zero_ns, 0) + w.start_ns, w.first_tick)
            AS start_ns,
        coalesce(coalesce(g.zero_ns, c.zero_ns, 0) + w.end_ns, w.last_tick + 1)
            AS end_ns,
        w.start_ns IS NOT NULL AS is_timed,
        CASE WHEN g.clock IS NOT NULL THEN 'time of day' ELSE c.aligned_by END
            AS aligned_by
    FROM held_window AS w
    JOIN telemetry_gpu AS g USING (telemetry_key)
    LEFT JOIN telemetry_clock AS c USING (telemetry_key)
    WHERE w.is_throttling
),
covered AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY run_id, family, place, clock, is_timed
            ORDER BY start_ns, end_ns, telemetry_key, window_number
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM placed
),
begun AS (
    SELECT
        *,
        covered_until IS NULL
            OR start_ns - covered_until
                > CASE WHEN is_timed THEN threshold_of('throttle_join_ns') ELSE 0 END
            AS is_new
    FROM covered
)
SELECT
    telemetry_key,
    window_number,
    run_id,
    sum(is_new::INTEGER) OVER (
        PARTITION BY run_id
        ORDER BY clock, is_timed, family, place, start_ns, end_ns, telemetry_key,
            window_number
    )::BIGINT AS event,
    family,
    place,
    clock,
    start_ns,
    end_ns,
    is_timed,
    aligned_by
FROM begun
