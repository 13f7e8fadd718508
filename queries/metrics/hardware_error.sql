-- Errors of GPUs and links during the run: XIDs, memory errors, growth of link error
-- counters, links below their best under load, pending repairs. What a counter held
-- before the first sample is not counted. An XID that is there from the first sample on
-- may be old; the same XID twice cannot be told from one.
-- Grain: one row per (run_id, host, gpu_id, entity, entity_id, error, code, source_id).
--
-- run_id       Run.
-- host         Host; NULL when nothing says it.
-- gpu_id       Physical GPU.
-- device_id    Index on the host.
-- entity       The gpu itself, or the part of it.
-- entity_id    Which part, e.g. the link; NULL for the GPU itself.
-- error        What it is.
-- code         XID; NULL for anything else.
-- metric       Metric that tells it; NULL for a list of links.
-- severity     note, warning, error or critical.
-- role         root, or consequence of another error.
-- is_over      Whether it is more than the ordinary: see thresholds pcie_replay_count,
--              nvlink_crc_count; a note never is.
-- occurrences  How often, or what the counter grew by; for a degraded link, samples; of
--              missing links, how many.
-- peak_window_count  Most in a window of error_window_ns; NULL for what is no counter.
-- first_utc_ns  First time, ns since 1970 UTC; NULL when not known.
-- first_ns     First time, ns since the source's capture start; NULL where not known.
-- last_ns      Last time.
-- first_tick   First round, of a source without a clock.
-- is_at_start  Whether it was there from the first sample on.
-- detail       What it means, or how far below its best a link is.
-- action       What to do about an XID; NULL for anything else.
-- source_id    Source file.
WITH raised AS (
    SELECT
        e.run_id, e.source_id, e.host, e.gpu_id, e.device_id, e.entity, e.entity_id,
        coalesce('XID ' || e.value::BIGINT || ': ' || x.name, 'XID ' || e.value::BIGINT)
            AS error,
        e.value::BIGINT AS code,
        'xid' AS metric,
        coalesce(x.severity, 'error') AS severity,
        x.role,
        true AS is_over,
        count(*)::DOUBLE AS occurrences,
        NULL::DOUBLE AS peak_window_count,
        min(e.ts_ns) AS first_ns,
        max(e.ts_ns) AS last_ns,
        min(e.tick) AS first_tick,
        bool_or(e.is_at_start) AS is_at_start,
        coalesce(x.meaning, 'not in the list of XIDs') AS detail,
        x.action
    FROM gpu_event AS e
    LEFT JOIN xid AS x ON x.xid = e.value
    WHERE e.kind = 'xid'
    GROUP BY ALL
),
grown AS (
    SELECT
        run_id, source_id, host, gpu_id, device_id, entity, entity_id, error,
        NULL::BIGINT AS code,
        metric, severity, role, is_over,
        increase AS occurrences,
        peak_window_count, first_ns, last_ns, first_tick,
        false AS is_at_start,
        meaning AS detail,
        NULL AS action
    FROM counter_error
),
pending AS (
    SELECT
        run_id, source_id, host, gpu_id, max(device_id) AS device_id, entity, entity_id,
        CASE metric
            WHEN 'row_remap_failure' THEN 'row remapping failed'
            WHEN 'row_remap_pending' THEN 'row remapping pending'
            ELSE 'page retirement pending' END AS error,
        NULL::BIGINT AS code,
        metric,
        CASE metric WHEN 'row_remap_failure' THEN 'critical' ELSE 'warning' END
            AS severity,
        CASE metric WHEN 'row_remap_failure' THEN 'root' ELSE 'consequence' END AS role,
        true AS is_over,
        1::DOUBLE AS occurrences,
        NULL::DOUBLE AS peak_window_count,
        min(ts_ns) FILTER (value > 0) AS first_ns,
        max(ts_ns) FILTER (value > 0) AS last_ns,
        min(tick) FILTER (value > 0) AS first_tick,
        arg_min(value, coalesce(ts_ns, tick)) > 0 AS is_at_start,
        CASE metric
            WHEN 'row_remap_failure' THEN 'No spare rows: replace the GPU'
            ELSE 'Takes effect at the next reset of the GPU' END AS detail,
        NULL AS action
    FROM gpu_sample
    WHERE metric IN ('row_remap_failure', 'row_remap_pending', 'retired_page_pending')
    GROUP BY ALL
    HAVING max(value) > 0
),
link AS (
    SELECT
        g.run_id, g.source_id, g.told_host AS host, g.gpu_id, g.device_id,
        'gpu' AS entity, NULL::VARCHAR AS entity_id,
        'PCIe ' || d.what || ' below its best under load' AS error,
        NULL::BIGINT AS code,
        d.metric,
        'error' AS severity,
        'root' AS role,
        true AS is_over,
        d.low_count::DOUBLE AS occurrences,
        NULL::DOUBLE AS peak_window_count,
        d.first_ns,
        d.last_ns,
        d.first_tick,
        d.is_at_start,
        d.what || ' ' || d.usual_value::BIGINT || ' of ' || d.best_value::BIGINT
            || ' in ' || d.low_count || ' of ' || d.load_count || ' samples under load'
            AS detail,
        NULL AS action
    FROM degraded_link AS d
    JOIN telemetry_gpu AS g USING (telemetry_key)
),
missing AS (
    SELECT
        run_id, source_id, host, gpu_id, device_id,
        'gpu' AS entity, NULL::VARCHAR AS entity_id,
        'NVLinks missing' AS error,
        NULL::BIGINT AS code,
        NULL::VARCHAR AS metric,
        'error' AS severity,
        'root' AS role,
        true AS is_over,
        (best_count - link_count)::DOUBLE AS occurrences,
        NULL::DOUBLE AS peak_window_count,
        NULL::BIGINT AS first_ns,
        NULL::BIGINT AS last_ns,
        NULL::BIGINT AS first_tick,
        true AS is_at_start,
        link_count || ' of ' || best_count || ' links are active' AS detail,
        NULL AS action
    FROM missing_nvlink
),
found AS (
    SELECT * FROM missing
    UNION ALL
    SELECT * FROM raised
    UNION ALL
    SELECT * FROM grown
    UNION ALL
    SELECT * FROM pending
    UNION ALL
    SELECT * FROM link
)
SELECT
    f.run_id,
    coalesce(g.host, f.host, c.host) AS host,
    f.gpu_id,
    f.device_id,
    f.entity,
    f.entity_id,
    f.error,
    f.code,
    f.metric,
    f.severity,
    f.role,
    f.is_over,
    f.occurrences,
    f.peak_window_count,
    CASE WHEN c.clock = 'utc' THEN c.zero_ns + f.first_ns END AS first_utc_ns,
    f.first_ns,
    f.last_ns,
    f.first_tick,
    f.is_at_start,
    f.detail,
    f.action,
    f.source_id
FROM found AS f
LEFT JOIN source_clock AS c USING (run_id, source_id)
LEFT JOIN telemetry_gpu AS g
    ON g.run_id = f.run_id
    AND g.source_id = f.source_id
    AND g.gpu_id = f.gpu_id
    AND g.told_host IS NOT DISTINCT FROM f.host
ORDER BY f.run_id, host, f.gpu_id, f.entity, f.entity_id, f.error, f.code, f.source_id
