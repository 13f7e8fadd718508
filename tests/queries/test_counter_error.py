from rows import Trace

S = 10**9
ROWS = "SELECT metric, increase, peak_window_count, is_over FROM counter_error ORDER BY ALL"


def test_windows_of_a_minute(trace: Trace) -> None:
    trace.rounds(20 * S, pcie_replay_count=[0, 3, 6, 9, 9, 9, 9, 10])
    # 6 in the first minute, 3 in the second, 1 in the third.
    assert trace.ask(ROWS) == [("pcie_replay_count", 10, 6, False)]


def test_a_user_can_tolerate_less(trace: Trace) -> None:
    trace.threshold("pcie_replay_count", 5)
    trace.rounds(20 * S, pcie_replay_count=[0, 3, 6])
    assert trace.ask(ROWS) == [("pcie_replay_count", 6, 6, True)]


def test_corrected_errors_are_a_note(trace: Trace) -> None:
    trace.rounds(ecc_sbe_vol_count=[0, 900])
    assert trace.ask(ROWS) == [("ecc_sbe_vol_count", 900, 900, False)]
