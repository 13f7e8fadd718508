-- Addresses by which benchmarks know a host, as run.toml says; one row per address.
CREATE TABLE host_address (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host.
    host VARCHAR NOT NULL,
    -- As link_benchmark names an end: an IP address, or LID and a number.
    address VARCHAR NOT NULL,
    -- Line of the key.
    line BIGINT
);
