-- Hardware counters over time.
CREATE TABLE gpu_sample (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host of the GPU; NULL when nothing says it.
    host VARCHAR,
    -- Physical GPU: UUID without GPU-, else PCI bus id, else its index on the host.
    gpu_id VARCHAR NOT NULL,
    -- Index on the host (NVML), or CUDA ordinal; NULL where neither is known.
    device_id INTEGER,
    -- What was measured: the gpu itself, or a part of it, which its own rows count too.
    entity VARCHAR NOT NULL
        CHECK (entity IN ('gpu', 'gpu_instance', 'compute_instance', 'link')),
    -- Which part of the GPU, as its tool numbers it; NULL for the GPU itself.
    entity_id VARCHAR,
    -- ns since the source's capture start; NULL when it says neither times nor interval.
    ts_ns BIGINT,
    -- Number of the sampling round in a source without a clock, from 0; else NULL.
    tick BIGINT,
    -- Canonical name with its unit; see reference table gpu_metric.
    metric VARCHAR NOT NULL,
    -- Value in the base unit that the metric's name ends in.
    value DOUBLE NOT NULL
);
