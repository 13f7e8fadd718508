"""The training log reader: a few lines of a framework's log in, the rows of our tables out."""

import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import catalog
from pipeline.ingest import ingest
from pipeline.readers import training_log
from pipeline.readers.record import NO_HINTS, Head
from pipeline.store import Store

TRACES = Path(__file__).parents[2].parent / "shared" / "traces"
LOGS = TRACES / "train_logs"
OTHERS = sorted(
    path for path in TRACES.rglob("*") if path.is_file() and path.parent.name != "train_logs"
)
real_traces = [
    pytest.mark.real_traces,
    pytest.mark.skipif(not LOGS.exists(), reason="the published logs are not there"),
]

Row = dict[str, Any]

ITERATION = (
    " iteration {step:8d}/     100 | consumed samples: {samples:12d} | "
    "elapsed time per iteration (ms): {ms} | learning rate: 1.000E-04 | "
    "global batch size:    64 | lm loss: {loss} | loss scale: 4294967296.0 | "
    "grad norm: 1.500 | number of skipped iterations:   0 | number of nan iterations:   0 |"
)


def iteration(step: int, ms: float = 250.0, loss: str = "9.500000E+00") -> str:
    return ITERATION.format(step=step, samples=step * 64, ms=ms, loss=loss)


class Log:
    """A log that was read."""

    def __init__(self, path: Path) -> None:
        self.recording = training_log.read(path, path.name, 1, NO_HINTS)
        self.tables: dict[str, list[Row]] = {"training_step": [], "job_argument": []}
        for part in [*self.recording.parts, *self.recording.closing_parts]:
            for batch in part.batches():
                assert batch.schema.equals(catalog.arrow_schemas()[part.table])
                self.tables[part.table] += batch.to_pylist()
        self.facts = self.recording.facts
        self.issues = {i.problem.partition(": '")[0]: i.row_count for i in self.recording.issues}

    @property
    def steps(self) -> list[Row]:
        return self.tables["training_step"]

    def columns(self, *names: str) -> list[Any]:
        rows = [tuple(row[name] for name in names) for row in self.steps]
        return [row[0] for row in rows] if len(names) == 1 else rows

    @property
    def arguments(self) -> dict[str, str]:
        return {row["name"]: row["value"] for row in self.tables["job_argument"]}


Reads = Callable[..., Log]


@pytest.fixture
def read(tmp_path: Path) -> Reads:
    def read(*lines: str, end: str = "\n", encoding: str = "utf-8") -> Log:
        path = tmp_path / "job.log"
        path.write_bytes((end.join(lines) + end).encode(encoding))
        return Log(path)

    return read


def said(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def is_recognised(text: str) -> bool:
    return training_log.recognise(Head(text.encode()))


# -- Megatron-LM and its kin ---------------------------------------------------------------


def test_an_iteration_of_megatron(read: Reads) -> None:
    log = read(
        " [2026-02-06 20:55:02.918469] iteration      292/95367431 | consumed samples: 9344"
        " | elapsed time per iteration (ms): 3075.7 | throughput per GPU (TFLOP/s/GPU): 478.0"
        " | energy per GPU (J/iter/GPU): 1992.5 | power per GPU (W/GPU): 647.8"
        " | learning rate: 9.568256E-08 | global batch size:    32 | lm loss: 2.401035E-02"
        " | seq_load_balancing_loss: 1.000203E+00 | loss scale: 1.0 | grad norm: 1.797"
        " | number of skipped iterations:   1 | number of nan iterations:   2 |"
    )
    assert [said(row) for row in log.steps] == [
        {
            "framework": "megatron",
            "kind": "step",
            "attempt": 1,
            "line": 1,
            "step": 292,
            "planned_last_step": 95367431,
            "ts_ns": 0,
            "step_ns": 3_075_700_000,
            "consumed_sample_count": 9344,
            "global_batch_size": 32,
            "loss": 0.02401035,
            "is_loss_finite": True,
            "grad_norm": 1.797,
            "learning_rate": 9.568256e-08,
            "reported_flops_per_s_per_gpu": 478e12,
            "energy_j": 1992.5,
            "power_w": 647.8,
            "skipped_count": 1,
            "nan_count": 2,
        }
    ]
    assert log.facts.capture_start_local_ns == 1770411302918469000
    assert log.facts.capture_start_utc_ns is None


def test_seconds_tokens_and_a_rate_of_megatron_deepspeed(read: Reads) -> None:
    log = read(
        "[default7]: iteration    94768/  115311 | consumed samples: 177927088 | consumed tokens:"
        " 364394676224 | elapsed time per iteration (s): 215.82 | lm loss: 1.943883E+00"
        " | samples per second: 9.490 | tokens per gpu per second (tgs): 142.612 | TFLOPs: 145.31 |"
    )
    (row,) = log.steps
    assert row["step_ns"] == 215_820_000_000
    assert row["consumed_token_count"] == 364394676224
    assert row["samples_per_s"] == 9.49
    assert row["tokens_per_s_per_gpu"] == 142.612
    assert row["reported_flops_per_s_per_gpu"] == 145.31e12
    assert row["printed_rank"] is None  # 7 is its number within the node


def test_of_primus_pairs_the_first_is_the_steps_own(read: Reads) -> None:
    log = read(
        "\x1b[32m[20251202 09:12:08]\x1b[0m[rank-7/8][INFO ] [--------trainer.py:2560] : iteration"
        " 126/ 5000 | consumed samples: 16128 | elapsed time per iteration (ms): 13372.8/13364.7"
        " | hip mem usage/free/total/usage_ratio: 153.81GB/102.17GB/255.98GB/60.09%"
        " | throughput per GPU (TFLOP/s/GPU): 567.6/568.0"
        " | tokens per GPU (tokens/s/GPU): 9801.4/9807.3 | lm loss: 6.548988E-03 |"
        " number of skipped iterations: 0 | number of nan iterations: 0 |"
    )
    (row,) = log.steps
    assert row["step_ns"] == 13_372_800_000
    assert row["reported_flops_per_s_per_gpu"] == 567.6e12
    assert row["tokens_per_s_per_gpu"] == 9801.4
    assert (row["memory_bytes"], row["memory_kind"]) == (round(153.81 * 2**30), "device_used")
    assert (row["printed_rank"], row["ts_ns"]) == (7, 0)


def test_a_wrapped_iteration_of_megatron_bridge_is_joined_and_takes_its_flops(read: Reads) -> None:
    log = read(
        "ain_fp8_mx/0 Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU",
        "",
        "ain_fp8_mx/0  [2025-12-22 15:18:33] iteration       50/      50 | consumed samples: 2 |",
        "ain_fp8_mx/0 elapsed time per iteration (ms): 9089.0 | global batch size:   512 |",
        "ain_fp8_mx/0 lm loss: 8.114214E+00 | loss scale: 1.0 | grad norm: 0.042 | number of",
        "ain_fp8_mx/0 skipped iterations:   0 | number of nan iterations:   0 |",
    )
    (row,) = log.steps
    assert (row["step"], row["step_ns"], row["loss"]) == (50, 9_089_000_000, 8.114214)
    assert (row["skipped_count"], row["nan_count"]) == (0, 0)
    assert row["reported_flops_per_s_per_gpu"] == 663.5e12
    assert log.issues == {}


def test_a_joined_iteration_does_not_take_the_next_lines(read: Reads) -> None:
    log = read(
        "iteration 1/ 9 | elapsed time per iteration (ms): 5.0 | lm loss: 2.0E+00 |",
        "time (ms) | forward: 0.00 | backward: 0.00 |",
        "iteration 2/ 9 | elapsed time per iteration (ms): 6.0 | lm loss: 3.0E+00 |",
    )
    assert log.columns("step", "loss") == [(1, 2.0), (2, 3.0)]


def test_an_iteration_without_a_loss_says_none_and_the_loss_scale_is_none(read: Reads) -> None:
    log = read(
        "iteration 1/ 9 | elapsed time per iteration (ms): 5.0 | loss scale: 4294967296.0 |"
        " number of skipped iterations:   1 | number of nan iterations:   0 |"
    )
    assert log.columns("loss", "is_loss_finite", "skipped_count") == [(None, None, 1)]


def test_a_loss_that_is_nan_is_no_number(read: Reads) -> None:
    log = read(iteration(1, loss="nan"), iteration(2, loss="inf"))
    assert log.columns("loss", "is_loss_finite") == [(None, False), (None, False)]


def test_a_validation_is_a_row_of_its_own(read: Reads) -> None:
    log = read(
        iteration(10),
        " validation loss at iteration 10 | lm loss value: 6.5E+00 | lm loss PPL: 6.6E+02 | ",
    )
    assert log.columns("kind", "step", "loss") == [("step", 10, 9.5), ("validation", 10, 6.5)]


def test_memory_is_that_of_the_fullest_rank(read: Reads) -> None:
    line = "[Rank {}] (after 10 iterations) memory (MB) | allocated: 1.0 | max allocated: {} | r: 3"
    log = read(line.format(0, 5.0), iteration(10), line.format(0, 2.0), line.format(8, 3.5))
    assert log.columns("memory_bytes", "memory_kind") == [(5 << 20, "max_allocated")]
    assert log.issues == {}


def test_two_records_glued_into_one_line(read: Reads) -> None:
    log = read(iteration(1) + "vm-1: " + iteration(2))
    assert log.columns("step") == [1, 2]


@pytest.mark.parametrize("at", range(40, len(iteration(1)) - 1, 17))
def test_a_torn_iteration_is_left_out_or_whole(read: Reads, at: int) -> None:
    log = read(iteration(1), iteration(2)[:at], end="\n")
    (first, *rest) = log.columns("step", "step_ns", "loss")
    assert first == (1, 250_000_000, 9.5)
    assert rest in ([], [(2, 250_000_000, None)], [(2, 250_000_000, 9.5)])
    assert rest or log.issues or at < len(" iteration        2/     100 | consumed samples:")


@pytest.mark.parametrize("before", ['print("', "# ", "log = f'", "e.g. `"])
def test_an_iteration_in_code_or_prose_is_none(read: Reads, before: str) -> None:
    log = read(before + iteration(1), iteration(2))
    assert log.columns("step") == [2]
    assert log.issues == {"a step quoted in other text": 1}


# -- averages ------------------------------------------------------------------------------


def test_values_of_a_logging_interval_say_over_how_many_steps(read: Reads) -> None:
    log = read(iteration(10), iteration(20), iteration(40))
    assert log.columns("step", "step_count_averaged") == [(10, 10), (20, 10), (40, 10)]


def test_the_first_line_after_a_resumption_may_be_about_fewer_steps(read: Reads) -> None:
    log = read(iteration(30), iteration(40))
    assert log.columns("step_count_averaged") == [None, 10]


def test_a_gap_that_does_not_divide_is_no_interval(read: Reads) -> None:
    log = read(iteration(10), iteration(17))
    assert log.columns("step_count_averaged") == [None, None]


# -- ranks, restarts -----------------------------------------------------------------------


def test_one_step_printed_by_several_ranks_is_one_row(read: Reads) -> None:
    log = read(*(f"{rank}: {iteration(step)}" for step in (1, 2) for rank in (6, 7)))
    assert log.columns("step", "printed_rank", "attempt") == [(1, 6, 1), (2, 6, 1)]
    assert log.issues == {"the same step printed by several ranks": 2}


def test_steps_that_go_back_begin_an_attempt(read: Reads) -> None:
    log = read(iteration(8), iteration(9), iteration(10), iteration(9, 999.0), iteration(10, 998.0))
    assert log.columns("step", "attempt") == [(8, 1), (9, 1), (10, 1), (9, 2), (10, 2)]


def test_arguments_that_are_printed_again_begin_an_attempt(read: Reads) -> None:
    dump = ["---------- arguments ----------", "---------- end of arguments ----------"]
    log = read(*dump, iteration(1), *dump, iteration(2))
    assert log.columns("step", "attempt") == [(1, 1), (2, 2)]


def test_a_restart_on_another_node_begins_an_attempt(read: Reads) -> None:
    first = [f"node-1: {iteration(step)}" for step in range(1, 31)]
    again = [f"node-2: {iteration(step, 300.0)}" for step in range(5, 10)]
    log = read(*first, *again)
    assert [row["attempt"] for row in log.steps] == [1] * 30 + [2] * 5


def test_a_log_of_many_thousand_steps_keeps_their_order(read: Reads) -> None:
    log = read(*(iteration(step) for step in range(1, 5001)))
    assert log.columns("step") == list(range(1, 5001))


def test_a_log_is_whole_with_the_jobs_last_step(read: Reads) -> None:
    assert read(iteration(100)).facts.status == "complete"
    facts = read(iteration(99)).facts
    assert (facts.status, facts.status_reason) == ("unknown", "ends at step 99 of 100")


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "srun: error: node-1: task 3: Killed",
        "slurmstepd: error: *** JOB 7 ON n CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
    ],
)
def test_a_job_that_broke_off_is_not_whole(read: Reads, line: str) -> None:
    assert read(iteration(99), line).facts.status == "incomplete"
    assert read(line, iteration(99)).facts.status == "unknown"
    assert read(iteration(100), line).facts.status == "complete"


def test_step_times_without_their_iterations_are_counted(read: Reads) -> None:
    line = "Step Time : 2.24s GPU utilization: 1165.6MODEL_TFLOP/s/GPU"
    log = read(line, line, iteration(1, 2240.0))
    assert log.columns("reported_flops_per_s_per_gpu") == [1165.6e12]
    assert log.issues == {"a step time without its iteration before it": 1}


STEP_TIME = "Step Time : 2.24s GPU utilization: 1165.6MODEL_TFLOP/s/GPU"


def test_a_step_time_at_the_end_of_a_log_is_counted(read: Reads) -> None:
    log = read(iteration(1), STEP_TIME)
    assert log.issues == {"a step time without its iteration after it": 1}


def test_a_step_time_of_another_step_or_without_its_numbers_is_told(read: Reads) -> None:
    log = read(STEP_TIME, iteration(1, 250.0), "Step Time : 2.24s", iteration(2, 250.0))
    assert log.columns("reported_flops_per_s_per_gpu") == [None, None]
    assert log.issues == {
        "a step time that is not that of the iteration after it": 1,
        "a step time that breaks off": 1,
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("(after 9 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 |",
         "memory of a step that no line tells of, left out"),
        ("validation loss at iteration 9 on test set | lm loss value: 2.0 |",
         "a validation loss that breaks off, or of another set"),
        (" iteration 9/ 100 | lm loss: 3.0 | learning rate: 1.0 |", "a step that breaks off"),
        ("{'loss': 1.5, 'learning_rate': 0.1}", "a step without its epoch"),
        ("{'eval_accuracy': 0.5, 'epoch': 1.0}", "an evaluation without its loss"),
    ],
)  # fmt: skip
def test_no_line_with_numbers_is_left_out_without_a_word(read: Reads, line: str, told: str) -> None:
    log = read(iteration(1), line, iteration(2))
    assert log.columns("step") == [1, 2]
    assert log.issues == {told: 1}


@pytest.mark.parametrize(
    "line",
    [
        STEP_TIME,
        iteration(1).replace("iteration        1", "iteration       x1"),
        "{'loss': 1.x5, 'learning_rate': 0.1, 'epoch': 0.5}",
        "{'loss': 1.5, 'learning_rate': 0.1}",
        "iter 1x: loss 4.2, time 100.00ms, mfu 3.00%",
        "[titan] step: x1  loss: 8.1  memory: 1.00GiB(2%)  tps: 5  mfu: 1%",
        "Training epoch x, iteration 3/9 | lr: 1 | consumed_samples: 5",
    ],
)
def test_a_log_of_broken_steps_alone_is_an_error_of_training_logs(
    tmp_path: Path, line: str
) -> None:
    file = tmp_path / "job.log"
    file.write_text(f"starting\n{line}\n")
    (outcome,) = ingest([file], Store.create(tmp_path / "store")).outcomes
    assert outcome.fault and "no step of this training log" in outcome.fault.problem
    assert "line 2" in outcome.fault.problem


@pytest.mark.parametrize(
    "before", ["[2026-01-02 03:04:05,6] [INFO] ", "2026-01-02 03:04:05 ", "Jan 02 03:04:05 INFO: "]
)
def test_a_loggers_words_before_a_step_of_nanogpt(read: Reads, before: str) -> None:
    log = read(*(f"{before}iter {step}: loss 4.5, time 100.00ms, mfu 3.00%" for step in (1, 2)))
    assert log.columns("step", "step_ns") == [(1, 100_000_000), (2, 100_000_000)]
    assert log.issues == {}


# -- DeepSpeed -----------------------------------------------------------------------------

TIMER = (
    "[2023-11-29 08:55:00,932] [INFO] [timer.py:260:stop] epoch=0/micro_step={0}/global_step={0}, "
    "RunningAvgSamplesPerSec=291.6169137604138, CurrSamplesPerSec=315.5642580603495, "
    "MemAllocated=17.54GB, MaxMemAllocated=66.97GB"
)
SCHEDULER = (
    "[2023-11-29 08:54:58,114] [INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped=4, "
    "lr=[3.6e-07, 3.6e-07], mom=[(0.9, 0.95), (0.9, 0.95)]"
)


def test_the_lines_of_a_deepspeed_step_are_one_row(read: Reads) -> None:
    log = read(SCHEDULER.format(10), TIMER.format(10), SCHEDULER.format(20), TIMER.format(20))
    assert log.columns(
        "framework", "step", "ts_ns", "samples_per_s", "learning_rate", "skipped_total_count"
    ) == [
        ("deepspeed", 10, 0, 315.5642580603495, 3.6e-07, 4),
        ("deepspeed", 20, 0, 315.5642580603495, 3.6e-07, 4),
    ]
    assert log.columns("memory_bytes") == [round(66.97 * 2**30)] * 2


def test_deepspeed_of_2022_numbers_steps_within_the_epoch(read: Reads) -> None:
    log = read(
        "[2022-08-01 10:00:00,000] [INFO] [timer.py:198:stop] 0/20, "
        "RunningAvgSamplesPerSec=7.5, CurrSamplesPerSec=7.6, MemAllocated=1.0GB"
    )
    assert log.columns("step", "samples_per_s") == [(20, 7.6)]


def test_the_pipeline_engines_line(read: Reads) -> None:
    log = read("steps: 10 loss: 7.1 iter time (s): 4.218 samples/sec: 7.586")
    assert log.columns("step", "loss", "step_ns", "samples_per_s") == [
        (10, 7.1, 4_218_000_000, 7.586)
    ]


def test_of_two_clocks_of_a_step_megatrons_stays_and_takes_time_and_memory(read: Reads) -> None:
    log = read(SCHEDULER.format(3), TIMER.format(3), f"vm-07-14: {iteration(3)}")
    assert log.columns("framework", "step", "ts_ns", "samples_per_s") == [("megatron", 3, 0, None)]
    assert log.columns("memory_bytes") == [round(66.97 * 2**30)]
    assert log.issues == {"DeepSpeed's lines of a step that Megatron's line tells of": 1}


def test_the_scheduler_line_before_the_first_step_is_no_step(read: Reads) -> None:
    assert read(SCHEDULER.format(0), iteration(1)).columns("step") == [1]


# -- torchtitan ----------------------------------------------------------------------------


def test_a_step_of_torchtitan(read: Reads) -> None:
    log = read(
        "[rank0]:[titan] 2025-06-04 08:51:48,074 - root - INFO - \x1b[31mstep:  1  "
        "\x1b[32mloss: 12.2254  \x1b[38;2;180;60;0mgrad_norm:  1.4604  \x1b[33mmemory: "
        "27.34GiB(28.78%)  \x1b[34mtps: 7,034  \x1b[36mtflops: 407.35  \x1b[35mmfu: 41.19%\x1b[39m"
    )
    assert [said(row) for row in log.steps] == [
        {
            "framework": "torchtitan",
            "kind": "step",
            "attempt": 1,
            "line": 1,
            "printed_rank": 0,
            "step": 1,
            "ts_ns": 0,
            "step_count_averaged": 1,
            "tokens_per_s_per_gpu": 7034.0,
            "loss": 12.2254,
            "is_loss_finite": True,
            "grad_norm": 1.4604,
            "reported_flops_per_s_per_gpu": 407.35e12,
            "reported_mfu_share": 0.4119,
            "memory_bytes": round(27.34 * 2**30),
            "memory_kind": "max_reserved",
        }
    ]


TITAN = "2024-10-03 16:44:{:02d},481 - root - INFO - step: {:2d}  loss: 10.8  memory: 1.00GiB(2%)  "


def test_torchtitan_of_2024_and_without_a_peak(read: Reads) -> None:
    log = read(
        TITAN.format(1, 1) + "wps: 1,176  mfu: 16.15%",
        TITAN.format(11, 10) + "tps: 1,962  mfu: N/A",
    )
    assert log.columns("tokens_per_s_per_gpu", "reported_mfu_share") == [
        (1176.0, 0.1615),
        (1962.0, None),
    ]
    assert log.columns("step_count_averaged", "ts_ns") == [(1, 0), (9, 10_000_000_000)]


def test_ranks_with_values_of_their_own_are_rows(read: Reads) -> None:
    log = read(
        *(
            f"[rank{rank}]:{TITAN.format(step, step)}tps: {rank},000  mfu: 1%"
            for step in (1, 2)
            for rank in (1, 2)
        )
    )
    assert log.columns("step", "printed_rank", "attempt") == [
        (1, 1, 1),
        (1, 2, 1),
        (2, 1, 1),
        (2, 2, 1),
    ]


def test_a_torn_step_of_torchtitan_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    whole = TITAN.format(1, 1) + "tps: 7,034  mfu: 41.19%"
    path.write_text(whole + "\n" + whole.replace("step:  1", "step:  2")[:-5])
    log = Log(path)
    assert log.columns("step") == [1]
    assert log.issues == {"a step that breaks off": 1}
    assert (log.facts.status, log.facts.status_reason) == ("incomplete", "its last line is cut")


# -- NeMo, Lightning -----------------------------------------------------------------------


def bar(done: int, step: str, loss: str = "0.5") -> str:
    return (
        f"Epoch 0: :  60%|██████    | {done}/10000 [4:26:54<2:56:09, v_num=0, "
        f"reduced_train_loss={loss}, global_step={step}, consumed_samples=96384.0, "
        "train_step_timing in s=2.590, val_loss=0.0917]"
    )


def test_of_a_progress_bar_the_last_update_of_a_step_stays(read: Reads) -> None:
    log = read(bar(1, "0.000", "1.0"), bar(2, "1.000", "2.0"), bar(2, "1.000", "3.0"), end="\r")
    assert log.columns("step", "loss", "step_ns", "attempt") == [
        (0, 1.0, 2_590_000_000, 1),
        (1, 3.0, 2_590_000_000, 1),
    ]
    assert log.columns("consumed_sample_count", "step_count_averaged") == [(96384, 1)] * 2
    assert log.steps[1]["line"] == 3


def test_a_bar_with_other_ranks_text_glued_to_it(read: Reads) -> None:
    log = read(bar(6024, "6023.0") + "[rank: 1] Monitored metric val_loss did not improve")
    assert log.columns("step") == [6023]


def test_a_step_that_the_bar_rounds_follows_from_its_batches(read: Reads) -> None:
    log = read(bar(1994, "1993.0"), bar(2000, "2e+3"), bar(2001, "2e+3"))
    assert log.columns("step") == [1993, 1999, 2000]
    assert read(bar(2000, "2e+3")).columns("step") == [2000]
    assert read(bar(2000, "2e+3")).issues == {
        "counts rounded to three digits by the progress bar": 1
    }


def test_a_line_of_nemo_2(read: Reads) -> None:
    log = read(
        "[2025-10-17T11:32:59+08:00] Training epoch 0, iteration 45/99 | lr: 6.897e-06 | "
        "global_batch_size: 128 | global_step: 45 | max_memory_reserved: 127785762816 | "
        "max_memory_allocated: 115792977920 | reduced_train_loss: 11.96 | "
        "train_step_timing in s: 6.08 | TFLOPS_per_GPU: 1.249e+03 | "
        "tokens_per_sec_per_gpu: 6.859e+03 | consumed_samples: 5888"
    )
    (row,) = log.steps
    assert (row["step"], row["step_ns"], row["loss"]) == (45, 6_080_000_000, 11.96)
    assert row["reported_flops_per_s_per_gpu"] == 1.249e15
    assert row["tokens_per_s_per_gpu"] == 6859.0
    assert (row["memory_bytes"], row["memory_kind"]) == (115792977920, "max_allocated")
    assert (row["consumed_sample_count"], row["global_batch_size"]) == (5888, 128)
    assert log.facts.capture_start_utc_ns == 1760671979 * 10**9
    assert log.facts.capture_start_local_ns is None


def test_a_wrapped_line_of_nemo_2(read: Reads) -> None:
    log = read(
        "mbs_128gbs/0 Training epoch 0, iteration 10/14 | lr: 1.649e-06 | global_batch_size: 128",
        "mbs_128gbs/0 | global_step: 10 | reduced_train_loss: 11.97",
        "mbs_128gbs/0 | train_step_timing in s: 3.684 | consumed_samples: 1408",
    )
    assert log.columns("step", "loss", "step_ns", "consumed_sample_count") == [
        (10, 11.97, 3_684_000_000, 1408)
    ]


# -- nanoGPT -------------------------------------------------------------------------------


def test_steps_of_a_speedrun_beside_its_own_source(read: Reads) -> None:
    log = read(
        'print0(f"step:{step}/{args.num_iterations} train_time:{time:.0f}ms step_avg:{a:.2f}ms")',
        'print("step:5/9 train_loss:1.0 train_time:5ms step_avg:1.00ms")',
        "step:0/5100 val_loss:16.0058 train_time:278ms step_avg:nanms",
        "step:11/5100 train_loss:6.9134 train_time:176ms step_avg:nanms",
        "step:391/5100 train_loss:4.1095 train_time:68131ms step_avg:178.82ms",
        "step:1670/1670 train_time:155.835s step_avg:93.31ms",
    )
    assert log.columns("kind", "step", "loss", "train_time_ns", "step_ns") == [
        ("validation", 0, 16.0058, 278_000_000, None),
        ("step", 11, 6.9134, 176_000_000, None),
        ("step", 391, 4.1095, 68_131_000_000, 178_820_000),
        ("step", 1670, None, 155_835_000_000, 93_310_000),
    ]
    # 391 steps without the first ten.
    assert log.columns("step_count_averaged") == [None, None, 381, 1670]
    assert log.issues == {}


def test_the_first_speedruns_and_nanogpt_itself(read: Reads) -> None:
    log = read(
        "s:396 trl:4.69",
        "s:396 tel:4.71",
        "step 1000: train loss 3.2, val loss 3.3",
        "iter 1001: loss 3.1234, time 245.32ms, mfu -100.00%",
        "iter 1002: loss 3.1235, time 245.33ms, mfu 17.51%",
    )
    assert log.columns("kind", "step", "loss", "step_ns", "reported_mfu_share") == [
        ("step", 396, 4.69, None, None),
        ("validation", 396, 4.71, None, None),
        ("validation", 1000, 3.3, None, None),
        ("step", 1001, 3.1234, 245_320_000, None),
        ("step", 1002, 3.1235, 245_330_000, 0.1751),
    ]


# -- HF Trainer ----------------------------------------------------------------------------


def test_dicts_of_the_trainer_take_their_step_from_the_bar_after(read: Reads) -> None:
    log = read(
        " 12%|█▏        | 99/800 [11:41<1:21:00,  7.01s/it]",
        "{'loss': 1.4187, 'grad_norm': 0.25, 'learning_rate': 2e-05, 'epoch': 0.12}",
        " 12%|█▎        | 100/800 [11:48<1:21:00,  7.01s/it]",
        "{'eval_loss': 1.3, 'eval_runtime': 8.0, 'epoch': 0.12}",
        "{'loss': '1.2', 'learning_rate': '1e-05', 'epoch': '0.13', 'step': 101}",
        "{'loss': 1.1, 'grad_norm': np.float64(2.5), 'learning_rate': 1e-05, 'epoch': 0.14}",
        "{'train_runtime': 5606.7798, 'train_samples_per_second': 1.141, "
        "'train_steps_per_second': 0.143, 'train_loss': 1.1899, 'epoch': 0.12}",
        "100%|██████████| 800/800 [1:33:26<00:00,  7.01s/it]",
    )
    assert log.columns("kind", "step", "loss", "learning_rate", "grad_norm") == [
        ("step", 100, 1.4187, 2e-05, 0.25),
        ("validation", None, 1.3, None, None),
        ("step", 101, 1.2, 1e-05, None),
        ("step", None, 1.1, 1e-05, 2.5),
        ("summary", 800, 1.1899, None, None),
    ]
    last = log.steps[-1]
    assert (last["samples_per_s"], last["train_time_ns"]) == (1.141, 5_606_779_800_000)
    assert last["step_count_averaged"] == 800
    assert log.facts.status == "complete"


def test_a_dict_printed_by_each_node_is_one_row(read: Reads) -> None:
    line = "{'loss': nan, 'learning_rate': 2e-05, 'epoch': 0.12}"
    log = read(f"node-1: {line}", f"node-2: {line}")
    assert log.columns("loss", "is_loss_finite") == [(None, False)]
    assert log.issues == {"the same step printed by several ranks": 1}


# -- OLMo, Composer ------------------------------------------------------------------------


def test_steps_over_several_lines(read: Reads) -> None:
    log = read(
        "[2024-04-17 09:42:38] INFO     [olmo.train:816, rank=0] [step=2/739328]",
        "    train/CrossEntropyLoss=10.73",
        "    throughput/total_tokens=8,388,608",
        "    throughput/device/tokens_per_second=45,538",
        "    System/Peak GPU Memory (MB)=43,309",
        "[batch=3/10]:",
        "\t Train loss/train/total: 8.4213",
        "\t Train throughput/samples_per_sec: 2.7330",
        "\t Train throughput/device/tokens_per_sec: 1255.1776",
    )
    assert log.columns(
        "step", "loss", "tokens_per_s_per_gpu", "samples_per_s", "consumed_token_count"
    ) == [(2, 10.73, 45538.0, None, 8388608), (3, 8.4213, 1255.1776, 2.733, None)]
    assert log.steps[0]["memory_bytes"] == 43_309_000_000


@pytest.mark.parametrize("end", ["", "1", "10", "10.7"])
def test_a_value_line_that_breaks_off_is_not_kept(end: str, tmp_path: Path) -> None:
    path = tmp_path / "olmo.log"
    path.write_text(
        "[step=1/9]\n    train/CrossEntropyLoss=11.0\n[step=2/9]\n    train/Cross"
        + (f"EntropyLoss={end}" if end else "")
    )
    recording = training_log.read(path, path.name, 1, NO_HINTS)
    batches = [batch for part in recording.parts for batch in part.batches()]
    assert [row["loss"] for batch in batches for row in batch.to_pylist()] == [11.0]


@pytest.mark.parametrize("escape", ["\x1b", "", "^["])
def test_colours_are_no_part_of_a_step_even_without_their_escape(escape: str, read: Reads) -> None:
    line = "[titan] 2025-06-04 08:51:58,557 - root - INFO - E[31mstep: 10  E[32mloss: 10.7  "
    line += "E[33mmemory: 30.99GiB(32.62%)  E[34mtps: 7,034  E[36mmfu: N/AE[39m"
    log = read(line.replace("E[", f"{escape}["))
    assert log.columns("step", "loss", "tokens_per_s_per_gpu") == [(10, 10.7, 7034.0)]


# -- arguments -----------------------------------------------------------------------------


def test_only_listed_arguments_are_kept(read: Reads) -> None:
    log = read(
        "node-1: using world size: 64, data-parallel-size: 2, tensor-model-parallel size: 4, "
        "pipeline-model-parallel size: 8",
        "node-1: ------------------------ arguments ------------------------",
        "node-1:   data_path ....................................... ['/data/someone/x']",
        "node-1:   hidden_size ..................................... 8192",
        "node-1:   params_dtype .................................... torch.float16",
        "node-1:   save ............................................ /data/someone/y",
        "node-1:   transformer_impl ................................ /data/someone/z",
        "node-1: -------------------- end of arguments ---------------------",
        "node-1:   seq_length ...................................... 1",
        " > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)",
        "[2023-11-29 08:51:11,652] [INFO] [config.py:978:print]   zero_optimization_stage ...... 1",
    )
    assert log.arguments == {
        "world_size": "64",
        "data_parallel_size": "2",
        "tensor_model_parallel_size": "4",
        "pipeline_model_parallel_size": "8",
        "hidden_size": "8192",
        "params_dtype": "torch.float16",
        "padded_vocab_size": "50688",
        "zero_stage": "1",
    }
    assert log.tables["job_argument"][1]["line"] == 4
    assert "someone" not in str(log.tables) + str(log.recording.issues)


# -- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_and_encodings(read: Reads, end: str, encoding: str) -> None:
    log = read("noise " * 100, iteration(1), iteration(2), end=end, encoding=encoding)
    assert log.columns("step", "line") == [(1, 2), (2, 3)]


def test_lines_far_into_a_file_keep_their_numbers(read: Reads) -> None:
    noise = ["some other output of the job, iteration after iteration"] * 200_000
    log = read(iteration(1), *noise, iteration(2), *noise, iteration(3))
    assert log.columns("step", "line") == [(1, 1), (2, 200_002), (3, 400_003)]


def test_a_file_without_a_step_that_can_be_read_is_refused(read: Reads) -> None:
    log = read(iteration(1).replace("250.0", "fast"))
    assert log.recording.refusal is not None
    assert log.issues == {"no number where one is expected": 1}


def test_one_line_of_many_megabytes_does_not_stop_it(read: Reads) -> None:
    log = read("step:" * 2_000_000, iteration(1), "x" * 100_000 + "iteration 5/ 6 |")
    assert log.columns("step") == [1]
    assert log.issues["a line too long"] == 2


def test_through_ingest(tmp_path: Path) -> None:
    path = tmp_path / "job" / "train.log.xz"
    path.parent.mkdir()
    path.write_bytes(lzma.compress(("noise\n" + iteration(5) + "\n").encode()))
    store = Store.create(tmp_path / "store")
    assert [outcome.kind for outcome in ingest([path.parent], store, jobs=1).outcomes] == ["stored"]
    assert store.connect(asked=["training_step"]).execute(
        "SELECT step, step_ns, loss FROM training_step"
    ).fetchall() == [(5, 250_000_000, 9.5)]


@pytest.mark.parametrize(
    "text",
    [
        "# Out of bounds values : 0 OK\n",
        "the last iteration 5/10 went well\n",
        "step:1/2 of the set-up\n",
        "{'loss': 'mse', 'epoch': 3}\n",
        "global_step=3 skipped=4\n",
        'print(f"step:{step}/{n} train_loss:{x} train_time:{t}ms")\n',
    ],
)
def test_other_text_is_not_recognised(text: str) -> None:
    assert not is_recognised(text)


# -- anything at all -----------------------------------------------------------------------

SAMPLE = "\n".join(
    [
        iteration(1),
        TITAN.format(1, 1) + "tps: 7,034  mfu: 41.19%",
        SCHEDULER.format(50),
        bar(7, "6.000"),
        "step:391/5100 train_loss:4.1095 train_time:68131ms step_avg:178.82ms",
        "{'loss': 1.4187, 'learning_rate': 2e-05, 'epoch': 0.12}",
        "[step=2/739328]",
        "    train/CrossEntropyLoss=10.73",
        iteration(2),
        "",
    ]
)
LOSSES = {9.5, 10.8, 0.5, 4.1095, 1.4187, 10.73, None}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_cut_or_shuffled_log_gives_no_other_values(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = data.draw(st.permutations(SAMPLE.splitlines(keepends=True)))
    text = "".join(lines)
    text = text[: data.draw(st.integers(0, len(text)))]
    path = tmp_path_factory.mktemp("log") / "job.log"
    path.write_text(text)
    log = Log(path)
    assert set(log.columns("loss")) <= LOSSES
    assert set(log.columns("step_ns")) <= {250_000_000, 178_820_000, 2_590_000_000, None}
    assert {row["tokens_per_s_per_gpu"] for row in log.steps} <= {7034.0, None}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_flipped_bytes_raise_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    raw = bytearray(SAMPLE.encode())
    for _ in range(data.draw(st.integers(1, 30))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("log") / "job.log"
    path.write_bytes(raw)
    training_log.recognise(Head(bytes(raw)))
    Log(path)


# -- published logs ------------------------------------------------------------------------


class TestPublished:
    """Against plain regular expressions over the same text."""

    pytestmark = real_traces

    @pytest.mark.parametrize("name", sorted(p.name for p in LOGS.glob("*")) or ["none"])
    def test_each_is_recognised(self, name: str) -> None:
        assert training_log.recognise(Head((LOGS / name).read_bytes(), name))

    @pytest.mark.parametrize("path", OTHERS or [Path("none")], ids=lambda p: p.name)
    def test_no_other_trace_is(self, path: Path) -> None:
        raw = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        assert not training_log.recognise(Head(raw[: 4 << 20], path.name))

    @pytest.mark.parametrize(
        "name",
        [
            "aws_megatron_gpt3_srun_label.txt",
            "bloom176b_reshaping_log.md",
            "bs_meg_ds_3d_old_n16_tail.out",
            "bs_megatron_deepspeed_3d_n16.out",
            "cloudai_megatron_run_2026.txt",
            "megatron_gpt2_345m.txt",
            "sb_megatron_deepspeed.log",
        ],
    )
    def test_megatron(self, name: str) -> None:
        text = (LOGS / name).read_text(errors="replace")
        found = re.findall(r"iteration +(\d+)/.*?per iteration \((m?s)\): ([\d.]+) ", text)
        losses = re.findall(r"iteration +\d+/.*?nan iterations", text)
        expected = [
            (int(step), round(float(time) * (10**6 if unit == "ms" else 10**9)))
            for step, unit, time in found
        ]
        log = Log(LOGS / name)
        own = [row for row in log.steps if row["kind"] == "step"]
        assert [(row["step"], row["step_ns"]) for row in own] == expected
        for row, line in zip(own, losses, strict=True):
            loss = re.search(r"lm.loss: ([\d.E+-]+)", line)
            assert row["loss"] == (float(loss[1]) if loss else None)

    @pytest.mark.parametrize("name", ["nanogpt_2024-10_modernarch.txt", "nanogpt_2025-09.txt"])
    def test_nanogpt(self, name: str) -> None:
        text = (LOGS / name).read_text(errors="replace")
        expected = [
            (int(step), int(time) * 10**6)
            for step, time in re.findall(r"^step:(\d+)/\d+ .*train_time:(\d+)ms", text, re.M)
        ]
        assert Log(LOGS / name).columns("step", "train_time_ns") == expected

    def test_torchtitan(self) -> None:
        log = Log(LOGS / "torchtitan_variants.txt")
        assert log.columns("step") == [1, 2, 3, 1, 10, 1, 10, 1, 1, 1]
        assert log.columns("tokens_per_s_per_gpu")[:7] == [
            1176, 1962, 1954, 1478, 7026, 375, 7034,
        ]  # fmt: skip
        assert log.columns("reported_mfu_share")[6] == 0.4119
        assert log.columns("attempt") == [1, 1, 1, 2, 2, 3, 3, 4, 5, 6]

    def test_hf_trainer(self) -> None:
        log = Log(LOGS / "hf_trainer_alpaca.txt")
        assert [row["samples_per_s"] for row in log.steps] == [None, 1.141, 4.835, 0.879, 8.209]

    def test_megatron_deepspeed_takes_times_and_memory(self) -> None:
        log = Log(LOGS / "sb_megatron_deepspeed.log")
        # 08:52:27,711 to 08:53:42,835
        assert log.columns("ts_ns")[:2] == [0, 75_124_000_000]
        assert log.columns("samples_per_s") == [26.942, 27.215, 27.216, 27.240, 27.492]
        assert log.columns("host") == ["vm-07-14"] * 5
        assert log.arguments["hidden_size"] == "4096"
        assert log.facts.tool_version == "DeepSpeed 0.12.3"


BROKEN = {
    "megatron, time": iteration(5).replace("250.0", "abc"),
    "megatron, negative time": iteration(5).replace("250.0", "-250.0"),
    "megatron, step": iteration(5).replace("       5/", "       x/"),
    "megatron, samples": iteration(5).replace("320", "3z0"),
    "megatron, cut": iteration(5)[:80],
    "primus": " iteration 5/ 9 | elapsed time per iteration (ms): 13x0.0/13.9 | lm loss: 1.0 |",
    "deepspeed, timer": "[x] [timer.py:260:stop] epoch=0/micro_step=4/global_step=1, "
    "RunningAvgSamplesPerSec=a, CurrSamplesPerSec=b, MemAllocated=1GB, MaxMemAllocated=2GB",
    "deepspeed, timer's step": "[x] [timer.py:260:stop] epoch=0/micro_step=4/global_step=q, "
    "RunningAvgSamplesPerSec=1, CurrSamplesPerSec=2.0, MemAllocated=1GB, MaxMemAllocated=2GB",
    "deepspeed, scheduler": "[Rank 0] step=x, skipped=0, lr=[0.1, 0.1], mom=[(0.9, 0.99)]",
    "deepspeed, rates": "[Rank 0] step=5, skipped=0, lr=[1e-0,5, 1e-05], mom=[(0.9, 0.99)]",
    "deepspeed, pipeline": "steps: 1 loss: 12.7 iter time (s): abc samples/sec: 6.805",
    "torchtitan, loss": "step:  1  loss: abc  memory: 26.73GiB(60.17%)  tps: 1,176  mfu: 16.15%",
    "torchtitan, step": "step:  x  loss: 9.1  memory: 26.73GiB(60.17%)  tps: 1,176  mfu: 16.15%",
    "torchtitan, speed": "step:  1  loss: 9.1  memory: 26.73GiB(60.17%)  tps: ???  mfu: 16.15%",
    "torchtitan, cut": "step:  1  loss: 9.1  memory: 26.73GiB(60",
    "nemo, bar": "Epoch 0: : 60%|x| 6/9 [4:26<2:56, global_step=6a.0, train_step_timing in s=2.5]",
    "nemo, line": "Training epoch 0, iteration 4/9 | lr: 1 | global_step: 4 | "
    "train_step_timing in s: q | consumed_samples: 8",
    "nemo, bar's comma": bar(6024, "6023.0", "1,8"),
    "nemo, line's commas": "Training epoch 0, iteration 4/9 | lr: 1 | global_step: 4 | "
    "train_step_timing in s: 5,7,5 | consumed_samples: 8",
    "nemo, line's mark": "Training epoch 0, iteration 4/9 | lr: 1 | global_step: 4 | "
    "train_step_timing in s: 5.7?5 | consumed_samples: 8",
    "nemo, the last value": "Training epoch 0, iteration 4/9 | consumed_samples: 12?80",
    "nemo, iteration": "Training epoch 0, iteration z/9 | lr: 1 | consumed_samples: 8",
    "nanogpt, loss": "step:391/5100 train_loss:abc train_time:68131ms step_avg:178.82ms",
    "nanogpt, step": "step:x/5100 train_loss:4.1 train_time:68131ms step_avg:178.82ms",
    "nanogpt, time": "step:391/5100 train_time:ms step_avg:178.82ms",
    "nanogpt, the first": "iter 5: loss abc, time 10.0ms, mfu 1.0%",
    "nanogpt, 2024": "s:39a trl:4.69",
    "hf, loss": "{'loss': abc, 'learning_rate': 2e-05, 'epoch': 0.12}",
    "hf, cut": "{'loss': 1.4187, 'learning_rate': 2e-05, 'epoch': 0.",
    "olmo": "[step=5/100]\n    train/CrossEntropyLoss=abc",
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_log_of_broken_steps_alone_is_refused_with_its_first_line(line: str, read: Reads) -> None:
    assert is_recognised(f"hello\n{line}\n{line}\n")
    log = read("hello", line, line)
    assert not log.steps
    assert log.recording.refusal
    assert "; line 2: " in log.recording.refusal.problem
    assert "'" in log.recording.refusal.problem  # the quote
    assert log.recording.refusal.way_out


def test_broken_steps_beside_arguments_are_refused_too(read: Reads) -> None:
    begin, end = f"{'-' * 24} arguments {'-' * 24}", f"{'-' * 20} end of arguments {'-' * 21}"
    log = read(begin, "  hidden_size ..... 1024", end, BROKEN["megatron, time"])
    assert log.recording.refusal


@pytest.mark.parametrize(
    "line",
    [
        f"`{BROKEN['megatron, time']}`",
        "iter 100: loss 3.2",
        "progress: step: 3 of 4, loss: low",
        '    f"step:{step}/{n} train_loss:{x} train_time:{t}ms"',
        "done with iteration 3 of this file | nothing else",
    ],
)
def test_prose_and_other_programs_steps_are_not_recognised(line: str) -> None:
    assert not is_recognised(line + "\n")


def test_a_step_over_several_lines_is_not_reported_as_one_without_a_number(read: Reads) -> None:
    log = read(
        " iteration        5/     100 | consumed samples:          320 |",
        " elapsed time per iteration (ms): 250.0 | learning rate: 1.000E-04 |",
        " lm loss: 9.5 | number of nan iterations:   0 |",
    )
    assert log.columns("step", "step_ns") == [(5, 250_000_000)]
    assert log.issues == {}


def test_a_value_cut_at_the_end_of_the_file_is_none_of_the_step_above_it(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text("[step=2/9]\n    throughput/total_tokens=64\n    train/CrossEntropyLoss=1")
    assert Log(path).columns("consumed_token_count", "loss") == [(64, None)]
