-- The value of a row of reference/threshold.csv, as overridden by the user.
CREATE MACRO threshold_of(threshold_name) AS (
    SELECT value FROM threshold WHERE name = threshold_name
);
