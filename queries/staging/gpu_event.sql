-- What happened to GPUs, from values that stay until something changes them: XID errors,
-- reasons for lower clocks, counters that began anew.
-- An XID stays until the driver is reset: only a change to another one was seen to
-- happen, and the same XID twice cannot be told from one.
-- Grain: one row per event.
--
-- run_id          Run.
-- source_id       Source file.
-- host            Host; NULL when the source does not say.
-- gpu_id          Physical GPU.
-- device_id       Index on the host, or CUDA ordinal.
-- entity          The gpu itself, or the part of it that was sampled.
-- entity_id       Which part; NULL for the GPU itself.
-- ts_ns           Time of the first sample with the new value; NULL where not known.
-- tick            Round of a source without a clock.
-- kind            xid, clock_event_reasons or counter_reset.
-- metric          Metric that changed.
-- value           New value.
-- previous_value  Value before; NULL when it was there from the first sample on.
-- is_at_start     Whether it was there from the first sample on, however long before.
WITH followed AS (
    SELECT
        sample.*,
        lag(sample.value) OVER series AS previous_value,
        row_number() OVER series = 1 AS is_at_start
    FROM gpu_sample AS sample
    WHERE sample.metric IN ('xid', 'clock_event_reasons')
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
    metric AS kind,
    metric,
    value,
    previous_value,
    is_at_start
FROM followed
WHERE CASE
    WHEN metric = 'xid' THEN value <> 0 AND value IS DISTINCT FROM previous_value
    ELSE value <> previous_value
END
UNION ALL
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
    'counter_reset',
    metric,
    value,
    previous_value,
    false
FROM gpu_counter
WHERE is_reset
