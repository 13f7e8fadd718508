from rows import Trace

ROWS = (
    "SELECT gpu_id, what, usual_value, best_value, low_count, load_count FROM degraded_link"
    " JOIN telemetry_gpu USING (telemetry_key) ORDER BY ALL"
)


def test_generation_2_under_load(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[2] * 4, max_pcie_link_gen=5, pcie_link_width=16, gpu_util_share=1)
    assert trace.ask(ROWS) == [("gpu X", "generation", 2.0, 5.0, 4, 4)]


def test_generation_1_when_idle_is_none(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[5, 5, 1, 1, 1], max_pcie_link_gen=5, gpu_util_share=[1, 1, 0, 0, 0])
    assert trace.ask(ROWS) == []


def test_one_sample_while_the_link_changes_is_none(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[1, 5, 5, 5], max_pcie_link_gen=5, gpu_util_share=1)
    assert trace.ask(ROWS) == []


def test_a_link_that_falls_late_in_the_run(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[5] * 20 + [2] * 10, max_pcie_link_gen=5, gpu_util_share=1)
    assert trace.ask(ROWS) == [("gpu X", "generation", 2.0, 5.0, 10, 30)]


def test_single_changes_of_a_long_run_are_none(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[5, 5, 1] * 12, max_pcie_link_gen=5, gpu_util_share=1)
    assert trace.ask(ROWS) == []


def test_without_a_maximum_the_peers_tell(trace: Trace) -> None:
    trace.rounds(pcie_link_width=[16] * 3, gpu_util_share=1, gpu_id="A")
    trace.rounds(pcie_link_width=[8] * 3, gpu_util_share=1, gpu_id="B")
    assert trace.ask(ROWS) == [("B", "width", 8.0, 16.0, 3, 3)]


def test_whether_there_was_load_must_be_known(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[1] * 3, max_pcie_link_gen=5)
    assert trace.ask(ROWS) == []
