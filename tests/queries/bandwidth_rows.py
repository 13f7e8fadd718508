"""Rows of benchmarks, profiles and collectives with payloads, for tests of bandwidth."""

from collections.abc import Mapping, Sequence
from typing import Any

from rows import Trace

GB = 1e9
H100 = "NVIDIA H100 80GB HBM3"


def benchmark(
    trace: Trace,
    source_id: str,
    points: Mapping[int, float],
    hosts: Sequence[str] = ("node",),
    **more: Any,
) -> None:
    """A test of a collective on two ranks per host: message size -> busbw in GB/s."""
    op, nranks = more.pop("op", "all_reduce"), more.pop("nranks", 2 * len(hosts))
    where = {"run_id": more.pop("run_id", "run"), "source_id": source_id, "benchmark_id": 0}
    row = {"op": op, "nranks": nranks, "nnodes": len(hosts) or None, "sweep": 0}
    row |= {"is_in_place": True, "is_time_host": False, **more}
    start_ns = row.pop("start_local_ns", None)
    gpu = row.pop("gpu", H100)
    ways = 2 if op == "all_reduce" else 1
    factor = max(ways * (nranks - 1) / nranks, 0.5)
    for size, speed in points.items():
        bandwidth = {"busbw_bytes_per_s": speed * GB, "algbw_bytes_per_s": speed * GB / factor}
        time_ns = round(size * factor / speed) if speed else None
        trace.insert(
            "collective_benchmark",
            **{**where, "size_bytes": size, "time_ns": time_ns, **bandwidth, **row},
        )
    trace._once(
        "collective_benchmark_run",
        (where["run_id"], source_id),
        **where,
        tool="nccl-tests",
        is_interleaved=False,
        is_blocking=False,
        has_parallel_init=False,
        has_iteration_report=False,
        status="complete",
        failure_count=0,
        row_count=len(points),
        start_local_ns=start_ns,
    )
    for number, host in enumerate(hosts):
        for rank in (2 * number, 2 * number + 1):
            trace._once(
                "collective_benchmark_device",
                (where["run_id"], source_id, rank),
                **where,
                rank=rank,
                host=host,
                name=gpu,
            )


def profile(trace: Trace, kernel_id: int = 0, name: str = "silu", **more: Any) -> None:
    """A kernel that ncu profiled; ``metrics`` are its numbers, ``gpu`` its product."""
    metrics, gpu = more.pop("metrics", {}), more.pop("gpu", None)
    trace.insert("kernel_profile", kernel_id=kernel_id, name=name, device_id=0, **more)
    for metric, value in metrics.items():
        row = {"metric": metric, "value": value, "is_unit_assumed": False, **more}
        trace.insert("kernel_metric", kernel_id=kernel_id, **row)
    if gpu:
        row = {"metric": "device__attribute_display_name", "text": gpu, **more}
        trace.insert("kernel_metric", kernel_id=kernel_id, is_unit_assumed=False, **row)


def all_reduce(
    trace: Trace,
    spans: Sequence[tuple[int, int]],
    message_bytes: int | None = None,
    hosts: Sequence[str] = ("node",),
    number: int = 0,
) -> None:
    """One all-reduce: start and end on each rank, on hosts by turns."""
    for rank, (start_ns, end_ns) in enumerate(spans):
        host = hosts[rank * len(hosts) // len(spans)]
        where = trace.rank(rank, source_id="job", host=host)
        if message_bytes is not None:
            call = {**where, "thread": 1, "communicator_id": "A", "rank": rank}
            if number == 0:
                init = {**call, "operation": "init", "rank_count": len(spans)}
                trace.insert("collective_call", start_ns=-1, **init)
            made = {**call, "operation": "all_reduce", "message_bytes": message_bytes}
            trace.insert("collective_call", start_ns=start_ns, **made)
        trace.launched(where, start_ns, end_ns, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
