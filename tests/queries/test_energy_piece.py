from rows import Trace

S = 10**9
ROWS = "SELECT start_ns / 1e9, counted_j, integral_j, is_active FROM energy_piece ORDER BY ALL"


def test_both_ways(trace: Trace) -> None:
    trace.rounds(power_w=[100, 200, 200], energy_j=[0, 150, 350], gpu_util_share=[1, 0, 0])
    assert trace.ask(ROWS) == [(0, 150.0, 150.0, True), (1, 200.0, 200.0, False)]


def test_a_reset_has_no_difference(trace: Trace) -> None:
    trace.rounds(power_w=[100] * 4, energy_j=[900, 1000, 40, 140])
    assert [row[1] for row in trace.ask(ROWS)] == [100, None, 100]


def test_a_counter_that_is_blank_for_some_samples_grew_evenly(trace: Trace) -> None:
    trace.rounds(energy_j=[0, None, 300, None, 50, 90], gpu_util_share=[1] * 6)
    # 300 J in two seconds; then it began anew.
    assert [row[1] for row in trace.ask(ROWS)] == [150, 150, None, None, 40]


def test_power_is_not_known_in_a_gap_but_the_counter_is(trace: Trace) -> None:
    trace.rounds(
        power_w=[100, 100, 100, *[None] * 6, 100], energy_j=[0, 100, 200, *[None] * 6, 900]
    )
    assert trace.ask(ROWS)[-1] == (2, 700.0, None, None)


def test_a_gpu_that_two_files_tell_of_counts_once(trace: Trace) -> None:
    trace.rounds(power_w=[100] * 3)
    trace.rounds(power_w=[100] * 2, source_id="b")
    assert trace.ask("SELECT count(*) FROM energy_piece") == [(2,)]


def test_without_times_there_is_no_energy(trace: Trace) -> None:
    for tick in (0, 1):
        trace.sample("power_w", 100, None, tick=tick)
    assert trace.ask(ROWS) == []
