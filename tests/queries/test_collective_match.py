"""What meets what, and on which clock."""

from typing import Any

import pytest
from rows import Trace

REDUCE, GATHER = "ncclAllReduce", "ncclAllGather"
US = 1_000


def two(trace: Trace, *utc_ns: int | None) -> list[dict[str, Any]]:
    return [trace.rank(rank, utc_ns=utc) for rank, utc in enumerate(utc_ns or (None, None))]


def reasons(trace: Trace) -> list[tuple[Any, ...]]:
    return trace.ask(
        "SELECT DISTINCT operation, reason, rank_count FROM collective_match ORDER BY ALL"
    )


def common_ends(trace: Trace) -> list[tuple[int, ...]]:
    """By instance, the ends on the common clock, in the order of devices."""
    rows = trace.ask(
        "SELECT instance, list(end_ns + clock_ns ORDER BY device_key)"
        " FROM collective_match GROUP BY instance ORDER BY instance"
    )
    return [tuple(ends) for _, ends in rows]


# -- what meets what -----------------------------------------------------------------------


def test_the_kth_of_an_operation_and_stream(trace: Trace) -> None:
    for where in two(trace):
        trace.kernel(0, 10, REDUCE, **where)
        trace.kernel(20, 30, GATHER, **where)
        trace.kernel(40, 50, REDUCE, **where)
        trace.kernel(42, 52, REDUCE, stream_id=8, **where)
    rows = trace.ask(
        "SELECT instance, rank_count, operation, stream_id, list(start_ns)"
        " FROM collective_match GROUP BY ALL ORDER BY instance"
    )
    assert rows == [
        (1, 2, "all_reduce", 7, [0, 0]),
        (2, 2, "all_gather", 7, [20, 20]),
        (3, 2, "all_reduce", 7, [40, 40]),
        (4, 2, "all_reduce", 8, [42, 42]),
    ]


def test_streams_of_other_numbers_are_matched_by_their_place(trace: Trace) -> None:
    one, other = two(trace)
    for stream_id, start_ns in ((16, 0), (20, 50)):
        trace.kernel(start_ns, start_ns + 10, REDUCE, stream_id=stream_id, **one)
        trace.kernel(start_ns, start_ns + 10, REDUCE, stream_id=stream_id + 7, **other)
    rows = trace.ask(
        "SELECT list(stream_id ORDER BY stream_id) FROM collective_match GROUP BY instance"
    )
    assert sorted(rows) == [([16, 23],), ([20, 27],)]


def test_one_rank_only(trace: Trace) -> None:
    trace.kernel(0, 10, REDUCE)
    row = trace.only("FROM collective_match")
    assert row["reason"] == "only one rank is present"
    assert {row[name] for name in ("instance", "rank_count", "clock_ns", "residual_ns")} == {None}


def test_different_numbers_of_it_are_refused_and_only_those(trace: Trace) -> None:
    one, other = two(trace)
    for where in (one, other):
        trace.kernel(0, 10, GATHER, **where)
        trace.kernel(20, 30, REDUCE, **where)
    trace.kernel(40, 50, REDUCE, **one)
    assert reasons(trace) == [
        ("all_gather", None, 2),
        ("all_reduce", "ranks ran different numbers of it", None),
    ]


def test_different_numbers_in_one_step_leave_the_others_alone(trace: Trace) -> None:
    one, other = two(trace)
    for where in (one, other):
        for step in (4, 5):
            trace.step(where, 100 * step, 100 * step + 90, f"step {step}")
            trace.launched(where, 100 * step + 10, 100 * step + 20, REDUCE)
    trace.launched(one, 530, 540, REDUCE)
    rows = trace.ask("SELECT DISTINCT step, instance, reason FROM collective_match ORDER BY step")
    assert rows == [(4, 1, None), (5, None, "ranks ran different numbers of it")]


def test_a_capture_that_begins_a_step_later(trace: Trace) -> None:
    for where, steps in zip(two(trace), ((3, 4), (4, 5)), strict=True):
        for step in steps:
            trace.step(where, 100 * step, 100 * step + 90, f"step {step}")
            trace.launched(where, 100 * step + 10, 100 * step + 20, REDUCE)
    rows = trace.ask("SELECT step, rank_count, reason FROM collective_match ORDER BY step")
    alone = "no other rank ran this operation on this stream"
    assert rows == [(3, None, alone), (4, 2, None), (4, 2, None), (5, None, alone)]


LENGTHS = 100 * US, 180 * US, 90 * US, 240 * US, 130 * US, 110 * US, 200 * US


def without_numbers(trace: Trace, first: int, clock_ns: int = 0, count: int = 6) -> None:
    """Ranks whose steps are as long as each other's, the second's capture from ``first`` on."""
    for where, begun in zip(two(trace, 0, 0), (0, first), strict=True):
        error_ns = clock_ns if where["process"] == 2 else 0
        for step in range(begun, min(begun + count, len(LENGTHS))):
            begin = sum(LENGTHS[:step]) + error_ns
            trace.step(where, begin, begin + LENGTHS[step], "train_step")
            end = begin + LENGTHS[step] - 5 * US
            trace.launched(where, end - 10 * US, end, REDUCE)


SHIFTED = "steps have no numbers, and those of another rank fit only some steps later"


@pytest.mark.parametrize("count", [6, 7])
def test_a_step_later_without_numbers_is_seen_by_their_lengths(trace: Trace, count: int) -> None:
    # Both count from 0, so that the second's step 0 would meet the first's; of 7 the second
    # has one less.
    without_numbers(trace, 1, count=count)
    assert set(reasons(trace)) <= {
        ("all_reduce", SHIFTED, None),
        ("all_reduce", "no other rank ran this operation on this stream", None),
    }


@pytest.mark.parametrize("clock_ns", [50_000 * US, -50_000 * US, 300 * US, 0])
def test_a_wrong_clock_alone_shifts_no_steps(trace: Trace, clock_ns: int) -> None:
    without_numbers(trace, 0, clock_ns)
    assert reasons(trace) == [("all_reduce", None, 2)]


def test_steps_without_numbers_that_began_together(trace: Trace) -> None:
    for where in two(trace, 0, 0):
        for step in range(3):
            trace.step(where, 100 * step, 100 * step + 90, "train_step")
            trace.launched(where, 100 * step + 10, 100 * step + 20, REDUCE)
    assert reasons(trace) == [("all_reduce", None, 2)]


def test_before_between_and_after_steps(trace: Trace) -> None:
    for where in two(trace):
        for step in (1, 2):
            trace.step(where, 100 * step, 100 * step + 50, f"step {step}")
        for start_ns in (10, 110, 160, 210, 310, 330):
            trace.launched(where, start_ns, start_ns + 5, REDUCE)
    rows = trace.ask("SELECT step, instance, rank_count, reason FROM collective_match"
                     " ORDER BY start_ns, device_key")  # fmt: skip
    steps = (None, 1, 1, 2, None, None)
    assert rows == [(step, k, 2, None) for k, step in enumerate(steps, 1) for _ in (0, 1)]


def test_outside_of_steps_other_numbers_are_refused_only_there(trace: Trace) -> None:
    for where in two(trace):
        if where["process"] == 1:
            trace.launched(where, 10, 20, REDUCE)
        for start_ns in (30, 110, 210):
            trace.launched(where, start_ns, start_ns + 10, REDUCE)
        for step in (1, 2):
            trace.step(where, 100 * step, 100 * step + 90, f"step {step}")
    rows = trace.ask("SELECT DISTINCT step, reason FROM collective_match ORDER BY step")
    assert rows == [(1, None), (2, None), (None, "ranks ran different numbers of it")]


def test_without_a_launch_nothing_says_in_which_step(trace: Trace) -> None:
    for where in two(trace):
        for step in (1, 2):
            trace.step(where, 100 * step, 100 * step + 90, f"step {step}")
            trace.launched(where, 100 * step, 100 * step + 10, REDUCE)
        trace.kernel(400, 410, REDUCE, **where)
    rows = trace.ask("SELECT DISTINCT step, reason FROM collective_match ORDER BY step")
    why = "its launch was not recorded, so its step is unknown"
    assert rows == [(1, None), (2, None), (None, why)]


def test_a_broadcast_takes_the_clock_of_what_all_leave_together(trace: Trace) -> None:
    # The second file's clock is 50 ms ahead. The root leaves the broadcast 700 ns early.
    one, other = two(trace, 0, 0)
    for k in range(6):
        zero = 1000 * US * k
        for where, error_ns in ((one, 0), (other, 50_000 * US)):
            trace.kernel(zero + error_ns, zero + error_ns + 900, REDUCE, **where)
        trace.kernel(zero + 2000, zero + 2300, "ncclBroadcast", **one)
        zero += 50_000 * US
        trace.kernel(zero + 2500, zero + 3000, "ncclBroadcast", **other)
    rows = trace.ask(
        "SELECT DISTINCT operation, rank, residual_ns, is_rooted, end_ns + clock_ns"
        " - min(end_ns + clock_ns) OVER (PARTITION BY instance)"
        " FROM collective_match JOIN traced_device USING (run_id, device_key) ORDER BY ALL"
    )
    assert rows == [
        ("all_reduce", 0, 0, False, 0),
        ("all_reduce", 1, 0, False, 0),
        ("broadcast", 0, 0, True, 0),
        ("broadcast", 1, 0, True, 700),
    ]


def test_ranks_that_do_not_take_part_do_not_matter(trace: Trace) -> None:
    ranks = [trace.rank(rank) for rank in range(3)]
    for where in ranks:
        trace.kernel(0, 10, REDUCE, **where)
    for where in ranks[:2]:
        trace.kernel(20, 30, "ncclSendRecv", **where)
    assert reasons(trace) == [("all_reduce", None, 3), ("send_recv", None, 2)]


def test_runs_are_apart(trace: Trace) -> None:
    for run in ("one", "two"):
        for rank in (0, 1):
            where = {"run_id": run, "source_id": f"{run} {rank}", "process": rank}
            trace.insert("device", device_id=0, gpu_id="gpu", **where)
            trace.kernel(0, 10, REDUCE, **where)
    rows = trace.ask("SELECT run_id, instance, rank_count FROM collective_match ORDER BY ALL")
    assert rows == [("one", 1, 2), ("one", 1, 2), ("two", 1, 2), ("two", 1, 2)]


# -- on which clock ------------------------------------------------------------------------

MS = 1_000_000


@pytest.mark.parametrize("error_ns", [0, 50 * MS, -50 * MS])
@pytest.mark.parametrize("is_utc", [True, False])
def test_a_wrong_clock_is_put_right(trace: Trace, error_ns: int, is_utc: bool) -> None:
    # The second file's zero lies 5 ms after the first's; its host's clock is wrong besides.
    one, other = two(trace, 0, 5 * MS + error_ns) if is_utc else two(trace)
    for k in range(5):
        trace.kernel(k * MS, k * MS + 100, REDUCE, **one)
        trace.kernel((k - 5) * MS + 60, (k - 5) * MS + 100, REDUCE, **other)
    assert all(mine == its for mine, its in common_ends(trace))
    assert trace.ask("SELECT DISTINCT residual_ns FROM collective_match") == [(0,)]


def test_the_residual_says_what_alignment_leaves(trace: Trace) -> None:
    one, other = two(trace)
    for k, tail_ns in enumerate((0, 6, 0, 0, 0)):
        trace.kernel(1000 * k, 1000 * k + 100, REDUCE, **one)
        trace.kernel(1000 * k, 1000 * k + 100 + tail_ns, REDUCE, **other)
    rows = trace.ask(
        "SELECT instance, list(residual_ns ORDER BY device_key) FROM collective_match"
        " GROUP BY instance ORDER BY instance"
    )
    assert rows == [(k, [-3, 3] if k == 2 else [0, 0]) for k in range(1, 6)]


def test_devices_of_one_file_share_its_clock(trace: Trace) -> None:
    for rank, end_ns in ((0, 100), (1, 130)):
        trace.kernel(0, end_ns, REDUCE, **trace.rank(rank, source_id="both"))
    assert common_ends(trace) == [(100, 130)]
    assert trace.ask("SELECT residual_ns FROM collective_match ORDER BY 1") == [(-15,), (15,)]


def test_two_files_of_two_devices(trace: Trace) -> None:
    # In each file the second device leaves 20 ns later; the second file's clock is 500 behind.
    for rank in range(4):
        where = trace.rank(rank, source_id=f"host {rank // 2}")
        end_ns = 1000 + 20 * (rank % 2) - 500 * (rank // 2)
        trace.kernel(end_ns - 100, end_ns, REDUCE, **where)
    ((first, second, third, fourth),) = common_ends(trace)
    assert (second - first, fourth - third, third - first) == (20, 20, 0)


def test_a_single_instance_says_nothing_of_what_is_left(trace: Trace) -> None:
    for where, end_ns in zip(two(trace), (100, 130), strict=True):
        trace.kernel(0, end_ns, REDUCE, **where)
    assert trace.ask("SELECT DISTINCT residual_ns FROM collective_match") == [(None,)]


@pytest.mark.parametrize("error_ns", [0, 50 * MS])
def test_drift_is_followed_up_to_the_edges(trace: Trace, error_ns: int) -> None:
    # 20 ppm over 10 s are 200 us; instances 100 ms apart differ by 2 us each.
    one, other = two(trace, 0, 0)
    for k in range(100):
        end_ns = k * 100 * MS + 700_000
        trace.kernel(end_ns - 1000, end_ns, REDUCE, **one)
        late_ns = end_ns * 20 // 1_000_000 + error_ns
        trace.kernel(end_ns - 1000 + late_ns, end_ns + late_ns, REDUCE, **other)
    assert max(abs(mine - its) for mine, its in common_ends(trace)) <= 1
    ((worst,),) = trace.ask("SELECT max(abs(residual_ns)) FROM collective_match")
    assert worst <= 1


def test_drift_that_is_no_straight_line_is_followed(trace: Trace) -> None:
    one, other = two(trace)
    for k in range(60):
        end_ns = (k + 1) * 100 * MS
        drift_ns = end_ns**2 // 10**15  # 36 us after 6 s
        trace.kernel(end_ns - 1000, end_ns, REDUCE, **one)
        trace.kernel(end_ns - 1000 + drift_ns, end_ns + drift_ns, REDUCE, **other)
    ends = common_ends(trace)
    assert max(abs(mine - its) for mine, its in ends[15:-15]) < 600


def test_an_outlier_does_not_move_the_clock(trace: Trace) -> None:
    one, other = two(trace)
    for k in range(20):
        trace.kernel(1000 * k, 1000 * k + 100, REDUCE, **one)
        trace.kernel(1000 * k, 1000 * k + (100 if k != 7 else 700), REDUCE, **other)
    ends = common_ends(trace)
    assert [its - mine for mine, its in ends] == [600 if k == 7 else 0 for k in range(20)]


def test_each_set_of_ranks_has_a_clock_of_its_own(trace: Trace) -> None:
    # The clocks of 0 and 1 agree, those of 2 and 3 are 50 ms ahead. Seen from the pairs none
    # is wrong, seen from all four half of them are.
    ranks = [trace.rank(rank) for rank in range(4)]
    for k in range(40):
        for rank, where in enumerate(ranks):
            zero = 10_000 * k + (50 * MS if rank > 1 else 0)
            trace.kernel(zero, zero + 100, REDUCE, **where)
            trace.kernel(zero + 200, zero + 300, GATHER if rank < 2 else "ncclSendRecv", **where)
    rows = trace.ask(
        "SELECT operation, max(s) FROM (SELECT operation, instance,"
        " max(end_ns + clock_ns) - min(end_ns + clock_ns) AS s FROM collective_match GROUP BY ALL)"
        " GROUP BY operation ORDER BY operation"
    )
    assert rows == [("all_gather", 0), ("all_reduce", 0), ("send_recv", 0)]


def test_pairs_that_meet_among_themselves_do_not_move_the_clock_of_all(trace: Trace) -> None:
    # Nine times the pairs 0 + 1 and 2 + 3, 200 us apart, then once all four together.
    ranks = [trace.rank(rank) for rank in range(4)]
    for k in range(200):
        for rank, where in enumerate(ranks):
            pair = k % 10 < 9
            end_ns = k * MS + 300_000 + (200_000 if pair and rank > 1 else 0)
            trace.kernel(end_ns - 1000, end_ns, REDUCE, stream_id=20 if pair else 21, **where)
    rows = trace.ask(
        "SELECT max(abs(residual_ns)), count(DISTINCT clock_ns) FROM collective_match"
        " WHERE stream_id = 21"
    )
    assert rows == [(0, 1)]


def test_without_utc_in_every_file_their_zeros_do(trace: Trace) -> None:
    for where in two(trace, 3_000 * MS, None):
        trace.kernel(0, 100, REDUCE, **where)
    assert common_ends(trace) == [(100, 100)]


# -- ranks whose files are missing ---------------------------------------------------------


def test_with_a_rank_missing_nobody_knows_who_came_last(trace: Trace) -> None:
    for where in two(trace):
        trace.insert("run", world_size=3, source_id=where["source_id"])
        trace.kernel(0, 10, REDUCE, **where)
    assert reasons(trace) == [("all_reduce", "only 2 of 3 ranks have any on record", None)]


def test_a_communicator_must_be_whole_the_job_need_not(trace: Trace) -> None:
    for where in two(trace):
        trace.insert("run", world_size=8, source_id=where["source_id"])
        call = {"source_id": where["source_id"], "process": where["process"], "thread": 1}
        for name, size in (("A", 2), ("B", 3)):
            trace.insert(
                "collective_call",
                start_ns=0, operation="init", communicator_id=name, rank_count=size, **call,
            )  # fmt: skip
        for name, start_ns in (("A", 10), ("B", 30)):
            trace.insert(
                "collective_call",
                start_ns=start_ns - 1, operation="all_reduce", communicator_id=name, **call,
            )  # fmt: skip
            trace.launched(where, start_ns, start_ns + 5, REDUCE)
    rows = trace.ask("SELECT DISTINCT communicator_id, reason FROM collective_match ORDER BY ALL")
    missing = "only 2 of 3 ranks of its communicator are present"
    assert rows == [("A", None), ("B", missing)]
