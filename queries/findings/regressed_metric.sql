-- A number of this run is worse than in the runs before it, beyond their noise.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Where suspects names a version or a host, run once more with the old one;
--   'tracelake compare' says in which part of the step the time went.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        The number.
-- detail         What else changed with it.
-- value          Change / level before; NULL where that is 0.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'warning' AS severity,
    NULL::VARCHAR AS wall,
    concat_ws(' ', metric, statistic, nullif(key, '')) AS subject,
    suspects AS detail,
    abs(change_share) AS value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    -- What a step takes longer is lost; other numbers cost what the step shows.
    CASE WHEN is_headline AND metric LIKE '%step_ns' AND change_share > 0
        THEN change_share / (1 + change_share) END AS cost_share,
    'throughput_regression' AS evidence_view,
    'view_name = ''' || view_name || ''' AND metric = ''' || metric
        || ''' AND statistic = ''' || statistic
        || ''' AND key = ''' || replace(key, '''', '''''') || '''' AS evidence
FROM throughput_regression
WHERE is_headline
