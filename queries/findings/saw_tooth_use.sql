-- The GPUs' use goes up and down in a regular way: something makes them pause.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: A period of one step is communication or input that nothing hides, a longer one a
--   checkpoint or evaluation; a capture with Nsight Systems tells which.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        What the low phases are; unknown without a capture.
-- detail         How many GPUs, and the period.
-- value          Median difference between high and low use.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
WITH toothed AS (
    SELECT
        run_id,
        explanation,
        count(*) AS gpu_count,
        median(period_ns)::BIGINT AS period_ns,
        median(depth_share) AS depth_share
    FROM saw_tooth
    WHERE is_saw_tooth
    GROUP BY run_id, explanation
)
SELECT
    run_id,
    'info' AS severity,
    CASE WHEN explanation IN ('communication', 'input') THEN explanation END AS wall,
    explanation AS subject,
    gpu_count || ' GPUs, every ' || period_ns || ' ns' AS detail,
    depth_share AS value,
    threshold_of('saw_tooth_share') AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'saw_tooth' AS evidence_view,
    'is_saw_tooth AND explanation = ''' || explanation || '''' AS evidence
FROM toothed
