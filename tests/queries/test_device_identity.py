from rows import Trace

UUID = "5a3b0001-0000-4c1d-9e8f-10ad00000100"
COLUMNS = "rank, telemetry_device_id, matched_by, aligned_by, offset_ns, confidence, reason"


def test_by_the_time_of_day(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=100)
    trace.file("t", capture_start_utc_ns=30)
    trace.device(gpu_id=UUID, uuid=UUID)
    trace.sample("power_w", 1, gpu_id=UUID, device_id=5, source_id="t")
    assert trace.ask(f"SELECT {COLUMNS} FROM device_identity") == [
        (0, 5, "uuid", "utc", -70, 1, None)
    ]


def test_times_that_do_not_meet(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=100)
    trace.device(gpu_id=UUID, uuid=UUID)
    trace.sample("power_w", 1, None, gpu_id=UUID, device_id=5, source_id="t", tick=0)
    assert trace.ask(f"SELECT {COLUMNS} FROM device_identity") == [
        (0, 5, "uuid", "none", None, None, "the telemetry has rounds but no times")
    ]
