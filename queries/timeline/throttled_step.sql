-- Steps that ran inside an event of throttling; one of several events at once, in each.
-- Grain: one row per (run_id, event, series, attempt, step).
--
-- run_id      Run.
-- event       See throttle_member.
-- clock       Clock that event and step share.
-- series      Log or capture that tells the step; see step_period.
-- attempt     Attempt of the job.
-- step        Step.
-- step_ns     Its length; a mean where the log averages.
-- step_count  Steps that it stands for.
SELECT h.run_id, h.event, h.clock, s.series, s.attempt, s.step, s.step_ns, s.step_count
FROM throttle_group AS h
JOIN step_period AS s
    ON s.run_id = h.run_id
    AND s.clock = h.clock
    -- A step belongs to an event when its middle does.
    AND s.start_ns + s.end_ns >= 2 * h.start_ns
    AND s.start_ns + s.end_ns < 2 * h.end_ns
WHERE h.is_timed
