-- Traffic over PCIe, NVLink and device memory of whole GPUs, sample by sample: as bytes
-- per second where the source counts bytes, as share of the peak where it counts that.
-- Grain: one row per (run_id, source_id, host, gpu_id, path, direction, metric, ts_ns,
--   tick).
--
-- run_id     Run.
-- source_id  Source file.
-- host       Host; NULL when the source does not say.
-- gpu_id     Physical GPU.
-- device_id  Index on the host, or CUDA ordinal.
-- path       pcie, nvlink or dram.
-- direction  tx sent by the GPU, rx received, both together.
-- metric     What was sampled: a rate, a counter's growth, shares of the peak.
-- ts_ns      ns since the source's capture start; NULL where not known.
-- tick       Round of a source without a clock.
-- bytes_per_s  Rate; NULL where only a share was sampled.
-- peak_share  Share of the peak; NULL where bytes were counted.
WITH sampled AS (
    SELECT
        run_id, source_id, host, gpu_id, device_id, metric, ts_ns, tick,
        CASE
            WHEN metric LIKE 'pcie%' THEN 'pcie'
            WHEN metric LIKE 'nvlink%' THEN 'nvlink'
            ELSE 'dram'
        END AS path,
        CASE
            WHEN metric LIKE '%\_tx\_%' ESCAPE '\' THEN 'tx'
            WHEN metric LIKE '%\_rx\_%' ESCAPE '\' THEN 'rx'
            ELSE 'both'
        END AS direction,
        CASE WHEN kind = 'rate' THEN value END AS bytes_per_s,
        CASE WHEN kind = 'gauge' THEN value END AS peak_share
    FROM gpu_reading
    WHERE metric IN (
        'pcie_tx_bytes_per_s', 'pcie_rx_bytes_per_s', 'pcie_tx_nvml_bytes_per_s',
        'pcie_rx_nvml_bytes_per_s', 'nvlink_tx_bytes_per_s', 'nvlink_rx_bytes_per_s',
        'nvlink_tx_nvml_bytes_per_s', 'nvlink_rx_nvml_bytes_per_s',
        'nvlink_nvml_bytes_per_s', 'pcie_tx_share', 'pcie_rx_share', 'dram_active_share'
    )
),
-- nsys counts payload and protocol, requests and responses apart, and reads and writes of
-- memory: only all of them together are the traffic.
part AS (
    SELECT
        *,
        CASE WHEN metric LIKE 'dram%' THEN 'dram' ELSE 'nvlink' END AS path,
        CASE
            WHEN metric LIKE 'dram%' THEN 'both'
            WHEN metric LIKE 'nvlink\_tx%' ESCAPE '\' THEN 'tx'
            ELSE 'rx'
        END AS direction
    FROM gpu_reading
    WHERE metric IN (
        'dram_read_share', 'dram_write_share',
        'nvlink_tx_requests_user_share', 'nvlink_tx_requests_protocol_share',
        'nvlink_tx_responses_user_share', 'nvlink_tx_responses_protocol_share',
        'nvlink_rx_requests_user_share', 'nvlink_rx_requests_protocol_share',
        'nvlink_rx_responses_user_share', 'nvlink_rx_responses_protocol_share'
    )
),
summed AS (
    SELECT
        run_id, source_id, host, gpu_id, any_value(device_id) AS device_id,
        CASE WHEN path = 'dram' THEN 'dram_read_share + dram_write_share'
            ELSE 'nvlink_' || direction || ' shares' END AS metric,
        ts_ns, tick, path, direction, NULL AS bytes_per_s, sum(value) AS peak_share
    FROM part
    GROUP BY run_id, source_id, host, gpu_id, path, direction, ts_ns, tick
    HAVING count(*) = CASE WHEN path = 'dram' THEN 2 ELSE 4 END
),
counted AS (
    SELECT
        run_id, source_id, host, gpu_id, device_id, metric, ts_ns, tick,
        CASE WHEN metric LIKE 'pcie%' THEN 'pcie' ELSE 'nvlink' END AS path,
        CASE WHEN metric LIKE '%\_tx\_%' ESCAPE '\' THEN 'tx' ELSE 'rx' END AS direction,
        increase_value * 1e9 / dur_ns AS bytes_per_s,
        NULL AS peak_share
    FROM gpu_counter
    WHERE entity = 'gpu'
        AND dur_ns > 0
        AND increase_value IS NOT NULL
        AND metric IN (
            'pcie_tx_bytes', 'pcie_rx_bytes', 'nvlink_tx_bytes', 'nvlink_rx_bytes'
        )
),
every AS (
    SELECT * FROM sampled
    UNION ALL BY NAME
    SELECT * FROM summed
    UNION ALL BY NAME
    SELECT * FROM counted
)
SELECT
    run_id,
    source_id,
    host,
    gpu_id,
    device_id,
    path,
    direction,
    metric,
    ts_ns,
    tick,
    bytes_per_s::DOUBLE AS bytes_per_s,
    peak_share::DOUBLE AS peak_share
FROM every
