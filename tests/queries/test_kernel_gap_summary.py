import pytest
from rows import Trace


def test_gaps_and_all_idle_time(trace: Trace) -> None:
    trace.device(gpu_id="gpu X")
    trace.kernel(0, 1_000)
    trace.kernel(1_004, 2_000)  # after 4 ns
    trace.kernel(2_007, 3_000)  # after 7 ns
    trace.kernel(40_000, 100_000)  # after 37 000 ns
    assert trace.only("FROM kernel_gap_summary") == {
        "run_id": "run",
        "host": "node",
        "rank": 0,
        "device_id": 0,
        "process": 1,
        "gpu_id": "gpu X",
        "gap_count": 1,
        "gap_ns": 37_000,
        "gap_share": 0.37,
        "idle_count": 3,
        "idle_ns": 37_011,
        "idle_share": 0.37011,
        "min_ns": 4,
        "median_ns": 7,
        "p90_ns": pytest.approx(29_601.4),  # four fifths of the way from 7 to 37 000
        "p99_ns": pytest.approx(36_260.14),
        "max_ns": 37_000,
        "histogram": [
            {"lower_ns": 4, "idle_count": 2, "idle_ns": 11},
            {"lower_ns": 32_768, "idle_count": 1, "idle_ns": 37_000},
        ],
        "source_id": "a",
    }


@pytest.mark.parametrize(
    ("dur_ns", "lower_ns"),
    [(1, 1), (2, 2), (3, 2), (4, 4), (1023, 512), (1024, 1024), (2**40 - 1, 2**39), (2**40, 2**40)],
)
def test_an_idle_interval_lies_in_the_bucket_of_its_power_of_two(
    trace: Trace, dur_ns: int, lower_ns: int
) -> None:
    trace.kernel(0, 10)
    trace.kernel(10 + dur_ns, 20 + dur_ns)
    assert trace.ask("SELECT histogram FROM kernel_gap_summary") == [
        ([{"lower_ns": lower_ns, "idle_count": 1, "idle_ns": dur_ns}],)
    ]


def test_idle_time_is_the_span_less_what_ran(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.copy(5, 30)
    trace.kernel(50, 60)
    trace.set(55, 70)
    trace.graph(90, 100)
    (idle,) = trace.ask("SELECT idle_ns FROM kernel_gap_summary")
    assert idle == (40,)
    assert trace.ask("SELECT span_ns - busy_ns FROM nccl_time_share") == [idle]


def test_a_gpu_that_was_never_idle_has_zeros(trace: Trace) -> None:
    trace.kernel(0, 10)
    trace.kernel(10, 20)
    row = trace.only("FROM kernel_gap_summary")
    assert (row["gap_count"], row["gap_ns"], row["gap_share"]) == (0, 0, 0)
    assert (row["idle_count"], row["idle_ns"], row["idle_share"]) == (0, 0, 0)
    assert (row["min_ns"], row["median_ns"], row["max_ns"], row["histogram"]) == (
        None,
        None,
        None,
        [],
    )


def test_processes_that_share_a_gpu_have_one_row_and_no_rank(trace: Trace) -> None:
    trace.device(1, device_id=0, gpu_id="shared")
    trace.device(2, device_id=1, gpu_id="shared")
    trace.kernel(0, 10, process=1, device_id=0)
    trace.kernel(20, 40, process=2, device_id=1)
    trace.kernel(40, 50, process=1, device_id=0)
    assert trace.ask(
        "SELECT rank, device_id, process, gpu_id, idle_ns FROM kernel_gap_summary"
    ) == [(None, None, None, "shared", 10)]


def test_the_threshold_can_be_overridden(trace: Trace) -> None:
    trace.threshold("kernel_gap_ns", 5)
    trace.kernel(0, 10)
    trace.kernel(14, 20)
    trace.kernel(25, 30)
    assert trace.ask("SELECT gap_count, gap_ns, idle_ns FROM kernel_gap_summary") == [(1, 5, 9)]
