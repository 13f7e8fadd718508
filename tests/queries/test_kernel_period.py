import pytest
from rows import Trace

FOUND = "SELECT step_count, period_ns, name_count, round(confidence, 3) FROM kernel_period"
MARK = "SELECT name, starts_ns FROM kernel_period JOIN classified_kernel_name USING (name_id)"

STEP = ("embedding", "norm", "gemm", "loss", "adam")


def steps(trace: Trace, starts: list[int], *names: str, **more: int) -> None:
    """Each name once a step, 10 ns apart."""
    for start in starts:
        for place, name in enumerate(names):
            start_ns = start + 10 * place
            trace.kernel(start_ns, start_ns + 5, name, **more)


def every(period_ns: int, count: int) -> list[int]:
    return [period_ns * step for step in range(count)]


def test_kernels_that_return_in_one_order(trace: Trace) -> None:
    steps(trace, every(1_000, 5), *STEP)
    assert trace.ask(FOUND) == [(5, 1_000, 5, 0.8)]
    assert trace.ask(MARK) == [("embedding", every(1_000, 5))]


@pytest.mark.parametrize(("count", "confidence"), [(3, 0.667), (4, 0.75), (50, 0.98)])
def test_few_steps_are_less_certain(trace: Trace, count: int, confidence: float) -> None:
    steps(trace, every(1_000, count), *STEP)
    assert trace.ask(FOUND) == [(count, 1_000, 5, confidence)]


def test_two_steps_are_not_believed(trace: Trace) -> None:
    steps(trace, every(1_000, 2), *STEP)
    assert trace.ask(FOUND) == []


def test_time_between_them_does_not_matter(trace: Trace) -> None:
    steps(trace, [0, 100, 9_000, 9_100, 50_000, 50_100], *STEP)  # a straggler waits now and then
    assert trace.ask(FOUND) == [(6, 100, 5, 0.833)]


def test_each_device_has_its_own_sequence(trace: Trace) -> None:
    steps(trace, every(1_000, 5), *STEP, device_id=0)
    steps(trace, every(2_000, 4), *STEP, device_id=1)
    found = trace.ask("SELECT device_key, step_count FROM kernel_period ORDER BY ALL")
    assert found == [(1, 5), (2, 4)]


def test_one_name_alone_or_a_short_loop_is_no_step(trace: Trace) -> None:
    steps(trace, every(1_000, 40), "one", device_id=0)
    steps(trace, every(1_000, 40), "sgemm", "softmax", device_id=1)
    assert trace.ask(FOUND) == []


def test_layers_lie_in_steps(trace: Trace) -> None:
    for start in every(10_000, 5):
        steps(trace, [start], "embedding")
        steps(trace, [start + 100 * layer for layer in range(1, 13)], "norm", "gemm", "gelu")
        steps(trace, [start + 2_000], "loss", "adam")
    assert trace.ask(FOUND) == [(5, 10_000, 3, 0.8)]


def test_micro_batches_lie_in_the_step_of_the_optimizer(trace: Trace) -> None:
    for start in every(10_000, 6):
        steps(trace, [start + 1_000 * micro for micro in range(4)], *STEP[:4], "backward")
        steps(trace, [start + 5_000], "multi_tensor_apply_kernel<adam>")
    assert trace.ask(FOUND) == [(6, 10_000, 1, 0.701)]  # the first micro-batches precede it


def test_a_kernel_every_tenth_step_makes_no_longer_steps(trace: Trace) -> None:
    steps(trace, every(1_000, 40), *[f"kernel {n}" for n in range(60)])
    steps(trace, [900 + at for at in every(10_000, 4)], "loss for the log")
    assert trace.ask(FOUND)[0][0] == 40


def test_what_a_warm_up_runs_in_addition_does_not_matter(trace: Trace) -> None:
    for number in range(7):
        trace.kernel(-100 + number, -100 + number, "initialise")
        trace.kernel(50 + 100 * number, 51 + 100 * number, "gemm")  # tried out
    steps(trace, every(1_000, 8), *STEP)
    assert trace.ask("SELECT step_count FROM kernel_period") == [(8,)]


def test_one_name_in_several_shapes_marks_a_step_by_a_shape(trace: Trace) -> None:
    for start in every(1_000, 4):
        for place in range(6):
            at = start + 10 * place
            trace.kernel(at, at + 5, "gemm" if place % 2 else "gelu", grid_x=place)
    assert trace.ask(FOUND) == [(4, 1_000, 2, 0.75)]


def test_kernels_without_order_have_no_period(trace: Trace) -> None:
    for place in range(300):
        at = 10 * place
        trace.kernel(at, at + 5, f"kernel {place * place * 7 % 11 * place % 13}")
    assert trace.ask(FOUND) == []


def test_kernels_that_all_start_at_once_have_no_period(trace: Trace) -> None:
    for name in STEP:
        for stream_id in range(5):
            trace.kernel(0, 10, name, stream_id=stream_id)
    assert trace.ask(FOUND) == []


def test_only_kernels_count(trace: Trace) -> None:
    for start_ns in every(1_000, 5):
        trace.copy(start_ns, start_ns + 5)
        trace.graph(start_ns, start_ns + 5)
    assert trace.ask(FOUND) == []


def test_the_order_of_rows_does_not_matter(trace: Trace) -> None:
    steps(trace, every(1_000, 5)[::-1], *STEP[::-1])
    assert trace.ask(FOUND) == [(5, 1_000, 5, 0.8)]
