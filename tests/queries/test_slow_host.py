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
