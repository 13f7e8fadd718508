"""Pairs of GPUs in, hosts without NVLink out."""

from rows import Trace

SQL = "SELECT severity, detail, value FROM no_nvlink"


def host(trace: Trace, name: str | None, *kinds: str) -> None:
    for kind in kinds:
        row = {"source_id": f"of {name}", "host": name, "table_number": 0, "pair_count": 2}
        trace.given("gpu_pair", kind=kind, **row)


def test_one_of_two_hosts(trace: Trace) -> None:
    trace.stand_in("wall")
    host(trace, "a", "nvlink", "sys")
    host(trace, "b", "phb", "sys", "pix")
    assert trace.ask(SQL) == [("info", "1 of 2 topologies; longest path: sys", 0.5)]
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM no_nvlink")
    assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 4


def test_it_weighs_more_where_communication_is_the_wall(trace: Trace) -> None:
    trace.given("wall", wall="communication", is_wall=True)
    host(trace, None, "phb")
    assert trace.ask(SQL) == [("warning", "1 of 1 topologies; longest path: phb", 1.0)]


def test_nvlink_everywhere_and_a_single_gpu(trace: Trace) -> None:
    trace.stand_in("wall")
    host(trace, "a", "nvlink")
    host(trace, "b")
    assert trace.ask(SQL) == []
