-- Allow-listed environment of the job: rank keys, NCCL_*, CUDA_VISIBLE_DEVICES, versions.
CREATE TABLE setting (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Variable.
    name VARCHAR NOT NULL,
    -- Its value, unquoted.
    value VARCHAR NOT NULL
);
