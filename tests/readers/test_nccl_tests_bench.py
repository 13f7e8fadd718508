"""The reader of all_reduce_bench.py: mixed lines of ranks in, one row per rank and round out."""

from pathlib import Path

import pytest
from benchmark_read import Read
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers import nccl_tests, nccl_tests_bench
from pipeline.readers.record import Head

BENCH = Path(__file__).parents[3] / "shared/traces/nccl_tests/bs_all_reduce_bench_py_a100_n4.txt"

# 4 GB in 4 s: 1 GB/s, which the script calls 16 Gbps; in 2 s, 32 Gbps. Two ranks: half of it.
SIZES = "0 data size: 4.0 GB\n1 data size: 4.0 GB\n"
MIXED = """\
1:
 duration: 4.0000 sec
0:
 duration: 2.0000 sec
 algo throughput: 16000000000.0000 bps, 16.0000 Gbps
ignore me 1
 algo throughput: 32000000000.0000 bps, 32.0000 Gbps
 busbw: 16.0000  Gbps
 busbw: 8.0000  Gbps
"""


def of(tmp_path: Path, text: str) -> Read:
    path = tmp_path / "bench.txt"
    path.write_text(text)
    assert nccl_tests_bench.recognise(Head(text.encode()))
    assert not nccl_tests.recognise(Head(text.encode()))
    return Read(path, nccl_tests_bench)


def test_numbers_of_one_rank_find_each_other(tmp_path: Path) -> None:
    read = of(tmp_path, SIZES + MIXED + MIXED)
    columns = ("rank", "sweep", "time_ns", "algbw_bytes_per_s", "busbw_bytes_per_s")
    assert read.values(*columns) == [
        (0, 0, 2_000_000_000, 2e9, 2e9),
        (1, 0, 4_000_000_000, 1e9, 1e9),
        (0, 1, 2_000_000_000, 2e9, 2e9),
        (1, 1, 4_000_000_000, 1e9, 1e9),
    ]
    (row, *_), (test,) = read.rows, read.tests
    assert (row["size_bytes"], row["nranks"], row["op"]) == (4_000_000_000, 2, "all_reduce")
    assert (test["tool"], test["row_count"], read.facts.status) == (
        "all_reduce_bench.py", 4, "unknown",
    )  # fmt: skip


def test_equal_durations_do_not_say_whose_they_are(tmp_path: Path) -> None:
    same = MIXED.replace("2.0000 sec", "4.0000 sec").replace("32.0000", "16.0001")
    same = same.replace("32000000000.0000", "16000100000.0000").replace(" 16.0000  G", " 8.0001  G")
    read = of(tmp_path, SIZES + same)
    assert read.values("rank", "time_ns") == [(None, 4_000_000_000)] * 2


def test_what_has_no_partner_is_left_out(tmp_path: Path) -> None:
    read = of(tmp_path, SIZES + MIXED.replace("2.0000 sec", "2.5000 sec"))
    assert read.values("rank", "time_ns") == [(1, 4_000_000_000)]
    assert [issue.partition(":")[0] for issue in read.issues] == [
        "a round without all its numbers",
        "a throughput without its duration",
        "a busbw without its throughput",
        "all_reduce_bench.py counts the payload twice and in bits",
    ]
    assert read.facts.status == "incomplete"


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    assert of(tmp_path, MIXED).refusal is not None  # without the payload's size


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_damage_never_makes_values_up(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "bench.txt"
    lines = data.draw(st.permutations((SIZES + MIXED).splitlines()))
    path.write_text("\n".join(lines[: data.draw(st.integers(0, len(lines)))]))
    columns = ("time_ns", "algbw_bytes_per_s", "busbw_bytes_per_s")
    assert set(Read(path, nccl_tests_bench).values(*columns)) <= {
        (2_000_000_000, 2e9, 2e9),
        (4_000_000_000, 1e9, 1e9),
    }


@pytest.mark.real_traces
@pytest.mark.skipif(not BENCH.exists(), reason="the published log is not there")
def test_the_published_log(tmp_path: Path) -> None:
    read = Read(BENCH, nccl_tests_bench)
    assert sorted(read.values("sweep", "rank")) == [(s, r) for s in range(5) for r in range(32)]
    by_rank = {(row["sweep"], row["rank"]): row for row in read.rows}
    # Read by eye: lines of ranks 23 and 1 are mixed in the first round.
    row = by_rank[0, 23]
    assert (row["time_ns"], row["algbw_bytes_per_s"], row["busbw_bytes_per_s"]) == (
        4_156_900_000,
        15396140153.8145 / 16,
        14.9150e9 / 8,
    )
    assert by_rank[4, 0]["busbw_bytes_per_s"] == 40.4910e9 / 8
    assert read.facts.status == "unknown"
