-- How much of each step a device spends waiting for other ranks inside the collectives
-- launched in it, and how much of that no compute hides. A collective that runs on into
-- the next step counts, whole, to the step that launched it: on every rank the same one.
-- Grain: one row per (device_key, step) with a collective.
--
-- device_key       See traced_device.
-- step             See device_step.
-- collective_count  Communication kernels launched in the step; see step_bound.
-- split_count      Of these, how many could be split into wait and transfer.
-- wait_ns          Sum of their waits; NULL when none could be split.
-- exposed_wait_ns  Part of the union of waits with no compute beside it.
-- late_ns          Sum of how much later than the median rank it arrived; early is 0.
--                  NULL when none could be split.
WITH bound AS MATERIALIZED (FROM step_bound),
timed AS (
    SELECT
        c.device_key, c.wait_ns, c.late_ns, c.start_ns, c.start_ns + c.wait_ns AS end_ns,
        h.device_key IS NOT NULL AND c.call_start_ns IS NOT NULL AS is_host,
        CASE WHEN h.device_key IS NOT NULL THEN coalesce(c.call_start_ns, c.start_ns)
            ELSE c.start_ns END AS moment_ns
    FROM collective_time AS c
    LEFT JOIN (SELECT DISTINCT device_key FROM bound WHERE is_host) AS h USING (device_key)
),
waited AS MATERIALIZED (
    SELECT
        t.device_key, b.step, t.wait_ns, t.late_ns, t.start_ns, t.end_ns,
        max(t.end_ns) OVER (
            PARTITION BY t.device_key ORDER BY t.start_ns, t.end_ns, b.step
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_until
    FROM timed AS t
    ASOF JOIN bound AS b
        ON b.device_key = t.device_key
        AND b.is_host = t.is_host
        AND t.moment_ns >= b.from_ns
    WHERE t.moment_ns < b.until_ns
),
-- Waits by parts that do not overlap, and the compute beside each.
part AS (
    SELECT
        device_key, step, greatest(start_ns, coalesce(covered_until, start_ns)) AS start_ns,
        end_ns
    FROM waited
    WHERE end_ns > coalesce(covered_until, start_ns)
),
exposed AS (
    SELECT
        p.device_key,
        p.step,
        sum(
            p.end_ns - p.start_ns
            - coalesce(l.before_ns + least(p.end_ns, l.end_ns) - l.start_ns, 0)
            + coalesce(f.before_ns + least(p.start_ns, f.end_ns) - f.start_ns, 0)
        )::BIGINT AS exposed_wait_ns
    FROM part AS p
    ASOF LEFT JOIN compute_interval AS f
        ON f.device_key = p.device_key AND p.start_ns >= f.start_ns
    ASOF LEFT JOIN compute_interval AS l
        ON l.device_key = p.device_key AND p.end_ns >= l.start_ns
    GROUP BY p.device_key, p.step
),
summed AS (
    SELECT
        device_key,
        step,
        count(*) AS collective_count,
        count(wait_ns) AS split_count,
        sum(wait_ns)::BIGINT AS wait_ns,
        (sum(greatest(late_ns, 0)) FILTER (late_ns IS NOT NULL))::BIGINT AS late_ns
    FROM waited
    GROUP BY device_key, step
)
SELECT
    s.device_key,
    s.step,
    s.collective_count,
    s.split_count,
    s.wait_ns,
    CASE WHEN s.split_count > 0 THEN coalesce(e.exposed_wait_ns, 0)::BIGINT END
        AS exposed_wait_ns,
    s.late_ns
FROM summed AS s
LEFT JOIN exposed AS e USING (device_key, step)
