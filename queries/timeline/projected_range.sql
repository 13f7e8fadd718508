-- NVTX ranges projected to the GPU: from the first start to the last end of the work that
-- was launched inside them, on the thread that opened them. Ranges may nest or cross at
-- will.
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
-- work_count      GPU activities launched inside it.
-- gpu_start_ns    First start of those; NULL without any.
-- gpu_end_ns      Last end of those; NULL without any.
WITH launch AS MATERIALIZED (
    SELECT
        run_id, source_id, process, thread, call_start_ns, start_ns, end_ns,
        row_number() OVER (ORDER BY run_id, source_id, process, thread, call_start_ns)
            AS place
    FROM launched_activity
),
closed AS MATERIALIZED (
    SELECT *, row_number() OVER () AS range_key
    FROM named_nvtx_range
    WHERE end_ns IS NOT NULL
),
-- One call may launch much work (a CUDA graph's nodes): a moment has a first and a last
-- place.
moment AS MATERIALIZED (
    SELECT
        run_id, source_id, process, thread, call_start_ns,
        min(place) AS first_place, max(place) AS last_place
    FROM launch
    GROUP BY run_id, source_id, process, thread, call_start_ns
),
-- The launches inside a range are neighbours in the order of their thread: from the first
-- one that does not begin before the range to the last one that does not begin after its
-- end.
inside AS (
    SELECT r.range_key, unnest(range(f.first_place, l.last_place + 1)) AS place
    FROM closed AS r
    ASOF JOIN moment AS f
        ON f.run_id = r.run_id
        AND f.source_id = r.source_id
        AND f.process = r.process
        AND f.thread = r.thread
        AND r.start_ns <= f.call_start_ns
    ASOF JOIN moment AS l
        ON l.run_id = r.run_id
        AND l.source_id = r.source_id
        AND l.process = r.process
        AND l.thread = r.thread
        AND r.end_ns >= l.call_start_ns
    WHERE l.last_place >= f.first_place
),
projected AS (
    SELECT
        i.range_key,
        count(*) AS work_count,
        min(w.start_ns) AS gpu_start_ns,
        max(w.end_ns) AS gpu_end_ns
    FROM inside AS i
    JOIN launch AS w USING (place)
    GROUP BY i.range_key
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
    p.gpu_end_ns
FROM closed AS r
LEFT JOIN projected AS p USING (range_key)
