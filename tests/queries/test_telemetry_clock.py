import pytest
from rows import Trace

S = 10**9
UUID = "5a3b0001-0000-4c1d-9e8f-10ad00000100"
WORK = [10, 2, 7, 1, 9, 9, 3, 8, 1, 10]
ROWS = "SELECT clock, zero_ns, aligned_by, confidence FROM telemetry_clock ORDER BY ALL"


def test_a_time_of_day(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=7)
    trace.sample("power_w", 1)
    assert trace.ask(ROWS) == [("utc", 7, "time of day", 1)]


def test_none_is_none(trace: Trace) -> None:
    trace.sample("power_w", 1)
    assert trace.ask(ROWS) == []


def test_by_activity_for_every_gpu_of_the_file(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=1_000 * S)
    trace.device(gpu_id=UUID, uuid=UUID)
    for second, tenths in enumerate(WORK):
        trace.kernel(second * S, second * S + tenths * S // 10)
    share = [value / 10 for value in [5] * 20 + WORK + [5] * 30]
    trace.rounds(sm_active_share=share, gpu_id=UUID, source_id="t")
    trace.rounds(power_w=[1, 1], gpu_id="another", source_id="t")
    rows = trace.ask(ROWS)
    assert [row[:3] for row in rows] == [("utc", 980 * S, "activity")] * 2
    assert [row[3] for row in rows] == pytest.approx([1, 1])
