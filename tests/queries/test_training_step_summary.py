from typing import Any

import pytest
from rows import Trace


def add(trace: Trace, step: int, **more: Any) -> None:
    row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step, **more}
    trace.insert("training_step", step=step, **row)


def test_an_attempt_without_its_warm_up(trace: Trace) -> None:
    trace.insert("job_argument", name="seq_length", value="1000", line=1)
    for step, step_ns in ((1, 90_000), (2, 1000), (3, 2000), (4, 3000)):
        add(
            trace,
            step,
            step_ns=step_ns,
            global_batch_size=2,
            loss=10.0 - step,
            is_loss_finite=True,
            reported_flops_per_s_per_gpu=step * 1e12,
            reported_mfu_share=step / 10,
            skipped_count=1,
        )
    assert trace.only("FROM training_step_summary") == {
        "run_id": "run",
        "framework": "megatron",
        "attempt": 1,
        "logged_step_count": 4,
        "first_step": 1,
        "last_step": 4,
        "median_step_ns": 2000,
        "p95_step_ns": 2900,  # nine tenths of the way from 2000 to 3000
        "tokens_per_s": pytest.approx(2 * 1000 / 2000e-9),
        "tokens_per_s_per_gpu": None,
        "samples_per_s": pytest.approx(2 / 2000e-9),
        "reported_flops_per_s_per_gpu": 3e12,
        "reported_mfu_share": 0.3,
        "first_loss": 9.0,
        "last_loss": 6.0,
        "non_finite_loss_count": 0,
        "skipped_count": 4,
        "source_id": "a",
    }


def test_without_a_printed_step_time_the_lines_tell_it(trace: Trace) -> None:
    for step, ts_ns in ((1, 0), (10, 900), (20, 3900)):
        add(trace, step, ts_ns=ts_ns, framework="torchtitan", tokens_per_s_per_gpu=step * 1.0)
    assert trace.ask(
        "SELECT median_step_ns, tokens_per_s_per_gpu, tokens_per_s FROM training_step_summary"
    ) == [(200, 15.0, None)]  # 100 and 300


def test_of_a_running_mean_the_clock_behind_it_counts(trace: Trace) -> None:
    # The clock begins anew after the warm-up steps.
    for step, train_time_ns in ((1, 5000), (2, 100), (3, 200), (4, 500)):
        add(trace, step, train_time_ns=train_time_ns, step_ns=7, framework="nanogpt")
    assert trace.ask("SELECT median_step_ns FROM training_step_summary") == [(200,)]


def test_attempts_frameworks_and_files_are_apart_and_validations_left_out(trace: Trace) -> None:
    add(trace, 1)
    add(trace, 2, loss=None, is_loss_finite=False)
    add(trace, 1, attempt=2)
    add(trace, 1, framework="deepspeed")
    add(trace, 1, source_id="b")
    add(trace, 9, kind="validation", loss=3.0)
    assert trace.ask(
        "SELECT framework, source_id, attempt, logged_step_count, non_finite_loss_count, last_loss"
        " FROM training_step_summary"
    ) == [
        ("deepspeed", "a", 1, 1, 0, None),
        ("megatron", "a", 1, 2, 1, None),
        ("megatron", "a", 2, 1, 0, None),
        ("megatron", "b", 1, 1, 0, None),
    ]


def test_ranks_that_print_the_same_steps_do_not_shorten_them(trace: Trace) -> None:
    for line, (step, rank, ts_ns) in enumerate(
        ((1, 0, 0), (1, 1, 1), (2, 0, 100), (2, 1, 101)), start=1
    ):
        add(trace, step, framework="torchtitan", printed_rank=rank, ts_ns=ts_ns, line=line)
    assert trace.ask("SELECT median_step_ns, logged_step_count FROM training_step_summary") == [
        (100, 4)
    ]
