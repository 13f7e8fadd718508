-- Benchmarks of collectives that computed wrong results: what they say of bandwidth does
-- not count.
-- Grain: one row per (run_id, source_id, benchmark_id).
--
-- run_id               Run.
-- source_id            Source file.
-- benchmark_id         Test in its file.
-- operation            Collective.
-- row_count            Rows with wrong elements; 0 where the test's footer alone tells.
-- wrong_count          Wrong elements of all of these; NULL where no row counts them.
-- out_of_bounds_count  Values out of bounds by the test's footer; NULL when not printed.
-- line                 First such row's line; the test's where the footer alone tells.
WITH
wrong_row AS (
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
),
-- Until 2022 rows had a deviation and no count; the footer judged it.
told AS (
    SELECT
        run_id,
        source_id,
        benchmark_id,
        coalesce(op, test) AS operation,
        out_of_bounds_count,
        is_out_of_bounds_ok,
        first_line
    FROM collective_benchmark_run
)
SELECT
    run_id,
    source_id,
    benchmark_id,
    coalesce(w.operation, t.operation) AS operation,
    coalesce(w.row_count, 0) AS row_count,
    w.wrong_count,
    t.out_of_bounds_count,
    coalesce(w.line, t.first_line) AS line
FROM told AS t
FULL JOIN wrong_row AS w USING (run_id, source_id, benchmark_id)
WHERE w.row_count > 0
    OR NOT t.is_out_of_bounds_ok
    OR t.out_of_bounds_count > 0
ORDER BY run_id, source_id, benchmark_id
