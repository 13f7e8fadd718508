from typing import Any

import pytest
from rows import Trace

CHECK = "SELECT launched_count, early_count, worst_early_ns, is_aligned FROM clock_check"


def test_a_kernel_starts_after_its_launch_call_has_begun(trace: Trace) -> None:
    trace.launch((0, 10), (5, 20))  # while it runs
    trace.launch((30, 40), (30, 50))  # at once
    assert trace.ask(CHECK) == [(2, 0, 0, True)]


def test_how_many_start_too_early_and_by_how_much(trace: Trace) -> None:
    trace.launch((100, 110), (93, 120))
    trace.launch((200, 210), (159, 220))
    trace.launch((300, 310), (310, 320))
    assert trace.ask(CHECK) == [(3, 2, 41, False)]


def test_one_in_a_hundred_may(trace: Trace) -> None:
    for number in range(99):
        trace.launch((10 * number, 10 * number + 1), (10 * number + 2, 10 * number + 3))
    trace.launch((2_000, 2_001), (1_990, 2_003))
    assert trace.ask(CHECK) == [(100, 1, 10, True)]
    trace.threshold("clock_early_share", 0)
    assert trace.ask(CHECK) == [(100, 1, 10, False)]


def test_each_device_is_judged_by_itself(trace: Trace) -> None:
    trace.launch((100, 110), (120, 130), device_id=0)
    trace.launch((100, 110), (90, 130), device_id=1)
    assert trace.ask("SELECT device_key, is_aligned FROM clock_check ORDER BY ALL") == [
        (1, True),
        (2, False),
    ]


def test_without_a_launch_call_nothing_can_be_said(trace: Trace) -> None:
    trace.kernel(0, 10)
    assert trace.ask(CHECK) == []


# -- a GPU whose clock is ahead ------------------------------------------------------------

AHEAD = "SELECT waited_count, late_count, worst_late_ns, is_aligned FROM clock_check"


def wait(
    trace: Trace, start_ns: int, end_ns: int, name: str = "cudaStreamSynchronize", **more: Any
) -> None:
    """A waiting call on the host and its record, which names stream 7 of device 0."""
    kind = "stream" if "Stream" in name else "context"
    record = {"process": 1, "device_id": 0, "stream_id": 7 if kind == "stream" else None}
    code, thread = more.pop("return_code", 0), more.pop("thread", 1)
    record |= {"correlation_id": start_ns, "kind": kind, **more}
    trace.call(start_ns, end_ns, name, correlation_id=start_ns, return_code=code, thread=thread)
    trace.insert("synchronization", start_ns=start_ns, end_ns=end_ns, **record)


@pytest.mark.parametrize("name", ["cudaStreamSynchronize", "cudaDeviceSynchronize"])
@pytest.mark.parametrize(
    ("end_ns", "found"),
    [
        (900_000, (1, 0, 0, True)),
        (1_100_000, (1, 0, 100_000, True)),  # as much as real captures are wrong by, and more
        (1_300_000, (1, 1, 300_000, False)),
    ],
)
def test_work_that_ends_after_the_call_that_waited_for_it(
    trace: Trace, name: str, end_ns: int, found: tuple[int, int, int, bool]
) -> None:
    trace.launch((0, 10), (20, end_ns))
    wait(trace, 100, 1_000_000, name)
    assert trace.ask(AHEAD) == [found]
    assert trace.ask("SELECT disagreement_ns FROM clock_check") == [
        (None if found[3] else 300_000,)
    ]


def test_each_wait_is_judged_by_what_was_launched_before_it(trace: Trace) -> None:
    for number in range(3):
        at = 1_000_000 * number
        trace.launch((at, at + 10), (at + 20, at + 500_000 + 200_000 * number))
        wait(trace, at + 100, at + 600_000)
    assert trace.ask(AHEAD) == [(3, 1, 300_000, False)]
    trace.threshold("clock_late_share", 0.5)
    assert trace.ask(AHEAD) == [(3, 1, 300_000, True)]


def late(trace: Trace, **more: Any) -> None:
    trace.launch((0, 10), (20, 2_000_000), **more)


def test_work_of_another_stream_is_not_waited_for(trace: Trace) -> None:
    late(trace, stream_id=8)
    wait(trace, 100, 1_000_000)
    assert trace.ask(AHEAD) == [(0, 0, None, True)]


def test_a_device_waits_for_all_its_streams(trace: Trace) -> None:
    late(trace, stream_id=8)
    wait(trace, 100, 1_000_000, "cudaDeviceSynchronize")
    assert trace.ask(AHEAD) == [(1, 1, 1_000_000, False)]


def test_work_launched_after_the_wait_has_begun_is_not_waited_for(trace: Trace) -> None:
    wait(trace, 5, 1_000_000, thread=2)
    late(trace)
    assert trace.ask(AHEAD) == [(0, 0, None, True)]


def test_work_of_another_process_or_device_is_not_waited_for(trace: Trace) -> None:
    late(trace, process=2)
    late(trace, device_id=1)
    wait(trace, 100, 1_000_000)
    wait(trace, 200, 1_000_000, "cudaDeviceSynchronize")
    assert trace.ask(AHEAD) == [(0, 0, None, True)] * 2


def test_with_several_contexts_a_stream_s_number_says_nothing(trace: Trace) -> None:
    late(trace)
    trace.kernel(0, 1, context_id=1)
    trace.kernel(0, 1, context_id=2)
    wait(trace, 100, 1_000_000)
    assert trace.ask(AHEAD) == [(0, 0, None, True)]


def test_calls_that_fail_or_wait_for_an_event_say_nothing(trace: Trace) -> None:
    late(trace)
    wait(trace, 100, 1_000_000, return_code=900)
    wait(trace, 200, 1_000_000, "cudaEventSynchronize", kind="event")
    assert trace.ask(AHEAD) == [(0, 0, None, True)]


@pytest.mark.parametrize("devices", [1, 2])
def test_without_a_record_only_one_device_leaves_no_doubt(trace: Trace, devices: int) -> None:
    for device_id in range(devices):
        late(trace, device_id=device_id)
    trace.call(100, 1_000_000, "cudaDeviceSynchronize", correlation_id=7)
    trace.call(200, 1_000_000, "cudaStreamSynchronize", correlation_id=8)
    found = (1, 1, 1_000_000, False) if devices == 1 else (0, 0, None, True)
    assert trace.ask(AHEAD) == [found] * devices
