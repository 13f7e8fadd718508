-- Each step's time by what was launched in it. On the device work of a step may run on
-- into the next one, on some ranks further than on others: by launch the same work counts
-- to the same step on every rank. Compute belongs to its own step, communication with no
-- compute beside it to the communication's, idle time to that of the work that ends it.
-- Grain: one row per (device_key, step) in which any work was launched.
--
-- device_key       See traced_device.
-- step             See device_step.
-- exclusion        Why summaries leave it out; else NULL.
-- step_ns          own + exposed communication; over all steps, the time that they take.
-- own_ns           compute + exposed memory + idle.
-- compute_ns       Union of compute.
-- communication_ns  Union of communication kernels.
-- exposed_communication_ns  Of these, with no compute beside it.
-- exposed_memory_ns  Copies and sets with no kernel and no graph beside them.
-- idle_ns          Nothing runs.
WITH bound AS MATERIALIZED (FROM step_bound),
launch AS (
    SELECT d.device_key, c.correlation_id, c.start_ns
    FROM api_call AS c
    JOIN traced_device AS d USING (run_id, source_id, process)
),
timed AS (
    SELECT
        a.device_key, a.start_ns, a.end_ns, a.is_communication, a.is_compute,
        c.start_ns IS NOT NULL AND h.device_key IS NOT NULL AS is_host,
        CASE WHEN h.device_key IS NOT NULL THEN coalesce(c.start_ns, a.start_ns)
            ELSE a.start_ns END AS moment_ns
    FROM activity AS a
    SEMI JOIN bound AS b USING (device_key)
    LEFT JOIN launch AS c
        ON c.device_key = a.device_key AND c.correlation_id = a.correlation_id
    LEFT JOIN (SELECT DISTINCT device_key FROM bound WHERE is_host) AS h
        ON h.device_key = a.device_key
),
stepped AS (
    SELECT
        t.device_key, t.start_ns, t.end_ns, t.is_communication, t.is_compute,
        CASE WHEN t.moment_ns < b.until_ns THEN b.step END AS step,
        b.begin_ns
    FROM timed AS t
    ASOF LEFT JOIN bound AS b
        ON b.device_key = t.device_key
        AND b.is_host = t.is_host
        AND t.moment_ns >= b.from_ns
),
covered AS MATERIALIZED (
    SELECT
        *,
        max(end_ns) OVER earlier AS by_any,
        max(CASE WHEN is_compute OR is_communication THEN end_ns END) OVER earlier
            AS by_executing,
        max(CASE WHEN is_compute THEN end_ns END) OVER earlier AS by_compute,
        max(CASE WHEN is_communication THEN end_ns END) OVER earlier AS by_communication
    FROM stepped
    WINDOW earlier AS (
        PARTITION BY device_key ORDER BY start_ns, end_ns, step
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
summed AS (
    SELECT
        device_key,
        step,
        sum(hole_ns(start_ns, greatest(by_any, begin_ns)))::BIGINT AS idle_ns,
        (coalesce(sum(uncovered_ns(start_ns, end_ns, by_any)), 0)
            - coalesce(sum(uncovered_ns(start_ns, end_ns, by_executing))
                FILTER (is_compute OR is_communication), 0))::BIGINT AS exposed_memory_ns,
        coalesce(sum(uncovered_ns(start_ns, end_ns, by_compute))
            FILTER (is_compute), 0)::BIGINT AS compute_ns
    FROM covered
    WHERE step IS NOT NULL
    GROUP BY device_key, step
),
-- Communication by parts that do not overlap, and the compute beside each: compute before
-- its end less compute before its start.
part AS (
    SELECT
        device_key, step,
        greatest(start_ns, coalesce(by_communication, start_ns)) AS start_ns,
        end_ns
    FROM covered
    WHERE is_communication
        AND step IS NOT NULL
        AND end_ns > coalesce(by_communication, start_ns)
),
exposed AS (
    SELECT
        p.device_key,
        p.step,
        sum(p.end_ns - p.start_ns)::BIGINT AS communication_ns,
        sum(
            p.end_ns - p.start_ns
            - coalesce(l.before_ns + least(p.end_ns, l.end_ns) - l.start_ns, 0)
            + coalesce(f.before_ns + least(p.start_ns, f.end_ns) - f.start_ns, 0)
        )::BIGINT AS exposed_ns
    FROM part AS p
    ASOF LEFT JOIN compute_interval AS f
        ON f.device_key = p.device_key AND p.start_ns >= f.start_ns
    ASOF LEFT JOIN compute_interval AS l
        ON l.device_key = p.device_key AND p.end_ns >= l.start_ns
    GROUP BY p.device_key, p.step
)
SELECT
    s.device_key,
    s.step,
    d.exclusion,
    s.compute_ns + s.exposed_memory_ns + s.idle_ns
        + coalesce(e.exposed_ns, 0) AS step_ns,
    s.compute_ns + s.exposed_memory_ns + s.idle_ns AS own_ns,
    s.compute_ns,
    coalesce(e.communication_ns, 0) AS communication_ns,
    coalesce(e.exposed_ns, 0) AS exposed_communication_ns,
    s.exposed_memory_ns,
    s.idle_ns
FROM summed AS s
JOIN device_step AS d USING (device_key, step)
LEFT JOIN exposed AS e USING (device_key, step)
