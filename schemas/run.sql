-- What one source file says about the job it belongs to; one row per (run, source).
CREATE TABLE run (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Scheduler's job id (SLURM_JOB_ID and the like).
    job_id VARCHAR,
    -- Number of ranks of the job, as its environment says.
    world_size INTEGER,
    -- Number of hosts of the job, as its environment says.
    node_count INTEGER,
    -- Start of the capture, ns since 1970 UTC.
    start_utc_ns BIGINT
);
