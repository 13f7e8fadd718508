"""Events with known causes: a power supply on day 3, one hot GPU among 16, a clock that
is low for no reason."""

from typing import Any

from rows import Trace

HOUR = 3_600 * 10**9
DAY = 24 * HOUR


def logged(trace: Trace, *step_hours: float, host: str = "a", **more: Any) -> None:
    """A log of UTC with one line a step; the first line's time does not count."""
    trace.file("log", capture_start_utc_ns=0, **more)
    at = 0.0
    for step, hours in enumerate((0.0, *step_hours)):
        at += hours
        row = {"framework": "megatron", "kind": "step", "attempt": 1, "line": step}
        when = {"ts_ns": int(at * HOUR), "step_ns": int(hours * HOUR)}
        trace.insert("training_step", source_id="log", step=step, **row, **when)


def test_an_overloaded_power_supply_on_day_3(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=0)
    domains = {"a": "left", "b": "left", "c": "right", "d": "right"}
    for host, power_domain in domains.items():
        trace.insert("host_placement", host=host, rack="r1", power_domain=power_domain)
        # Every two hours for four days; braked from 50 h to 60 h.
        for gpu in (0, 1):
            is_braked = [power_domain == "right" and 25 <= at < 30 for at in range(48)]
            trace.rounds(
                2 * HOUR,
                host=host,
                gpu_id=f"gpu:{gpu}",
                device_id=gpu,
                sm_clock_hz=[0.9e9 if braked else 1.8e9 for braked in is_braked],
                clock_event_reasons=[0x88 if braked else 0x4 for braked in is_braked],
                power_w=[300 if braked else 690 for braked in is_braked],
                gpu_util_share=1,
            )
    # 50 steps of 1 h; inside 6 of 5/3 h: 40 % less throughput; 36 of 1 h after.
    logged(trace, *[1] * 50, *[5 / 3] * 6, *[1] * 36)
    event = trace.only("FROM throttle_event")
    assert (event["limited_by"], event["scope"]) == ("power brake", "power domain")
    assert (event["place"], event["hosts"]) == ("right", "c, d")
    assert event["gpus"] == "c GPU 0, c GPU 1, d GPU 0, d GPU 1"
    assert [event[f"{of}gpu_count"] for of in ("", "place_", "run_")] == [4, 4, 8]
    assert (event["start_utc_ns"], event["dur_ns"]) == (50 * HOUR, 10 * HOUR)
    assert event["into_run_ns"] // DAY + 1 == 3
    assert (event["inside_step_count"], event["outside_step_count"]) == (6, 86)
    assert round(event["throughput_loss_share"], 6) == 0.4
    assert (event["lost_ns"], event["cost_reason"]) == (4 * HOUR, None)
    assert event["reason_names"] == "hardware slowdown, power brake"


def test_one_hot_gpu_among_16(trace: Trace) -> None:
    for number in range(16):
        is_hot = [number == 11 and at > 2 for at in range(6)]
        trace.rounds(
            host=f"host {number // 8}",
            gpu_id=f"gpu:{number % 8}",
            device_id=number % 8,
            sm_clock_hz=[0.9e9 if hot else 1.8e9 for hot in is_hot],
            clock_event_reasons=[0x60 if hot else 0x4 for hot in is_hot],
            temperature_celsius=[89 if hot else 60 for hot in is_hot],
        )
    event = trace.only("FROM throttle_event")
    assert (event["scope"], event["place"], event["gpu_count"]) == ("device", "host 1 GPU 3", 1)
    assert (event["family"], event["max_temperature_celsius"]) == ("thermal", 89)
    assert event["cost_reason"] == "no steps with a time of day"


def test_a_low_clock_without_a_reason(trace: Trace) -> None:
    for gpu in range(4):
        clock = 1.2e9 if gpu == 2 else 1.8e9
        rounds = {"sm_clock_hz": [clock] * 4, "clock_event_reasons": 0, "gpu_util_share": 1}
        trace.rounds(gpu_id=f"gpu:{gpu}", device_id=gpu, **rounds)
    event = trace.only("FROM throttle_event")
    assert (event["limited_by"], event["gpus"]) == ("no reason given", "node GPU 2")
    assert round(event["fallen_share"], 6) == round(1 / 3, 6)


def test_why_a_cost_is_not_known(trace: Trace) -> None:
    why = "SELECT cost_reason FROM throttle_event"
    trace.file("a", capture_start_local_ns=0)
    trace.rounds(HOUR, clock_event_reasons=[0, 64, 64, 0])
    logged(trace, 1, 1, 1, 1)
    text = "steps and telemetry share no clock: run.toml needs [telemetry] utc_offset"
    assert trace.ask(why) == [(text,)]
    trace.description("telemetry.utc_offset", "+00:00")
    assert trace.ask(why) == [(None,)]
    assert trace.ask("SELECT inside_step_count, lost_ns FROM throttle_event") == [(2, 0)]


def test_a_slowdown_all_along_has_nothing_to_compare_with(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=0)
    trace.rounds(HOUR, clock_event_reasons=[64] * 5)
    logged(trace, 1, 1, 1)
    columns = "outside_step_count, throughput_loss_share, cost_reason"
    assert trace.ask(f"SELECT {columns} FROM throttle_event") == [
        (0, None, "no step ran outside of slowdowns")
    ]


def test_two_runs_do_not_meet(trace: Trace) -> None:
    for run_id in ("run", "other"):
        trace.rounds(clock_event_reasons=[0, 64, 0], run_id=run_id)
    assert trace.ask("SELECT run_id, event, run_gpu_count FROM throttle_event") == [
        ("other", 1, 1),
        ("run", 1, 1),
    ]


def test_a_summary_says_when_and_how_much(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=86_400 * 10**9)
    trace.rounds(HOUR, clock_event_reasons=[0, 64, 64, 0])
    assert trace.ask("SELECT summary FROM throttle_event") == [
        ("1970-01-02 01:00:00 UTC for 7200 s",)
    ]


WORK = [10, 2, 7, 1, 9, 9, 3, 8, 1, 10]  # tenths of a second, second by second
UUID = "5a3b0001-0000-4c1d-9e8f-10ad00000100"


def captured(trace: Trace, work: list[int], *hot: int) -> None:
    """A capture of one step a second, and telemetry without a clock that begins 20 s before."""
    trace.file("a", capture_start_utc_ns=1_000 * 10**9)
    where = {"gpu_id": UUID, "source_id": "t"}
    rank = trace.rank(0, source_id="a")
    trace.connection.execute("UPDATE device SET gpu_id = ?, uuid = ?", [UUID, UUID])
    for second, tenths in enumerate(work):
        start = second * 10**9
        trace.step(rank, start, start + 10**9 - 1, f"step {second}")
        trace.launched(rank, start, start + tenths * 10**8, "gemm")
    share = [value / 10 for value in [5] * 20 + work + [5] * 30]
    masks = [0x40 if at in hot else 0 for at in range(len(share))]
    trace.rounds(sm_active_share=share, clock_event_reasons=masks, **where)


def test_telemetry_without_a_clock_meets_the_steps_by_activity(trace: Trace) -> None:
    captured(trace, WORK, 24, 25)
    event = trace.only("FROM throttle_event")
    assert (event["clock"], event["aligned_by"]) == ("utc", "activity")
    assert (event["start_utc_ns"], event["into_run_ns"]) == (1_004 * 10**9, 24 * 10**9)
    assert (event["inside_step_count"], event["cost_reason"]) == (2, None)
    assert event["summary"].startswith("1970-01-01 00:16:44 UTC by activity for 2 s")


def test_telemetry_that_fits_nowhere_says_why(trace: Trace) -> None:
    captured(trace, [5] * 10, 24, 25)
    event = trace.only("FROM throttle_event")
    assert (event["aligned_by"], event["lost_ns"]) == (None, None)
    why = "the telemetry has no time of day, and activity gives none (activity_alignment)"
    assert event["cost_reason"] == why


def test_without_hosts_the_file_is_the_place(trace: Trace) -> None:
    trace.file("a", path="n2/smi.csv")
    for gpu in (0, 1):
        trace.rounds(clock_event_reasons=[0, 64, 0], host=None, gpu_id=f"gpu:{gpu}")
    event = trace.only("FROM throttle_event")
    assert (event["scope"], event["place"]) == ("source", "n2/smi.csv")


def test_a_device_without_host_is_that_of_its_file(trace: Trace) -> None:
    for source, reasons in (("n1", [0, 64, 0]), ("n2", [0, 0, 0])):
        trace.file(source, path=f"{source}/smi.csv")
        shared = {"host": None, "gpu_id": "gpu:3", "device_id": 3, "source_id": source}
        trace.rounds(clock_event_reasons=reasons, **shared)
    event = trace.only("FROM throttle_event")
    assert (event["scope"], event["place"]) == ("device", "GPU 3 in n1/smi.csv")
