-- NVTX ranges and marks.
CREATE TABLE nvtx_range (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- ns since the capture began.
    start_ns BIGINT NOT NULL,
    -- ns since the capture began; NULL for marks and for ranges never closed.
    end_ns BIGINT CHECK (end_ns >= start_ns),
    -- Process id in the traced job's namespace.
    process INTEGER,
    -- Thread that opened it.
    thread INTEGER,
    -- Thread that closed it, when another one may have.
    end_thread INTEGER,
    -- How it was made.
    kind VARCHAR NOT NULL CHECK (kind IN ('push_pop', 'start_end', 'mark')),
    -- NVTX domain, local to the process; 0 is the default domain. Joins to nvtx_domain.
    domain_id BIGINT,
    -- Text given by the program.
    name VARCHAR
);
