-- Ranks of the job are missing, or files are refused or not whole.
-- Grain: one row per (run_id, detail).
-- Hint: Ingest the missing files; see source_file and ingest_issue for what is wrong
--   with those that are there.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        NULL: the whole job.
-- detail         What is missing.
-- value          NULL.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'info' AS severity,
    NULL::VARCHAR AS wall,
    NULL::VARCHAR AS subject,
    doubt AS detail,
    NULL::DOUBLE AS value,
    NULL::DOUBLE AS threshold,
    NULL::VARCHAR AS unit,
    NULL::DOUBLE AS cost_share,
    'run_trust' AS evidence_view,
    'doubt = ''' || doubt || '''' AS evidence
FROM run_trust
WHERE evidence_view IN ('run_evidence', 'run_summary')
