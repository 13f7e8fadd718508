from typing import Any

import pytest
from rows import Trace

STEPS = "SELECT step, name, start_ns, end_ns, next_start_ns FROM step_range ORDER BY start_ns"
NAMES = "SELECT step, name FROM step_range ORDER BY process, start_ns"


def ranges(trace: Trace, *names: str, **more: object) -> None:
    """One after the other, 10 ns long, one every 20 ns."""
    for place, name in enumerate(names):
        trace.range(20 * place, 20 * place + 10, name, **more)


def test_steps(trace: Trace) -> None:
    ranges(trace, "step 7", "step 8")
    assert trace.ask(STEPS) == [(7, "step 7", 0, 10, 20), (8, "step 8", 20, 30, None)]
    assert trace.ask("SELECT run_id, source_id, process FROM step_range") == [("run", "a", 1)] * 2


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep#{}",
        "ProfilerStep# {}",
        "iteration {}",
        "Iteration: {}",
        "iteration{}",
        "iter_{}",
        "iter={}",
        "step-{}",
        "Step #{}",
        "global_step {}",
        "train_step_{}",
        "Training step {}",
        "batch {}",
        "Batch {}/500",
    ],
)
def test_numbered_names(trace: Trace, name: str) -> None:
    ranges(trace, name.format(9), name.format(10))
    assert trace.ask(NAMES) == [(9, name.format(9)), (10, name.format(10))]


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep*",
        "[pl][profile]run_training_batch",
        "[pl][profile][Strategy]DDPStrategy.training_step",
        "PipelineEngine.train_batch",
        "train_batch",
        "Trainer.training_step",
        "Model.train_step",
        "keras.engine.training.train_step",
        "train_one_step",
        "train_one_batch",
        "training step",
        "train iteration",
        "train-step",
        "step",
        "iteration",
        "Iter",
    ],
)
def test_names_without_a_number_are_counted(trace: Trace, name: str) -> None:
    ranges(trace, name, name, name)
    assert trace.ask(NAMES) == [(0, name), (1, name), (2, name)]


@pytest.mark.parametrize(
    "name",
    [
        "forward",
        "optimizer step 3",
        "Optimizer.step#Adam.step",
        "DeepSpeedEngine.step",
        "lr_scheduler step",
        "step_fn",
        "validation_step",
        "test_step",
        "epoch 3",
        "layer 12",
        "microbatch 4",
        "batch norm 2",
        "data copy in 5",
        "[pl][profile]run_training_epoch",
        "step " + "0" * 80,
    ],
)
def test_other_names(trace: Trace, name: str) -> None:
    ranges(trace, name, name)
    assert trace.ask(NAMES) == []


def test_one_range_alone_is_no_step(trace: Trace) -> None:
    ranges(trace, "step 0", "forward")
    assert trace.ask(NAMES) == []


def test_the_first_pattern_that_names_two_counts(trace: Trace) -> None:
    ranges(trace, "ProfilerStep#3", "iteration 1", "iteration 2", "train_step", "train_step")
    assert trace.ask(NAMES) == [(1, "iteration 1"), (2, "iteration 2")]


def test_each_process_has_its_own_pattern(trace: Trace) -> None:
    ranges(trace, "iteration 1", "iteration 2", process=1)
    ranges(trace, "train_step", "train_step", process=2)
    assert trace.ask("SELECT process, step FROM step_range ORDER BY ALL") == [
        (1, 1),
        (1, 2),
        (2, 0),
        (2, 1),
    ]


def test_steps_of_two_files_are_two_lists(trace: Trace) -> None:
    ranges(trace, "step 1", "step 2", source_id="a")
    ranges(trace, "step 1", source_id="b")
    assert trace.ask("SELECT source_id, step FROM step_range ORDER BY ALL") == [("a", 1), ("a", 2)]


# -- numbers -------------------------------------------------------------------------------


def test_numbers_may_leave_some_out(trace: Trace) -> None:
    ranges(trace, "step 10", "step 20", "step 40")
    assert [step for step, _ in trace.ask(NAMES)] == [10, 20, 40]


def test_of_step_5_of_100_the_number_is_5(trace: Trace) -> None:
    ranges(trace, "step 5/100", "step 6/100")
    assert [step for step, _ in trace.ask(NAMES)] == [5, 6]


@pytest.mark.parametrize(
    "names",
    [
        ("step 0", "step 1", "step 0", "step 1"),  # a second epoch
        ("step 1", "step 1", "step 1"),
        ("step 3", "step 2"),
        ("iteration 1", "iter 99999999999999999999", "iteration 2"),  # no BIGINT
    ],
)
def test_numbers_that_do_not_rise_are_not_used(trace: Trace, names: tuple[str, ...]) -> None:
    ranges(trace, *names)
    assert trace.ask(NAMES) == list(enumerate(names))


# -- ranges in ranges ----------------------------------------------------------------------


def test_a_range_inside_another_is_no_step_of_its_own(trace: Trace) -> None:
    for start_ns in (0, 100):
        trace.range(start_ns, start_ns + 90, "[pl][profile]run_training_batch")
        trace.range(start_ns, start_ns + 40, "[pl][profile][Strategy]DDPStrategy.training_step")
        trace.range(start_ns + 50, start_ns + 90, "training_step")
    assert trace.ask(NAMES) == [
        (0, "[pl][profile]run_training_batch"),
        (1, "[pl][profile]run_training_batch"),
    ]


def test_ranges_that_are_alike_are_one_step(trace: Trace) -> None:
    ranges(trace, "step 1", "step 2")
    ranges(trace, "step 1", "step 2")
    assert [step for step, _ in trace.ask(NAMES)] == [1, 2]


def test_a_step_that_begins_before_the_last_has_ended(trace: Trace) -> None:
    for number in range(3):
        trace.range(10 * number, 10 * number + 15, f"step {number}", kind="start_end")
    assert trace.ask(STEPS) == [
        (0, "step 0", 0, 15, 10),
        (1, "step 1", 10, 25, 20),
        (2, "step 2", 20, 35, None),
    ]


def test_steps_of_several_threads_in_turn(trace: Trace) -> None:
    for number in range(4):
        trace.range(20 * number, 20 * number + 10, f"step {number}", thread=number % 2)
    assert [step for step, _ in trace.ask(NAMES)] == [0, 1, 2, 3]


def test_threads_that_go_through_the_same_steps_at_once(trace: Trace) -> None:
    # The second is always 1 ns behind, so that each range reaches into the other's next.
    for number in range(4):
        for thread in (1, 2):
            start_ns = 10 * number + thread
            trace.range(start_ns, start_ns + 10, f"step {number}", thread=thread)
    assert trace.ask("SELECT step, start_ns FROM step_range ORDER BY ALL") == [
        (0, 1),
        (1, 11),
        (2, 21),
        (3, 31),
    ]


def test_of_threads_at_once_the_one_that_is_in_steps_for_longest_counts(trace: Trace) -> None:
    for number in range(2):
        trace.range(100 * number, 100 * number + 20, f"batch {number}", thread=1)  # a loader
        trace.range(100 * number + 10, 100 * number + 90, f"step {number}", thread=2)
    trace.range(0, 1_000, "iteration 9", thread=3)  # but not one alone
    assert trace.ask(NAMES) == [(0, "step 0"), (1, "step 1")]


def test_marks_open_ranges_and_ranges_of_no_process_are_no_steps(trace: Trace) -> None:
    ranges(trace, "step 0", "step 1")
    trace.range(40, None, "step 2", kind="mark")
    trace.range(60, None, "step 3")
    trace.insert("nvtx_range", start_ns=80, end_ns=90, name="step 4", kind="push_pop", domain_id=0)
    assert [step for step, _ in trace.ask(NAMES)] == [0, 1]


def test_pytorch_s_appendix_and_negative_times(trace: Trace) -> None:
    trace.range(-30, -20, "ProfilerStep#1, seq = 0, op_id = 3")
    trace.range(-10, 5, "ProfilerStep#2, op_id = 77")
    assert trace.ask(STEPS) == [
        (1, "ProfilerStep#1", -30, -20, -10),
        (2, "ProfilerStep#2", -10, 5, None),
    ]


# -- the user's own pattern ----------------------------------------------------------------


def test_the_run_s_own_pattern_replaces_all_others(trace: Trace) -> None:
    trace.description("steps.pattern", r"^optimizer step \d+$", source_id="toml")
    ranges(trace, "step 1", "optimizer step 5", "step 2", "optimizer step 6")
    assert trace.ask(NAMES) == [(5, "optimizer step 5"), (6, "optimizer step 6")]


def test_the_own_pattern_may_match_a_part_of_a_name_and_minds_case(trace: Trace) -> None:
    trace.description("steps.pattern", "Fwd")
    ranges(trace, "myFwdBwd", "fwd", "Fwd")
    assert trace.ask(NAMES) == [(0, "myFwdBwd"), (1, "Fwd")]


def test_the_own_pattern_of_another_run(trace: Trace) -> None:
    trace.description("steps.pattern", "nothing", run_id="other")
    trace.description("model.name", "nothing")
    ranges(trace, "step 1", "step 2")
    assert [step for step, _ in trace.ask(NAMES)] == [1, 2]


def test_an_own_pattern_that_matches_nothing_leaves_no_steps(trace: Trace) -> None:
    trace.description("steps.pattern", "nothing")
    ranges(trace, "step 1", "step 2")
    assert trace.ask(NAMES) == []


# -- from the training log -----------------------------------------------------------------

SECOND = 1_000_000_000
LOGGED = "SELECT step, start_ns, end_ns, origin, confidence FROM step_range ORDER BY ALL"


def log(trace: Trace, *times: float, zero: str = "capture_start_utc_ns", **more: Any) -> None:
    """Lines of steps from 10, at these seconds of a log that began with the capture."""
    file = {"path": "x", "size_bytes": 1, "row_count": 1, "status": "complete"}
    trace.insert("source_file", **{**file, "source_id": "log", zero: 5 * SECOND})
    trace.process()
    trace.insert("source_file", **{**file, "source_id": "a", "capture_start_utc_ns": 5 * SECOND})
    for number, at in enumerate(times):
        row = {"source_id": "log", "framework": "megatron", "kind": "step", "attempt": 1}
        row |= {"line": number, "step": 10 + number, "ts_ns": int(at * SECOND)}
        trace.insert("training_step", **{**row, **more})


def test_without_ranges_the_log_s_lines_are_steps(trace: Trace) -> None:
    log(trace, 1, 11, 21)
    assert trace.ask(LOGGED) == [
        (11, SECOND, 11 * SECOND, "training log", 0.9),
        (12, 11 * SECOND, 21 * SECOND, "training log", 0.9),
    ]


def test_ranges_count_before_the_log(trace: Trace) -> None:
    log(trace, 1, 11, 21)
    ranges(trace, "step 1", "step 2")
    assert trace.ask("SELECT DISTINCT origin FROM step_range") == [("nvtx",)]


def test_what_a_line_is_longer_than_the_step_is_something_else(trace: Trace) -> None:
    log(trace, 1, 11, 41, step_ns=10 * SECOND)  # a validation
    assert [row[1:3] for row in trace.ask(LOGGED)] == [
        (SECOND, 11 * SECOND),
        (31 * SECOND, 41 * SECOND),
    ]


def test_a_clock_that_does_not_resolve_steps_marks_none(trace: Trace) -> None:
    log(trace, 1, 2, 3)
    assert trace.ask(LOGGED) == []


def test_a_clock_without_a_zone_cannot_be_joined(trace: Trace) -> None:
    log(trace, 1, 11, 21, zero="capture_start_local_ns")
    assert trace.ask(LOGGED) == []
    trace.description("telemetry.utc_offset", "+00:00")
    assert len(trace.ask(LOGGED)) == 2


def test_a_line_about_several_steps_tells_no_begin(trace: Trace) -> None:
    log(trace, 1, 11)
    row = {"source_id": "log", "framework": "megatron", "kind": "step", "attempt": 1}
    trace.insert("training_step", line=9, step=21, ts_ns=111 * SECOND, **row)
    assert [row[0] for row in trace.ask(LOGGED)] == [11]
