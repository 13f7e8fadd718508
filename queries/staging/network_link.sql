-- Nominal network of a run's hosts, as run.toml says it: hardware.interconnect by a name
-- in link_speed, hardware.nic_count adapters of one host.
-- Grain: one row per (run_id).
--
-- run_id      Run.
-- described   hardware.interconnect as written.
-- name        Link of that name; NULL when link_speed has none.
-- nic_bytes_per_s  Rate of one adapter, per direction.
-- nic_count   Adapters of a host; NULL when not told.
-- gpus_per_host  GPUs of a host; NULL when not told.
-- reason      Why the rate of a host is not known; else NULL.
WITH told AS (
    SELECT
        run_id,
        any_value(value_text) FILTER (key = 'hardware.interconnect') AS described,
        any_value(value_number) FILTER (key = 'hardware.nic_count') AS nic_count,
        any_value(value_number) FILTER (key = 'hardware.gpus_per_host') AS gpus_per_host
    FROM run_fact
    WHERE key IN (
        'hardware.interconnect', 'hardware.nic_count', 'hardware.gpus_per_host'
    )
    GROUP BY run_id
)
SELECT
    t.run_id,
    t.described,
    l.name,
    l.bytes_per_s::DOUBLE AS nic_bytes_per_s,
    t.nic_count::INTEGER AS nic_count,
    t.gpus_per_host::INTEGER AS gpus_per_host,
    CASE
        WHEN t.described IS NULL THEN 'run.toml does not say hardware.interconnect'
        WHEN l.name IS NULL THEN 'link_speed has no link called ''' || t.described || ''''
        WHEN t.nic_count IS NULL THEN 'run.toml does not say hardware.nic_count'
    END AS reason
FROM told AS t
LEFT JOIN link_speed AS l
    -- Only letters and digits count: RoCE, 400 Gb/s is roce400gbs.
    ON list_contains(
        string_split(l.alias, '|'),
        regexp_replace(lower(t.described), '[^a-z0-9]', '', 'g')
    )
