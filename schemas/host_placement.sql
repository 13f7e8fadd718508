-- Where hosts stand, as run.toml says; one row per host.
CREATE TABLE host_placement (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host.
    host VARCHAR NOT NULL,
    -- Rack; NULL when not told.
    rack VARCHAR,
    -- What shares one power supply; NULL when not told.
    power_domain VARCHAR,
    -- Leaf switch; NULL when not told.
    switch VARCHAR,
    -- Line of its first key.
    line BIGINT
);
