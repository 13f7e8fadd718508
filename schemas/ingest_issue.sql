-- Everything skipped or doubtful in a source file; one row per kind of fault.
CREATE TABLE ingest_issue (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- error: the file was refused; warning: numbers may be affected; note: for
    -- information.
    severity VARCHAR NOT NULL CHECK (severity IN ('error', 'warning', 'note')),
    -- File, and table or line in it.
    place VARCHAR NOT NULL,
    -- What is wrong.
    problem VARCHAR NOT NULL,
    -- What can be done about it; may be empty.
    way_out VARCHAR NOT NULL,
    -- How many rows or samples it concerns.
    row_count BIGINT
);
