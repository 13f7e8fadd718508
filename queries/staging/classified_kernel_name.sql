-- Every distinct kernel name with its class, by the first matching rule of kernel_class.
-- Grain: one row per name_id.
--
-- name_id    The same name has the same id in every file.
-- name       Demangled name.
-- short_name  Base name without templates and arguments.
-- class      communication, gemm, attention, normalisation, elementwise, reduction,
--            memory, optimizer or other.
-- operation  Collective operation of a communication kernel; NULL when its name does not
--            tell.
WITH distinct_name AS (
    SELECT name_id, any_value(name) AS name, any_value(short_name) AS short_name
    FROM kernel_name
    GROUP BY name_id
),
ruled AS (
    SELECT
        n.name_id,
        n.name,
        n.short_name,
        arg_min({'class': r.class, 'operation': r.operation}, r.priority) AS rule
    FROM distinct_name AS n
    -- An underscore of a pattern is an underscore: lamb_ must not find lambda.
    LEFT JOIN kernel_class AS r
        ON lower(n.name) LIKE replace(r.pattern, '_', '\_') ESCAPE '\'
    GROUP BY n.name_id, n.name, n.short_name
)
SELECT
    name_id,
    name,
    short_name,
    coalesce(rule.class, 'other') AS class,
    rule.operation AS operation
FROM ruled
