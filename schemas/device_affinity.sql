-- CPUs and memory near each GPU, as nvidia-smi topo -m says; one row per GPU.
CREATE TABLE device_affinity (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host; NULL when nothing says it.
    host VARCHAR,
    -- Device, e.g. GPU0.
    device VARCHAR NOT NULL,
    -- CPUs near it, as ranges, e.g. 0-23,48-71; NULL when not told.
    cpu_affinity VARCHAR,
    -- NUMA nodes near it, as printed; NULL when not told.
    numa_affinity VARCHAR,
    -- The same, where it is one node.
    numa_node INTEGER,
    -- NUMA node that the GPU's own memory is; NULL when it is none.
    gpu_numa_node INTEGER,
    -- Number of the matrix in the file, from 0.
    table_number BIGINT NOT NULL,
    -- Line of the row.
    line BIGINT
);
