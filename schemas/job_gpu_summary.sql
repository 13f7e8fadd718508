-- What a tool says of a whole job on each GPU; one row per (source, job, gpu, metric,
-- statistic).
CREATE TABLE job_gpu_summary (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host of the GPU; NULL when nothing says it.
    host VARCHAR,
    -- Id of the job as the tool was told it; NULL when the text does not say.
    job VARCHAR,
    -- Physical GPU, e.g. gpu:0; NULL for the summary over all GPUs of the job.
    gpu_id VARCHAR,
    -- Index on the host; NULL for the summary.
    device_id INTEGER,
    -- Start of the job on the GPU, ns since the source's capture start.
    start_ns BIGINT,
    -- End of the job on the GPU, ns since the source's capture start.
    end_ns BIGINT,
    -- Canonical name with its unit; see reference table gpu_metric.
    metric VARCHAR NOT NULL,
    -- Over the job: total (or the only value), avg, max, min.
    statistic VARCHAR NOT NULL CHECK (statistic IN ('total', 'avg', 'max', 'min')),
    -- Value in the base unit that the metric's name ends in.
    value DOUBLE NOT NULL,
    -- False where the tool is known to err, or the numbers contradict each other.
    is_reliable BOOLEAN NOT NULL,
    -- Why it is not reliable; NULL where it is.
    reason VARCHAR
);
