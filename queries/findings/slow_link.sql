-- A link carries less than it should.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Look at its negotiated speed and width, its cable and its error counters; test
--   it in the other direction.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Link.
-- detail         What it was compared with.
-- value          Achieved / reference, median.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    'warning' AS severity,
    'interconnect' AS wall,
    concat_ws(' ', host, name) AS subject,
    concat_ws(
        '; ', any_value(reference_source) FILTER (verdict = 'low'),
        'measured ' || count(*) FILTER (verdict = 'low') || ' times'
    ) AS detail,
    median(efficiency_share) FILTER (verdict = 'low') AS value,
    NULL::DOUBLE AS threshold,
    'share' AS unit,
    NULL::DOUBLE AS cost_share,
    'bandwidth_efficiency' AS evidence_view,
    'source_id = ''' || source_id || ''' AND subject_kind = ''' || subject_kind
        || ''' AND name = ''' || replace(name, '''', '''''') || ''' AND verdict = ''low'''
        AS evidence
FROM bandwidth_efficiency
WHERE subject_kind IN ('link benchmark', 'collective benchmark')
GROUP BY run_id, source_id, subject_kind, host, name
HAVING bool_or(verdict = 'low')
    -- A healthy curve is low at its middle sizes: its best says what the link carries.
    AND (
        subject_kind = 'link benchmark'
        OR max(efficiency_share) < threshold_of('link_low_share')
    )
