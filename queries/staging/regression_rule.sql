-- When a difference between runs is called a change: the thresholds, in one row.
-- Grain: one row per store.
--
-- baseline_run_count  Runs before it with which a run is compared.
-- least_run_count  Fewer are no baseline.
-- least_sample_count  Fewer samples of a run are too few.
-- night_share  Least change of one night.
-- lasting_share  Least change that lasts.
-- pair_share  Least difference of two runs alone.
-- noisy_share  Spread between runs above which there is no verdict.
-- false_discovery_share  Share of calls that may be noise.
-- lasting_p  How likely noise may show a lasting step.
-- surprise_ratio  Times as far off as ever before.
-- night_count  Nights among which false alarms are counted.
-- least_change_ns  Least change of metrics in this unit.
-- least_change_share  Least change of metrics in this unit.
-- least_change_bytes  Least change of metrics in this unit.
-- least_change_hz  Least change of metrics in this unit.
-- least_change_celsius  Least change of metrics in this unit.
-- least_change_w  Least change of metrics in this unit.
SELECT
    threshold_of('regression_baseline_run_count') AS baseline_run_count,
    threshold_of('regression_least_run_count') AS least_run_count,
    threshold_of('regression_least_sample_count') AS least_sample_count,
    threshold_of('regression_night_share') AS night_share,
    threshold_of('regression_lasting_share') AS lasting_share,
    threshold_of('regression_pair_share') AS pair_share,
    threshold_of('regression_noisy_share') AS noisy_share,
    threshold_of('regression_false_discovery_share') AS false_discovery_share,
    threshold_of('regression_lasting_p') AS lasting_p,
    threshold_of('regression_surprise_ratio') AS surprise_ratio,
    threshold_of('regression_night_count') AS night_count,
    threshold_of('regression_least_change_ns') AS least_change_ns,
    threshold_of('regression_least_change_share') AS least_change_share,
    threshold_of('regression_least_change_bytes') AS least_change_bytes,
    threshold_of('regression_least_change_hz') AS least_change_hz,
    threshold_of('regression_least_change_celsius') AS least_change_celsius,
    threshold_of('regression_least_change_w') AS least_change_w
