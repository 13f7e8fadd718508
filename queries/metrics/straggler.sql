-- Which rank the others wait for, what it costs them, and in what it differs.
-- Grain: one row per (run_id, rank, host, device_id, process, source_id).
--
-- run_id          Run.
-- rank            Global rank; NULL when the trace does not say.
-- host            Host; NULL when the trace does not say.
-- device_id       CUDA ordinal inside the process.
-- process         Process id.
-- rank_count      Ranks compared.
-- step_count      Steps.
-- critical_count  Steps in which the others waited for it; NULL when waits are unknown.
-- last_arrival_count  Collectives in which it arrived last.
-- caused_wait_ns  What all others together waited in those.
-- lost_ns         Time that the job would have saved had it been ordinary: its excess in
--                 the steps in which it was waited for.
-- lost_share      lost / time of all steps.
-- mean_own_ns     Mean own time per step: without exposed communication.
-- ordinary_own_ns  Lower median of this over ranks: up to half of them may be late.
-- slowness        mean_own / ordinary_own.
-- what_if_slowdown  S = T / T_ideal: step time / step time with this rank ordinary.
-- outlier_score   Distance from it in robust standard deviations (1.4826 MAD, at least
--                 threshold straggler_noise_share of it); assumes that at least half of
--                 the ranks are ordinary and alike.
-- verdict         straggler, ordinary, or cannot tell.
-- reason          The part that differs most, with its amount; or why one cannot tell.
-- source_id       Source file.
WITH compared AS MATERIALIZED (FROM rank_step),
own AS (
    SELECT
        device_key,
        run_id,
        max(rank_count) AS rank_count,
        count(*) AS step_count,
        count(*) FILTER (is_critical) AS critical_count,
        count(is_critical) AS known_count,
        coalesce(sum(excess_ns) FILTER (is_critical), 0)::BIGINT AS lost_ns,
        sum(step_ns)::BIGINT AS total_ns,
        avg(own_ns) AS mean_own_ns
    FROM compared
    GROUP BY device_key, run_id
),
middle AS (
    SELECT
        *,
        quantile_disc(mean_own_ns, 0.5) OVER (PARTITION BY run_id) AS ordinary_own_ns
    FROM own
),
scored AS (
    SELECT
        *,
        (mean_own_ns - ordinary_own_ns) / greatest(
            1.4826 * quantile_disc(abs(mean_own_ns - ordinary_own_ns), 0.5)
                OVER (PARTITION BY run_id),
            threshold_of('straggler_noise_share') * ordinary_own_ns
        ) AS outlier_score
    FROM middle
),
wait AS (
    SELECT
        d.device_key, w.last_arrival_count, w.caused_wait_ns, w.reason
    FROM collective_wait AS w
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
),
difference AS (
    SELECT
        d.device_key,
        arg_max(r.part, (r.difference_ns, r.part)) AS part,
        max(r.difference_ns) AS difference_ns
    FROM rank_difference AS r
    JOIN traced_device AS d USING (run_id, source_id, process, device_id)
    WHERE r.part NOT IN ('own_time', 'exposed_wait', 'exposed_transfer')
    GROUP BY d.device_key
),
judged AS (
    SELECT
        s.*,
        w.last_arrival_count,
        w.caused_wait_ns,
        w.reason AS wait_reason,
        f.part,
        f.difference_ns,
        CASE
            WHEN s.rank_count < 2 THEN 'only one rank is present'
            WHEN w.device_key IS NULL THEN 'no collectives are recorded'
            WHEN s.known_count = 0
                THEN coalesce(w.reason, 'the waits of another rank are unknown')
            WHEN s.rank_count < 4
                THEN 'fewer than 4 ranks: nothing says which of them is ordinary'
            WHEN s.step_count < 3 THEN 'fewer than 3 steps'
        END AS untold,
        s.outlier_score > threshold_of('straggler_score')
            AND s.lost_ns > threshold_of('straggler_lost_share') * s.total_ns
            AS is_straggler
    FROM scored AS s
    LEFT JOIN wait AS w USING (device_key)
    LEFT JOIN difference AS f USING (device_key)
)
SELECT
    j.run_id,
    d.rank,
    d.host,
    d.device_id,
    d.process,
    j.rank_count,
    j.step_count,
    CASE WHEN j.known_count > 0 THEN j.critical_count END AS critical_count,
    j.last_arrival_count,
    j.caused_wait_ns,
    CASE WHEN j.known_count > 0 THEN j.lost_ns END AS lost_ns,
    CASE WHEN j.known_count > 0 THEN share_of(j.lost_ns, j.total_ns) END AS lost_share,
    j.mean_own_ns,
    j.ordinary_own_ns,
    share_of(j.mean_own_ns, j.ordinary_own_ns) AS slowness,
    CASE WHEN j.known_count > 0
        THEN share_of(j.total_ns, j.total_ns - j.lost_ns) END AS what_if_slowdown,
    CASE WHEN j.rank_count >= 4 THEN j.outlier_score END AS outlier_score,
    CASE
        WHEN j.untold IS NOT NULL THEN 'cannot tell'
        WHEN j.is_straggler THEN 'straggler'
        ELSE 'ordinary'
    END AS verdict,
    CASE
        WHEN j.untold IS NOT NULL THEN j.untold
        WHEN j.is_straggler THEN
            j.part || ': ' || round(j.difference_ns)::BIGINT
            || ' ns per step more than the median rank'
    END AS reason,
    d.source_id
FROM judged AS j
JOIN traced_device AS d USING (device_key)
ORDER BY j.run_id, d.rank, d.host, d.device_id, d.process, d.source_id
