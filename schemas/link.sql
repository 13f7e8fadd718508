-- How devices of a host are connected; one row per pair of nvidia-smi topo -m and per
-- link of nvidia-smi nvlink -s.
CREATE TABLE link (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Host; NULL when nothing says it.
    host VARCHAR,
    -- topo for a pair of the matrix, nvlink for a link's own state.
    origin VARCHAR NOT NULL CHECK (origin IN ('topo', 'nvlink')),
    -- Device, as the tool numbers it: GPU0, NIC0, mlx5_0.
    source VARCHAR NOT NULL,
    -- What the legend calls the source, e.g. mlx5_0; NULL when it does not.
    source_name VARCHAR,
    -- Product of the source, e.g. NVIDIA H100 80GB HBM3; NULL when not told.
    product VARCHAR,
    -- UUID of the source without GPU-; NULL when not told.
    gpu_id VARCHAR,
    -- The other device; NULL for nvlink, which does not tell it.
    destination VARCHAR,
    -- What the legend calls the destination.
    destination_name VARCHAR,
    -- nvlink; else what the path crosses: pix one PCIe bridge, pxb several, phb a host
    -- bridge, node host bridges of one NUMA node, sys (soc before 2017) sockets, psb one
    -- board.
    kind VARCHAR NOT NULL
        CHECK (kind IN ('nvlink', 'pix', 'pxb', 'phb', 'node', 'sys', 'soc', 'psb')),
    -- NVLinks bonded between the pair; NULL for other kinds and for a single link's row.
    link_count INTEGER,
    -- Number of the link on its GPU; NULL for a pair, and where the GPU has none.
    link_number INTEGER,
    -- Bandwidth of the link per direction; NULL when it is not active, and for pairs.
    bandwidth_bytes_per_s DOUBLE,
    -- active; else inactive, unsupported, mig (not told in MIG mode); NULL for pairs.
    status VARCHAR CHECK (status IN ('active', 'inactive', 'unsupported', 'mig')),
    -- Number of the matrix or list in the file, from 0: a file may hold several hosts'.
    table_number BIGINT NOT NULL,
    -- Line of the row.
    line BIGINT
);
