-- What ncu's own rules say of a profiled kernel.
CREATE TABLE kernel_rule (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Joins to kernel_profile within the same source.
    kernel_id BIGINT NOT NULL,
    -- Identifier of the section, e.g. SpeedOfLight; kernel_metric has its displayed name.
    section VARCHAR,
    -- Rule's identifier, e.g. SOLBottleneck; wording and types change with ncu's version.
    rule VARCHAR NOT NULL,
    -- INF, WRN (to 2022), OPT (since 2023), ERR, as ncu writes it.
    type VARCHAR,
    -- What the rule says.
    text VARCHAR,
    -- What the speedup refers to: local (this kernel's part), global (the whole kernel).
    speedup_type VARCHAR,
    -- Estimated speedup as a share of the duration, 0.1 for ncu's 10 %.
    speedup_share DOUBLE
);
