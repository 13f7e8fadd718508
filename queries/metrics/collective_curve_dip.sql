-- Sizes at which a benchmark's bandwidth falls below what a smaller message had already
-- reached: a dip when a larger one reaches it again, else a collapse. Only from threshold
-- curve_dip_peak_share of the curve's peak on: below, noise of the latency decides.
-- Grain: one row per (run_id, source_id, benchmark_id, sweep, is_in_place, size_bytes).
--
-- run_id        Run.
-- source_id     Source file.
-- benchmark_id  Test in its file.
-- sweep         Pass over the sizes.
-- is_in_place   Whether buffers are the same; NULL when nothing says it.
-- operation     Collective.
-- rank_count    Ranks; NULL when not known.
-- size_bytes    Message.
-- busbw_bytes_per_s  Bandwidth at it.
-- reached_busbw_bytes_per_s  Highest bandwidth of a smaller message.
-- reached_bytes  Its size.
-- lost_share    1 - busbw / reached; at least threshold curve_dip_share.
-- kind          dip or collapse.
WITH neighbour AS (
    SELECT
        *,
        max(busbw_bytes_per_s) OVER (
            PARTITION BY run_id, source_id, benchmark_id, sweep, is_in_place
        ) AS peak,
        max(busbw_bytes_per_s) OVER smaller AS reached,
        arg_max(size_bytes, busbw_bytes_per_s) OVER smaller AS reached_bytes,
        max(busbw_bytes_per_s) OVER (
            PARTITION BY run_id, source_id, benchmark_id, sweep, is_in_place
            ORDER BY size_bytes ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ) AS later
    FROM benchmark_point
    WINDOW smaller AS (
        PARTITION BY run_id, source_id, benchmark_id, sweep, is_in_place
        ORDER BY size_bytes ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
judged AS (
    SELECT *, (1 - threshold_of('curve_dip_share')) * reached AS limit_bytes_per_s
    FROM neighbour
)
SELECT
    run_id,
    source_id,
    benchmark_id,
    sweep,
    is_in_place,
    operation,
    rank_count,
    size_bytes,
    busbw_bytes_per_s,
    reached AS reached_busbw_bytes_per_s,
    reached_bytes,
    1 - busbw_bytes_per_s / reached AS lost_share,
    CASE WHEN later > limit_bytes_per_s THEN 'dip' ELSE 'collapse' END AS kind
FROM judged
WHERE busbw_bytes_per_s <= limit_bytes_per_s
    AND reached >= threshold_of('curve_dip_peak_share') * peak
ORDER BY run_id, source_id, benchmark_id, sweep, is_in_place, size_bytes
