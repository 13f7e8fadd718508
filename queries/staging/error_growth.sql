-- Error counters of GPUs and links, where they grew. Most never do: the others are looked
-- for first, because following every counter of a large job takes long.
-- Grain: one row per sample of an error counter that grew, or began anew.
--
-- run_id      Run.
-- source_id   Source file.
-- host        Host as the samples say it.
-- gpu_id      Physical GPU.
-- device_id   Index on the host.
-- entity      The gpu itself, or the part of it that was counted.
-- entity_id   Which part; NULL for the GPU itself.
-- metric      Counter; see error_counter.
-- ts_ns       ns since the source's capture start; NULL where not known.
-- tick        Round of a source without a clock.
-- dur_ns      Time since the sample before; NULL where not known.
-- increase    What it grew by; after a reset, what it has counted since.
-- is_reset    Whether it fell: driver or host began anew.
WITH moving AS (
    SELECT run_id, source_id, host, gpu_id, entity, entity_id, metric
    FROM gpu_sample
    WHERE metric IN (SELECT metric FROM error_counter)
    GROUP BY ALL
    HAVING min(value) < max(value)
),
followed AS (
    SELECT
        s.*,
        lag(s.value) OVER series AS previous_value,
        s.ts_ns - lag(s.ts_ns) OVER series AS dur_ns
    FROM gpu_sample AS s
    JOIN moving AS m
        ON m.run_id = s.run_id
        AND m.source_id = s.source_id
        AND m.gpu_id = s.gpu_id
        AND m.metric = s.metric
        AND m.entity = s.entity
        AND m.host IS NOT DISTINCT FROM s.host
        AND m.entity_id IS NOT DISTINCT FROM s.entity_id
    WHERE coalesce(s.ts_ns, s.tick) IS NOT NULL
    WINDOW series AS (
        PARTITION BY
            s.run_id, s.source_id, s.host, s.gpu_id, s.entity, s.entity_id, s.metric
        ORDER BY s.ts_ns, s.tick
    )
)
SELECT
    run_id,
    source_id,
    host,
    gpu_id,
    device_id,
    entity,
    entity_id,
    metric,
    ts_ns,
    tick,
    dur_ns,
    CASE WHEN value >= previous_value THEN value - previous_value ELSE value END
        AS increase,
    value < previous_value AS is_reset
FROM followed
WHERE value <> previous_value
