-- GPUs are as hot as they may get: the next degree costs clock.
-- Grain: one row per run_id.
-- Hint: Look at fans, airflow and the rack's inlet before clocks fall.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        The hottest GPU.
-- detail         How many of the sampled GPUs.
-- value          Highest temperature.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH hottest AS (
    SELECT
        run_id,
        count(*) AS gpu_count,
        count(*) FILTER (max_temperature_celsius >= threshold_of('hot_gpu_celsius'))
            AS hot_count,
        max(max_temperature_celsius) AS temperature_celsius,
        arg_max(
            concat_ws(' ', host, 'GPU ' || coalesce(device_id::VARCHAR, gpu_id)),
            (max_temperature_celsius, gpu_id)
        ) AS gpu
    FROM clock_summary
    WHERE is_primary AND max_temperature_celsius IS NOT NULL
    GROUP BY run_id
)
SELECT
    run_id,
    'warning' AS severity,
    'power' AS wall,
    gpu AS subject,
    hot_count || ' of ' || gpu_count || ' GPUs' AS detail,
    temperature_celsius AS value,
    threshold_of('hot_gpu_celsius') AS threshold,
    'celsius' AS unit,
    NULL::DOUBLE AS cost_share,
    'clock_summary' AS evidence_view,
    'max_temperature_celsius >= ' || threshold_of('hot_gpu_celsius') AS evidence
FROM hottest
WHERE temperature_celsius >= threshold_of('hot_gpu_celsius')
