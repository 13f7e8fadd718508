-- Which rank the others wait for, what it costs them, and in what it differs.
-- Grain: one row per (run_id, rank, host, device_id, process, source_id).
--
-- run_id          Run.
-- rank            Global rank; NULL when the trace does not say.
-- host            Host; NULL when the trace does not say.
-- device_id       CUDA ordinal inside the process.
-- process         Process id.
-- rank_count      Ranks compared; NULL where there are no steps to compare.
-- step_count      Steps.
-- critical_count  Steps in which the others waited for it; NULL when waits are unknown.
-- last_arrival_count  Collectives in which it arrived last.
-- caused_wait_ns  What all others together waited in those.
-- lost_ns         Its excess over the ordinary rank in the steps in which it was waited
--                 for; over all ranks this sums to what the job lost.
-- lost_share      lost / time of all steps.
-- excess_ns       Its excess in all steps, as far as others waited longer than it did:
--                 what it would cost if no other were slower.
-- alone_ns        What the job would have saved had this rank alone been ordinary.
-- joint_ns        What it would have saved had every rank been ordinary.
-- mean_own_ns     Mean own time per step: without exposed communication.
-- ordinary_own_ns  Lower median of this over ranks: up to half of them may be late.
-- slowness        mean_own / ordinary_own.
-- what_if_slowdown  S = T / T_ideal: step time / step time without its lost time.
-- outlier_score   Distance from it in robust standard deviations (1.4826 MAD, at least
--                 threshold straggler_noise_share of it); assumes that at least half of
--                 the ranks are ordinary and alike.
-- verdict         straggler, ordinary, or cannot tell.
-- reason          The part that differs most, with its amount and what speaks for it; or
--                 why one cannot tell.
-- source_id       Source file.
WITH wait AS (
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
        l.*,
        w.last_arrival_count,
        w.caused_wait_ns,
        f.part,
        f.difference_ns,
        CASE
            WHEN l.untold IS NOT NULL THEN l.untold
            WHEN w.device_key IS NULL THEN 'no collectives are recorded'
            WHEN l.known_count = 0
                THEN coalesce(w.reason, 'the waits of another rank are unknown')
            WHEN l.rank_count < 4
                THEN 'fewer than 4 ranks: nothing says which of them is ordinary'
            WHEN l.step_count < 3 THEN 'fewer than 3 steps'
        END AS why_not,
        l.outlier_score > threshold_of('straggler_score')
            AND greatest(l.lost_ns, l.held_ns)
                > threshold_of('straggler_lost_share') * l.total_ns
            AS is_straggler
    FROM rank_lateness AS l
    LEFT JOIN wait AS w USING (device_key)
    LEFT JOIN difference AS f USING (device_key)
),
told AS (
    SELECT
        j.*,
        count(*) FILTER (j.is_straggler) OVER (PARTITION BY j.run_id) AS late_count,
        j.part || ': ' || round(j.difference_ns)::BIGINT
            || ' ns per step more than the median rank'
            || CASE
                WHEN j.part = 'slower_kernels' THEN
                    '; the same kernels take longer'
                    || coalesce(', most of them ' || j.slowest_class, '') || '; '
                    || CASE
                        WHEN c.clock_share IS NULL THEN 'no samples of its SM clock'
                        WHEN c.clock_share < 1 - threshold_of('straggler_clock_share')
                            THEN 'its SM clock is lower too'
                        ELSE 'its SM clock is not lower'
                    END || coalesce(': ' || round(c.clock_hz)::BIGINT
                        || ' Hz, median of the GPUs ' || round(c.median_hz)::BIGINT
                        || ' Hz', '')
                WHEN j.part = 'more_kernels'
                    THEN '; more kernels, or larger grids: more work'
                WHEN j.part = 'idle: data_loading' THEN '; it waits for its input'
                WHEN j.part = 'idle: unknown'
                    THEN '; gaps of unknown cause: all of them where clocks disagree'
                WHEN j.part = 'idle: lead_in'
                    THEN '; in its first step, before anything ran on its device'
                WHEN j.part = 'exposed_memory' THEN '; copies and sets beside no kernel'
                WHEN starts_with(j.part, 'idle: ') THEN '; gaps before its work'
                ELSE ''
            END AS why
    FROM judged AS j
    LEFT JOIN device_clock AS c USING (device_key)
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
    CASE WHEN j.known_count > 0 THEN j.held_ns END AS excess_ns,
    CASE WHEN j.known_count > 0 THEN j.alone_ns END AS alone_ns,
    CASE WHEN j.known_count > 0 THEN j.joint_ns END AS joint_ns,
    j.mean_own_ns,
    j.ordinary_own_ns,
    share_of(j.mean_own_ns, j.ordinary_own_ns) AS slowness,
    CASE WHEN j.known_count > 0
        THEN share_of(j.total_ns, j.total_ns - j.lost_ns) END AS what_if_slowdown,
    CASE WHEN j.rank_count >= 4 THEN j.outlier_score END AS outlier_score,
    CASE
        WHEN j.why_not IS NOT NULL THEN 'cannot tell'
        WHEN j.is_straggler THEN 'straggler'
        ELSE 'ordinary'
    END AS verdict,
    CASE
        WHEN j.why_not IS NOT NULL THEN j.why_not
        WHEN j.is_straggler THEN j.why
            || CASE WHEN j.late_count > 1 THEN
                '; one of ' || j.late_count || ' late ranks: without its lateness alone '
                || 'the job saves ' || j.alone_ns // j.step_count || ' ns per step, '
                || 'without that of all ' || j.joint_ns // j.step_count || ' ns'
                ELSE '' END
            || CASE WHEN 2 * j.late_count >= j.rank_count
                THEN '; half of the ranks are late: that the faster half is the ordinary '
                    || 'one is assumed' ELSE '' END
    END AS reason,
    d.source_id
FROM told AS j
JOIN traced_device AS d USING (device_key)
ORDER BY j.run_id, d.rank, d.host, d.device_id, d.process, d.source_id
