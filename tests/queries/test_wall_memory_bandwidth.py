"""What limits the kernels in, what memory costs the job out."""

import pytest
from rows import Trace

VIEWS = (
    "speed_of_light", "kernel_limit", "gpu_utilisation", "top_kernel", "nccl_time_share",
    "step_time",
)  # fmt: skip
SQL = "SELECT cost_ns, cost_share, bound_share, need FROM wall_memory_bandwidth"
WHERE = {"source_id": "a", "process": 1, "device_id": 0}


def given(trace: Trace) -> None:
    """Steps of 100 ns with 80 ns of compute, a quarter of it element-wise."""
    for view in VIEWS:
        trace.stand_in(view)
    trace.given("run_evidence", step_count=2, traced_count=1)
    trace.given("nccl_time_share", **WHERE, compute_ns=80, span_ns=100)
    trace.given("step_time", step=0, step_ns=100, compute_ns=80)
    trace.given("top_kernel", **WHERE, name="add", **{"class": "elementwise"}, total_ns=25)
    trace.given("top_kernel", **WHERE, name="gemm", **{"class": "gemm"}, total_ns=75)
    trace.given("top_kernel", **WHERE, name="nccl", **{"class": "communication"}, total_ns=900)


def limit(trace: Trace, name: str, kind: str, total_ns: int) -> None:
    trace.given("kernel_limit", **WHERE, name=name, **{"class": kind}, total_ns=total_ns)


def test_profiles_say_what_memory_costs_beyond_compute(trace: Trace) -> None:
    given(trace)
    limit(trace, "add", "memory bound", 50)
    limit(trace, "gemm", "compute bound", 50)
    limit(trace, "nccl", "communication", 900)
    shares = {"compute_share": 0.2, "memory_share": 0.8}
    trace.given("speed_of_light", name="add", **{"class": "memory bound"}, **shares)
    # Half of the kernels' time, of which three quarters would be saved, of 80 % of the step.
    assert trace.ask(SQL) == [pytest.approx((30.0, 0.5 * 0.75 * 0.8, 0.2, None))]


def test_counters_say_it_where_nothing_is_profiled(trace: Trace) -> None:
    given(trace)
    for metric, value in (("dram_active_share", 0.8), ("tensor_active_share", 0.2)):
        trace.given("gpu_utilisation", metric=metric, median_value=value, is_primary=True)
    ((cost_ns, cost_share, _, need),) = trace.ask(SQL)
    assert (round(cost_ns, 6), round(cost_share, 6), need) == (60.0, 0.6, None)


def test_memory_that_is_not_busy_costs_nothing(trace: Trace) -> None:
    given(trace)
    for metric, value in (("dram_active_share", 0.4), ("tensor_active_share", 0.3)):
        trace.given("gpu_utilisation", metric=metric, median_value=value, is_primary=True)
    assert trace.ask(SQL)[0][:2] == (0.0, 0.0)


def test_without_both_the_kinds_of_kernels_bound_it(trace: Trace) -> None:
    given(trace)
    assert trace.ask(SQL) == [(None, None, 0.2, "ncu")]


def test_kernels_of_no_known_kind_may_be_bound_by_memory(trace: Trace) -> None:
    given(trace)
    trace.given("top_kernel", **WHERE, name="mine", **{"class": "other"}, total_ns=100)
    assert trace.ask(SQL) == [(None, None, pytest.approx(0.8 * 125 / 200), "ncu")]


def test_graphs_traced_whole_may_be_bound_by_memory(trace: Trace) -> None:
    given(trace)
    trace.connection.execute("UPDATE temp.nccl_time_share SET graph_ns = 100")
    assert trace.ask(SQL) == [(None, None, pytest.approx(0.8 * 125 / 200), "ncu")]


def test_a_few_profiles_do_not_decide(trace: Trace) -> None:
    given(trace)
    limit(trace, "add", "memory bound", 10)
    limit(trace, "gemm", "not profiled", 90)
    shares = {"compute_share": 0.2, "memory_share": 0.8}
    trace.given("speed_of_light", name="add", **{"class": "memory bound"}, **shares)
    assert trace.ask(SQL) == [(None, None, 0.2, "ncu")]


def test_profiles_without_a_capture_lack_the_time_of_their_kernels(trace: Trace) -> None:
    trace.stand_in("profiled_kernel")
    trace.given("profiled_kernel", kernel_id=0)
    trace.stand_in("run_evidence")
    trace.given("run_evidence", step_count=0)
    row = trace.only("FROM wall_memory_bandwidth")
    assert (row["evidence_view"], row["need"]) == ("speed_of_light", "nsys")
    assert row["reason"].startswith("kernels were profiled, but no Nsight Systems capture")
