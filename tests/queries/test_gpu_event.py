from rows import Trace

ROWS = "SELECT ts_ns, kind, value, previous_value, is_at_start FROM gpu_event ORDER BY ts_ns, kind"


def series(trace: Trace, metric: str, *values: float) -> None:
    for ts_ns, value in enumerate(values):
        trace.sample(metric, value, ts_ns)


def test_an_xid_is_an_event_when_it_comes_not_while_it_stays(trace: Trace) -> None:
    series(trace, "xid", 0, 0, 79, 79, 48, 0, 48)
    assert trace.ask(ROWS) == [
        (2, "xid", 79.0, 0.0, False),
        (4, "xid", 48.0, 79.0, False),
        (6, "xid", 48.0, 0.0, False),
    ]


def test_an_xid_that_is_there_at_the_start_may_be_old(trace: Trace) -> None:
    series(trace, "xid", 43, 43)
    assert trace.ask(ROWS) == [(0, "xid", 43.0, None, True)]


def test_every_change_of_the_reasons_for_lower_clocks(trace: Trace) -> None:
    series(trace, "clock_event_reasons", 4, 4, 0x44, 4)
    assert trace.ask(ROWS) == [
        (2, "clock_event_reasons", 68.0, 4.0, False),
        (3, "clock_event_reasons", 4.0, 68.0, False),
    ]


def test_a_counter_that_falls_began_anew(trace: Trace) -> None:
    series(trace, "energy_j", 100, 200, 7)
    series(trace, "power_w", 100, 200, 7)
    assert trace.ask(ROWS) == [(2, "counter_reset", 7.0, 200.0, False)]


def test_gpus_and_rounds_are_apart(trace: Trace) -> None:
    trace.sample("xid", 0, None, tick=0)
    trace.sample("xid", 79, None, tick=1)
    trace.sample("xid", 0, None, tick=0, gpu_id="gpu Y")
    assert trace.ask("SELECT gpu_id, tick, value FROM gpu_event") == [("gpu X", 1, 79.0)]
