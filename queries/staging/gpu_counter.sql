-- Counters as what they grew by between two samples, so that none is averaged as a rate.
-- Grain: one row per sample of a counter but the first.
--
-- run_id          Run.
-- source_id       Source file.
-- host            Host; NULL when the source does not say.
-- gpu_id          Physical GPU.
-- device_id       Index on the host, or CUDA ordinal.
-- entity          The gpu itself, or the part of it that was counted.
-- entity_id       Which part; NULL for the GPU itself.
-- ts_ns           ns since the source's capture start; NULL where not known.
-- tick            Round of a source without a clock.
-- metric          Counter; its name ends in its unit.
-- dur_ns          Time since the sample before; NULL where not known.
-- value           The counter itself.
-- previous_value  The counter in the sample before.
-- increase_value  What it grew by; NULL after a reset, when that is not known.
-- is_reset        Whether it fell: driver or host began anew.
WITH counted AS (
    SELECT
        sample.*,
        lag(sample.value) OVER series AS previous_value,
        lag(sample.ts_ns) OVER series AS previous_ns
    FROM gpu_sample AS sample
    JOIN gpu_metric ON gpu_metric.metric = sample.metric
    WHERE gpu_metric.kind = 'counter'
        AND coalesce(sample.ts_ns, sample.tick) IS NOT NULL
    WINDOW series AS (
        PARTITION BY
            sample.run_id,
            sample.source_id,
            sample.host,
            sample.gpu_id,
            sample.entity,
            sample.entity_id,
            sample.metric
        ORDER BY sample.ts_ns, sample.tick
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
    ts_ns,
    tick,
    metric,
    ts_ns - previous_ns AS dur_ns,
    value,
    previous_value,
    CASE WHEN value >= previous_value THEN value - previous_value END AS increase_value,
    value < previous_value AS is_reset
FROM counted
WHERE previous_value IS NOT NULL
