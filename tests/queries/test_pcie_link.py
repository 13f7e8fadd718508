from rows import Trace

SQL = "SELECT generation, width, fastest_generation, widest_width, is_capability FROM pcie_link"


def test_what_the_link_can_run_at_counts_not_what_it_idles_at(trace: Trace) -> None:
    values = {"max_pcie_link_gen": 5, "max_pcie_link_width": 16}
    for metric, value in {**values, "pcie_link_gen": 1, "pcie_link_width": 8}.items():
        trace.sample(metric, value)
    trace.sample("pcie_link_gen", 4, ts_ns=1)
    assert trace.ask(SQL) == [(5, 16, 4, 8, True)]


def test_else_the_fastest_that_was_seen(trace: Trace) -> None:
    for ts_ns, generation in enumerate((1, 4, 3)):
        trace.sample("pcie_link_gen", generation, ts_ns=ts_ns)
    assert trace.ask(SQL) == [(4, None, 4, None, False)]


def test_a_width_alone_is_no_link(trace: Trace) -> None:
    trace.sample("pcie_link_width", 16)
    trace.sample("pcie_link_gen", 0)  # asleep
    assert trace.ask(SQL) == []


def test_identity_from_the_device_or_the_id_itself(trace: Trace) -> None:
    trace.insert("device", gpu_id="gpu X", uuid="u-u", bus_id="0000:03:00.0")
    trace.sample("pcie_link_gen", 4)
    trace.sample("pcie_link_gen", 4, gpu_id="0000:1b:00.0", host="b")
    rows = trace.ask("SELECT uuid, bus_id FROM pcie_link ORDER BY host DESC")
    assert rows == [("u-u", "0000:03:00.0"), (None, "0000:1b:00.0")]
