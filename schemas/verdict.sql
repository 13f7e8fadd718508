-- What was last said of a run beside the runs before it; one row per (run, view_name,
-- metric, statistic, key). Written by regress and nightly.
CREATE TABLE verdict (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Always verdict: these rows rest on several runs. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Series in which the run was compared.
    series VARCHAR NOT NULL,
    -- View that the number comes from.
    view_name VARCHAR NOT NULL,
    -- Column of the view; its name ends in the unit.
    metric VARCHAR NOT NULL,
    -- median or p95; see run_metric.
    statistic VARCHAR NOT NULL,
    -- What tells several numbers of this name apart; empty for one.
    key VARCHAR NOT NULL,
    -- Unit: the end of the column's name; NULL for a plain number.
    unit VARCHAR,
    -- Which direction is good.
    better VARCHAR NOT NULL,
    -- regressed, improved, unchanged, inconclusive, not comparable, no baseline, missing.
    verdict VARCHAR NOT NULL,
    -- What kind of change or doubt: one night, lasting step, drift, noisy, bimodal, ...
    word VARCHAR NOT NULL,
    -- Why, where there is more to say; else empty.
    reason VARCHAR NOT NULL,
    -- The run's number; NULL when it is missing.
    value DOUBLE,
    -- Level before the change.
    baseline DOUBLE,
    -- Runs that this level rests on.
    baseline_run_count BIGINT,
    -- Standard deviation between runs of one level.
    noise DOUBLE,
    -- Change of the level, or of this night.
    change DOUBLE,
    -- change / baseline; NULL where the baseline is 0.
    change_share DOUBLE,
    -- Lower end of the change's 95 % interval.
    change_low DOUBLE,
    -- Upper end of it.
    change_high DOUBLE,
    -- How likely noise alone shows as much within a month of nights.
    p_value DOUBLE,
    -- First run of the new level; NULL where nothing changed.
    since_run_id VARCHAR,
    -- Number of the common cause that this belongs to; NULL for none.
    cause BIGINT,
    -- What else changed with it, as key: before -> after; empty for nothing known.
    suspects VARCHAR NOT NULL
);
