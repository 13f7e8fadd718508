"""A layout and collectives of communicators in, a finding out."""

from collections.abc import Mapping

from rows import Row, Trace

SQL = "SELECT severity, detail, value, evidence_view FROM tensor_parallel_across_hosts"
TWO_HOSTS = {0: "node-a", 1: "node-b", 2: "node-a", 3: "node-b"}
ONE_EACH = {0: "node-a", 1: "node-a", 2: "node-b", 3: "node-b"}


def layout(trace: Trace, **facts: int) -> None:
    for key, value in facts.items():
        section = "hardware" if key == "gpus_per_host" else "parallelism"
        trace.given("run_fact", key=f"{section}.{key}", value_number=value)


def meet(
    trace: Trace,
    hosts: Mapping[int, str | None],
    ranks: tuple[int | None, ...],
    dur_ns: int,
    **more: object,
) -> None:
    """One collective of a communicator of these ranks."""
    row = {"communicator_id": str(ranks), "communicator_size": len(ranks), **more}
    for rank in ranks:
        host = None if rank is None else hosts[rank]
        trace.given("collective", rank=rank, host=host, dur_ns=dur_ns, **row)


def pairs(trace: Trace, hosts: Mapping[int, str | None]) -> list[Row]:
    """Tensor parallelism in pairs of neighbours, data parallelism across them."""
    layout(trace, tensor=2)
    for ranks in ((0, 1), (2, 3)):
        meet(trace, hosts, ranks, 30, operation="all_reduce")
    for ranks in ((0, 2), (1, 3)):
        meet(trace, hosts, ranks, 10, operation="reduce_scatter")
    return trace.ask(SQL)


def test_pairs_of_two_hosts(trace: Trace) -> None:
    where = "2 of 2 groups of 2, e.g. ranks 0 to 1 on node-a, node-b"
    assert pairs(trace, TWO_HOSTS) == [("warning", where, 0.75, "collective")]


def test_pairs_inside_a_host_whose_replicas_are_on_another(trace: Trace) -> None:
    assert pairs(trace, ONE_EACH) == []


def test_one_of_two_groups(trace: Trace) -> None:
    ((_, where, share, _),) = pairs(trace, {**ONE_EACH, 3: "node-c"})
    assert where == "1 of 2 groups of 2, e.g. ranks 2 to 3 on node-b, node-c"
    assert share == 0.375


def test_hosts_and_ranks_that_are_not_told(trace: Trace) -> None:
    assert pairs(trace, dict.fromkeys(range(4))) == []
    meet(trace, TWO_HOSTS, (None, None), 10)
    assert trace.ask(SQL) == []


def test_no_tensor_parallelism(trace: Trace) -> None:
    layout(trace, tensor=1, data=2)
    meet(trace, TWO_HOSTS, (0, 1), 10)
    assert trace.ask(SQL) == []


def test_sends_between_stages_are_none_of_it(trace: Trace) -> None:
    layout(trace, tensor=2)
    meet(trace, TWO_HOSTS, (0, 1), 10, operation="send_recv")
    assert trace.ask(SQL) == []


def test_a_part_of_the_ranks_tells_enough(trace: Trace) -> None:
    layout(trace, tensor=4)
    meet(trace, TWO_HOSTS, (0, 1), 10, communicator_size=4)
    ((_, where, share, _),) = trace.ask(SQL)
    assert where == "1 of 1 groups of 4, e.g. ranks 0 to 3 on node-a, node-b"
    assert share == 1.0


def test_a_group_larger_than_a_host_crosses_whatever_was_captured(trace: Trace) -> None:
    layout(trace, tensor=16, gpus_per_host=8)
    ((severity, where, share, view),) = trace.ask(SQL)
    assert (severity, share, view) == ("warning", None, "run_fact")
    assert where.startswith("groups of 16 on hosts of 8 GPUs")


def test_a_group_as_large_as_a_host(trace: Trace) -> None:
    layout(trace, tensor=8, gpus_per_host=8)
    assert trace.ask(SQL) == []


def test_evidence_names_its_rows(trace: Trace) -> None:
    pairs(trace, TWO_HOSTS)
    sql = "SELECT evidence_view, evidence FROM tensor_parallel_across_hosts"
    ((view, evidence),) = trace.ask(sql)
    assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 8
