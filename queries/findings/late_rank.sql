-- The other ranks wait for this one.
-- Grain: one row per (run_id, subject, evidence).
-- Hint: Look for the part that differs: its gaps' causes (input, host), its clocks, its
--   kernels; swap the host if nothing but its speed differs.
--
-- run_id         Run.
-- severity       fault, wall, warning or info.
-- wall           Wall that it belongs to; NULL for none.
-- subject        Rank.
-- detail         In what it differs from the median rank.
-- value          Time lost to it / time of all steps; NULL where that is below the
--                limit.
-- threshold      Limit of the value that was passed; NULL without one.
-- unit           Unit of both.
-- cost_share     Share of the step (of the span where no steps are known) that it costs;
--                NULL when unknown.
-- evidence_view  View that shows it.
-- evidence       Condition on its rows; NULL for all of the run.
SELECT
    run_id,
    CASE WHEN lost_share >= threshold_of('wall_share') THEN 'wall' ELSE 'warning' END
        AS severity,
    'waiting' AS wall,
    concat_ws(
        ' on ',
        coalesce('rank ' || rank, 'device ' || device_id || ' of process ' || process),
        host
    ) AS subject,
    reason AS detail,
    -- Of two equally late ranks each alone costs nothing; detail says what both cost.
    CASE WHEN lost_share >= threshold_of('straggler_lost_share') THEN lost_share END
        AS value,
    CASE WHEN lost_share >= threshold_of('straggler_lost_share')
        THEN threshold_of('straggler_lost_share') END AS threshold,
    'share' AS unit,
    lost_share AS cost_share,
    'straggler' AS evidence_view,
    'source_id = ''' || source_id || ''' AND process = ' || process
        || ' AND device_id = ' || device_id AS evidence
FROM straggler
WHERE verdict = 'straggler'
