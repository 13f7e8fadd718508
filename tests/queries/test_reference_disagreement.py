import pytest
from bandwidth_rows import H100
from rows import Trace


def test_what_differs_by_more_than_a_tenth(trace: Trace) -> None:
    trace.device(
        name=H100,
        memory_bandwidth_bytes_per_s=1_675_000_000_000,  # half
        memory_bytes=85_520_809_984,  # 80 GiB: data sheets count 1e9
        sm_count=132,
        clock_hz=1_755_000_000,
    )
    rows = trace.ask(
        "SELECT property, traced_value, reference_value, difference_share "
        "FROM reference_disagreement"
    )
    assert rows == [
        ("clock_hz", 1.755e9, 1.98e9, pytest.approx(-0.1136, abs=1e-4)),
        ("memory_bytes_per_s", 1.675e12, 3.35e12, -0.5),
    ]


def test_what_agrees_or_is_not_told_is_no_row(trace: Trace) -> None:
    trace.device(1, name=H100, memory_bandwidth_bytes_per_s=3_352_320_000_000, sm_count=132)
    trace.device(2, name=H100)
    trace.device(3, name="NVIDIA H100", sm_count=1)
    assert trace.ask("FROM reference_disagreement") == []
