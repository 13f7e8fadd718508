-- Which profiles tell what limits a kernel of the job. Exact is the same name, grid and
-- block on a GPU of the same name; a base name counts where it stands for one kernel
-- only; the same name with another grid or block is the last resort, and said.
-- Grain: one row per run_id, gpu_name, name_id, grid and block.
--
-- run_id         Run.
-- gpu_name       Product name of the GPU that ran it; NULL when the trace does not say.
-- name_id        See kernel_name.
-- grid_x         Grid size, blocks.
-- grid_y         Grid size, blocks.
-- grid_z         Grid size, blocks.
-- block_x        Block size, threads.
-- block_y        Block size, threads.
-- block_z        Block size, threads.
-- class          What limits most of the matching profiles; NULL when no profile tells.
-- match          exact; base name: that, grid and block; name only: another grid or
--                block.
-- profile_count  Matching profiles; details and raw page of one profile are two.
-- class_share    Of these, the share with this class.
-- is_high        Whether most of these use a unit highly, see profiled_kernel.
-- is_small_grid  Whether most of these are smaller than one wave.
WITH shape AS (
    SELECT DISTINCT
        d.run_id,
        d.gpu_name,
        t.name_id,
        t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z,
        t.grid_x * t.grid_y * t.grid_z AS grid_block_count,
        t.block_x::BIGINT * t.block_y * t.block_z AS block_thread_count,
        s.signature,
        s.qualified_name,
        s.base_name
    FROM kernel_shape_time AS t
    JOIN traced_device AS d USING (device_key)
    JOIN classified_kernel_name AS n USING (name_id)
    JOIN kernel_signature AS s ON s.name = n.name
),
profile AS (
    SELECT
        k.run_id,
        CASE WHEN g.origin <> 'run_fact' THEN g.gpu_name END AS gpu_name,
        k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z,
        k.grid_block_count,
        k.block_thread_count,
        s.signature,
        s.qualified_name,
        s.base_name,
        p.class,
        p.is_high,
        p.is_small_grid
    FROM kernel_profile AS k
    JOIN profiled_kernel AS p USING (run_id, source_id, kernel_id)
    JOIN profiled_gpu AS g USING (run_id, source_id, kernel_id)
    JOIN kernel_signature AS s USING (name)
),
-- Base names that stand for one kernel in the traces and for one in the profiles.
single AS (
    SELECT j.run_id, j.base_name
    FROM (
        SELECT run_id, base_name
        FROM shape GROUP BY run_id, base_name
        HAVING count(DISTINCT signature) = 1
    ) AS j
    JOIN (
        SELECT run_id, base_name
        FROM profile GROUP BY run_id, base_name
        HAVING count(DISTINCT signature) = 1
    ) AS p USING (run_id, base_name)
),
paired AS (
    SELECT
        s.* EXCLUDE (
            grid_block_count, block_thread_count, signature, qualified_name, base_name
        ),
        p.class,
        p.is_high,
        p.is_small_grid,
        s.grid_block_count = p.grid_block_count
        AND s.block_thread_count = p.block_thread_count
        AND coalesce(s.grid_x = p.grid_x AND s.grid_y = p.grid_y, true)
        AND coalesce(s.block_x = p.block_x AND s.block_y = p.block_y, true)
            AS is_same_shape,
        s.signature = p.signature AS is_same_name
    FROM shape AS s
    JOIN profile AS p
        ON p.run_id = s.run_id
        AND p.base_name = s.base_name
        AND coalesce(p.gpu_name = s.gpu_name, true)
    LEFT JOIN single AS o ON o.run_id = s.run_id AND o.base_name = s.base_name
    WHERE s.signature = p.signature
        OR (
            o.base_name IS NOT NULL
            -- Of different namespaces are different kernels, unless one is not printed.
            AND (
                s.qualified_name = p.qualified_name
                OR s.signature = s.base_name
                OR p.signature = p.base_name
            )
        )
),
ranked AS (
    SELECT
        *,
        CASE WHEN is_same_name AND is_same_shape THEN 'exact'
            WHEN is_same_shape THEN 'base name'
            WHEN is_same_name THEN 'name only' END AS match,
        min(CASE WHEN is_same_name AND is_same_shape THEN 1
            WHEN is_same_shape THEN 2
            WHEN is_same_name THEN 3 END) OVER shape_of AS best
    FROM paired
    WINDOW shape_of AS (
        PARTITION BY
            run_id, gpu_name, name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z
    )
),
counted AS (
    SELECT
        run_id, gpu_name, name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,
        match,
        class,
        count(*) AS profile_count,
        bool_and(is_high) AS is_high,
        bool_and(is_small_grid) AS is_small_grid
    FROM ranked
    WHERE match = ['exact', 'base name', 'name only'][best]
    GROUP BY ALL
)
SELECT
    run_id, gpu_name, name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    -- Most profiles decide; as many of two classes are no answer.
    CASE WHEN count(*) FILTER (class IS NOT NULL AND place = 1) = 1
        THEN any_value(class) FILTER (place = 1) END AS class,
    match,
    sum(profile_count)::BIGINT AS profile_count,
    CASE WHEN count(*) FILTER (class IS NOT NULL AND place = 1) = 1
        THEN any_value(profile_count) FILTER (class IS NOT NULL AND place = 1)
            / sum(profile_count) END AS class_share,
    bool_and(is_high) FILTER (place = 1 AND class IS NOT NULL) AS is_high,
    bool_and(is_small_grid) FILTER (place = 1 AND class IS NOT NULL) AS is_small_grid
FROM (
    SELECT
        *,
        rank() OVER (
            PARTITION BY
                run_id, gpu_name, name_id,
                grid_x, grid_y, grid_z, block_x, block_y, block_z
            ORDER BY class IS NULL, profile_count DESC
        ) AS place
    FROM counted
)
GROUP BY
    run_id, gpu_name, name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, match
