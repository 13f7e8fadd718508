-- What a run's run.toml says, key by key; one row per key.
CREATE TABLE run_description (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Table and key, e.g. model.parameters.
    key VARCHAR NOT NULL,
    -- Value as text.
    value_text VARCHAR NOT NULL,
    -- Value as a number; NULL where it is none.
    value_number DOUBLE,
    -- Line in the file.
    line BIGINT
);
