"""One GPU of 2 GHz and 700 W, and a second in which its clock or reasons are others."""

import pytest
from rows import Trace


def held(trace: Trace, clock: float, reasons: int | None, **more: object) -> list[tuple[object]]:
    rounds = {"gpu_util_share": 1, "power_w": 690, "power_limit_w": 700, **more}
    trace.rounds(
        sm_clock_hz=[2e9, 2e9, clock, clock], clock_event_reasons=[4, 4, reasons, reasons], **rounds
    )
    return trace.ask("SELECT DISTINCT limited_by, is_throttling FROM held_round")


@pytest.mark.parametrize("reasons", [0x1, 0x4, 0x104])
def test_no_throttling(trace: Trace, reasons: int) -> None:
    assert held(trace, 1.95e9, reasons) == []


def test_an_idle_gpu_may_lower_its_clock(trace: Trace) -> None:
    assert held(trace, 0.3e9, 0x1) == []
    assert held(trace, 0.3e9, 0x0, gpu_util_share=[1, 1, 0, 0], gpu_id="other") == []


@pytest.mark.parametrize(
    ("reasons", "said"),
    [(0x2, "application clocks"), (0x100, "display clocks"), (0x4, "software power cap")],
)
def test_a_lower_clock_that_is_no_throttling(trace: Trace, reasons: int, said: str) -> None:
    assert held(trace, 1e9, reasons) == [(said, False)]


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (0x88, "power brake"),
        (0x48, "hardware thermal slowdown"),
        (0x20, "software thermal slowdown"),
        (0x8, "hardware slowdown"),
        (0x0, "no reason given"),
        (None, "reasons not sampled"),
    ],
)
def test_throttling(trace: Trace, reasons: int | None, said: str) -> None:
    assert held(trace, 1e9, reasons) == [(said, True)]


def test_a_hardware_slowdown_for_a_moment_at_full_clock(trace: Trace) -> None:
    assert held(trace, 2e9, 0x8) == []
    assert held(trace, 2e9, 0x48, gpu_id="other") != []


def test_a_power_cap_far_below_the_limit(trace: Trace) -> None:
    said = held(trace, 2e9, 0x4, power_w=[690, 690, 420, 420])
    assert said == [("software power cap far below the limit", True)]


def test_a_power_cap_with_an_unknown_limit_is_not_judged(trace: Trace) -> None:
    assert held(trace, 2e9, 0x4, power_w=[690, 690, 420, 420], power_limit_w=None) == []


def test_below_its_peers_all_along(trace: Trace) -> None:
    for gpu, clock in (("A", 2e9), ("B", 2e9), ("C", 1.2e9), ("D", 2e9)):
        trace.rounds(sm_clock_hz=[clock] * 2, clock_event_reasons=0, gpu_util_share=1, gpu_id=gpu)
    rows = trace.ask(
        "SELECT gpu_id, limited_by, round(fallen_share, 2) FROM held_round"
        " JOIN telemetry_gpu USING (telemetry_key)"
    )
    assert rows == [("C", "no reason given", 0.4)] * 2
