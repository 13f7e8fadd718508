-- Names of API calls; one row per (source, name).
CREATE TABLE api_name (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- First 8 bytes of SHA-256 of the recorded name, as a signed integer.
    name_id BIGINT NOT NULL,
    -- Function as nsys prints it: a four-digit ABI version is left out.
    name VARCHAR NOT NULL,
    -- As recorded, e.g. cudaLaunchKernel_v7000.
    versioned_name VARCHAR NOT NULL
);
