-- Busbw that the slowest link crossed carries nominally, per direction: NVLink within a
-- host; between hosts all adapters of one host together, for all_to_all the share of them
-- that each GPU has. Reductions in the switch (NVLS, SHARP) and trees may exceed it.
-- Grain: one row per (run_id, operation, rank_count, host_count, gpu).
--
-- run_id       Run.
-- operation    Collective.
-- rank_count   Ranks.
-- host_count   Hosts; NULL when not told.
-- gpu          Row of reference table gpu; NULL when not known.
-- name         Link; NULL without.
-- bytes_per_s  Busbw; NULL when the link is not known.
-- reason       Why it is not known; else NULL.
WITH layout AS (
    SELECT DISTINCT run_id, operation, rank_count, host_count, gpu FROM benchmark_point
    UNION
    SELECT DISTINCT run_id, operation, rank_count, host_count, gpu
    FROM collective_instance
    WHERE operation IS NOT NULL
),
linked AS (
    SELECT
        l.*,
        g.nvlink_bytes_per_s::DOUBLE AS nvlink_bytes_per_s,
        g.nvlink_generation,
        g.form_factor,
        n.name AS network_name,
        n.nic_count,
        n.nic_bytes_per_s * n.nic_count AS host_bytes_per_s,
        l.rank_count / l.host_count AS ranks_per_host,
        coalesce(n.reason, 'run.toml does not say hardware.interconnect')
            AS why_no_network
    FROM layout AS l
    LEFT JOIN gpu AS g ON g.gpu = l.gpu
    LEFT JOIN network_link AS n ON n.run_id = l.run_id
),
crossed AS (
    SELECT
        *,
        CASE
            WHEN operation = 'all_to_all'
                THEN host_bytes_per_s / ranks_per_host * (rank_count - 1)
                    / (rank_count - ranks_per_host)
            ELSE host_bytes_per_s
        END AS network_bytes_per_s,
        -- Bridges of PCIe cards join two: more ranks go over PCIe.
        form_factor <> 'PCIe' AS has_nvlink
    FROM linked
)
SELECT
    run_id,
    operation,
    rank_count,
    host_count,
    gpu,
    CASE
        WHEN host_count = 1 AND has_nvlink AND nvlink_bytes_per_s > 0
            THEN 'NVLink ' || nvlink_generation::INTEGER || ' of ' || gpu
        WHEN host_count > 1 AND network_bytes_per_s > 0
            THEN nic_count || ' x ' || network_name || ' per host'
    END AS name,
    CASE
        WHEN host_count = 1 AND has_nvlink THEN nvlink_bytes_per_s
        WHEN host_count > 1 AND nvlink_bytes_per_s < network_bytes_per_s AND has_nvlink
            THEN nvlink_bytes_per_s
        WHEN host_count > 1 THEN network_bytes_per_s
    END AS bytes_per_s,
    CASE
        WHEN host_count IS NULL THEN 'it is not told how many hosts took part'
        WHEN host_count > 1 AND network_bytes_per_s IS NULL THEN why_no_network
        WHEN host_count > 1 THEN NULL
        WHEN gpu IS NULL THEN 'the GPU model is not known'
        WHEN NOT has_nvlink OR nvlink_bytes_per_s IS NULL
            THEN 'between cards of this form factor the link is not known'
    END AS reason
FROM crossed
ORDER BY run_id, operation, rank_count, host_count, gpu
