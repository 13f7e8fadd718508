-- Hardware counters over time.
CREATE TABLE gpu_sample (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host of the GPU.
    host VARCHAR,
    -- Physical GPU; see device.
    gpu_id VARCHAR NOT NULL,
    -- CUDA ordinal, where one is known.
    device_id INTEGER,
    -- ns since the capture began; the sample describes the time before it.
    ts_ns BIGINT NOT NULL,
    -- Canonical name with its unit; see reference table gpu_metric.
    metric VARCHAR NOT NULL,
    -- Value in the base unit that the metric's name ends in.
    value DOUBLE NOT NULL
);
