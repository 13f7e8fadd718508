-- Allow-listed arguments of a job that its log prints: sizes, parallelism, precision.
CREATE TABLE job_argument (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Argument by Megatron's name for it, whoever printed it.
    name VARCHAR NOT NULL,
    -- Its value as printed; several rows of a name where a log prints several values.
    value VARCHAR NOT NULL,
    -- Line that prints it first, from 1.
    line BIGINT NOT NULL
);
