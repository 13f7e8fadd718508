-- Pairs of GPUs of a host, by what connects them, as nvidia-smi topo -m shows it.
-- Grain: one row per (run_id, source_id, host, table_number, kind).
--
-- run_id        Run.
-- source_id     Source file.
-- host          Host; NULL when nothing says it.
-- table_number  Number of the matrix in the file.
-- kind          nvlink, or what the path crosses: pix, pxb, phb, node, sys, ...
-- pair_count    Pairs, each counted in both directions.
SELECT run_id, source_id, host, table_number, kind, count(*) AS pair_count
FROM link
WHERE origin = 'topo'
    AND source LIKE 'GPU%'
    AND destination LIKE 'GPU%'
    AND source <> destination
GROUP BY run_id, source_id, host, table_number, kind
