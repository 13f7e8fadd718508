-- The PCIe link of each GPU as nvidia-smi or DCGM tells it: what it can run at, which is
-- the lesser of GPU and system. An idle link is slow by intent, so what it ran at counts
-- only where nothing else is known, and then at its fastest.
-- Grain: one row per (run_id, source_id, host, gpu_id).
--
-- run_id      Run.
-- source_id   Source file.
-- host        Host; NULL when not told.
-- gpu_id      Physical GPU.
-- uuid        UUID without GPU-; NULL when not told.
-- bus_id      PCI bus id; NULL when not told.
-- generation  PCIe generation.
-- width       Lanes; NULL when not told.
-- fastest_generation  Fastest that was seen in use; NULL when not sampled.
-- widest_width  Most lanes seen in use.
-- is_capability  Whether generation is what the link can run at.
SELECT
    s.run_id,
    s.source_id,
    s.host,
    s.gpu_id,
    coalesce(any_value(d.uuid), CASE WHEN length(s.gpu_id) = 36 THEN s.gpu_id END)
        AS uuid,
    coalesce(
        any_value(d.bus_id), CASE WHEN s.gpu_id LIKE '____:__:__._' THEN s.gpu_id END
    ) AS bus_id,
    coalesce(
        max(s.value) FILTER (s.metric = 'max_pcie_link_gen'),
        max(s.value) FILTER (s.metric = 'pcie_link_gen')
    )::INTEGER AS generation,
    coalesce(
        max(s.value) FILTER (s.metric = 'max_pcie_link_width'),
        max(s.value) FILTER (s.metric = 'pcie_link_width')
    )::INTEGER AS width,
    max(s.value) FILTER (s.metric = 'pcie_link_gen')::INTEGER AS fastest_generation,
    max(s.value) FILTER (s.metric = 'pcie_link_width')::INTEGER AS widest_width,
    count(*) FILTER (s.metric = 'max_pcie_link_gen') > 0 AS is_capability
FROM gpu_sample AS s
LEFT JOIN device AS d
    ON d.run_id = s.run_id AND d.source_id = s.source_id AND d.gpu_id = s.gpu_id
WHERE s.entity = 'gpu'
    AND s.value > 0
    AND s.metric IN (
        'pcie_link_gen', 'max_pcie_link_gen', 'pcie_link_width', 'max_pcie_link_width'
    )
GROUP BY s.run_id, s.source_id, s.host, s.gpu_id
HAVING count(*) FILTER (s.metric LIKE '%gen') > 0
