"""One host or version behind many series that changed."""

from pipeline.history.common_cause import Case, common_causes


def case(series: str, verdict: str, host: str, *changed: str, nccl: str = "2.27") -> Case:
    shared = {"host": (host,), "versions.nccl": (nccl,)}
    return Case(series, verdict, shared, frozenset(changed))


def test_a_host_whose_whole_suite_is_slower_is_one_cause() -> None:
    slow = [case(f"a{i}", "regressed", "node-a") for i in range(100)]
    well = [case(f"b{i}", "unchanged", "node-b") for i in range(3)]
    (cause,) = common_causes([*slow, *well])
    assert (cause.key, cause.value, len(cause.series)) == ("host", "node-a", 100)
    assert cause.is_contrasted
    assert str(cause) == "host node-a: 100 series regressed, none of 3 without it"


def test_the_only_host_is_named_too_but_without_contrast() -> None:
    (cause,) = common_causes([case("a", "regressed", "node-a"), case("b", "regressed", "node-a")])
    assert (cause.value, cause.is_contrasted) == ("node-a", False)


def test_two_hosts_of_the_same_jobs_are_named_both() -> None:
    hosts = {"a": ("x", "y"), "b": ("x", "y"), "c": ("z", "y")}
    slow = [Case(name, "regressed", {"host": hosts[name]}, frozenset()) for name in "ab"]
    (cause,) = common_causes(slow)
    assert (cause.key, cause.value) == ("host", "x, y")
    well = Case("c", "unchanged", {"host": hosts["c"]}, frozenset())
    assert [cause.value for cause in common_causes([*slow, well])] == ["x"]


def test_an_upgrade_is_a_cause_where_it_is_new() -> None:
    slow = [case(f"s{i}", "regressed", f"n{i}", "versions.nccl", nccl="2.28") for i in range(4)]
    (cause,) = common_causes([*slow, case("t", "unchanged", "n9")])
    assert (cause.key, cause.value) == ("versions.nccl", "2.28")


def test_a_host_on_which_others_are_well_is_none() -> None:
    cases = [case(f"s{i}", "regressed", "node-a") for i in range(2)]
    cases += [case(f"t{i}", "unchanged", "node-a") for i in range(2)]
    assert common_causes(cases) == []


def test_one_series_alone_has_no_common_cause() -> None:
    assert common_causes([case("a", "regressed", "node-a")]) == []


def test_most_numbers_of_one_run_are_its_host_not_a_hundred_regressions() -> None:
    shared = {"host": ("node-a",)}
    one = Case("suite", "regressed", shared, frozenset(), "run", 100, 104)
    (cause,) = common_causes([one])
    assert str(cause) == "host node-a: 100 numbers of one run regressed"
    few = Case("suite", "regressed", shared, frozenset(), "run", 12, 104)
    assert common_causes([few]) == []
