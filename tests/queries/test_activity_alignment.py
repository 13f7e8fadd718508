"""A capture of 10 s of irregular work, and telemetry of a minute with that work in it."""

from typing import Any

import pytest
from rows import Trace

S = 10**9
UUID = "5a3b0001-0000-4c1d-9e8f-10ad00000100"
# Tenths of each second that are busy.
WORK = [10, 2, 7, 1, 9, 9, 3, 8, 1, 10]
COLUMNS = "offset_ns, confidence, bin_count, reason"


def captured(trace: Trace, work: list[int]) -> None:
    trace.device(gpu_id=UUID, uuid=UUID)
    for second, tenths in enumerate(work):
        trace.kernel(second * S, second * S + tenths * S // 10)
    trace.kernel(len(work) * S - 1, len(work) * S)


def sampled(trace: Trace, *tenths: int) -> None:
    share = [value / 10 for value in tenths]
    trace.rounds(sm_active_share=share, gpu_id=UUID, source_id="t")


def asked(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {COLUMNS} FROM activity_alignment")


def test_the_lag_that_fits(trace: Trace) -> None:
    captured(trace, WORK)
    sampled(trace, *[5] * 20, *WORK, *[5] * 30)
    ((offset_ns, confidence, bin_count, reason),) = asked(trace)
    assert (offset_ns, bin_count, reason) == (-20 * S, 10, None)
    assert confidence == pytest.approx(1, abs=1e-6)


def test_equal_steps_fit_everywhere(trace: Trace) -> None:
    captured(trace, [10, 2] * 5)
    sampled(trace, *[10, 2] * 30)
    assert asked(trace)[0][0] is None
    assert asked(trace)[0][3] == "several lags fit nearly as well"


def test_other_work_does_not_fit(trace: Trace) -> None:
    captured(trace, WORK)
    sampled(trace, *[5, 5, 6, 6, 5] * 12)
    assert asked(trace)[0][3] == "no lag fits"


def test_steady_work_has_no_place(trace: Trace) -> None:
    captured(trace, [10] * 10)
    sampled(trace, *[5, 6] * 30)
    assert asked(trace)[0][0] is None


def test_a_short_capture_is_refused(trace: Trace) -> None:
    captured(trace, WORK[:3])
    sampled(trace, *[5] * 20, *WORK, *[5] * 30)
    assert asked(trace)[0][3] == "the capture spans too few samples of the telemetry"


def test_with_a_common_clock_nothing_is_to_be_found(trace: Trace) -> None:
    for source_id in ("a", "t"):
        trace.file(source_id, capture_start_utc_ns=0)
    captured(trace, WORK)
    sampled(trace, *WORK)
    assert asked(trace) == []
