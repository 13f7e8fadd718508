-- Interval arithmetic by running maxima: sorted by start, an interval adds to the union
-- what lies behind the latest end so far. One window, no islands, no sweep.

-- The part of an interval that no earlier one covers; covered_until is the latest end of
-- the earlier ones, NULL when there is none.
CREATE MACRO uncovered_ns(start_ns, end_ns, covered_until) AS
    greatest(0, end_ns - greatest(start_ns, coalesce(covered_until, start_ns)));

-- The hole before an interval: from the latest end so far to its start.
CREATE MACRO hole_ns(start_ns, covered_until) AS
    greatest(0, start_ns - coalesce(covered_until, start_ns));

-- A share, NULL when there is nothing to share.
CREATE MACRO share_of(part, whole) AS
    CASE WHEN whole > 0 THEN part / whole END;
