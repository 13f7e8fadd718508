-- Energy of a run's GPUs together, what it cost, and what a step and a token took. Only
-- the GPUs' own power: hosts and network are not in it; PUE multiplies it to what the
-- building drew. Prices and PUE are run.toml's ([cost]), else thresholds.
-- Grain: one row per run_id.
--
-- run_id        Run.
-- gpu_count     GPUs with a known energy.
-- sampled_gpu_count  GPUs that were sampled.
-- coverage_share  Known part of the GPUs' sampled time.
-- energy_j      Energy of the GPUs.
-- energy_kwh    The same in kWh, the unit of prices.
-- mean_power_w  Mean power of one GPU.
-- idle_j        Energy of GPUs without work; NULL where nothing says it.
-- idle_share    Idle / energy.
-- pue_ratio     Building / machines.
-- pue_source    run.toml or threshold.
-- building_j    Energy times PUE.
-- price_per_kwh  Price of a kWh.
-- price_source  run.toml or threshold.
-- cost          Building's energy times the price.
-- currency      As run.toml says; NULL when it does not.
-- step_count    Steps that ran wholly while GPUs were sampled.
-- step_j        Energy of all GPUs during such steps, per step; NULL when not known.
-- token_j       The same per token; NULL when not known.
-- step_reason   Why energy per step or token is not known; NULL when both are.
WITH energy AS (
    SELECT
        run_id,
        count(energy_j) AS gpu_count,
        count(*) AS sampled_gpu_count,
        sum(span_ns * coverage_share) / nullif(sum(span_ns), 0) AS coverage_share,
        sum(energy_j) AS energy_j,
        sum(energy_j) / nullif(sum(span_ns * coverage_share) / 1e9, 0) AS mean_power_w,
        sum(idle_j) AS idle_j
    FROM gpu_energy
    GROUP BY run_id
),
fact AS (
    SELECT
        run_id,
        max(value_number) FILTER (key = 'cost.pue') AS pue,
        max(value_number) FILTER (key = 'cost.price_per_kwh') AS price,
        max(value_text) FILTER (key = 'cost.currency') AS currency,
        max(value_number) FILTER (key = 'training.global_batch_size')
            * max(value_number) FILTER (key = 'model.sequence_length') AS step_tokens
    FROM run_fact
    GROUP BY run_id
),
-- The steps of the series with most of them, by the clock that telemetry has.
timed AS (
    SELECT
        s.run_id, s.clock, s.series,
        min(s.start_ns) AS start_ns,
        max(s.end_ns) AS end_ns,
        sum(s.step_count) AS step_count
    FROM step_period AS s
    JOIN (
        SELECT run_id, clock, max(zero_ns + first_ns) AS from_ns,
            min(zero_ns + last_ns) AS until_ns
        FROM telemetry_gpu
        WHERE is_primary AND NOT is_profiler
        GROUP BY run_id, clock
    ) AS t USING (run_id, clock)
    WHERE s.start_ns >= t.from_ns AND s.end_ns <= t.until_ns
    GROUP BY s.run_id, s.clock, s.series
    QUALIFY row_number() OVER (
        PARTITION BY s.run_id ORDER BY sum(s.step_count) DESC, s.clock, s.series
    ) = 1
),
-- A sample's energy counts by the part of it that lies in the steps' time.
overlapping AS (
    SELECT
        t.run_id,
        coalesce(p.counted_j, p.integral_j) AS energy_j,
        p.end_ns - p.start_ns AS dur_ns,
        least(g.zero_ns + p.end_ns, t.end_ns)
            - greatest(g.zero_ns + p.start_ns, t.start_ns) AS inside_ns
    FROM energy_piece AS p
    JOIN telemetry_gpu AS g USING (telemetry_key)
    JOIN timed AS t ON t.run_id = g.run_id AND t.clock = g.clock
    WHERE g.zero_ns + p.end_ns > t.start_ns AND g.zero_ns + p.start_ns < t.end_ns
),
covered AS (
    SELECT
        run_id,
        sum(energy_j * inside_ns / dur_ns) AS known_j,
        sum(inside_ns) FILTER (energy_j IS NOT NULL) AS known_ns,
        sum(inside_ns) AS inside_ns
    FROM overlapping
    GROUP BY run_id
),
-- What is missing drew what the rest did, as long as it is little.
stepped AS (
    SELECT
        run_id,
        CASE WHEN known_ns >= threshold_of('coverage_share') * inside_ns
            THEN known_j * inside_ns / known_ns END AS energy_j
    FROM covered
),
priced AS (
    SELECT
        e.*,
        coalesce(f.pue, threshold_of('pue_ratio')) AS pue_ratio,
        CASE WHEN f.pue IS NULL THEN 'threshold' ELSE 'run.toml' END AS pue_source,
        coalesce(f.price, threshold_of('price_per_kwh')) AS price_per_kwh,
        CASE WHEN f.price IS NULL THEN 'threshold' ELSE 'run.toml' END AS price_source,
        f.currency, f.step_tokens, t.step_count,
        CASE WHEN t.step_count > 0 THEN s.energy_j / t.step_count END AS step_j,
        (SELECT count(*) FROM step_period AS o WHERE o.run_id = e.run_id) AS any_count
    FROM energy AS e
    LEFT JOIN fact AS f USING (run_id)
    LEFT JOIN timed AS t USING (run_id)
    LEFT JOIN stepped AS s USING (run_id)
)
SELECT
    run_id,
    gpu_count,
    sampled_gpu_count,
    coverage_share,
    energy_j,
    energy_j / 3.6e6 AS energy_kwh,
    mean_power_w,
    idle_j,
    share_of(idle_j, energy_j) AS idle_share,
    pue_ratio,
    pue_source,
    energy_j * pue_ratio AS building_j,
    price_per_kwh,
    price_source,
    energy_j * pue_ratio / 3.6e6 * price_per_kwh AS cost,
    currency,
    coalesce(step_count, 0)::BIGINT AS step_count,
    step_j,
    step_j / step_tokens AS token_j,
    CASE
        WHEN energy_j IS NULL THEN 'no energy is known'
        WHEN step_j IS NULL AND any_count = 0 THEN 'no steps with a time of day'
        WHEN step_j IS NULL AND step_count IS NULL
            THEN 'no step ran while all GPUs were sampled on one clock'
        WHEN step_j IS NULL THEN 'power is not known for too much of the steps'' time'
        WHEN step_tokens IS NULL
            THEN 'tokens of a step are not known: global_batch_size, sequence_length'
    END AS step_reason
FROM priced
ORDER BY run_id
