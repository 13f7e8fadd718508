-- Communication kernels, with what says on every rank which collective it is: operation,
-- channel and, through its launch, its place in the program. NCCL's own description of
-- the calls (collective_call) is joined where the export holds it: to a launch belong the
-- calls that its thread made since the launch before, one or a whole group.
-- Grain: one row per communication kernel.
--
-- run_id      Run.
-- source_id   Source file.
-- device_key  Device and process; see traced_device.
-- operation   Collective operation by the kernel's name, else by the calls; else NULL.
-- stream_id   CUDA stream.
-- channel     What keeps collectives of one operation apart: the communicator where it is
--             known, else the place of the stream among those on which the process runs
--             this operation. Sends and receives between two ranks, where NCCL names
--             them, are of a channel of their own, and of one for each direction.
-- communicator_id  See collective_call; NULL when the export does not tell.
-- communicator_size  Ranks of that communicator that take part: 2 of a channel between
--             two; NULL when not told.
-- message_bytes  Message by which algbw is defined, all calls of the group together; NULL
--             when not told.
-- call_start_ns  Start of the launching call on the host; NULL when it was not recorded.
-- start_ns    ns since the capture began.
-- end_ns      ns since the capture began.
WITH communication AS MATERIALIZED (
    SELECT
        a.run_id,
        a.source_id,
        a.process,
        a.device_key,
        a.correlation_id,
        n.operation,
        a.stream_id,
        dense_rank() OVER (
            PARTITION BY a.device_key, n.operation ORDER BY a.stream_id
        ) AS stream_place,
        a.start_ns,
        a.end_ns
    FROM activity AS a
    JOIN classified_kernel_name AS n USING (name_id)
    WHERE a.is_communication
),
-- One call may launch several (a CUDA graph), and a file may hold a call twice.
launch AS MATERIALIZED (
    SELECT
        c.run_id, c.source_id, c.process, c.correlation_id,
        min(c.start_ns) AS call_start_ns,
        arg_min(c.thread, (c.start_ns, c.thread)) AS thread
    FROM api_call AS c
    SEMI JOIN communication AS k USING (run_id, source_id, process, correlation_id)
    GROUP BY c.run_id, c.source_id, c.process, c.correlation_id
),
member AS (
    SELECT run_id, communicator_id, max(rank_count) AS communicator_size
    FROM collective_call
    WHERE communicator_id IS NOT NULL
    GROUP BY run_id, communicator_id
),
-- A call tells the peer, the communicator's own call who made it.
own_rank AS (
    SELECT run_id, source_id, process, communicator_id, any_value(rank) AS rank
    FROM collective_call
    WHERE communicator_id IS NOT NULL AND rank IS NOT NULL
    GROUP BY run_id, source_id, process, communicator_id
    HAVING count(DISTINCT rank) = 1
),
described AS (
    SELECT
        l.run_id, l.source_id, l.process, l.correlation_id,
        c.communicator_id,
        CASE WHEN c.operation IN ('send', 'recv') THEN 'send_recv' ELSE c.operation END
            AS operation,
        -- What one rank receives comes with what it sends.
        CASE WHEN c.operation <> 'recv' THEN c.message_bytes
            * CASE WHEN c.operation IN (
                'all_gather', 'reduce_scatter', 'all_to_all', 'gather', 'scatter'
            ) THEN m.communicator_size ELSE 1 END END AS message_bytes,
        m.communicator_size,
        CASE WHEN c.operation IN ('send', 'recv') AND c.peer_rank <> o.rank THEN
            least(c.peer_rank, o.rank) || '-' || greatest(c.peer_rank, o.rank)
            END AS pair,
        CASE WHEN (c.operation = 'send') = (o.rank < c.peer_rank) THEN ' up' ELSE ' down'
            END AS direction
    FROM collective_call AS c
    JOIN member AS m USING (run_id, communicator_id)
    LEFT JOIN own_rank AS o
        ON o.run_id = c.run_id
        AND o.source_id = c.source_id
        AND o.process = c.process
        AND o.communicator_id = c.communicator_id
    ASOF JOIN launch AS l
        ON l.run_id = c.run_id
        AND l.source_id = c.source_id
        AND l.process = c.process
        AND l.thread = c.thread
        AND c.start_ns <= l.call_start_ns
    WHERE c.operation IN (
        'all_reduce', 'all_gather', 'reduce_scatter', 'broadcast', 'reduce', 'all_to_all',
        'gather', 'scatter', 'send', 'recv'
    )
),
-- A group over several communicators or operations has no one answer.
told AS (
    SELECT
        run_id, source_id, process, correlation_id,
        any_value(communicator_id) AS communicator_id,
        any_value(operation) AS operation,
        sum(message_bytes)::BIGINT AS message_bytes,
        CASE WHEN count(DISTINCT pair) = 1 AND count(pair) = count(*)
            THEN any_value(pair) END AS only_pair,
        -- The n-th send meets the n-th receive of its direction, whatever is sent back in
        -- between; a group may hold both.
        CASE WHEN count(DISTINCT direction) = 1 THEN any_value(direction) ELSE '' END
            AS only_direction,
        CASE WHEN only_pair IS NOT NULL THEN 2 ELSE any_value(communicator_size) END
            AS communicator_size
    FROM described
    GROUP BY run_id, source_id, process, correlation_id
    HAVING count(DISTINCT communicator_id) = 1 AND count(DISTINCT operation) = 1
),
joined AS (
    SELECT
        k.run_id, k.source_id, k.device_key, k.stream_id, k.stream_place, k.start_ns,
        k.end_ns,
        l.call_start_ns,
        coalesce(k.operation, t.operation) AS operation,
        t.communicator_id,
        t.only_pair || t.only_direction AS pair,
        t.communicator_size,
        t.message_bytes
    FROM communication AS k
    LEFT JOIN launch AS l USING (run_id, source_id, process, correlation_id)
    LEFT JOIN told AS t
        ON t.run_id = k.run_id
        AND t.source_id = k.source_id
        AND t.process = k.process
        AND t.correlation_id = k.correlation_id
        AND coalesce(k.operation = t.operation, true)
)
SELECT
    run_id,
    source_id,
    device_key,
    operation,
    stream_id,
    coalesce(communicator_id || coalesce(' ' || pair, ''), stream_place::VARCHAR)
        AS channel,
    communicator_id,
    communicator_size,
    message_bytes,
    call_start_ns,
    start_ns,
    end_ns
FROM joined
