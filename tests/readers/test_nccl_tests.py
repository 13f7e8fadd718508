"""The nccl-tests reader: a few lines of a log in, rows, tests and devices out."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmark_read import Read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import nccl_tests
from pipeline.readers.nccl_tests_lines import failure, version_of
from pipeline.readers.record import Head, Refused
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "nccl_tests"
REAL = sorted(TRACES.glob("*"))

PREAMBLE = """\
# nccl-tests version 2.18.0 nccl-headers=22807 nccl-library=22907
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 8(factor) warmup iters: 1 iters: 20 agg iters: 1\
 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   7001 on     node-a device  0 [0000:07:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   8001 on     node-b device  0 [0000:07:00] NVIDIA H100 80GB HBM3
#
"""
HEADER = """\
#                                                              out-of-place                      \
 in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time  \
 algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us) \
 (GB/s)  (GB/s)
"""
ROWS = """\
     1048576        262144     float     sum      -1    52.43   20.00   20.00       0    50.00   20.97   20.97       0
     8388608       2097152     float     sum      -1   209.72   40.00   40.00       0   200.00   41.94   41.94       0
"""  # noqa: E501
FOOTER = """\
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 30.7275
#
# Collective test concluded: all_reduce_perf
"""
LOG = PREAMBLE + HEADER + ROWS + FOOTER


def of(tmp_path: Path, text: str | bytes) -> Read:
    path = tmp_path / "job.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert nccl_tests.recognise(Head(path.read_bytes()[: 4 << 20]))
    return Read(path)


NUMBERS = ("size_bytes", "is_in_place", "time_ns", "algbw_bytes_per_s", "busbw_bytes_per_s")
EXPECTED = [
    (1048576, False, 52430, 20e9, 20e9),
    (1048576, True, 50000, 20.97e9, 20.97e9),
    (8388608, False, 209720, 40e9, 40e9),
    (8388608, True, 200000, 41.94e9, 41.94e9),
]


def test_a_whole_test(tmp_path: Path) -> None:
    read = of(tmp_path, LOG)
    assert read.values(*NUMBERS) == EXPECTED
    (row, *_), (test,) = read.rows, read.tests
    known = {
        "benchmark_id": 0, "test": "all_reduce_perf", "op": "all_reduce", "nranks": 2, "nnodes": 2,
        "gpus": 2,
    }  # fmt: skip
    assert known.items() <= row.items()
    assert {
        "sweep": 0, "dtype": "float", "redop": "sum", "root": None, "element_count": 262144,
        "wrong_count": 0, "max_error": None, "is_time_host": False, "is_consistent": True,
        "line": 12,
    }.items() <= row.items()  # fmt: skip
    assert known.items() <= test.items()
    assert {
        "tool": "nccl-tests", "tool_version": "2.18.0", "nccl_version": "2.29.7",
        "nccl_header_version": "2.28.7", "op_source": "printed", "nranks_source": "printed",
        "thread_count": 1, "gpus_per_thread": 1, "min_bytes": 8, "max_bytes": 64,
        "step_bytes": None, "step_factor": 8, "warmup_iteration_count": 1, "iteration_count": 20,
        "aggregated_count": 1, "validation_count": 1, "graph_launch_count": 0,
        "out_of_bounds_count": 0, "is_out_of_bounds_ok": True, "printed_average": "30.7275",
        "is_average_ok": None, "status": "complete", "status_reason": None, "row_count": 4,
        "communicator_count": 1, "is_interleaved": False, "first_line": 1,
    }.items() <= test.items()  # fmt: skip
    assert [(d["rank"], d["rank_group"], d["host"]) for d in read.devices] == [
        (0, 0, "node-a"),
        (1, 0, "node-b"),
    ]
    assert {"device_id": 0, "bus_id": "0000:07:00", "name": "NVIDIA H100 80GB HBM3"}.items() <= (
        read.devices[0].items()
    )
    assert (read.facts.status, read.facts.tool_version, read.issues) == ("complete", "2.18.0", [])


# -- launchers and noise -------------------------------------------------------------------


def prefixed(prefix: str, text: str = LOG) -> str:
    return "".join(prefix + line + "\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "prefix",
    ["0: ", " 0: ", "[1,0]<stdout>:", "[0] ", "vm-07-05: ", "[default0]:", "    ", "> ",
     "[prterun-node-a-12@1,0]<stdout>: ", "Mon Nov  4 10:00:00 2024[1,0]<stdout>:",
     "Mon Nov  4 10:00:00 2024<stdout>:", "2025-10-07T11:22:33.123456789Z stdout F 0: "],
)  # fmt: skip
def test_launchers_prefixes(tmp_path: Path, prefix: str) -> None:
    read = of(tmp_path, "```\n" + prefixed(prefix) + "```\n")
    assert read.values(*NUMBERS) == EXPECTED
    assert len(read.tests) == 1 and read.facts.status == "complete" and not read.issues


def test_hydra_marks_each_write_of_a_row(tmp_path: Path) -> None:
    marked = re.sub(r"(-1|\d)(?=    ?\d*\d\.\d\d  )", r"\1[0] ", ROWS)
    marked = re.sub(r"(?m)^", "[0] ", marked.rstrip()) + "\n"
    assert marked.count("[0]") > 4
    for rows in (marked, re.sub(r"(?m)^\[0\] ", "", marked)):
        start, end = (prefixed("[0] ", text) for text in (PREAMBLE + HEADER, FOOTER))
        read = of(tmp_path, start + rows + end)
        assert read.values(*NUMBERS) == EXPECTED
        assert not read.issues


INFO = "node-a:3442:3442 [0] NCCL INFO Launch mode Parallel\n"


def test_messages_of_nccl_between_and_within_rows(tmp_path: Path) -> None:
    first, second = ROWS.splitlines()
    at = first.index("-1") + 2
    broken = INFO + first[:at] + INFO + INFO + first[at:] + "\n" + second + INFO
    read = of(tmp_path, PREAMBLE + HEADER + broken + FOOTER)
    assert read.values(*NUMBERS) == EXPECTED
    assert not read.issues


def test_the_last_error_of_nccl_is_told(tmp_path: Path) -> None:
    read = of(tmp_path, prefixed("0: ", LOG + "# error: Connection closed by remote peer\n#\n"))
    assert read.issues == ["NCCL's last error: 'Connection closed by remote peer'"]
    assert (read.values(*NUMBERS), read.tests[0]["status"]) == (EXPECTED, "complete")


def test_a_row_broken_by_something_else_is_left_out_whole(tmp_path: Path) -> None:
    first, second = ROWS.splitlines()
    broken = f"{first[:60]}Authorization required\n{first[60:]}\n{second}\n"
    read = of(tmp_path, PREAMBLE + HEADER + broken + FOOTER)
    assert read.values(*NUMBERS) == EXPECTED[2:]
    (issue,) = read.issues
    assert issue.startswith("a row that is not whole: '1048576 262144 float sum -1")
    assert (read.tests[0]["status"], read.facts.status) == ("complete", "incomplete")


def test_damaged_cells_are_counted(tmp_path: Path) -> None:
    for damage in (("1048576  ", "10485x6  "), ("float", "fl?at"), ("1048576  ", "9" * 30 + "  ")):
        read = of(tmp_path, LOG.replace(*damage, 1))
        assert read.values(*NUMBERS) == EXPECTED[2:]
        assert [issue.row_count for issue in read.recording.issues] == [1]


def test_prose_is_not_a_table(tmp_path: Path) -> None:
    prose = "in-place results differ\nsize count type: algbw and busbw are columns\n"
    read = of(tmp_path, prose + LOG + prose)
    assert (len(read.tests), read.facts.status) == (1, "complete")


def test_colours_line_ends_and_encodings(tmp_path: Path) -> None:
    coloured = LOG.replace("1048576  ", "\x1b[32m1048576\x1b[0m  ")
    for text in (
        coloured,
        LOG.replace("\n", "\r\n"),
        LOG.encode("utf-16"),
        b"\xef\xbb\xbf" + LOG.encode(),
    ):
        assert of(tmp_path, text).values(*NUMBERS) == EXPECTED


def test_what_is_pasted_lost_its_hash_signs(tmp_path: Path) -> None:
    pasted = "\n".join(line.lstrip("#") for line in LOG.replace("#wrong", "wrong").splitlines())
    read = of(tmp_path, pasted)
    assert read.values(*NUMBERS) == EXPECTED
    assert (read.tests[0]["status"], len(read.devices)) == ("complete", 2)


def test_commented_rows_are_rows(tmp_path: Path) -> None:
    read = of(tmp_path, PREAMBLE + HEADER + ROWS.replace("    ", "#   ", 1) + FOOTER)
    assert read.values(*NUMBERS) == EXPECTED


# -- eras ----------------------------------------------------------------------------------


def test_nccl_1_printed_milliseconds(tmp_path: Path) -> None:
    read = of(
        tmp_path,
        "$ ./build/test/single/all_reduce_test 10000000\n"
        "# Using devices\n"
        "#   Device  0 ->  0 [0x0a] GeForce GTX TITAN X\n"
        "#   Device  1 ->  1 [0x09] GeForce GTX TITAN X\n"
        "\n"
        "#      bytes             N    type      op     time  algbw  busbw      res"
        "     time  algbw  busbw      res\n"
        "    10000000      10000000    char     sum    1.628   6.14   6.14    0e+00"
        "    1.932   5.18   5.18    0e+00\n"
        "    10000000      10000000    char    prod    1.629   6.14   6.14    1e+00"
        "    1.643   6.09   6.09    N/A\n",
    )
    assert read.values("redop", "sweep", "time_ns", "max_error", "wrong_count") == [
        ("sum", 0, 1628000, 0.0, None),
        ("sum", 0, 1932000, 0.0, None),
        ("prod", 1, 1629000, 1.0, None),
        ("prod", 1, 1643000, None, None),
    ]
    assert {row["is_consistent"] for row in read.rows} == {True}
    (test,) = read.tests
    assert (test["op"], test["op_source"], test["nranks"]) == ("all_reduce", "command", 2)
    assert [d["bus_id"] for d in read.devices] == ["0a", "09"]


def test_all_gather_before_2020_is_brought_to_todays_convention(tmp_path: Path) -> None:
    read = of(
        tmp_path,
        "       size         count    type     time   algbw   busbw  error"
        "     time   algbw   busbw  error\n"
        "        (B)    (elements)             (us)  (GB/s)  (GB/s)"
        "            (us)  (GB/s)  (GB/s)\n"
        "  4294967296     134217728   float    29122  129.05  129.05  1e+00"
        "    29169  128.84  128.84  1e+00\n"
        " Out of bounds values : 2 FAILED\n"
        " Avg bus bandwidth    : 128.942\n",
    )
    (row, _), (test,) = read.rows, read.tests
    assert (row["op"], row["nranks"], row["max_error"]) == ("all_gather", 8, 1.0)
    assert row["busbw_bytes_per_s"] == 129.05e9
    assert row["algbw_bytes_per_s"] == pytest.approx(129.05e9 * 8 / 7)
    assert row["algbw_bytes_per_s"] == pytest.approx(4294967296 / 29122e-6, rel=1e-4)
    assert row["is_consistent"] is True
    assert (test["is_out_of_bounds_ok"], test["out_of_bounds_count"]) == (False, 2)
    assert (test["op_source"], test["nranks_source"]) == ("numbers", "numbers")
    assert "before June 2020" in read.issues[0]


def test_alltoall_of_2020_left_a_cell_blank(tmp_path: Path) -> None:
    read = of(
        tmp_path,
        "#       size         count    type   redop     time   algbw   busbw  error"
        "     time   algbw   busbw  error\n"
        "           0             0   float             1.63    0.00    0.00    N/A"
        "     1.38    0.00    0.00    N/A\n"
        "     1048576         32768   float            87.42   11.99   10.50    N/A"
        "    88.90   11.79   10.32    N/A\n",
    )
    assert read.values("op", "nranks", "redop", "size_bytes", "time_ns")[2] == (
        "alltoall", 8, None, 1048576, 87420,
    )  # fmt: skip


def test_columns_of_dash_i_and_dash_s(tmp_path: Path) -> None:
    header = (
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
        "    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max"
        "    i_p99    i_cv%           timestamp\n"
    )
    row = (
        "     1048576        262144     float     sum      -1    52.43   20.00   20.00       0"
        "    50.01    60.02    59.03     1.50    50.00   20.97   20.97   1e+06    49.00    51.00"
        "    51.00     0.25  2026-07-01 10:20:30\n"
    )
    read = of(tmp_path, PREAMBLE + header + row + FOOTER)
    columns = ("iteration_min_ns", "iteration_max_ns", "iteration_p99_ns", "iteration_cv_share")
    assert read.values(*columns, "wrong_count") == [
        (50010, 60020, 59030, 0.015, 0),
        (49000, 51000, 51000, 0.0025, 1_000_000),
    ]
    # 2026-07-01 10:20:30 as if it were UTC.
    assert {row["at_local_ns"] for row in read.rows} == {1782901230_000000000}


def test_time_of_the_host(tmp_path: Path) -> None:
    # The bandwidths are still from the GPU's time: size / time need not be algbw.
    log = LOG.replace(" time", "cputime").replace("52.43", "99.99")
    read = of(tmp_path, log)
    assert read.values("time_ns", "is_time_host", "is_consistent")[0] == (99990, True, True)


def test_memory_and_other_lines_of_the_preamble(tmp_path: Path) -> None:
    more = (
        "# Blocking Enabled: wait for completion and barrier after each collective \n"
        "# Parallel Init Enabled: threads call into NcclInitRank concurrently \n"
    )
    memory = (
        "# GPU memory usage     : Initialization 512 MB | User-Allocated 1.50 GB "
        "| Collective 64.0 MB | Total  2.06 GB\n"
    )
    (test,) = of(tmp_path, PREAMBLE + more + HEADER + ROWS + memory + FOOTER).tests
    assert test["is_blocking"] and test["has_parallel_init"]
    assert (test["memory_initialization_bytes"], test["memory_user_bytes"]) == (512 << 20, 3 << 29)
    assert (test["memory_collective_bytes"], test["memory_total_bytes"]) == (
        64 << 20,
        round(2.06 * (1 << 30)),
    )


def test_rccl_tests_with_the_in_place_half_only(tmp_path: Path) -> None:
    header = (
        "# rccl-tests version 2.17.9-develop:2596ca5f71 rccl-headers=22803 rccl-library=22707\n"
        "#                                                      in-place\n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
    )
    row = "     1048576        262144     float     sum      -1    52.43   20.00   20.00       0\n"
    read = of(tmp_path, header + row + FOOTER)
    assert read.values("is_in_place", "time_ns") == [(True, 52430)]
    assert (read.tests[0]["tool"], read.tests[0]["nccl_version"]) == ("rccl-tests", "2.27.7")


def test_a_blank_out_of_place_half(tmp_path: Path) -> None:
    first, second = ROWS.splitlines()
    blank = first[:52] + " " * 33 + first[85:]
    read = of(tmp_path, PREAMBLE + HEADER + blank + "\n" + second + "\n" + FOOTER)
    assert read.values(*NUMBERS) == EXPECTED[1:]


def test_numbers_too_wide_for_their_columns(tmp_path: Path) -> None:
    row = (
        "    33554432       8388608     float    none      -1    19.56  1715.44    0.00       0"
        "     0.02 1.7e+06    0.00     N/A\n"
    )
    preamble = PREAMBLE.replace("#  Rank  1", "#  ???")
    read = of(tmp_path, preamble.replace("all_reduce", "alltoall") + HEADER + row + FOOTER)
    assert read.values("algbw_bytes_per_s", "wrong_count", "is_consistent") == [
        (1715.44e9, 0, True),
        (1.7e15, None, True),
    ]
    assert any("single rank" in issue for issue in read.issues)


def test_not_numbers_are_absent(tmp_path: Path) -> None:
    read = of(tmp_path, LOG.replace("20.00   20.00       0", "  inf    -nan     N/A", 1))
    assert read.values("algbw_bytes_per_s", "busbw_bytes_per_s", "wrong_count", "is_consistent")[
        :2
    ] == [(None, None, None, None), (20.97e9, 20.97e9, 0, True)]


# -- which collective, how many ranks ------------------------------------------------------


def row_of(size: int, count: int, redop: str, root: int, time: float, factor: float) -> str:
    speed = size / time / 1000
    half = f"  {time:7.2f}  {speed:6.2f}  {speed * factor:6.2f}       0"
    return f"{size:12}  {count:12}  {'float':>8}  {redop:>6}  {root:6}{half}{half}\n"


@pytest.mark.parametrize(
    ("redop", "root", "shares", "factor", "expected"),
    [
        ("sum", -1, 1, 2 * 15 / 16, ("all_reduce", 16)),
        ("sum", -1, 16, 15 / 16, ("reduce_scatter", 16)),
        ("none", -1, 16, 15 / 16, ("all_gather", 16)),
        ("sum", 0, 1, 1, ("reduce", None)),
        ("none", 3, 1, 1, ("broadcast", None)),
        ("none", -1, 1, 1, ("sendrecv", None)),
        ("none", 0, 16, 15 / 16, (None, None)),  # gather or scatter
    ],
)
def test_op_and_ranks_are_told_by_the_numbers(
    tmp_path: Path, redop: str, root: int, shares: int, factor: float, expected: Any
) -> None:
    size = 1 << 30
    row = row_of(size, size // 4 // shares, redop, root, 5000.0, factor)
    read = of(tmp_path, HEADER + row)
    assert read.values("op", "nranks")[0] == expected
    assert read.rows[0]["is_consistent"] is True


def test_rows_without_any_header(tmp_path: Path) -> None:
    read = of(tmp_path, ROWS)
    assert read.values(*NUMBERS) == EXPECTED
    assert read.values("op", "wrong_count")[0] == ("all_reduce", 0)
    assert read.facts.status == "incomplete"


def test_milliseconds_without_any_header(tmp_path: Path) -> None:
    rows = (
        "       10000         10000    char     sum    0.009   0.00   0.00    0e+00"
        "    0.009   0.00   0.00    0e+00\n"
        "    10000000      10000000    char     sum    1.628   6.14   9.21    0e+00"
        "    1.932   5.18   7.77    0e+00\n"
    )
    read = of(tmp_path, rows)
    assert read.values("time_ns", "nranks") == [(1628000, 4), (1932000, 4)]
    assert [issue.partition(":")[0] for issue in read.issues] == ["a row without its header"]


def test_groups_of_ranks_that_measure_side_by_side(tmp_path: Path) -> None:
    ranks = "".join(
        f"#  Rank {r:2} Group {r % 2:2} Pid   700{r} on     node-{r // 2} device {r % 2:2}"
        " [0000:07:00] NVIDIA H100\n"
        for r in range(4)
    )
    preamble = re.sub(r"(?:#  Rank.*\n)+", ranks, PREAMBLE)
    read = of(tmp_path, preamble + HEADER + ROWS + FOOTER)
    assert read.values("nranks", "nnodes", "gpus")[0] == (2, 2, 2)
    assert read.tests[0]["communicator_count"] == 2


def test_two_ranks_on_one_gpu(tmp_path: Path) -> None:
    read = of(tmp_path, LOG.replace("node-b", "node-a"))
    assert read.values("nranks", "nnodes", "gpus")[0] == (2, 1, 1)


def test_a_cut_list_of_ranks_says_nothing(tmp_path: Path) -> None:
    cut = LOG.replace(" device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n#\n", " dev...\n#\n")
    read = of(tmp_path, cut)
    assert (read.rows[0]["nnodes"], read.rows[0]["gpus"]) == (None, None)
    assert (read.rows[0]["nranks"], read.tests[0]["nranks_source"]) == (2, "numbers")


def test_a_shortened_list_of_ranks_is_overruled(tmp_path: Path) -> None:
    shortened = re.sub(r"#  Rank  1.*\n", "", LOG)
    read = of(tmp_path, shortened)
    assert read.values("nranks", "nnodes", "is_consistent")[0] == (2, None, True)
    assert read.issues == ["ranks listed: 1; but busbw / algbw is that of 2"]


def test_a_ratio_that_no_count_of_ranks_gives(tmp_path: Path) -> None:
    # In a published table of an all_reduce on 72 GPUs.
    row = "17179869184 4294967296 float sum -1 18285.2 939.55 937.00 0 18285.2 939.55 937.00 0\n"
    read = of(tmp_path, HEADER + row)
    assert read.values("op", "nranks", "is_consistent")[0] == ("all_reduce", None, False)
    assert read.issues == ["busbw / algbw is 0.9973, which all_reduce has with no count of ranks"]


def test_rows_that_contradict_themselves_are_kept_and_told(tmp_path: Path) -> None:
    doctored = LOG.replace("40.00   40.00", "40.00   39.00").replace(
        "20.97   20.97", "24.97   24.97"
    )
    read = of(tmp_path, doctored)
    assert [row["is_consistent"] for row in read.rows] == [True, False, False, True]
    assert read.issues == [
        "algbw is not size / time: 24.97 GB/s instead of 20.97",
        "busbw / algbw is 0.975, not 1 as in all_reduce of 2 ranks",
    ]
    places = [(issue.place, issue.row_count) for issue in read.recording.issues]
    assert places == [("line 12", 1), ("line 13", 1)]


# -- sweeps, tests and jobs ----------------------------------------------------------------


def test_a_sweep_is_one_pass_over_the_sizes(tmp_path: Path) -> None:
    twice = ROWS + ROWS + ROWS.replace("sum", "max") + ROWS.replace("  float", " double")
    read = of(tmp_path, PREAMBLE + HEADER + twice + FOOTER)
    assert [row["sweep"] for row in read.rows[::2]] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_repeated_sizes_of_zero_are_one_sweep(tmp_path: Path) -> None:
    zero = "           0             0     float     sum      -1     1.63    0.00    0.00       0"
    zero += "     1.38    0.00    0.00       0\n"
    read = of(tmp_path, PREAMBLE + HEADER + zero + zero + ROWS + zero + zero + ROWS + FOOTER)
    assert [row["sweep"] for row in read.rows[::2]] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_cycles_of_one_size(tmp_path: Path) -> None:
    one = ROWS.splitlines(keepends=True)[0]
    preamble = PREAMBLE.replace("minBytes 8 maxBytes 64", "minBytes 1048576 maxBytes 1048576")
    read = of(tmp_path, preamble + HEADER + one + one + "# Testing 3 cycle.\n" + one + FOOTER)
    assert [row["sweep"] for row in read.rows[::2]] == [0, 1, 2]


def test_several_tests_in_one_file(tmp_path: Path) -> None:
    other = LOG.replace("all_reduce", "sendrecv").replace("sum", "none")
    read = of(tmp_path, LOG + "\n=== next ===\n" + other + HEADER + ROWS + FOOTER)
    assert [(t["op"], t["row_count"]) for t in read.tests] == [
        ("all_reduce", 4),
        ("sendrecv", 4),
        ("all_reduce", 4),
    ]
    assert [t["nranks_source"] for t in read.tests] == ["printed", "printed", "numbers"]


def test_processes_that_do_not_know_of_each_other(tmp_path: Path) -> None:
    # Built without MPI and started by mpirun: each calls itself rank 0.
    rank = "#  Rank  0 Group  0 Pid   {} on     node-a device  0 [0000:07:00] NVIDIA H100\n"
    start = re.sub(r"(?:#  Rank.*\n)+#\n", "", PREAMBLE)
    rows = ROWS.replace("20.00   20.00", "20.00    0.00").replace("40.00   40.00", "40.00    0.00")
    rows = rows.replace("20.97   20.97", "20.97    0.00").replace("41.94   41.94", "41.94    0.00")
    first, second = rows.splitlines(keepends=True)
    text = start + start + rank.format(1) + rank.format(2) + HEADER + HEADER
    read = of(tmp_path, text + first * 2 + second * 2 + FOOTER + FOOTER)
    (test,) = read.tests
    assert (test["is_interleaved"], test["nranks"], test["nnodes"]) == (True, 1, 1)
    assert (test["row_count"], test["status"], test["printed_average"]) == (8, "complete", None)
    assert [row["sweep"] for row in read.rows[::2]] == [0, 1, 0, 1]
    assert {row["is_consistent"] for row in read.rows} == {True}
    assert read.issues[0].startswith("2 processes that do not know of each other")


def test_processes_told_apart_by_their_prefix(tmp_path: Path) -> None:
    rank = "#  Rank  0 Group  0 Pid   1 on     node-a device  0 [0000:07:00] NVIDIA H100\n#\n"
    alone = re.sub(r"(?:#  Rank.*\n)+#\n", rank, LOG)
    alone = re.sub(r"(\d\d\.\d\d)   \d\d\.\d\d       0", r"\1    0.00       0", alone)
    own = alone.splitlines()
    mixed = "".join(f"[1,{task}]<stdout>:{line}\n" for line in own for task in (0, 1))
    read = of(tmp_path, mixed)
    assert [(t["nranks"], t["row_count"], t["status"]) for t in read.tests] == [
        (1, 4, "complete"),
        (1, 4, "complete"),
    ]
    assert {row["is_consistent"] for row in read.rows} == {True}
    assert any("2 tests of a single rank ran side by side" in issue for issue in read.issues)


# -- ends ----------------------------------------------------------------------------------


def test_a_test_that_died_keeps_its_rows(tmp_path: Path) -> None:
    died = (
        "node-b: Test NCCL failure /home/someone/nccl-tests/src/common.cu:1204"
        " 'remote process exited / secret path'\n"
        " .. node-b pid 4: Test failure common.cu:915\n"
        "  Exit code:    3\n"
    )
    read = of(tmp_path, PREAMBLE + HEADER + ROWS + died)
    (test,) = read.tests
    assert read.values(*NUMBERS) == EXPECTED
    assert (test["status"], test["failure_count"]) == ("incomplete", 3)
    assert test["status_reason"] == "NCCL failure common.cu:1204: remote process exited"
    assert read.facts.status == "incomplete"
    assert read.facts.status_reason == f"all_reduce_perf at line 1: {test['status_reason']}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a: Test CUDA failure common.cu:891 'out of memory'",
         "CUDA failure common.cu:891: out of memory"),
        ("a: Test timeout (60s) common.cu:500", "timeout after 60 s at common.cu:500"),
        ("NCCL failure common.cu:908 'unhandled cuda error'",
         "NCCL failure common.cu:908: unhandled cuda error"),
        ("mpirun noticed that process rank 3 with PID 0 on node n exited on signal 9 (Killed).",
         "a process exited on signal 9"),
        ("srun: error: node-a: task 0: Segmentation fault", "segmentation fault"),
        ("slurmstepd: error: *** STEP 12.0 ON n CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME"
         " LIMIT ***", "cancelled due to time limit"),
        ("a: all is well", None),
    ],
)  # fmt: skip
def test_deaths(line: str, expected: str | None) -> None:
    assert failure(line) == expected


def test_a_failure_alone_is_a_test_that_died(tmp_path: Path) -> None:
    read = of(tmp_path, " .. HCA-63 pid 1883216: Test failure common.cu:915\n")
    (test,) = read.tests
    assert (test["op"], test["status"], test["row_count"]) == (None, "incomplete", 0)
    assert read.refusal is None


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_cut_row_is_left_out(tmp_path: Path, cut: int) -> None:
    read = of(tmp_path, PREAMBLE + HEADER + ROWS.rstrip()[:-cut])
    assert read.values(*NUMBERS) == EXPECTED[:2]
    assert len(read.issues) == 1
    assert read.tests[0]["status"] == "incomplete"


def test_a_cut_count_of_wrong_elements_is_not_trusted(tmp_path: Path) -> None:
    whole = PREAMBLE + HEADER + ROWS.rstrip()
    assert of(tmp_path, whole).values(*NUMBERS) == EXPECTED
    assert of(tmp_path, whole[:-1] + "1").values(*NUMBERS) == EXPECTED[:2]
    assert of(tmp_path, whole[:-1] + "1\n").rows[-1]["wrong_count"] == 1


def test_elided_rows_are_told(tmp_path: Path) -> None:
    first, second = ROWS.splitlines()
    read = of(tmp_path, PREAMBLE + HEADER + f"{first}\n   ...\n{second}\n" + FOOTER)
    assert read.values(*NUMBERS) == EXPECTED
    assert (read.tests[0]["status"], read.facts.status) == ("complete", "incomplete")


def test_a_verdict_on_the_average(tmp_path: Path) -> None:
    (test,) = of(tmp_path, LOG.replace("30.7275", "30.7275 FAILED")).tests
    assert (test["is_average_ok"], test["printed_average"]) == (False, "30.7275")


def test_a_column_that_nobody_published_is_passed_over(tmp_path: Path) -> None:
    more = re.sub(r"(\d\d\.\d\d   \d\d\.\d\d)       0", r"\1   3.25       0", ROWS)
    header = HEADER.replace("busbw  #wrong", "busbw  sideBw  #wrong")
    read = of(tmp_path, PREAMBLE + header + more + FOOTER)
    assert read.values(*NUMBERS) == EXPECTED
    assert read.issues == ["column sideBw is not stored"]


def test_rows_under_a_header_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    read = of(tmp_path, LOG.replace("redop    root", "redop    node"))
    assert isinstance(read.refusal, Refused)
    assert read.recording.issues[-1].row_count == 2


@pytest.mark.parametrize(
    ("cell", "other"),
    [
        ("     0    50.00", "1e+999    50.00"),
        ("  20.00   20.00", "  20.00 9e+999"),
        ("      262144  ", "9999999999999999  "),
        (" 52.43", "9" * 30),
    ],
)
def test_numbers_beyond_any_bound(tmp_path: Path, cell: str, other: str) -> None:
    assert cell in ROWS
    read = of(tmp_path, LOG.replace(cell, other, 1))
    assert read.values(*NUMBERS)[-2:] == EXPECTED[2:]
    assert len(read.issues) == 1


def test_versions() -> None:
    assert [version_of(code) for code in ("22907", "2708", "2400", None)] == [
        "2.29.7", "2.7.8", "2.4.0", None,
    ]  # fmt: skip


def test_other_texts_are_not_taken() -> None:
    for text in (
        "size count type of the array\n",
        "rank 0: 1048576 262144 float sum\n",
        "iteration 100/ 5000 | elapsed time per iteration (ms): 13.1 |\n",
        "node:1:1 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n",
    ):
        assert not nccl_tests.recognise(Head(text.encode()))


def test_through_ingest(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "all_reduce.log").write_text(LOG)
    store = Store.create(tmp_path / "store")
    (outcome,) = ingest([tmp_path / "job"], store, jobs=1).outcomes
    assert (outcome.kind, outcome.row_count) == ("stored", 4 + 1 + 2)
    sql = "SELECT max(busbw_bytes_per_s), any_value(op) FROM collective_benchmark"
    assert store.connect(asked=["collective_benchmark"]).execute(sql).fetchall() == [
        (41.94e9, "all_reduce")
    ]


# -- damage --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damage_never_makes_values_up(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "job.log"
    lines = prefixed(data.draw(st.sampled_from(["", "0: ", "[1,0]<stdout>:"]))).splitlines()
    kind = data.draw(st.sampled_from(["cut", "shuffle", "drop"]))
    if kind == "shuffle":
        lines = data.draw(st.permutations(lines))
    elif kind == "drop":
        kept = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
        lines = [line for line, keep in zip(lines, kept, strict=True) if keep]
    text = "\n".join(lines) + "\n"
    if kind == "cut":
        text = text[: data.draw(st.integers(0, len(text)))]
    path.write_text(text)
    assert set(Read(path).values(*NUMBERS)) <= set(EXPECTED)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_bytes_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "job.log"
    raw = bytearray(LOG.encode())
    for _ in range(data.draw(st.integers(1, 40))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    Read(path)


# -- published logs ------------------------------------------------------------------------

real = pytest.mark.skipif(not REAL, reason="the published logs are not there")


def plain_rows(path: Path) -> Iterator[tuple[int, bool, float, float, float]]:
    """Rows by another way: the last eight cells of lines with a type in the third."""
    scale = 1e6 if "_ms_" in path.name else 1e3
    for line in path.read_text().splitlines():
        cells = re.sub(r"^(?:\[1,\d\]<\w+>:|0: |#)", "", line).split()
        if len(cells) < 11 or cells[2] not in ("float", "char", "int"):
            continue
        if "nccl1" in path.name and len(cells) < 12:
            continue  # its last line is cut
        for is_in_place, half in ((False, cells[-8:-4]), (True, cells[-4:])):
            time, algbw, busbw = (float(cell) for cell in half[:3])
            yield int(cells[0]), is_in_place, time * scale, algbw * 1e9, busbw * 1e9


@real
@pytest.mark.real_traces
@pytest.mark.parametrize(
    "path", [p for p in REAL if not p.name.startswith("bs_")], ids=lambda path: path.name
)
def test_published_logs_row_by_row(path: Path) -> None:
    read = Read(path)
    expected = list(plain_rows(path))
    found = read.values(*NUMBERS)
    if "allgather_old" in path.name:  # algbw in another convention
        found = [(*row[:3], row[4], row[4]) for row in found]
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours[2:] == pytest.approx(theirs[2:], rel=1e-12, abs=0)
    assert {row["is_consistent"] for row in read.rows} <= {True}


# Name: collective, ranks, hosts, GPUs, rows, whether the log is whole.
KNOWN = {
    "allgather-default-vs-simple_1.txt": ("all_gather", 2, 1, 1, 48, True),
    "aws_2xp4de_allreduce_srun_label.txt": ("all_reduce", 16, None, None, 58, False),
    "aws_batch_p5_allreduce_tag_output.txt": ("all_reduce", 8, None, None, 64, True),
    "aws_p5en_allreduce_elided_rows.txt": ("all_reduce", 128, None, None, 6, False),
    "fs_nccl1_readme_ms_format.txt": ("all_reduce", 4, 1, 4, 10, False),
    "fs_nccltests_24_ms_cminus0_mpirun.txt": ("all_reduce", 2, 1, 2, 10, False),
    "fs_rccl_tests_mi300_header.txt": ("all_reduce", 8, 1, 8, 0, False),
    "gcm_a100_2node_allreduce.txt": ("all_reduce", 16, 2, 16, 12, True),
    "iss_coreweave43_gb200_nvl72.txt": ("all_reduce", 72, None, None, 10, True),
    "iss_nccltests107_mpi_missing_two_rank0.txt": ("all_reduce", 1, 1, 1, 0, False),
    "iss_nccltests287_single_rank_5090_alltoall.txt": (None, 1, 1, 1, 2, True),
    "iss_nccltests322_crash_many_hosts.txt": (None, None, None, None, 0, False),
    "iss_nccltests37_allgather_old_error_1e00.txt": ("all_gather", 8, None, None, 2, True),
    "p2-shm-transport-experiment_1.txt": ("all_reduce", 2, 1, 1, 50, True),
    "p3-broadcast-proto-sweep_2.txt": ("broadcast", 2, 1, 1, 26, True),
    "sb_a100_allgather.log": ("all_gather", 8, 1, 8, 68, True),
    "sb_a100_alltoall.log": ("alltoall", 8, 1, 8, 68, True),
    "sb_a100_reduce.log": ("reduce", 8, 1, 8, 68, True),
    "socket-thread-validation_2.txt": ("all_reduce", 2, 1, 1, 16, True),
}


@real
@pytest.mark.real_traces
@pytest.mark.parametrize("name", KNOWN)
def test_published_logs_as_known(name: str) -> None:
    read = Read(TRACES / name)
    test = read.tests[0]
    is_whole = read.facts.status == "complete"
    found = (test["op"], test["nranks"], test["nnodes"], test["gpus"], len(read.rows), is_whole)
    assert found == KNOWN[name]


@pytest.mark.parametrize(
    ("row", "quote"),
    [
        ("           8             2     float     sum      -1    xx.xx    0.00", "8 2 float sum"),
        ("           8             2", "8 2"),
        ("          16", "16"),
        ("          16             4     fl", "16 4"),
        ("          8z             2     float     sum      -1  " + "1.00  " * 3 + "0  " * 5, "8z"),
        ("   0.00    0.00       0    24.31    0.00    0.00       0", "0.00 0.00 0 24.31"),
    ],
)
def test_every_piece_of_a_row_in_a_table_is_told(tmp_path: Path, row: str, quote: str) -> None:
    read = of(tmp_path, PREAMBLE + HEADER + ROWS.splitlines()[0] + f"\n{row}\n" + FOOTER)
    assert len(read.rows) == 2  # both placements of the whole row
    assert read.issues[0].partition(": '")[2].startswith(quote)

    alone = of(tmp_path, HEADER + f"{row}\n" * 3)
    assert alone.rows == []
    assert alone.refusal
    assert f"; line 4: {read.issues[0].partition(': ')[0]}: '{quote}" in alone.refusal.problem


def test_a_row_without_a_header_and_with_a_broken_cell_is_refused_by_its_line(
    tmp_path: Path,
) -> None:
    read = of(tmp_path, f"my notes\n{ROWS.splitlines()[0].replace('52.43', 'xx.xx')}\n")
    assert read.refusal
    assert "line 2: a row without its header: '1048576 262144" in read.refusal.problem


@pytest.mark.parametrize(
    "line",
    [
        " iteration   5/ 100 | consumed samples:  10 | elapsed time per iteration (ms): 2.0 |",
        "GPU 0     98.112    0.998    0.412",
        "    0    70    35     -    12    98     0     0  1593  1980",
        " 65536      5000             92.80              92.75              0.176908",
        " 0    276.07    276.36",
        "2026-01-01 00:00:01 17",
        "17",
        "step 3 of 12",
    ],
)
def test_other_formats_lines_in_a_table_are_no_rows_of_it(tmp_path: Path, line: str) -> None:
    read = of(tmp_path, PREAMBLE + HEADER + ROWS.splitlines()[0] + f"\n{line}\n" + FOOTER)
    assert read.issues == []


def test_the_last_word_of_a_preamble_that_breaks_off_is_not_kept(tmp_path: Path) -> None:
    cut = of(tmp_path, PREAMBLE[: PREAMBLE.index("A H100 80GB HBM3\n#  Rank  1")])
    assert [device["name"] for device in cut.devices] == [None]
    cut = of(tmp_path, PREAMBLE[: PREAMBLE.index("0 agg iters")])  # iters: 2 of 20
    assert [(run["max_bytes"], run["iteration_count"]) for run in cut.tests] == [(64, None)]


def test_rows_of_dmon_between_are_none_of_the_table(tmp_path: Path) -> None:
    dmon = "    0    108     52      -     10      2     67      0      0      0   9001   2520\n"
    first, second = ROWS.splitlines(keepends=True)
    log = of(tmp_path, PREAMBLE + HEADER + first + dmon + second + FOOTER)
    assert len(log.rows) == 4 and log.issues == []
