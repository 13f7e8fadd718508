"""What there is of a run in, doubts out."""

from rows import Trace

VIEWS = ("run_evidence", "run_summary", "launch_summary")


def doubts(trace: Trace) -> list[tuple[object, ...]]:
    for view in VIEWS:
        trace.stand_in(view)
    return trace.ask("SELECT doubt, evidence_view FROM run_trust")


def test_a_whole_run_leaves_none(trace: Trace) -> None:
    trace.given("run_evidence", traced_count=4, rank_count=4, world_size=4, step_count=3)
    trace.given("run_summary", refused_count=0, incomplete_count=0)
    trace.given("launch_summary", is_aligned=True)
    assert doubts(trace) == []


def test_each_lack_is_a_doubt(trace: Trace) -> None:
    trace.given("run_evidence", traced_count=3, rank_count=3, world_size=4, step_count=2)
    trace.given("run_summary", refused_count=1, incomplete_count=2)
    trace.given("launch_summary", is_aligned=False)
    assert doubts(trace) == [
        ("1 files were refused", "run_summary"),
        ("2 files are not whole", "run_summary"),
        ("3 of 4 ranks are present", "run_evidence"),
        ("clocks of CPU and GPU disagree on 1 devices", "launch_summary"),
        ("fewer than 3 steps", "step_time"),
    ]


def test_without_captures_ranks_are_not_missed(trace: Trace) -> None:
    trace.given("run_evidence", traced_count=0, rank_count=0, world_size=4, step_count=0)
    assert doubts(trace) == []
