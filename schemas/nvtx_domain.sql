-- Names of NVTX domains; one row per (source, process, domain). The default domain has
-- none.
CREATE TABLE nvtx_domain (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Process id: the same number may name another domain in another process.
    process INTEGER NOT NULL,
    -- Number of the domain in that process.
    domain_id BIGINT NOT NULL,
    -- Name given by the program or library, e.g. NCCL.
    name VARCHAR NOT NULL
);
