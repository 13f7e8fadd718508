-- Each run's numbers by which runs are compared: one row per (run, view_name, metric,
-- statistic, key); made from the views whose header says Better, once per run.
CREATE TABLE run_metric (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Always derived: these rows rest on all of the run's files. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- View that the number comes from.
    view_name VARCHAR NOT NULL,
    -- Column of the view; its name ends in the unit.
    metric VARCHAR NOT NULL,
    -- Over the view's rows of the run, which may be one.
    statistic VARCHAR NOT NULL CHECK (statistic IN ('median', 'p95')),
    -- What tells several numbers of this name apart, as column=value, ...; empty for one.
    key VARCHAR NOT NULL,
    -- Unit: the end of the column's name; NULL for a plain number.
    unit VARCHAR,
    -- Which direction is good.
    better VARCHAR NOT NULL CHECK (better IN ('lower', 'higher')),
    -- The number.
    value DOUBLE NOT NULL,
    -- Samples behind it: rows of the view, or what the view says it rests on.
    sample_count BIGINT NOT NULL,
    -- Standard deviation of the samples inside the run; NULL where they are not known.
    spread DOUBLE
);
