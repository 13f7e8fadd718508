-- What the mean step of a run is made of, as step_time_part said when the run's numbers
-- were made; one row per (run, part, class, name).
CREATE TABLE run_step_part (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Always derived: these rows rest on all of the run's files. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- See step_time_part.
    part VARCHAR NOT NULL,
    -- Class of kernels, or cause of idle time.
    class VARCHAR,
    -- Kernel.
    name VARCHAR,
    -- Its most frequent grid and block.
    shape VARCHAR,
    -- Its executions in all these steps.
    launch_count BIGINT,
    -- Steps of the run, counted on every device.
    device_step_count BIGINT NOT NULL,
    -- Time in all these steps.
    total_ns BIGINT NOT NULL
);
