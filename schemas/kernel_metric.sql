-- Metrics of profiled kernels, one row per (source, kernel, section, body item, label or
-- metric); where ncu printed one twice, the first is kept.
CREATE TABLE kernel_metric (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Joins to kernel_profile within the same source.
    kernel_id BIGINT NOT NULL,
    -- Section of the details page as displayed; NULL on the raw page and in a .ncu-rep.
    section VARCHAR,
    -- Chart or table of the section's body (--print-details); NULL for its header.
    body_item VARCHAR,
    -- Label as printed; the same label can mean another metric in another section. NULL
    -- where the raw name was printed.
    label VARCHAR,
    -- Canonical raw name, see reference table ncu_metric; NULL for a label not in it.
    metric VARCHAR,
    -- Value in the base unit; NULL for a text, and where ncu had none (n/a, no data).
    value DOUBLE,
    -- Base unit, e.g. ns, hz, byte/s, %; NULL for plain numbers and texts.
    unit VARCHAR,
    -- ncu printed no unit; it is the one that ncu_metric gives.
    is_unit_assumed BOOLEAN NOT NULL,
    -- Text of a metric that is none or not only a number: names, lists of instances, and
    -- numbers that could not be understood.
    text VARCHAR
);
