-- What was last said of each run beside the runs before it, number by number; empty until
-- runs have been judged. See the table verdict.
-- Grain: one row per (run_id, view_name, metric, statistic, key).
--
-- run_id      Run that was judged.
-- series      Series in which it was compared.
-- view_name   View that the number comes from; empty where the run as a whole could not
--             be judged.
-- metric      Column of the view; its name ends in the unit.
-- statistic   median or p95 over the view's rows of the run.
-- key         What tells several numbers of this name apart; empty for one.
-- unit        Unit; NULL for a plain number.
-- better      Which direction is good.
-- verdict     regressed, improved, unchanged, inconclusive, not comparable, no baseline
--             or missing.
-- word        Kind of change or doubt: one night, lasting step, drift, noisy, ...
-- reason      Why, where there is more to say; else empty.
-- value       The run's number; NULL when it is missing.
-- baseline    Level before the change.
-- baseline_run_count  Runs that this level rests on.
-- noise       Standard deviation between runs of one level.
-- change      Change of the level, or of this night.
-- change_share  change / baseline; NULL where the baseline is 0.
-- change_low  Lower end of the change's 95 % interval.
-- change_high  Upper end of it.
-- p_value     How likely noise alone shows as much within a month of nights.
-- since_run_id  First run of the new level; NULL where nothing changed.
-- cause       Number of the common cause that this belongs to; NULL for none.
-- suspects    What else changed with it, as key: before -> after.
SELECT
    run_id, series, view_name, metric, statistic, key, unit, better, verdict, word,
    reason, value, baseline, baseline_run_count, noise, change, change_share, change_low,
    change_high, p_value, since_run_id, cause, suspects
FROM verdict
ORDER BY run_id, view_name, metric, statistic, key
