from typing import Any

import pytest
from rows import Trace

NAME = "void a::f<4>(int)"
SHAPE = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}


def played(trace: Trace, name: str = NAME, **more: Any) -> None:
    trace.kernel(0, 10, name, **{**SHAPE, **more})


def found(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.ask("SELECT match, class, profile_count, class_share FROM kernel_profile_match")


@pytest.mark.parametrize(
    ("profiled", "more", "match"),
    [
        (NAME, {}, "exact"),
        ("void a::f<(int)4>(int)", {}, "exact"),
        ("void a::f<4>(T1)", {}, "base name"),  # another demangler
        ("f", {}, "base name"),  # --print-kernel-base function
        (NAME, {"grid_x": 9}, "name only"),
        (NAME, {"block_x": 256}, "name only"),
        (NAME, {"grid_x": 4, "grid_y": 2, "grid_block_count": 8}, "name only"),
        (NAME, {"grid_x": None, "grid_y": None, "grid_z": None, "grid_block_count": 8}, "exact"),
        ("f", {"grid_x": 9}, None),
        ("void b::f<4>(int)", {}, None),
        ("void a::g<4>(int)", {}, None),
    ],
)
def test_how_a_profile_is_found(
    trace: Trace, profiled: str, more: dict[str, Any], match: str | None
) -> None:
    played(trace)
    trace.throughput(90.0, 10.0, profiled, **more)
    assert found(trace) == ([(match, "compute bound", 1, 1)] if match else [])


def test_a_base_name_that_stands_for_two_kernels_is_no_match(trace: Trace) -> None:
    played(trace)
    played(trace, "void a::f<5>(int)")
    trace.throughput(90.0, 10.0, "f")
    assert found(trace) == []


def test_the_best_match_alone_counts(trace: Trace) -> None:
    played(trace)
    trace.throughput(90.0, 10.0, NAME)
    trace.throughput(10.0, 90.0, NAME, kernel_id=1, grid_x=9)
    assert found(trace) == [("exact", "compute bound", 1, 1)]


def test_most_profiles_decide_and_a_draw_does_not(trace: Trace) -> None:
    played(trace)
    trace.throughput(90.0, 10.0, NAME)
    trace.throughput(10.0, 90.0, NAME, kernel_id=1)
    assert found(trace) == [("exact", None, 2, None)]
    trace.throughput(10.0, 90.0, NAME, kernel_id=2)
    trace.profile({}, NAME, kernel_id=3)
    assert found(trace) == [("exact", "memory bound", 4, 0.5)]


def test_a_profile_without_throughputs_is_a_match_without_a_class(trace: Trace) -> None:
    played(trace)
    trace.profile({}, NAME)
    assert found(trace) == [("exact", None, 1, None)]


def test_a_profile_of_another_gpu_does_not_count(trace: Trace) -> None:
    trace.device(name="NVIDIA H100 80GB HBM3")
    played(trace)
    trace.throughput(90.0, 10.0, NAME)
    display = "device__attribute_display_name"
    trace.metric(display, None, text="NVIDIA H100 80GB HBM3")
    assert found(trace) == [("exact", "compute bound", 1, 1)]
    trace.connection.execute("UPDATE kernel_metric SET text = 'NVIDIA A30' WHERE text IS NOT NULL")
    assert found(trace) == []


def test_what_run_toml_calls_the_gpu_rules_out_nothing(trace: Trace) -> None:
    trace.description("hardware.gpu", "H100 SXM")
    trace.device(name="NVIDIA H100 80GB HBM3")
    played(trace)
    trace.throughput(90.0, 10.0, NAME)
    assert found(trace) == [("exact", "compute bound", 1, 1)]


def test_runs_do_not_share_profiles(trace: Trace) -> None:
    played(trace)
    trace.throughput(90.0, 10.0, "other")
    trace.throughput(90.0, 10.0, NAME, run_id="other")
    assert found(trace) == []
