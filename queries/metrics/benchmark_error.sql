-- Benchmarks of collectives that computed wrong results: what they say of bandwidth does
-- not count.
-- Grain: one row per (run_id, source_id, benchmark_id).
--
-- run_id        Run.
-- source_id     Source file.
-- benchmark_id  Test in its file.
-- operation     Collective.
-- row_count     Rows with wrong elements.
-- wrong_count   Wrong elements of all of these.
-- line          First such line.
SELECT
    run_id,
    source_id,
    benchmark_id,
    any_value(coalesce(op, test)) AS operation,
    count(*) AS row_count,
    sum(wrong_count)::BIGINT AS wrong_count,
    min(line) AS line
FROM collective_benchmark
WHERE wrong_count > 0
GROUP BY run_id, source_id, benchmark_id
ORDER BY run_id, source_id, benchmark_id
