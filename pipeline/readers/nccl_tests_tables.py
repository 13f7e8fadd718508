"""Tests of nccl-tests as rows of the collective_benchmark tables."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from pipeline.readers.nccl_tests_row import Measured

if TYPE_CHECKING:
    from pipeline.readers.nccl_tests_run import Test

Row = dict[str, object]


def measured_row(test: Test, row: Measured, sweep: int, is_consistent: bool | None) -> Row:
    """The row of ``collective_benchmark``."""
    algbw = row.algbw.value if row.algbw else None
    if algbw is not None and test.has_old_algbw and test.nranks:
        algbw = algbw * test.nranks / (test.nranks - 1)
    return {
        "benchmark_id": test.number,
        "sweep": sweep,
        "test": test.test,
        "op": test.op,
        "dtype": row.dtype,
        "redop": row.redop,
        "root": row.root,
        "nranks": test.nranks,
        "nnodes": test.communicator[1],
        "gpus": test.communicator[2],
        "size_bytes": row.size,
        "element_count": row.count,
        "is_in_place": row.is_in_place,
        "time_ns": row.time_ns,
        "is_time_host": row.is_time_host,
        "algbw_bytes_per_s": per_s(algbw),
        "busbw_bytes_per_s": per_s(row.busbw.value if row.busbw else None),
        "wrong_count": row.wrong,
        "max_error": row.max_error,
        "iteration_min_ns": row.iterations[0],
        "iteration_max_ns": row.iterations[1],
        "iteration_p99_ns": row.iterations[2],
        "iteration_cv_share": row.iterations[3],
        "at_local_ns": row.at_local_ns,
        "rank": row.rank,
        "is_consistent": is_consistent,
        "line": row.line,
    }


def run_row(test: Test) -> Row:
    """The row of ``collective_benchmark_run``."""
    options = test.options
    named = options.named if options else {}
    count, is_ok = test.out_of_bounds or (None, None)
    average, is_average_ok = test.average or (None, None)
    return {
        "benchmark_id": test.number,
        "tool": test.tool,
        "tool_version": test.tool_version,
        "test": test.test,
        "op": test.op,
        "op_source": test.op_source,
        "nccl_version": test.nccl_version,
        "nccl_header_version": test.nccl_header_version,
        "nranks": test.nranks,
        "nranks_source": test.nranks_source,
        "nnodes": test.communicator[1],
        "gpus": test.communicator[2],
        "communicator_count": test.communicator_count,
        "is_interleaved": test.is_interleaved,
        "thread_count": options.threads if options else None,
        "gpus_per_thread": options.gpus if options else None,
        "min_bytes": options.min_bytes if options else None,
        "max_bytes": options.max_bytes if options else None,
        "step_bytes": options.step if options and not options.is_factor else None,
        "step_factor": options.step if options and options.is_factor else None,
        "warmup_iteration_count": named.get("warmup iters"),
        "iteration_count": named.get("iters"),
        "aggregated_count": named.get("agg iters"),
        "validation_count": named.get("validation"),
        "graph_launch_count": named.get("graph"),
        "unalign_count": named.get("unalign"),
        "is_blocking": test.is_blocking,
        "has_parallel_init": test.has_parallel_init,
        "has_iteration_report": test.has_iteration_report,
        "memory_initialization_bytes": test.memory.get("Initialization"),
        "memory_user_bytes": test.memory.get("User-Allocated"),
        "memory_collective_bytes": test.memory.get("Collective"),
        "memory_total_bytes": test.memory.get("Total"),
        "out_of_bounds_count": count,
        "is_out_of_bounds_ok": is_ok,
        "is_average_ok": is_average_ok,
        "printed_average": average,
        "status": "complete" if test.is_complete else "incomplete",
        "status_reason": test.reason,
        "failure_count": test.failure_count,
        "row_count": test.row_count,
        "start_local_ns": test.start_local_ns,
        "end_local_ns": test.end_local_ns,
        "first_line": test.first_line,
    }


def device_rows(test: Test) -> Iterator[Row]:
    """The rows of ``collective_benchmark_device``."""
    for device in test.devices:
        yield {
            "benchmark_id": test.number,
            "rank": device.rank,
            "rank_group": device.group,
            "host": device.host,
            "device_id": device.device,
            "bus_id": device.bus_id,
            "name": device.name or None,
        }


def per_s(gigabytes: Decimal | None) -> float | None:
    """GB/s as bytes/s, exactly what is printed."""
    return None if gigabytes is None else float(gigabytes.scaleb(9))
