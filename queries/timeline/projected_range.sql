-- NVTX ranges projected to the GPU: from the first start to the last end of the work that
-- was launched inside them. Ranges may nest or cross at will. Once by the thread that
-- opened them, as nsys projects; and once by any thread of the process, since the
-- backward pass of PyTorch launches from threads of autograd while the thread with the
-- range waits for them. Of the other threads' work only what runs on a device that the
-- opening thread uses too counts, where it launches anything at all: one thread for each
-- device is no work handed over.
-- Grain: one row per closed range.
--
-- run_id          Run.
-- source_id       Source file.
-- process         Process id.
-- thread          Thread that opened it.
-- kind            push_pop or start_end.
-- domain          Domain's name; NULL for the default domain.
-- name            Text given by the program.
-- start_ns        Start on the host.
-- end_ns          End on the host.
-- work_count      GPU activities launched inside it by the thread that opened it.
-- gpu_start_ns    First start of those; NULL without any.
-- gpu_end_ns      Last end of those; NULL without any.
-- any_thread_work_count  GPU activities launched while it was open, by any thread.
-- any_thread_gpu_start_ns  First start of those; NULL without any.
-- any_thread_gpu_end_ns  Last end of those; NULL without any.
WITH launched AS MATERIALIZED (
    SELECT
        run_id, source_id, process, thread, device_key, call_start_ns, start_ns, end_ns
    FROM launched_activity
),
closed AS MATERIALIZED (
    SELECT *, row_number() OVER () AS range_key
    FROM named_nvtx_range
    WHERE end_ns IS NOT NULL
),
-- A lane is a sequence of launches that a range may have some of: those of its thread.
thread_lane AS MATERIALIZED (
    SELECT
        run_id, source_id, process, thread,
        list(DISTINCT device_key ORDER BY device_key) AS devices,
        row_number() OVER (ORDER BY run_id, source_id, process, thread) AS lane
    FROM launched
    GROUP BY run_id, source_id, process, thread
),
process_device AS (
    SELECT
        run_id, source_id, process,
        list(DISTINCT device_key ORDER BY device_key) AS devices
    FROM launched
    GROUP BY run_id, source_id, process
),
ranged AS MATERIALIZED (
    SELECT
        r.range_key, r.run_id, r.source_id, r.process, r.start_ns, r.end_ns,
        t.lane, coalesce(t.devices, p.devices) AS devices
    FROM closed AS r
    JOIN process_device AS p USING (run_id, source_id, process)
    LEFT JOIN thread_lane AS t USING (run_id, source_id, process, thread)
),
-- Or those of all threads to certain devices: where only one thread has any, its own.
shared_lane AS MATERIALIZED (
    SELECT
        r.run_id, r.source_id, r.process, r.devices,
        CASE WHEN count(*) = 1 AND bool_and(list_has_all(r.devices, t.devices))
            THEN min(t.lane)
            ELSE -row_number() OVER (
                ORDER BY r.run_id, r.source_id, r.process, r.devices
            ) END AS lane
    FROM (SELECT DISTINCT run_id, source_id, process, devices FROM ranged) AS r
    JOIN thread_lane AS t
        ON t.run_id = r.run_id
        AND t.source_id = r.source_id
        AND t.process = r.process
        AND list_has_any(t.devices, r.devices)
    GROUP BY r.run_id, r.source_id, r.process, r.devices
),
launch AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY lane, call_start_ns) AS place
    FROM (
        SELECT t.lane, l.call_start_ns, l.start_ns, l.end_ns
        FROM launched AS l
        JOIN thread_lane AS t USING (run_id, source_id, process, thread)
        UNION ALL
        SELECT s.lane, l.call_start_ns, l.start_ns, l.end_ns
        FROM launched AS l
        JOIN shared_lane AS s USING (run_id, source_id, process)
        WHERE s.lane < 0 AND list_contains(s.devices, l.device_key)
    )
),
range_lane AS (
    SELECT range_key, lane, start_ns, end_ns FROM ranged WHERE lane IS NOT NULL
    UNION
    SELECT r.range_key, s.lane, r.start_ns, r.end_ns
    FROM ranged AS r
    JOIN shared_lane AS s USING (run_id, source_id, process, devices)
),
-- One call may launch much work (a CUDA graph's nodes): a moment has a first and a last
-- place.
moment AS MATERIALIZED (
    SELECT lane, call_start_ns, min(place) AS first_place, max(place) AS last_place
    FROM launch
    GROUP BY lane, call_start_ns
),
-- The launches inside a range are neighbours in the order of their lane: from the first
-- one that does not begin before the range to the last one that does not begin after its
-- end.
inside AS (
    SELECT r.range_key, r.lane, unnest(range(f.first_place, l.last_place + 1)) AS place
    FROM range_lane AS r
    ASOF JOIN moment AS f ON f.lane = r.lane AND r.start_ns <= f.call_start_ns
    ASOF JOIN moment AS l ON l.lane = r.lane AND r.end_ns >= l.call_start_ns
    WHERE l.last_place >= f.first_place
),
projected AS MATERIALIZED (
    SELECT
        i.range_key,
        i.lane,
        count(*) AS work_count,
        min(w.start_ns) AS gpu_start_ns,
        max(w.end_ns) AS gpu_end_ns
    FROM inside AS i
    JOIN launch AS w USING (place)
    GROUP BY i.range_key, i.lane
)
SELECT
    r.run_id,
    r.source_id,
    r.process,
    r.thread,
    r.kind,
    r.domain,
    r.name,
    r.start_ns,
    r.end_ns,
    coalesce(p.work_count, 0) AS work_count,
    p.gpu_start_ns,
    p.gpu_end_ns,
    coalesce(a.work_count, 0) AS any_thread_work_count,
    a.gpu_start_ns AS any_thread_gpu_start_ns,
    a.gpu_end_ns AS any_thread_gpu_end_ns
FROM closed AS r
LEFT JOIN (
    SELECT g.range_key, g.lane, s.lane AS any_lane
    FROM ranged AS g
    LEFT JOIN shared_lane AS s USING (run_id, source_id, process, devices)
) AS k USING (range_key)
LEFT JOIN projected AS p ON p.range_key = r.range_key AND p.lane = k.lane
LEFT JOIN projected AS a ON a.range_key = r.range_key AND a.lane = k.any_lane
