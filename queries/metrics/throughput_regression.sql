-- Runs that are slower than those before them, or worse in another number, beyond the
-- noise between runs: the stored verdicts that say so.
-- Grain: one row per (run_id, view_name, metric, statistic, key).
--
-- run_id      Run that was judged.
-- series      Series in which it was compared.
-- view_name   View that the number comes from.
-- metric      Column of the view; its name ends in the unit.
-- statistic   median or p95 over the view's rows of the run.
-- key         What tells several numbers of this name apart; empty for one.
-- is_headline  Whether the number says how fast the job is: time of a step, or tokens/s.
-- word        Kind of change: one night, lasting step, drift.
-- value       The run's number.
-- baseline    Level before the change.
-- change      Change of the level, or of this night.
-- change_share  change / baseline; NULL where the baseline is 0.
-- noise       Standard deviation between runs of one level.
-- p_value     How likely noise alone shows as much within a month of nights.
-- since_run_id  First run of the new level.
-- cause       Number of the common cause that this belongs to; NULL for none.
-- suspects    What else changed with it, as key: before -> after.
SELECT
    run_id,
    series,
    view_name,
    metric,
    statistic,
    key,
    statistic = 'median' AND metric IN (
        'step_ns', 'median_step_ns', 'tokens_per_s', 'tokens_per_s_per_gpu'
    ) AS is_headline,
    word,
    value,
    baseline,
    change,
    change_share,
    noise,
    p_value,
    since_run_id,
    cause,
    suspects
FROM metric_verdict
WHERE verdict = 'regressed'
ORDER BY
    run_id, is_headline DESC, abs(change_share) DESC, view_name, metric, statistic, key
