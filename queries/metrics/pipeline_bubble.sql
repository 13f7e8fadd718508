-- The bubble of pipeline parallelism: time of each step in which a stage, computing
-- nothing, waits for a neighbour. That is waiting inside matched sends and receives, and
-- idle time before one that had long been launched; neither the transfer itself nor gaps
-- of the host. Only devices that send and receive are listed; exchanges of other kinds
-- (expert or sequence parallelism by send and receive) look alike.
-- Grain: one row per (run_id, host, rank, device_id, process, step, source_id).
--
-- run_id                Run.
-- host                  Host; NULL when the trace does not say.
-- rank                  Global rank; NULL when the trace does not say.
-- device_id             CUDA ordinal inside the process.
-- process               Process id.
-- step                  Step.
-- exclusion             Why summaries leave the step out; else NULL.
-- send_receive_count    Kernels that send and receive and were launched in the step.
-- matched_count         Of these, whose wait for the other stage is known.
-- step_ns               Length of the step.
-- exposed_wait_ns       Union of these waits with no compute beside it; NULL if unknown.
-- dependency_ns         Idle time before such kernels, launched before; see gap_part.
-- idle_ns               All idle time of the step.
-- bubble_ns             exposed_wait + dependency; NULL unless every wait is known.
-- bubble_share          bubble / step.
-- peer                  Stage that it waited for most, by rank or device, of all steps.
-- stage_count           Stages p, where pairs chain all devices alike; else NULL.
-- microbatch_count      Micro-batches m: pairs exchange each once forward and backward.
-- ideal_share           (p - 1) / (m + p - 1): of a balanced pipeline (GPipe, 1F1B).
-- reason                Why the bubble is unknown; else NULL.
-- source_id             Source file.
WITH exchange AS MATERIALIZED (
    FROM exposed_wait WHERE operation = 'send_recv'
),
summed AS (
    SELECT
        device_key, step,
        count(*) AS send_receive_count,
        count(wait_ns) AS matched_count,
        sum(exposed_wait_ns)::BIGINT AS exposed_wait_ns,
        string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason
    FROM exchange
    GROUP BY device_key, step
),
met AS (
    SELECT
        e.run_id, e.device_key, o.device_key AS peer_key, e.step,
        count(*) AS instance_count,
        sum(e.exposed_wait_ns) AS waited_ns
    FROM exchange AS e
    JOIN exchange AS o USING (run_id, instance)
    WHERE e.device_key <> o.device_key
    GROUP BY e.run_id, e.device_key, o.device_key, e.step
),
waited_for AS (
    SELECT device_key, arg_max(peer_key, (waited_ns, -peer_key)) AS peer_key
    FROM (
        SELECT device_key, peer_key, sum(waited_ns) AS waited_ns FROM met GROUP BY ALL
    )
    GROUP BY device_key
),
-- Chains: n devices by n - c links are c chains, if none branches.
chain AS (
    SELECT
        run_id, step,
        count(DISTINCT device_key) AS device_count,
        device_count - count(*) // 2 AS chain_count,
        max(peer_count) AS most_peers,
        min(instance_count) AS instance_count,
        min(instance_count) = max(instance_count) AS is_even
    FROM (
        SELECT *, count(*) OVER (PARTITION BY device_key, step) AS peer_count FROM met
    )
    GROUP BY run_id, step
),
shape AS (
    SELECT
        run_id, step,
        CASE WHEN chain_count > 0 AND most_peers <= 2 AND device_count % chain_count = 0
            THEN device_count // chain_count END AS stage_count,
        CASE WHEN is_even AND instance_count % 2 = 0 THEN instance_count // 2 END
            AS microbatch_count
    FROM chain
),
dependency AS (
    SELECT p.device_key, b.step, sum(p.end_ns - p.start_ns)::BIGINT AS total_ns
    FROM gap_part AS p
    SEMI JOIN exchange AS e ON e.device_key = p.device_key AND e.start_ns = p.gap_end_ns
    ASOF JOIN device_step AS b
        ON b.device_key = p.device_key AND p.gap_end_ns > b.begin_ns
    WHERE p.cause = 'dependency' AND p.gap_end_ns <= b.end_ns
    GROUP BY p.device_key, b.step
),
judged AS (
    SELECT
        s.*,
        coalesce(d.total_ns, 0) AS dependency_ns,
        CASE WHEN s.matched_count = s.send_receive_count
            THEN s.exposed_wait_ns + coalesce(d.total_ns, 0) END AS bubble_ns
    FROM summed AS s
    LEFT JOIN dependency AS d USING (device_key, step)
)
SELECT
    d.run_id,
    d.host,
    d.rank,
    d.device_id,
    d.process,
    j.step,
    t.exclusion,
    j.send_receive_count,
    j.matched_count,
    t.step_ns,
    j.exposed_wait_ns,
    j.dependency_ns,
    t.idle_ns,
    j.bubble_ns,
    share_of(j.bubble_ns, t.step_ns) AS bubble_share,
    coalesce(
        'rank ' || o.rank, 'device ' || o.device_id || ' of process ' || o.process
    ) AS peer,
    c.stage_count,
    c.microbatch_count,
    (c.stage_count - 1) / (c.microbatch_count + c.stage_count - 1) AS ideal_share,
    CASE WHEN j.bubble_ns IS NULL THEN coalesce(j.reason, 'not matched') END AS reason,
    d.source_id
FROM judged AS j
JOIN traced_device AS d USING (device_key)
JOIN step_work AS t USING (device_key, step)
LEFT JOIN waited_for AS w USING (device_key)
LEFT JOIN traced_device AS o ON o.device_key = w.peer_key
LEFT JOIN shape AS c ON c.run_id = d.run_id AND c.step = j.step
ORDER BY d.run_id, d.host, d.rank, d.device_id, d.process, d.source_id, j.step
