-- Device memory bandwidth of each kernel that ncu profiled, against the peak of that GPU
-- at the clock it then had: dram__bytes.sum.peak_sustained x dram clock; without these
-- metrics, what the device attributes or the data sheet say. A data sheet gives way to
-- ncu's own share where they differ: memory of H200 can do 4.92 TB/s, not 4.8.
-- Grain: one row per (run_id, source_id, subject_id).
--
-- run_id        Run.
-- source_id     Source file.
-- subject_kind  dram kernel.
-- subject_id    Kernel within its file; see kernel_profile.
-- host          Host; NULL when not told.
-- rank          NULL: a profile does not tell it.
-- device_id     CUDA ordinal; NULL when not told.
-- gpu_id        NULL: a profile does not tell it.
-- name          Kernel.
-- conditions    GPU, grid and block.
-- subject_count  Always 1.
-- bytes         DRAM bytes read and written; NULL when the profile does not hold them.
-- dur_ns        Duration under the profiler, which locks clocks and flushes caches.
-- bytes_per_s   DRAM bytes per second.
-- reference_bytes_per_s  Peak of the GPU.
-- reference_source  What the peak rests on.
-- candidates    NULL.
-- stated_share  ncu's own DRAM throughput / peak; NULL when not collected.
-- low_share     NULL: that a kernel needs little memory bandwidth is no fault.
-- confidence    high, medium or low.
-- reason        Why there is no number; else NULL.
WITH collected AS (
    SELECT
        run_id,
        source_id,
        kernel_id,
        max(value) FILTER (metric = 'dram__bytes.sum') AS sum_bytes,
        max(value) FILTER (metric = 'dram__bytes_read.sum')
            + max(value) FILTER (metric = 'dram__bytes_write.sum') AS both_bytes,
        max(value) FILTER (metric = 'dram__bytes.sum.per_second') AS rate,
        max(value) FILTER (metric = 'gpu__time_duration.sum') AS dur_ns,
        max(value) FILTER (metric = 'dram__bytes.sum.peak_sustained')
            * max(value) FILTER (metric = 'dram__cycles_elapsed.avg.per_second')
            AS peak,
        -- Before 2020.2 and on request it goes by the name of its unit.
        coalesce(
            max(value) FILTER (
                metric = 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed'),
            max(value) FILTER (
                metric = 'dram__throughput.avg.pct_of_peak_sustained_elapsed')
        ) / 100 AS stated_share
    FROM kernel_metric
    WHERE metric LIKE 'dram\_\_%' ESCAPE '\'
        OR metric LIKE 'gpu\_\_dram\_throughput%' ESCAPE '\'
        OR metric = 'gpu__time_duration.sum'
    GROUP BY run_id, source_id, kernel_id
),
measured AS (
    SELECT
        *,
        -- Not rounded where ncu gives the bytes themselves and its rate is printed short.
        coalesce(rate, coalesce(sum_bytes, both_bytes) * 1e9 / nullif(dur_ns, 0))
            AS bytes_per_s
    FROM collected
    WHERE coalesce(rate, sum_bytes, both_bytes, stated_share) IS NOT NULL
),
referred AS (
    SELECT
        m.*,
        p.device_id,
        p.name,
        p.grid_block_count,
        p.block_thread_count,
        d.gpu_name,
        d.gpu,
        d.memory_source,
        d.reason AS why_no_gpu,
        -- ncu prints its share with two decimals of a percent.
        CASE WHEN NOT coalesce(
            d.memory_source = 'data sheet'
            AND abs(m.stated_share - m.bytes_per_s / d.memory_bytes_per_s)
                > threshold_of('stated_share_tolerance') * m.stated_share + 0.0001,
            false
        ) THEN d.memory_bytes_per_s END AS memory_bytes_per_s,
        m.bytes_per_s / nullif(m.stated_share, 0) AS own_peak
    FROM measured AS m
    JOIN kernel_profile AS p USING (run_id, source_id, kernel_id)
    LEFT JOIN device_reference AS d
        ON d.run_id = m.run_id
        AND d.source_id = m.source_id
        AND d.origin = 'ncu'
        AND d.device_id IS NOT DISTINCT FROM p.device_id
)
SELECT
    m.run_id,
    m.source_id,
    'dram kernel' AS subject_kind,
    m.kernel_id AS subject_id,
    coalesce(f.host, s.host) AS host,
    NULL::INTEGER AS rank,
    m.device_id,
    NULL::VARCHAR AS gpu_id,
    m.name,
    concat_ws(
        ', ', m.gpu_name,
        'grid ' || m.grid_block_count, 'block ' || m.block_thread_count
    ) AS conditions,
    1::BIGINT AS subject_count,
    round(coalesce(m.sum_bytes, m.both_bytes, m.rate * m.dur_ns / 1e9))::BIGINT AS bytes,
    round(m.dur_ns)::BIGINT AS dur_ns,
    m.bytes_per_s,
    coalesce(m.peak, m.memory_bytes_per_s, m.own_peak) AS reference_bytes_per_s,
    CASE
        WHEN m.peak IS NOT NULL THEN 'ncu: peak bytes per cycle x DRAM clock'
        WHEN m.memory_source = 'device attributes'
            THEN 'ncu: memory clock x bus width of the device'
        WHEN m.memory_bytes_per_s IS NOT NULL THEN 'data sheet: ' || m.gpu
        WHEN m.own_peak IS NOT NULL THEN 'ncu: its own DRAM share'
    END AS reference_source,
    NULL::VARCHAR AS candidates,
    m.stated_share,
    NULL::DOUBLE AS low_share,
    CASE
        WHEN m.dur_ns < threshold_of('profiled_kernel_ns') THEN 'low'
        WHEN m.peak IS NOT NULL OR m.stated_share IS NOT NULL THEN 'high'
        ELSE 'medium'
    END AS confidence,
    CASE
        WHEN m.bytes_per_s IS NULL AND m.stated_share IS NULL
            THEN 'the profile holds DRAM bytes but no duration'
        WHEN m.bytes_per_s IS NULL
            THEN 'the profile holds no DRAM bytes: the share is the one that ncu prints'
        WHEN coalesce(m.peak, m.memory_bytes_per_s, m.stated_share) IS NULL
            THEN 'no peak: ' || coalesce(m.why_no_gpu, 'the data sheet gives none')
    END AS reason
FROM referred AS m
LEFT JOIN profiler_session AS s ON s.run_id = m.run_id AND s.source_id = m.source_id
LEFT JOIN source_file AS f ON f.run_id = m.run_id AND f.source_id = m.source_id
ORDER BY run_id, source_id, subject_id
