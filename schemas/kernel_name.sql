-- Names of kernels; one row per (source, name).
CREATE TABLE kernel_name (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- First 8 bytes of SHA-256 of the name, as a signed integer.
    name_id BIGINT NOT NULL,
    -- Demangled name with template arguments.
    name VARCHAR NOT NULL,
    -- Base name without templates and arguments.
    short_name VARCHAR
);
