-- GPUs as each process sees them; one row per (source, process, device).
CREATE TABLE device (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Process id; NULL for a GPU that no traced process used.
    process INTEGER,
    -- CUDA ordinal inside that process; NULL where unknown.
    device_id INTEGER,
    -- Physical GPU: UUID, else PCI bus id, else process and ordinal.
    gpu_id VARCHAR NOT NULL,
    -- Product name, e.g. NVIDIA H100 80GB HBM3.
    name VARCHAR,
    -- UUID without the GPU- prefix.
    uuid VARCHAR,
    -- PCI bus id, e.g. 0000:03:00.0.
    bus_id VARCHAR,
    -- Device memory.
    memory_bytes BIGINT,
    -- Peak device memory bandwidth, as the driver says.
    memory_bandwidth_bytes_per_s BIGINT,
    -- Maximum SM clock, as the driver says.
    clock_hz BIGINT,
    -- Number of streaming multiprocessors.
    sm_count INTEGER,
    -- e.g. 9.0.
    compute_capability VARCHAR
);
