-- Measured speed of one link; one row per message size, or per pair of a matrix.
CREATE TABLE link_benchmark (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- perftest (ib_write_bw and its like) or nvbandwidth.
    tool VARCHAR NOT NULL CHECK (tool IN ('perftest', 'nvbandwidth')),
    -- ib_write_bw, ib_read_lat, ...; nvbandwidth's test case; NULL when not told.
    test VARCHAR,
    -- measured; else why there are no numbers: waived, error, not_found, or missing
    -- (begun, but nothing was printed).
    status VARCHAR NOT NULL
        CHECK (status IN ('measured', 'waived', 'error', 'not_found', 'missing')),
    -- What was measured; NULL where nothing was.
    kind VARCHAR CHECK (kind IN ('bandwidth', 'latency')),
    -- write, read, send or atomic (perftest); NULL when not told.
    verb VARCHAR,
    -- Whether both directions were loaded at once; NULL when not told.
    is_bidirectional BOOLEAN,
    -- Of a test that reports both ends: whose numbers these are, local or remote; NULL
    -- for the table of the whole test.
    side VARCHAR CHECK (side IN ('local', 'remote')),
    -- Host whose output this is; NULL when nothing says it.
    host VARCHAR,
    -- Where the data came from: an address or LID (perftest), GPU0 or CPU0 (nvbandwidth);
    -- one of the two ends where is_bidirectional; NULL when not told.
    source VARCHAR,
    -- Host of the source, where the output says it.
    source_host VARCHAR,
    -- Where the data went.
    destination VARCHAR,
    -- Host of the destination, where the output says it.
    destination_host VARCHAR,
    -- Network adapter of this end, e.g. mlx5_0.
    device VARCHAR,
    -- IB or Ethernet.
    link_layer VARCHAR,
    -- RC, UC, UD, DC, ...
    connection_type VARCHAR,
    -- Largest packet of the link.
    mtu_bytes BIGINT,
    -- Queue pairs used at once.
    queue_pair_count BIGINT,
    -- GPU whose memory this end used (GPUDirect RDMA), as CUDA numbers it; NULL when none
    -- was told.
    cuda_device_id INTEGER,
    -- Service level of the row, in tables by service level.
    service_level INTEGER,
    -- Message size; NULL when not told.
    size_bytes BIGINT,
    -- Messages sent.
    iteration_count BIGINT,
    -- Average bandwidth. perftest's [MB/sec] is MiB/s, whatever its version.
    bandwidth_bytes_per_s DOUBLE,
    -- Peak bandwidth; NULL when it was not measured, which perftest prints as 0.00.
    peak_bandwidth_bytes_per_s DOUBLE,
    -- Messages or transactions per second.
    message_rate_per_s DOUBLE,
    -- Smallest latency. Latencies are fractions of ns where the tool prints them.
    latency_min_ns DOUBLE,
    -- Median.
    latency_typical_ns DOUBLE,
    -- Mean.
    latency_avg_ns DOUBLE,
    -- Largest; perftest leaves the topmost one out.
    latency_max_ns DOUBLE,
    -- Standard deviation.
    latency_stdev_ns DOUBLE,
    -- 99th percentile.
    latency_p99_ns DOUBLE,
    -- 99.9th percentile.
    latency_p999_ns DOUBLE,
    -- Share of the CPU's time that was busy during the test.
    cpu_busy_share DOUBLE,
    -- Number of the table or matrix in the file, from 0.
    table_number BIGINT NOT NULL,
    -- Line of the row.
    line BIGINT
);
