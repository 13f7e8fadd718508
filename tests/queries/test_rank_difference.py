from typing import Any

from rows import Trace

REDUCE = "ncclAllReduce"
Work = tuple[int, int, str]


def play(trace: Trace, *ranks: list[Work], steps: int = 2, **more: Any) -> None:
    """Ranks in one file; each repeats its (start, end, name) in steps of 1000."""
    for rank, works in enumerate(ranks):
        where = trace.rank(rank, source_id="one file")
        for step in range(steps):
            begin = 1000 * step
            trace.step(where, begin, begin + 1000, f"step {step}")
            for start_ns, end_ns, name in [*works, (990, 1000, "last")]:
                trace.launched(where, begin + start_ns, begin + end_ns, name, **more)
    trace.keep_for("rank_difference")


def parts(trace: Trace, *names: str) -> dict[str, list[tuple[float, float, float]]]:
    rows = trace.ask("SELECT part, mean_ns, median_ns, difference_ns FROM rank_difference")
    return {name: [tuple(row[1:]) for row in rows if row[0] == name] for name in names}


def test_own_time_waits_and_transfers(trace: Trace) -> None:
    early, late = [(0, 300, "gemm"), (300, 990, REDUCE)], [(0, 600, "gemm"), (600, 990, REDUCE)]
    play(trace, early, early, late)
    assert parts(trace, "own_time", "exposed_wait", "exposed_transfer") == {
        "own_time": [(310, 310, 0), (310, 310, 0), (610, 310, 300)],
        "exposed_wait": [(300, 300, 0), (300, 300, 0), (0, 300, -300)],
        "exposed_transfer": [(390, 390, 0)] * 3,
    }
    assert trace.ask("SELECT DISTINCT step_count, rank_count FROM rank_difference") == [(2, 3)]


def test_the_same_kernels_longer(trace: Trace) -> None:
    fast, slow = [(0, 100, "gemm"), (200, 300, "gemm")], [(0, 130, "gemm"), (200, 350, "gemm")]
    play(trace, fast, fast, slow)
    assert parts(trace, "slower_kernels", "more_kernels") == {
        "slower_kernels": [(0, 0, 0), (0, 0, 0), (80, 0, 80)],
        "more_kernels": [(0, 0, 0)] * 3,
    }


def test_more_of_the_same_kernels(trace: Trace) -> None:
    once, twice = [(0, 100, "gemm")], [(0, 100, "gemm"), (200, 300, "gemm")]
    play(trace, once, once, twice)
    assert parts(trace, "slower_kernels", "more_kernels") == {
        "slower_kernels": [(0, 0, 0)] * 3,
        "more_kernels": [(0, 0, 0), (0, 0, 0), (100, 0, 100)],
    }


def test_kernels_that_no_other_rank_runs(trace: Trace) -> None:
    play(trace, [(0, 100, "gemm")], [(0, 100, "gemm")], [(0, 100, "gemm"), (200, 250, "debug")])
    assert parts(trace, "more_kernels")["more_kernels"][2] == (50, 0, 50)


def test_a_kernel_that_one_rank_lacks(trace: Trace) -> None:
    both = [(0, 100, "gemm"), (200, 250, "norm")]
    play(trace, both, both, [(0, 100, "gemm")])
    assert parts(trace, "more_kernels")["more_kernels"] == [(0, 0, 0), (0, 0, 0), (-50, 0, -50)]


def test_exposed_memory(trace: Trace) -> None:
    play(trace, [(0, 100, "gemm")], [(0, 100, "gemm")])
    trace.copy(200, 260, process=1, source_id="one file")
    trace.keep_for("rank_difference")
    assert parts(trace, "exposed_memory")["exposed_memory"] == [(30, 0, 30), (0, 0, 0)]


def test_idle_time_by_cause_is_0_where_a_rank_has_none(trace: Trace) -> None:
    # Between its two kernels rank 1 has nothing to do for 20 us, the other computes.
    for rank in (0, 1):
        where = trace.rank(rank, source_id="one file")
        for step in range(2):
            begin = 100_000 * step
            trace.step(where, begin, begin + 100_000, f"step {step}")
            trace.launched(where, begin, begin + (60_000 if rank else 80_000))
            trace.launched(where, begin + 80_000, begin + 100_000)
    trace.keep_for("rank_difference")
    idle = trace.ask(
        "SELECT rank, sum(mean_ns), sum(median_ns), sum(difference_ns) FROM rank_difference"
        " WHERE part LIKE 'idle: %' GROUP BY rank ORDER BY rank"
    )
    assert idle == [(0, 0, 0, 0), (1, 20_000, 0, 20_000)]


def test_waits_that_are_unknown_have_no_row(trace: Trace) -> None:
    play(trace, [(0, 300, "gemm"), (300, 990, REDUCE)])
    assert parts(trace, "exposed_wait", "exposed_transfer") == {
        "exposed_wait": [],
        "exposed_transfer": [(690, 690, 0)],
    }


def test_the_largest_difference_comes_first(trace: Trace) -> None:
    play(trace, [(0, 100, "gemm")], [(0, 100, "gemm")], [(0, 150, "gemm"), (200, 300, "debug")])
    rows = trace.ask("SELECT part FROM rank_difference WHERE rank = 2 LIMIT 2")
    assert rows == [("more_kernels",), ("slower_kernels",)]


def test_a_rank_late_before_anything_ran_on_its_device(trace: Trace) -> None:
    play(trace, [(0, 100, "gemm")], [(0, 100, "gemm")], [(300, 400, "gemm")])
    assert parts(trace, "idle: lead_in") == {
        "idle: lead_in": [(0, 0, 0), (0, 0, 0), (150, 0, 150)]  # 300 in the first of two steps
    }


def test_where_half_of_the_ranks_are_late_all_their_lateness_shows(trace: Trace) -> None:
    quick, late = [(0, 100, "gemm")], [(0, 130, "gemm")]
    play(trace, quick, late, quick, late)
    assert parts(trace, "slower_kernels")["slower_kernels"][1] == (30, 0, 30)


def test_where_clocks_disagree_no_cause_is_0(trace: Trace) -> None:
    # Rank 1 starts all work before its launch calls: its gap is of unknown cause.
    for rank in (0, 1):
        where = trace.rank(rank, source_id="one file")
        for step in range(2):
            begin = 100_000 * step
            trace.step(where, begin, begin + 100_000, f"step {step}")
            for start_ns, end_ns in ((begin, begin + 60_000), (begin + 80_000, begin + 100_000)):
                call_ns = start_ns + 5_000 * rank
                trace.launch((call_ns, call_ns), (start_ns, end_ns), **where)
    trace.keep_for("rank_difference")
    parts = trace.ask("SELECT rank, part FROM rank_difference WHERE part LIKE 'idle: %'")
    assert sorted(parts) == [(0, "idle: other_host"), (0, "idle: unknown"), (1, "idle: unknown")]
