-- Steps of a training job, as its framework printed them: one row per step, kind and
-- attempt; several where ranks print different values of a step.
CREATE TABLE training_step (
    -- Run: the job's set of files. Hive partition key.
    run_id VARCHAR NOT NULL,
    -- Source file; see source_file. Hive partition key.
    source_id VARCHAR NOT NULL,
    -- Who printed it. megatron: also Megatron-DeepSpeed, Primus, Megatron-Bridge; nemo:
    -- Lightning; olmo: also Composer.
    framework VARCHAR NOT NULL
        CHECK (framework IN (
            'megatron', 'deepspeed', 'torchtitan', 'nemo', 'nanogpt', 'hf_trainer', 'olmo'
        )),
    -- A training step, a validation at a step, or the summary of the whole training.
    kind VARCHAR NOT NULL CHECK (kind IN ('step', 'validation', 'summary')),
    -- From 1; the next begins where steps go back or arguments are printed again.
    attempt INTEGER NOT NULL,
    -- Line of the file, from 1; a carriage return ends a line too.
    line BIGINT NOT NULL,
    -- Rank (task number) that the line or its launcher's prefix names; NULL if neither.
    printed_rank INTEGER,
    -- Host that the launcher's prefix names; NULL when it does not.
    host VARCHAR,
    -- Step as printed, from 1; from 0 with nemo. NULL where there is none (hf_trainer).
    step BIGINT,
    -- The job's last step, as the line says; NULL when it does not.
    planned_last_step BIGINT,
    -- When the line was printed, ns since the source's capture start; NULL if it has no
    -- time.
    ts_ns BIGINT,
    -- Time of a step; a mean where step_count_averaged is not 1. NULL when not printed.
    step_ns BIGINT,
    -- Over how many steps step_ns, rates and losses are means; NULL if not known.
    step_count_averaged BIGINT,
    -- Training time so far by the framework's own clock, which nanogpt restarts after its
    -- warm-up steps; NULL when not printed.
    train_time_ns BIGINT,
    -- Samples since the job's beginning, attempts before included; NULL when not printed.
    consumed_sample_count BIGINT,
    -- Tokens since the job's beginning; NULL when not printed.
    consumed_token_count BIGINT,
    -- Samples of one step over all ranks; NULL when not printed.
    global_batch_size BIGINT,
    -- Tokens per second of the whole job; NULL when not printed.
    tokens_per_s DOUBLE,
    -- Tokens per second of one GPU; NULL when not printed.
    tokens_per_s_per_gpu DOUBLE,
    -- Samples per second of the whole job; NULL when not printed.
    samples_per_s DOUBLE,
    -- Loss (training, or validation); NULL when not printed or not finite.
    loss DOUBLE,
    -- Whether the printed loss is a finite number; NULL when none is printed.
    is_loss_finite BOOLEAN,
    -- Norm of the gradient; NULL when not printed or not finite.
    grad_norm DOUBLE,
    -- Learning rate (deepspeed: of the first parameter group); NULL when not printed.
    learning_rate DOUBLE,
    -- FLOP/s per GPU by the framework's own formula, which differs between frameworks.
    reported_flops_per_s_per_gpu DOUBLE,
    -- Model FLOPs utilisation by the framework's own formula and peak, in [0, 1]; NULL
    -- when not printed or printed as N/A.
    reported_mfu_share DOUBLE,
    -- Device memory of the printing rank; NULL when not printed.
    memory_bytes BIGINT,
    -- What memory_bytes is: max_allocated and max_reserved by PyTorch's allocator,
    -- device_used on the whole device.
    memory_kind VARCHAR
        CHECK (memory_kind IN ('max_allocated', 'max_reserved', 'device_used')),
    -- Energy of one GPU for one step; NULL when not printed.
    energy_j DOUBLE,
    -- Power of one GPU; NULL when not printed.
    power_w DOUBLE,
    -- Steps skipped among those the line is about; NULL when not printed.
    skipped_count BIGINT,
    -- Steps skipped so far in the attempt (deepspeed); NULL when not printed.
    skipped_total_count BIGINT,
    -- Steps with NaN among those the line is about; NULL when not printed.
    nan_count BIGINT
);
