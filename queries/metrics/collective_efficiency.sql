-- How well each collective of the job moved its bytes, and whether time beyond that was
-- lost in the transfer or in waiting for the last rank. Compared with the cluster's own
-- benchmark, else with the nominal link; where neither is known, the cause is judged by
-- the run's own history: the fast transfers of the same operation and message, or of the
-- same place in the step where messages are not told.
-- Grain: one row per (run_id, instance).
-- Better: higher.
-- Value: efficiency_share.
-- Key: operation, message_bytes.
--
-- run_id         Run.
-- instance       Number of the collective within the run.
-- step           Step; NULL where matched over the whole capture.
-- operation      Collective operation.
-- rank_count     Ranks that took part.
-- host_count     Their hosts; NULL when one is not told.
-- gpu            Row of reference table gpu; NULL when not known.
-- message_bytes  Message; NULL when not told.
-- start_ns       Earliest start, ns since the capture began.
-- dur_ns         Longest duration.
-- mean_wait_ns   Mean of the ranks' waits for the last one.
-- last_rank      Rank that arrived last.
-- transfer_ns    Common window.
-- busbw_bytes_per_s  Bandwidth of the transfer; NULL when the message is not told.
-- reference_bytes_per_s  Benchmark or nominal link; NULL when neither is known.
-- reference_source  What it rests on.
-- efficiency_share  busbw / reference; NULL when refused, see reason.
-- expected_ns    Transfer at the reference, else the usual one of the run.
-- expected_source  reference or own history.
-- lost_transfer_ns  transfer - expected; NULL when nothing is expected.
-- cause          transfer or wait, whichever lost more, when it is over what thresholds
--                baseline_low_share or link_low_share allow; none; NULL when not told.
-- confidence     high, medium, low; NULL without a reference.
-- reason         Why there is no efficiency; else NULL.
WITH instance AS MATERIALIZED (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY run_id, step, operation, rank_count ORDER BY instance
        ) AS place
    FROM collective_instance
),
usual AS (
    SELECT
        *,
        CASE WHEN message_bytes IS NOT NULL OR step IS NOT NULL
            THEN quantile_disc(transfer_ns, 0.1) OVER (
                PARTITION BY
                    run_id, operation, rank_count, message_bytes,
                    CASE WHEN message_bytes IS NULL THEN place END
            ) END AS usual_ns
    FROM instance
),
referred AS (
    SELECT
        u.*,
        b.busbw_bytes_per_s AS own_bytes_per_s,
        b.confidence AS own_confidence,
        b.reason AS why_no_baseline,
        CASE WHEN b.busbw_bytes_per_s IS NULL THEN threshold_of('nominal_floor_bytes')
            ELSE coalesce(b.half_bytes, threshold_of('message_floor_bytes')) END
            AS floor_bytes,
        concat_ws(' ', 'benchmark:', b.origin || ',', b.baseline_run_id,
            CASE WHEN b.is_in_place THEN 'in place' ELSE 'out of place' END)
            AS own_source,
        n.bytes_per_s AS nominal_bytes_per_s,
        n.name AS nominal_name,
        n.reason AS why_no_nominal
    FROM usual AS u
    LEFT JOIN collective_baseline AS b
        ON b.run_id = u.run_id
        AND b.operation = u.operation
        AND b.rank_count = u.rank_count
        AND b.host_count IS NOT DISTINCT FROM u.host_count
        AND b.gpu IS NOT DISTINCT FROM u.gpu
        AND b.message_bytes = u.message_bytes
    LEFT JOIN nominal_busbw AS n
        ON n.run_id = u.run_id
        AND n.operation = u.operation
        AND n.rank_count = u.rank_count
        AND n.host_count IS NOT DISTINCT FROM u.host_count
        AND n.gpu IS NOT DISTINCT FROM u.gpu
),
compared AS (
    SELECT
        *,
        coalesce(own_bytes_per_s, nominal_bytes_per_s) AS reference_bytes_per_s,
        busbw_bytes_per_s / coalesce(own_bytes_per_s, nominal_bytes_per_s) AS share,
        -- A nominal rate says nothing of small messages; a benchmark does.
        own_bytes_per_s IS NOT NULL OR message_bytes >= floor_bytes AS is_comparable,
        CASE WHEN own_bytes_per_s IS NULL AND nominal_bytes_per_s IS NOT NULL
                AND message_bytes >= floor_bytes THEN threshold_of('link_low_share')
            ELSE threshold_of('baseline_low_share') END AS low_share
    FROM referred
),
expected AS (
    SELECT
        *,
        coalesce(CASE WHEN is_comparable THEN transfer_ns * share END, usual_ns)
            AS expected_ns,
        CASE WHEN is_comparable AND share IS NOT NULL THEN 'reference'
            WHEN usual_ns IS NOT NULL THEN 'own history' END AS expected_source
    FROM compared
)
SELECT
    run_id,
    instance,
    step,
    operation,
    rank_count,
    host_count,
    gpu,
    message_bytes,
    start_ns,
    dur_ns,
    mean_wait_ns,
    last_rank,
    transfer_ns,
    busbw_bytes_per_s,
    reference_bytes_per_s,
    CASE WHEN own_bytes_per_s IS NOT NULL THEN own_source
        WHEN nominal_bytes_per_s IS NOT NULL THEN 'nominal: ' || nominal_name END
        AS reference_source,
    CASE WHEN message_bytes >= floor_bytes
        AND (share <= 1 OR own_bytes_per_s IS NOT NULL) THEN share END
        AS efficiency_share,
    expected_ns,
    expected_source,
    transfer_ns - expected_ns AS lost_transfer_ns,
    CASE
        WHEN transfer_ns IS NULL THEN NULL
        WHEN mean_wait_ns > coalesce(transfer_ns - expected_ns, 0)
            AND mean_wait_ns > (1 - low_share) * (mean_wait_ns + transfer_ns) THEN 'wait'
        WHEN expected_ns < low_share * transfer_ns THEN 'transfer'
        WHEN expected_ns IS NOT NULL THEN 'none'
    END AS cause,
    CASE WHEN own_bytes_per_s IS NOT NULL THEN own_confidence
        WHEN nominal_bytes_per_s IS NOT NULL THEN 'low' END AS confidence,
    CASE
        WHEN transfer_ns IS NULL THEN coalesce(reason, 'the transfer is not known')
        WHEN message_bytes IS NULL THEN 'the size of the message is not told'
        WHEN busbw_bytes_per_s IS NULL THEN 'not all ranks of its communicator are known'
        WHEN reference_bytes_per_s IS NULL
            THEN concat_ws('; ', why_no_baseline, why_no_nominal)
        WHEN message_bytes < floor_bytes AND own_bytes_per_s IS NULL
            THEN 'small message, below nominal_floor_bytes: too small for a nominal rate'
        WHEN message_bytes < floor_bytes THEN 'small message: its latency limits it'
        WHEN share > 1 AND own_bytes_per_s IS NULL
            THEN 'beyond the nominal link: NVLS or trees, or another link than assumed'
    END AS reason
FROM expected
ORDER BY run_id, instance
