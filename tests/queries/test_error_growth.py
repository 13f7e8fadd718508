from rows import Trace

ROWS = "SELECT entity_id, ts_ns, increase, is_reset FROM error_growth ORDER BY ALL"


def test_only_growth_is_kept(trace: Trace) -> None:
    trace.rounds(1, pcie_replay_count=[5, 5, 7, 7], ecc_dbe_vol_count=3)
    assert trace.ask(ROWS) == [(None, 2, 2.0, False)]


def test_after_a_reset_what_was_counted_since(trace: Trace) -> None:
    trace.rounds(1, pcie_replay_count=[5, 2, 2])
    assert trace.ask(ROWS) == [(None, 1, 2.0, True)]


def test_links_are_apart(trace: Trace) -> None:
    for link, values in (("0", (1, 1)), ("1", (1, 4))):
        for ts_ns, value in enumerate(values):
            more = {"entity": "link", "entity_id": link}
            trace.sample("nvlink_replay_error_count", value, ts_ns, **more)
    assert trace.ask(ROWS) == [("1", 1, 3.0, False)]


def test_what_is_no_error_counter(trace: Trace) -> None:
    trace.rounds(energy_j=[1, 2, 3])
    assert trace.ask(ROWS) == []
