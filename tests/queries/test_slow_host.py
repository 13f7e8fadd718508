from bandwidth_rows import benchmark
from rows import Trace

SQL = "SELECT host, slow_count, healthy_count, verdict FROM slow_host"


def pairs(trace: Trace, **speeds: float) -> None:
    """Sets of hosts, each letter one, and their busbw."""
    for hosts, speed in speeds.items():
        benchmark(trace, hosts, {1024: speed}, hosts=list(hosts))


def test_pairs_name_the_node_that_is_common_to_the_slow_ones(trace: Trace) -> None:
    pairs(trace, ac=49, bc=49, cd=49, ab=88, bd=87)
    assert trace.ask(SQL) == [
        ("a", 1, 1, "healthy"),
        ("b", 1, 2, "healthy"),
        ("c", 3, 0, "slow"),
        ("d", 1, 1, "healthy"),
    ]
    assert trace.ask("SELECT slow_sets FROM slow_host WHERE host = 'c'") == [("a c; b c; c d",)]


def test_one_slow_pair_may_be_either_or_the_link(trace: Trace) -> None:
    pairs(trace, ab=88, cd=49)
    verdicts = dict(trace.ask("SELECT host, verdict FROM slow_host"))
    assert verdicts == {"a": "healthy", "b": "healthy", "c": "suspect", "d": "suspect"}


def test_a_pair_whose_hosts_are_healthy_elsewhere_is_a_link(trace: Trace) -> None:
    pairs(trace, ab=49, ac=88, bd=88, cd=87)
    verdicts = dict(trace.ask("SELECT host, verdict FROM slow_host"))
    assert verdicts == {"a": "link", "b": "link", "c": "healthy", "d": "healthy"}


def test_halves_of_halves_narrow_it_down(trace: Trace) -> None:
    pairs(trace, abcd=49, efgh=88, ab=88, cd=49, de=49, ef=88)
    verdicts = dict(trace.ask("SELECT host, verdict FROM slow_host"))
    assert verdicts["d"] == "slow"
    assert verdicts["c"] == "suspect"  # never measured without d
    assert {verdicts[host] for host in "abefgh"} == {"healthy"}


def test_all_alike_is_healthy_and_one_set_cannot_be_compared(trace: Trace) -> None:
    pairs(trace, ab=88, bc=86, ac=87)
    assert {verdict for *_, verdict in trace.ask(SQL)} == {"healthy"}
    benchmark(trace, "other", {1024: 5}, hosts=["x", "y"], op="all_gather")
    assert trace.ask("SELECT * FROM slow_host WHERE operation = 'all_gather'") == []


def test_only_sizes_that_the_sets_share_are_compared(trace: Trace) -> None:
    benchmark(trace, "x", {1024: 40, 4096: 88}, hosts=["a", "b"])
    benchmark(trace, "y", {1024: 40}, hosts=["c", "d"])
    assert {verdict for *_, verdict in trace.ask(SQL)} == {"healthy"}


def paired(trace: Trace, source: str, destination: str, speed: float, **more: object) -> None:
    row = {"tool": "perftest", "test": "ib_write_bw", "status": "measured", "kind": "bandwidth"}
    row |= {"size_bytes": 8_388_608, "is_bidirectional": False, "table_number": 0, **more}
    ends = {"source": source, "destination": destination}
    trace.insert("link_benchmark", bandwidth_bytes_per_s=speed * 1e9, **{**ends, **row})


def test_pairs_of_perftest_are_sets_too(trace: Trace) -> None:
    for pair, speed in {"ac": 22, "cb": 22, "cd": 22, "ab": 49, "bd": 48}.items():
        paired(trace, *pair, speed)
    assert trace.ask(SQL)[2] == ("c", 3, 0, "slow")
    assert trace.ask("SELECT DISTINCT operation FROM slow_host") == [("ib_write_bw",)]


def test_one_bad_direction_makes_a_pair_slow_and_names_the_link(trace: Trace) -> None:
    for one in "abc":
        trace.insert("host_address", host=f"node-{one}", address=one)
        for other in "abc".replace(one, ""):
            paired(trace, one, other, 22 if one + other == "ab" else 49)
    verdicts = dict(trace.ask("SELECT host, verdict FROM slow_host"))
    assert verdicts == {"node-a": "link", "node-b": "link", "node-c": "healthy"}


def test_a_pair_slow_on_two_adapters_is_one_set(trace: Trace) -> None:
    for device in ("mlx5_0", "mlx5_1"):
        paired(trace, "a", "b", 22, device=device)
        paired(trace, "a", "c", 49, device=device)
    verdicts = dict(trace.ask("SELECT host, verdict FROM slow_host"))
    assert verdicts == {"a": "healthy", "b": "suspect", "c": "healthy"}


def test_what_is_no_pair_or_small_or_loaded_otherwise_is_not_compared(trace: Trace) -> None:
    paired(trace, "a", "b", 49)
    paired(trace, "a", "a", 10)
    paired(trace, "a", "c", 5, size_bytes=2)
    paired(trace, "a", "d", 90, is_bidirectional=True)
    paired(trace, "a", "e", 20, queue_pair_count=1)
    assert trace.ask(SQL) == []
