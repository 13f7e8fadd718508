-- NVTX ranges with the name of their domain.
-- Grain: one row per range or mark.
--
-- run_id      Run.
-- source_id   Source file.
-- process     Process id.
-- thread      Thread that opened it.
-- kind        push_pop, start_end or mark.
-- domain      Domain's name; NULL for the default domain; "domain N" when it was not
--             named.
-- name        Text given by the program, without the ", seq = 12, op_id = 34, sizes =
--             ..." that PyTorch's emit_nvtx adds and that makes every range's text
--             another one.
-- text        The same text whole.
-- start_ns    ns since the capture began.
-- end_ns      ns since the capture began; NULL when never closed.
SELECT
    r.run_id,
    r.source_id,
    r.process,
    r.thread,
    r.kind,
    CASE WHEN r.domain_id <> 0 THEN coalesce(d.name, 'domain ' || r.domain_id) END
        AS domain,
    regexp_replace(r.name, ', (seq|op_id) = .*$', '') AS name,
    r.name AS text,
    r.start_ns,
    r.end_ns
FROM nvtx_range AS r
LEFT JOIN nvtx_domain AS d USING (run_id, source_id, process, domain_id)
