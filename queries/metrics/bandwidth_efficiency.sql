-- Every byte moved against what the hardware, or this very cluster, can do: memory of
-- kernels and devices, copies, PCIe and NVLink over time, collectives of the job,
-- benchmarks of collectives and links. What is impossible is refused: more than the peak
-- is cache hits or a wrong reference, small messages are latency, an unknown link has
-- candidates.
-- Grain: one row per (run_id, source_id, subject_kind, subject_id).
-- Better: higher.
-- Value: bytes_per_s, efficiency_share.
-- Key: subject_kind, name, conditions.
-- Samples: subject_count.
-- Where: verdict <> 'average'.
--
-- run_id        Run.
-- source_id     Source file; NULL for collectives of the job, which are of several.
-- subject_kind  dram kernel, dram device, memory copy, pcie, nvlink, collective,
--               collective benchmark, link benchmark.
-- subject_id    Number of the subject within its file and kind.
-- host          Host; NULL when not told, or several.
-- rank          Global rank; NULL when not told, or several.
-- device_id     CUDA ordinal or index on the host; NULL when not told, or several.
-- gpu_id        Physical GPU; NULL when not told, or several.
-- name          Kernel, direction, operation or test.
-- conditions    What else it depends on.
-- subject_count  Kernels, copies, samples, collectives or rows it rests on.
-- bytes         Bytes; NULL when not counted.
-- dur_ns        Time that they took; NULL when not told.
-- bytes_per_s   Achieved; busbw for collectives. NULL when not known.
-- reference_bytes_per_s  What it is compared with; NULL when not known.
-- reference_source  What that rests on.
-- candidates    Links that it may be, where not known, each with the share.
-- efficiency_share  Achieved / reference; NULL when refused.
-- confidence    high, medium or low; NULL without an efficiency.
-- verdict       low; fair; high; impossible: more than the peak; average: over time, idle
--               included; latency: too small to judge; unknown: no reference.
-- reason        Why there is no efficiency; else NULL.
WITH subject AS (
    SELECT * FROM dram_kernel_bandwidth
    UNION ALL BY NAME
    SELECT * FROM traffic_bandwidth
    UNION ALL BY NAME
    SELECT * FROM copy_bandwidth
    UNION ALL BY NAME
    SELECT * FROM collective_bandwidth
    UNION ALL BY NAME
    SELECT * FROM collective_benchmark_bandwidth
    UNION ALL BY NAME
    SELECT * FROM link_benchmark_bandwidth
),
computed AS (
    SELECT
        *,
        bytes_per_s / nullif(reference_bytes_per_s, 0) AS share,
        reason LIKE 'smaller than threshold%' OR reason LIKE 'small message%' AS is_small,
        reference_source LIKE 'benchmark%' AS is_benchmark
    FROM subject
),
shared AS (
    SELECT
        *,
        -- A tool's own share has more digits than rates printed short; it stands where
        -- both agree, and where bytes were not counted.
        CASE
            WHEN is_small THEN NULL
            WHEN share IS NULL THEN stated_share
            WHEN abs(stated_share / share - 1) <= threshold_of('stated_share_tolerance')
                THEN stated_share
            ELSE share
        END AS found_share
    FROM computed
),
judged AS (
    SELECT
        *,
        -- A benchmark is no ceiling, and noise may exceed it.
        found_share > 1 + threshold_of('peak_tolerance')
            AND NOT coalesce(is_benchmark, false) AS is_impossible
    FROM shared
)
SELECT
    run_id,
    source_id,
    subject_kind,
    subject_id,
    host,
    rank,
    device_id,
    gpu_id,
    name,
    conditions,
    subject_count,
    bytes,
    dur_ns,
    bytes_per_s,
    reference_bytes_per_s,
    reference_source,
    candidates,
    CASE WHEN NOT is_impossible THEN found_share END AS efficiency_share,
    CASE WHEN NOT is_impossible THEN confidence END AS confidence,
    CASE
        WHEN is_small THEN 'latency'
        WHEN found_share IS NULL THEN 'unknown'
        WHEN is_impossible THEN 'impossible'
        WHEN subject_kind IN ('dram device', 'pcie', 'nvlink') THEN 'average'
        WHEN found_share < low_share THEN 'low'
        WHEN found_share >= threshold_of('bandwidth_high_share') THEN 'high'
        ELSE 'fair'
    END AS verdict,
    CASE
        WHEN is_impossible AND subject_kind LIKE 'collective%'
            THEN 'more than the nominal link: NVLS, SHARP or trees, or another link'
        WHEN is_impossible AND subject_kind = 'memory copy' AND name LIKE 'DtoD%'
            THEN 'more than the memory can: cache hits, or a wrong reference'
        WHEN is_impossible AND subject_kind LIKE 'dram%'
            THEN 'more than the memory can: cache hits, or a wrong reference'
        WHEN is_impossible THEN 'more than the link can: a wrong reference'
        ELSE reason
    END AS reason
FROM judged
ORDER BY run_id, source_id, subject_kind, subject_id
