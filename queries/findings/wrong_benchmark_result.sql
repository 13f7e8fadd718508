-- A benchmark of collectives computed wrong results.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Nothing on these hosts can be trusted, bandwidth least of all: drain them, run
--   dcgmi diag -r 3, and look for XIDs and link errors.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Operation.
-- detail         NULL.
-- value          Wrong elements; values out of bounds where no row counts elements.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'fault' AS severity,
    'interconnect' AS wall,
    operation AS subject,
    NULL::VARCHAR AS detail,
    coalesce(wrong_count, out_of_bounds_count) AS value,
    0::DOUBLE AS threshold,
    'wrong value' AS unit,
    NULL::DOUBLE AS cost_share,
    'benchmark_error' AS evidence_view,
    'source_id = ''' || source_id || ''' AND benchmark_id = ' || benchmark_id AS evidence
FROM benchmark_error
