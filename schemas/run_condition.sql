-- What run_circumstance said of a run when its numbers were made, and what they were made
-- from; one row per (run, kind, key, value_text).
CREATE TABLE run_condition (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Always derived: these rows rest on all of the run's files. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- condition, suspect or state: see run_circumstance; stamp: the run's files and the
    -- queries by which its numbers were made.
    kind VARCHAR NOT NULL CHECK (kind IN ('condition', 'suspect', 'state', 'stamp')),
    -- Name.
    key VARCHAR NOT NULL,
    -- Value.
    value_text VARCHAR NOT NULL
);
