import pytest
from rows import Trace

NAMES = "SELECT step, name FROM nvtx_step ORDER BY start_ns"


def ranges(trace: Trace, *names: str) -> None:
    for place, name in enumerate(names):
        trace.range(20 * place, 20 * place + 10, name)


@pytest.mark.parametrize(
    "name",
    [
        "epoch 0 / iter {}",
        "Epoch 2, Step {}",
        "epoch1_batch{}",
        "step {} / 100",
        "iteration {} of 50",
        "train {}",
        "train#step_num={},_r=1#",
        "step_num={}",
        "TrainStep {}",
        "ProfileStep#{}",
        "[pl][profile]run_training_batch.{}",
        "forward_backward_step_{}",
    ],
)
def test_numbered_names(trace: Trace, name: str) -> None:
    ranges(trace, name.format(3), name.format(4))
    assert trace.ask(NAMES) == [(3, name.format(3)), (4, name.format(4))]


@pytest.mark.parametrize(
    ("name", "confidence"),
    [
        ("Runner.train_iter", 1),
        ("train_step_start", 1),
        ("TrainStep", 1),
        ("train_function", 1),
        ("optimizer_step_and_closure_0", 1),
        ("forward_backward_step", 0.5),
        ("forward-backward", 0.5),
    ],
)
def test_names_without_a_number_are_counted(trace: Trace, name: str, confidence: float) -> None:
    ranges(trace, name, name)
    assert trace.ask(NAMES) == [(0, name), (1, name)]
    assert trace.ask("SELECT DISTINCT confidence FROM nvtx_step") == [(confidence,)]


@pytest.mark.parametrize("name", ["epoch 3", "run_training_epoch.2", "optimizer_step", "train"])
def test_other_names(trace: Trace, name: str) -> None:
    ranges(trace, name, name)
    assert trace.ask(NAMES) == []


def test_numbers_that_begin_again_with_an_epoch_are_not_used(trace: Trace) -> None:
    ranges(trace, "epoch 0 / iter 0", "epoch 0 / iter 1", "epoch 1 / iter 0")
    assert [step for step, _ in trace.ask(NAMES)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("iteration", "forward_backward_step"),
        ("train_step", "batch {}"),  # micro-batches: of the earlier pattern, but inside
        ("iteration {}", "batch {}"),  # of the same pattern
        ("train_step", "ProfilerStep#{}"),
    ],
)
def test_where_steps_lie_in_each_other_the_outermost_count(
    trace: Trace, outer: str, inner: str
) -> None:
    for number in range(3):
        trace.range(100 * number, 100 * number + 90, outer.format(number))
        for micro in range(4):
            start_ns = 100 * number + 20 * micro
            trace.range(start_ns, start_ns + 10, inner.format(4 * number + micro))
    trace.range(400, 410, inner.format(98))  # a few outside do not matter
    trace.range(420, 430, inner.format(99))
    assert [name for _, name in trace.ask(NAMES) if name == outer.format(0)]
    if "{}" not in outer:
        assert trace.ask(NAMES) == [(number, outer) for number in range(3)]
