-- Calls of a communication library (NCCL) as its own NVTX ranges describe them: one row
-- per range with such a description. Needs an export with payloads.
CREATE TABLE collective_call (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- ns since the capture began; when the host entered the call. As in nvtx_range.
    start_ns BIGINT NOT NULL,
    -- ns since the capture began; NULL for a range never closed.
    end_ns BIGINT CHECK (end_ns >= start_ns),
    -- Process id in the traced job's namespace.
    process INTEGER,
    -- Thread that made the call.
    thread INTEGER,
    -- Name of the range as recorded, e.g. ncclAllReduce.
    name VARCHAR,
    -- What the call does: all_reduce, all_gather, reduce_scatter, broadcast, reduce,
    -- all_to_all, gather, scatter, send, recv, put_signal, signal, wait_signal; for a
    -- communicator init, split, shrink, grow, finalize, destroy, abort, revoke. NULL when
    -- the name does not tell.
    operation VARCHAR,
    -- Communicator: unsigned 64 bits as 0x and 16 hex digits, equal on all member ranks.
    -- Of a split, the new one. NULL when not told (older NCCL) or not yet known (0).
    communicator_id VARCHAR,
    -- Own rank in that communicator. NULL when not told, and for split, shrink and grow,
    -- where NCCL tells the rank in the parent.
    rank INTEGER,
    -- Ranks of that communicator; NULL as for rank.
    rank_count INTEGER,
    -- CUDA ordinal of the device inside that process; see device. NULL when not told.
    device_id INTEGER,
    -- Element count x element size as given to the call: of all_reduce, broadcast,
    -- reduce, send and recv the whole message; of all_gather and gather what one rank
    -- contributes; of reduce_scatter and scatter what one rank receives; of all_to_all
    -- what one rank sends to each. NULL when not told.
    message_bytes BIGINT,
    -- Reduction as the library names it: Sum, Product, Max, Min, Avg; NULL without one,
    -- and for one that the program made itself.
    reduction VARCHAR,
    -- Root of a broadcast, reduce, gather or scatter: rank in the communicator.
    root INTEGER,
    -- The other end of a send, recv, put_signal or signal: rank in the communicator.
    peer_rank INTEGER
);
