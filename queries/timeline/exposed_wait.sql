-- What no compute hides of each collective's waiting, and the step that launched it. A
-- collective that runs on into the next step counts, whole, to the step that launched it:
-- on every rank the same one.
-- Grain: one row per communication kernel launched in a step; see step_bound.
--
-- device_key   See traced_device.
-- step         See device_step.
-- run_id       Run.
-- operation    See collective_time.
-- instance     See collective_time.
-- start_ns     ns since the capture began.
-- wait_ns      Wait; NULL when it cannot be told.
-- late_ns      See collective_time.
-- exposed_wait_ns  Of its wait what neither compute nor an earlier one's wait covers;
--              NULL when the wait is unknown.
-- hidden_wait_ns  Of its wait what compute covers and no earlier one's wait; NULL when
--              the wait is unknown.
-- transfer_ns  Of what follows its wait the part that no other collective's covers; all
--              of it when the wait is unknown.
-- reason       Why the wait is unknown; else NULL.
WITH bound AS MATERIALIZED (FROM step_bound),
timed AS (
    SELECT
        c.device_key, c.run_id, c.operation, c.instance, c.wait_ns, c.late_ns, c.reason,
        c.start_ns, c.start_ns + c.wait_ns AS end_ns,
        c.start_ns + coalesce(c.wait_ns, 0) AS transfer_start_ns,
        c.end_ns AS transfer_end_ns,
        h.device_key IS NOT NULL AND c.call_start_ns IS NOT NULL AS is_host,
        CASE WHEN h.device_key IS NOT NULL THEN coalesce(c.call_start_ns, c.start_ns)
            ELSE c.start_ns END AS moment_ns
    FROM collective_time AS c
    LEFT JOIN (SELECT DISTINCT device_key FROM bound WHERE is_host) AS h
        USING (device_key)
),
waited AS (
    SELECT
        t.*, b.step,
        greatest(t.start_ns, coalesce(max(t.end_ns) OVER (
            PARTITION BY t.device_key ORDER BY t.start_ns, t.end_ns, b.step
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), t.start_ns)) AS from_ns,
        greatest(t.transfer_start_ns, coalesce(max(t.transfer_end_ns) OVER (
            PARTITION BY t.device_key, b.step
            ORDER BY t.transfer_start_ns, t.transfer_end_ns, t.start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), t.transfer_start_ns)) AS transfer_from_ns
    FROM timed AS t
    ASOF JOIN bound AS b
        ON b.device_key = t.device_key
        AND b.is_host = t.is_host
        AND t.moment_ns >= b.from_ns
    WHERE t.moment_ns < b.until_ns
),
covered AS (
    SELECT
        p.*,
        CASE WHEN p.end_ns > p.from_ns THEN
            -- Compute before its end less compute before its start.
            coalesce(l.before_ns + least(p.end_ns, l.end_ns) - l.start_ns, 0)
            - coalesce(f.before_ns + least(p.from_ns, f.end_ns) - f.start_ns, 0)
            WHEN p.end_ns IS NOT NULL THEN 0 END AS hidden_wait_ns
    FROM waited AS p
    ASOF LEFT JOIN compute_interval AS f
        ON f.device_key = p.device_key AND p.from_ns >= f.start_ns
    ASOF LEFT JOIN compute_interval AS l
        ON l.device_key = p.device_key
        AND greatest(p.from_ns, coalesce(p.end_ns, p.from_ns)) >= l.start_ns
)
SELECT
    device_key,
    step,
    run_id,
    operation,
    instance,
    start_ns,
    wait_ns,
    late_ns,
    CASE WHEN wait_ns IS NOT NULL
        THEN greatest(0, end_ns - from_ns) - hidden_wait_ns END AS exposed_wait_ns,
    hidden_wait_ns,
    greatest(0, transfer_end_ns - transfer_from_ns) AS transfer_ns,
    reason
FROM covered
