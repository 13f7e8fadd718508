-- Kernel names in a form that tools agree on: nsys, and ncu of any version, demangle one
-- name differently, e.g. <int=32>, <(int)32>, <32u> and <32>; true and 1; the nameless
-- namespace.
-- Grain: one row per name.
--
-- name        Kernel name as printed by nsys or ncu.
-- signature   The same name for every tool that prints template arguments and parameters.
-- qualified_name  With namespaces, without template arguments and parameters.
-- base_name   The same without namespaces: the function's own name, which nsys calls
--             short and ncu function.
WITH RECURSIVE printed AS (
    SELECT name FROM kernel_name
    UNION
    SELECT name FROM kernel_profile
),
stripped AS (
    SELECT
        name,
        regexp_replace(
            replace(replace(name, '(anonymous namespace)', 'anonymous'), '<unnamed>',
                'anonymous'),
            '->|operator[<>]+', '', 'g'
        ) AS text
    FROM printed
    UNION
    -- One level of template arguments a time, from the inside.
    SELECT name, regexp_replace(text, '<[^<>]*>', '', 'g')
    FROM stripped
    WHERE regexp_matches(text, '<[^<>]*>')
),
based AS (
    SELECT
        name,
        regexp_extract(
            regexp_replace(arg_min(text, length(text)), '\(.*$', ''), '([^ ]*)$', 1
        ) AS qualified_name
    FROM stripped
    GROUP BY name
),
-- What stands for one thing, in the order in which it has to be replaced.
plain AS (
    SELECT
        name,
        replace(replace(name, '(anonymous namespace)', 'anonymous'), '<unnamed>',
            'anonymous') AS without_namespace,
        regexp_replace(without_namespace, '^\s*void ', '') AS without_void,
        regexp_replace(without_void, '\([A-Za-z_][A-Za-z0-9_: ]*\)(-?[0-9])', '\1', 'g')
            AS without_casts,
        regexp_replace(
            without_casts, '([<,] *)[A-Za-z_][A-Za-z_ ]*=(-?[0-9])', '\1\2', 'g'
        ) AS without_types,
        regexp_replace(without_types, '\b([0-9]+)[uUlL]+\b', '\1', 'g')
            AS without_suffixes,
        regexp_replace(without_suffixes, '\btrue\b', '1', 'g') AS without_true,
        regexp_replace(without_true, '\bfalse\b', '0', 'g') AS without_false,
        regexp_replace(without_false, '\s+', '', 'g') AS signature
    FROM printed
)
SELECT
    p.name,
    p.signature,
    -- A name may be nothing but brackets.
    coalesce(nullif(b.qualified_name, ''), p.name) AS qualified_name,
    coalesce(
        nullif(regexp_extract(b.qualified_name, '([^:]*)$', 1), ''), p.name
    ) AS base_name
FROM plain AS p
JOIN based AS b USING (name)
