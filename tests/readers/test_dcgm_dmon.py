"""dcgmi dmon: text of every generation in, samples out."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import READERS, dcgm_dmon
from pipeline.readers.dcgm_dmon_clock import Clock
from pipeline.readers.dcgm_dmon_rows import Decoder
from pipeline.readers.record import NO_HINTS, Head, Hints, Recording
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "dcgm"
real = [
    pytest.mark.real_traces,
    pytest.mark.skipif(not TRACES.exists(), reason="the published logs are not there"),
]

HEADER = "#Entity   POWER             GPUTL             TMPTR        \nID        W          C\n"
ROW = "GPU {}     {:<18}{:<18}{:<13}\n"


def read(
    path: Path, text: str | bytes, name: str = "dmon.txt", hints: Hints = NO_HINTS
) -> tuple[list[dict[str, Any]], Recording]:
    file = path / "log"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    recording = dcgm_dmon.read(file, name, 1, hints)
    rows = [row for part in recording.parts for b in part.batches() for row in b.to_pylist()]
    return rows, recording


def short(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["tick"], row["gpu_id"], row["metric"], row["value"]) for row in rows]


def problems(recording: Recording) -> list[str]:
    return [f"{i.place}: {i.problem}" for i in recording.issues if i.severity != "note"]


# -- layouts -------------------------------------------------------------------------------


def test_2_3_to_3_3(tmp_path: Path) -> None:
    text = HEADER + ROW.format(0, "185.300", 75, 68) + ROW.format(1, "N/A", 0, 40)
    rows, recording = read(tmp_path, text)
    assert short(rows) == [
        (0, "gpu:0", "power_w", 185.3),
        (0, "gpu:0", "gpu_util_share", 0.75),
        (0, "gpu:1", "gpu_util_share", 0.0),
        (0, "gpu:0", "temperature_celsius", 68.0),
        (0, "gpu:1", "temperature_celsius", 40.0),
    ]
    assert rows[0]["ts_ns"] is None and rows[0]["device_id"] == 0 and rows[0]["entity"] == "gpu"
    assert recording.facts.tool_version == "2.3 to 3.3.9" and problems(recording) == []


def test_before_4_0_a_row_with_a_cell_too_few_cannot_be_told(tmp_path: Path) -> None:
    moved = "GPU 0     75                68                \n"
    rows, recording = read(tmp_path, HEADER + moved + ROW.format(0, "9.000", 1, 2))
    assert [value for *_, value in short(rows)] == [9.0, 0.01, 2.0]
    assert problems(recording) == [
        "line 3: fewer cells than columns: before DCGM 4.0 a value without data is left out and"
        " those after it move up: 'GPU 0 75 68'"
    ]


@pytest.mark.parametrize(("width", "version"), [(11, "4.0 to 4.4.2"), (16, "4.5 or later")])
def test_since_4_0_a_cell_without_data_stays_blank(
    tmp_path: Path, width: int, version: str
) -> None:
    text = f"{'#Entity':{width}}POWER             GPUTL             TMPTR\nID\n"
    text += f"{'GPU 0':{width}}185.300                             68\n"
    rows, recording = read(tmp_path, text)
    assert short(rows) == [
        (0, "gpu:0", "power_w", 185.3),
        (0, "gpu:0", "temperature_celsius", 68.0),
    ]
    assert recording.facts.tool_version == version


def test_2_1_aligns_to_the_right_and_pushes_wide_values_out(tmp_path: Path) -> None:
    text = (
        "\n#  Entity   POWER  NVLTX\n"
        "       Id       W       \n"
        "    GPU 0   61.500  12\n"
        "    GPU 1   61.250 123456789012\n"
    )
    rows, _ = read(tmp_path, text)
    assert [value for *_, value in short(rows)] == [61.5, 61.25, 12.0, 123456789012.0]


def test_1_x_glues_cells_and_names_gpus_by_number(tmp_path: Path) -> None:
    text = "dcgmi dmon -e 156,203\n0           N/A42\n1          200077\n2        7000     9\n"
    rows, recording = read(tmp_path, text)
    assert short(rows) == [
        (0, "gpu:2", "energy_j", 7.0),
        (0, "gpu:0", "gpu_util_share", 0.42),
        (0, "gpu:2", "gpu_util_share", 0.09),
    ]
    assert len(problems(recording)) == 1 and "1 200077" in problems(recording)[0]


def test_numbers_after_a_command_that_are_no_rows_of_it(tmp_path: Path) -> None:
    text = "dcgmi dmon -e 203\nGPU 0     5\nsteps done so far\n3 17\n"
    rows, _ = read(tmp_path, text)
    assert short(rows) == [(0, "gpu:0", "gpu_util_share", 0.05)]


def test_rows_pasted_without_a_header_have_the_columns_of_the_command(tmp_path: Path) -> None:
    text = (
        "> dcgmi dmon \\\n  -e 1011,1012 \\\n  -d 500\n"
        "GPU 6     38735656050(36.07GB/s)      3715470394\n"
        "GPU 5     12      069653476\n"
    )
    rows, recording = read(tmp_path, text)
    assert [(row["ts_ns"], row["metric"], row["value"]) for row in rows] == [
        (0, "nvlink_tx_bytes_per_s", 38735656050.0),
        (0, "nvlink_tx_bytes_per_s", 12.0),
        (0, "nvlink_rx_bytes_per_s", 3715470394.0),
    ]
    assert problems(recording) == ["line 5: 1012: not a number: '069653476'"]  # digits went missing


def test_cells_whose_blanks_were_lost_are_told_by_their_number(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, HEADER + "GPU 0 185.300 75 68\nGPU 1 75 68\n")
    assert [value for *_, value in short(rows)] == [185.3, 0.75, 68.0]
    assert len(problems(recording)) == 1


def test_text_and_cut_cells_are_no_numbers(tmp_path: Path) -> None:
    text = "#Entity         DVNAM                       TOTEC             POWER\n"
    text += "GPU 0           NVIDIA H800                 12345678901...    70.000\n" * 40
    rows, recording = read(tmp_path, text)
    assert {(row["metric"], row["value"]) for row in rows} == {("power_w", 70.0)}
    assert problems(recording) == [
        "line 2: DVNAM: not a number: 'NVIDIA H800'",
        "line 2: TOTEC: cut short by the width of its column: '12345678901...'",
    ]


def test_cells_that_all_are_no_numbers_are_refused_and_absent_ones_are_not(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, HEADER + ROW.format(0, "x.5", "?", "7q") * 40)
    assert rows == [] and recording.refusal
    assert "line 3: POWER: not a number: 'x.5'" in recording.refusal.problem
    rows, recording = read(tmp_path, HEADER + ROW.format(0, "N/A", "N/A", "N/A") * 40)
    assert (rows, recording.refusal) == ([], None)


def test_a_cell_that_runs_into_the_next_is_called_so(tmp_path: Path) -> None:
    wide = "GPU 0     185.3000000000000075                68           \n"
    rows, recording = read(tmp_path, HEADER + wide + ROW.format(1, "5.000", 1, 2))
    assert {row["gpu_id"] for row in rows} == {"gpu:1"}
    (problem,) = problems(recording)
    assert problem.startswith("line 3: a cell runs into the next")


@pytest.mark.parametrize("count", [2, 40])  # one by one, and many at once
def test_every_line_within_the_table_is_kept_or_told(tmp_path: Path, count: int) -> None:
    row = ROW.format(0, "5.000", 1, 2)
    damaged = "GPU x     5.000             1                 2            \n"
    lost = "          5.000             1                 2            \n"
    text = HEADER + row * count + "\0\0 502 Bad\nretry\n" + damaged + lost + row + HEADER + "bye\n"
    rows, recording = read(tmp_path, text)
    assert len(rows) == 3 * (count + 1)
    found = [(i.place, i.row_count) for i in recording.issues if i.severity == "warning"]
    assert found == [(f"line {3 + count}", 2), (f"line {5 + count}", 2)]


def test_the_table_ends_where_another_format_begins(tmp_path: Path) -> None:
    row = ROW.format(0, "5.000", 1, 2)
    others = (
        "# gpu    pwr\n# Idx      W\n    0     12\n",
        "timestamp, index, power.draw [W]\n2026/07/14 08:12:53.353, 0, 12.5 W\n",
        "#  size count type\n  8 2 float sum -1 5.1 0.0\n",
        "GPU 0: NVIDIA H200 (UUID: GPU-1f)\n\t Link 0: 26.562 GB/s\n",
        " iteration 1/ 100 | elapsed time per iteration (ms): 12.5 |\n",
    )
    for other in others:
        # In the background of another program the table goes on between its lines.
        rows, recording = read(tmp_path, HEADER + row + other + row)
        assert (len(rows), problems(recording)) == (6, []), other


def test_rows_of_switches_alone_are_refused(tmp_path: Path) -> None:
    _, recording = read(
        tmp_path, HEADER + "Switch 0  5.000             1                 2       \n"
    )
    assert recording.refusal and "all are of: Switch" in recording.refusal.problem


@pytest.mark.parametrize(
    ("prefixes", "hosts"),
    [
        (("0: ", "1: "), ("task0", "task1")),
        (("node-1: ", "node-2: "), ("node-1", "node-2")),
        (("alpha: ", "beta: "), ("alpha", "beta")),
        (("[pod/job-0/main] ", "[pod/job-1/main] "), ("job-0", "job-1")),
        (("worker-0  | ", "worker-1  | "), ("worker-0", "worker-1")),
    ],
)
def test_tasks_of_a_launcher_are_hosts_of_their_own(
    tmp_path: Path, prefixes: tuple[str, str], hosts: tuple[str, str]
) -> None:
    lines = (HEADER + ROW.format(0, "5.000", 1, 2) + ROW.format(0, "6.000", 1, 2)).splitlines()
    text = "".join(f"{prefix}{line}\n" for line in lines for prefix in prefixes) + "0: junk\n"
    assert dcgm_dmon.recognise(Head(text.encode()))
    rows, recording = read(tmp_path, text)
    power = [(r["host"], r["gpu_id"], r["tick"], r["value"]) for r in rows if r["value"] >= 5]
    assert power == [(host, "gpu:0", tick, 5.0 + tick) for host in hosts for tick in (0, 1)]
    assert problems(recording) == []


def test_a_command_and_rows_behind_a_prefix_are_recognised(tmp_path: Path) -> None:
    text = "node-1: $ dcgmi dmon -e 155,203\nnode-1: GPU 0     5.000             1\n"
    assert dcgm_dmon.recognise(Head(text.encode()))
    rows, _ = read(tmp_path, text)
    assert [(r["host"], r["metric"], r["value"]) for r in rows] == [
        ("node-1", "power_w", 5.0), ("node-1", "gpu_util_share", 0.01),
    ]  # fmt: skip


def test_pssh_says_whose_lines_follow(tmp_path: Path) -> None:
    text = "".join(
        f"[{number}] 10:11:1{number} [SUCCESS] node{number}\n{HEADER}{ROW.format(0, '5.000', 1, 2)}"
        for number in (1, 2)
    )
    rows, recording = read(tmp_path, text)
    assert [(r["host"], r["tick"]) for r in rows if r["value"] == 5] == [("node1", 0), ("node2", 0)]
    assert problems(recording) == []


def test_times_between_a_launchers_prefix_and_the_row_are_the_clock(tmp_path: Path) -> None:
    lines = (HEADER + ROW.format(0, "5.000", 1, 2) + ROW.format(0, "6.000", 1, 2)).splitlines()
    text = "".join(f"[pod/a-0/m] 2026-01-02T03:04:0{at}Z {line}\n" for at, line in enumerate(lines))
    rows, _ = read(tmp_path, text)
    assert [(r["host"], r["ts_ns"]) for r in rows if r["value"] >= 5] == [
        ("a-0", 0),
        ("a-0", 10**9),
    ]


@pytest.mark.parametrize("stamp", ["2026-01-02 03:{:02}:00 ", ""])
def test_a_header_above_every_few_rows_changes_nothing(tmp_path: Path, stamp: str) -> None:
    pairs = [ROW.format(0, f"{n}.000", 1, 2) + ROW.format(1, "1.000", 1, 2) for n in range(60)]

    def log(headers: int) -> str:
        above = [HEADER if number < headers else "" for number in range(60)]
        return "".join(
            f"{stamp.format(number)}{line}\n"
            for number in range(60)
            for line in (above[number] + pairs[number]).splitlines()
        )

    often, once = log(60), log(1)
    rows, recording = read(tmp_path, often)
    assert rows == read(tmp_path, once)[0] and len(rows) == 360
    assert problems(recording) == []


def test_a_field_that_is_not_known_keeps_its_name(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, "#Entity    VMUSG\nGPU 0      7\n")
    assert short(rows) == [(0, "gpu:0", "dcgm_vmusg", 7.0)]
    assert "stored as dcgm_vmusg, its unit is not known" in str(recording.issues)


def test_zeros_that_may_mean_no_data(tmp_path: Path) -> None:
    _, recording = read(tmp_path, "#Entity    XIDER        CLKPCNS\nGPU 0      0            5\n")
    (issue,) = [issue for issue in recording.issues if "4.5.3" in issue.problem]
    assert issue.row_count == 1


# -- entities ------------------------------------------------------------------------------


def test_parts_of_gpus_and_what_is_none(tmp_path: Path) -> None:
    text = f"{'#Entity':16}SMACT        NFEL3\n"
    for entity in ("GPU 0", "GPU-I 7", "GPU-CI 9", "LINK 4", "GPU 2 LINK 17", "Switch 1", "CPU 0"):
        text += f"{entity:16}0.500        3\n"
    rows, recording = read(tmp_path, text)
    assert [(row["gpu_id"], row["device_id"], row["entity"], row["entity_id"]) for row in rows] == [
        ("gpu:0", 0, "gpu", None),
        ("gpu:unknown", None, "gpu_instance", "7"),
        ("gpu:unknown", None, "compute_instance", "9"),
        ("gpu:unknown", None, "link", "4"),
        ("gpu:2", 2, "link", "17"),
        ("gpu:0", 0, "link", "3"),  # the column of one link
    ]
    notes = [issue.problem for issue in recording.issues]
    assert "rows of Switch are no GPU's, not stored" in notes
    assert "rows of CPU are no GPU's, not stored" in notes


@pytest.mark.parametrize("count", [2, 40])
def test_mig_instances_are_part_of_the_gpu_above_them(tmp_path: Path, count: int) -> None:
    text = f"{'#Entity':16}SMACT        \n"
    entities = ("GPU 0", "GPU-I 1", "GPU-CI 1", "GPU 1", "GPU-I 9", "GPU-I 30")
    text += "".join(f"{entity:16}0.500        \n" for entity in entities) * count
    rows, _ = read(tmp_path, text)
    found = [(row["gpu_id"], row["device_id"], row["entity"], row["entity_id"]) for row in rows]
    assert found[-6:] == [
        ("gpu:0", 0, "gpu", None),
        ("gpu:0", 0, "gpu_instance", "1"),
        ("gpu:0", 0, "compute_instance", "1"),
        ("gpu:1", 1, "gpu", None),
        ("gpu:1", 1, "gpu_instance", "9"),
        ("gpu:unknown", None, "gpu_instance", "30"),  # its number is not one of GPU 1
    ]
    assert [row["tick"] for row in rows] == [n // 6 for n in range(6 * count)]


# -- rounds and times ----------------------------------------------------------------------


def test_a_round_ends_where_an_entity_comes_again_or_a_header(tmp_path: Path) -> None:
    order = [3, 1, 3, 1, 1, 3]  # 3 is missing in the third round
    rows = "".join(ROW.format(gpu, "1.000", 1, 1) for gpu in order)
    found, _ = read(tmp_path, HEADER + rows + HEADER + ROW.format(1, "1.000", 1, 1))
    powers = [row for row in found if row["metric"] == "power_w"]
    assert [(row["device_id"], row["tick"]) for row in powers] == [
        *((3, 0), (1, 0), (3, 1), (1, 1), (1, 2), (3, 3), (1, 4)),
    ]


def test_an_interval_makes_times_of_rounds(tmp_path: Path) -> None:
    text = HEADER + ROW.format(0, "1.000", 1, 1) * 3
    rows, _ = read(tmp_path, text, hints=Hints("node-a", 2_000_000_000))
    assert [(row["tick"], row["ts_ns"]) for row in rows][:3] == [
        *((0, 0), (1, 2_000_000_000), (2, 4_000_000_000)),
    ]
    assert {row["host"] for row in rows} == {"node-a"}


def test_the_name_of_a_file_tells_interval_and_node(tmp_path: Path) -> None:
    text = HEADER + ROW.format(0, "1.000", 1, 1) * 2
    rows, recording = read(tmp_path, text, "logs/dcgm.d250.9911.3-12.out")
    assert rows[1]["ts_ns"] == 250_000_000 and rows[1]["host"] == "node12"
    assert recording.facts.capture_dur_ns == 250_000_000


@pytest.mark.parametrize(
    ("first", "second", "start", "distance"),
    [
        ("2026-03-01T10:00:00.5Z ", "2026-03-01T10:00:02Z ", "utc", 1_500_000_000),
        ("[2026-03-01 10:00:00+01:00] ", "[2026-03-01 10:00:01+01:00] ", "utc", 10**9),
        ("1772359200.25 ", "1772359201.50 ", "utc", 1_250_000_000),
        ("2026/03/01 10:00:00,125 ", "2026/03/01 10:00:01,125 ", "local", 10**9),
        ("Feb 28 23:59:59 ", "Mar 01 00:00:00 ", None, 86_401 * 10**9),
        ("23:59:59.5 ", "00:00:00.5 ", None, 10**9),
    ],
)
def test_stamps_before_the_lines(
    tmp_path: Path, first: str, second: str, start: str | None, distance: int
) -> None:
    lines = (HEADER + ROW.format(0, "1.000", 1, 1)).splitlines(keepends=True)
    text = "".join(first + line for line in lines) + second + ROW.format(0, "2.000", 1, 1)
    rows, recording = read(tmp_path, text)
    assert [(row["tick"], row["ts_ns"]) for row in rows[:2]] == [(None, 0), (None, distance)]
    facts = recording.facts
    assert (facts.capture_start_utc_ns is not None) == (start == "utc")
    assert (facts.capture_start_local_ns is not None) == (start == "local")


def test_without_any_time_there_is_none(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, HEADER + ROW.format(0, "1.000", 1, 1) * 2)
    assert {row["ts_ns"] for row in rows} == {None}
    assert recording.facts.capture_dur_ns is None
    assert "say --interval SECONDS to place them in time" in str(recording.issues)


def test_when_another_header_began_nobody_knows(tmp_path: Path) -> None:
    text = HEADER + ROW.format(0, "1.000", 1, 1) + "#Entity   GPUTL\nGPU 0     7\n"
    rows, _ = read(tmp_path, text, hints=Hints(sample_interval_ns=10**9))
    assert [(row["tick"], row["ts_ns"]) for row in rows][-1] == (1, None)


# -- damage --------------------------------------------------------------------------------


def test_a_last_line_without_an_end_may_be_cut(tmp_path: Path) -> None:
    whole = HEADER + ROW.format(0, "1.000", 1, 1)
    rows, recording = read(tmp_path, whole + "GPU 1     2.000             7                 6")
    assert {row["gpu_id"] for row in rows} == {"gpu:0"}
    assert "may be cut short" in problems(recording)[0]
    assert recording.facts.status == "incomplete"
    padded = ROW.format(1, "2.000", 7, 61).rstrip("\n")
    rows, _ = read(tmp_path, whole + padded)
    assert {row["gpu_id"] for row in rows} == {"gpu:0", "gpu:1"}


def test_dmon_says_when_it_was_stopped(tmp_path: Path) -> None:
    text = HEADER + ROW.format(0, "1.000", 1, 1)
    footer = "\n\ndmon was stopped due to receiving a signal\n"
    assert read(tmp_path, text + footer)[1].facts.status == "complete"
    assert read(tmp_path, text + footer + text)[1].facts.status == "unknown"


def test_a_header_without_rows_is_refused(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, HEADER)
    assert rows == [] and recording.refusal is not None


def test_rows_among_other_output_in_any_encoding(tmp_path: Path) -> None:
    text = "epoch 3\n" + HEADER + ROW.format(0, "1.000", 1, 1) + "loss 0.3\n"
    text += "\x1b[1m" + ROW.format(0, "2.000", 1, 1).rstrip() + "\x1b[0m\n"
    expected = read(tmp_path, text)[0]
    assert [row["value"] for row in expected][:2] == [1.0, 2.0]
    for data in (text.replace("\n", "\r\n").encode(), text.encode("utf-16")):
        assert read(tmp_path, data)[0] == expected


# -- recognition ---------------------------------------------------------------------------


def test_values_that_all_cannot_be_true_are_refused(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, "dcgmi dmon -e 203\nGPU 0     4294967295\nGPU 1     1980\n")
    assert rows == [] and recording.refusal
    assert recording.refusal.problem.endswith("203: gpu_util_share cannot be outside 0 to 1")


@pytest.mark.parametrize(
    ("text", "is_dmon"),
    [
        (HEADER, True),
        ("2026-03-01 10:00:00 #Entity   POWER\n", True),
        ("#  Entity  POWER\n", True),
        ("$ dcgmi dmon -e 203\nGPU 0     5\n", True),
        ("dcgmi dmon -e 156,200\n0      N/A12\n", True),
        ("$ dcgmi dmon -e 203 > log &\nstep 1\n", False),
        ("# gpu    pwr  gtemp\n# Idx      W      C\n    0    631     63\n", False),
        ("#Entity of interest\n", False),
        ("# POWER TO THE GPU\n", False),
        ("POWER\n", False),
    ],
)
def test_what_is_recognised(text: str, is_dmon: bool) -> None:
    assert dcgm_dmon.recognise(Head(text.encode())) is is_dmon


# -- many at once, and one by one ----------------------------------------------------------

CELL = st.one_of(
    st.sampled_from(["N/A", "", "0", "07", "-3", "1.5.2", "1.", ".5", "12x", "9" * 19, "1e3"]),
    st.integers(0, 10**16).map(str),
    st.floats(0, 1e6).map(lambda value: f"{value:.3f}"),
    st.text("0123456789.N/A -…é\t", max_size=19),
)
LINE = st.one_of(
    st.tuples(
        st.sampled_from(["GPU 0", "GPU 1", "GPU-I 3", "GPU 1 LINK 2", "CPU 0", "ID", "GPU x"]),
        st.lists(CELL, min_size=3, max_size=3),
    ),
    st.sampled_from(["header", "", "noise", "..."]),
)


@pytest.mark.parametrize("width", [10, 11, 16])
@pytest.mark.parametrize("stamp", ["", "2026-03-01 10:00:{:02}.250 "])
@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINE, max_size=30))
def test_many_lines_at_once_are_what_they_are_one_by_one(
    width: int, stamp: str, lines: list[Any]
) -> None:
    header = f"{'#Entity':{width}}POWER             GPUTL             TMPTR        "
    text = stamp.format(0) + header + "\n"
    regular = f"{'GPU 0':{width}}185.300           75                68           "
    for number, line in enumerate([*lines, *[regular] * 40]):
        if not isinstance(line, str):
            line = f"{line[0]:{width}}{line[1][0]:<18}{line[1][1]:<18}{line[1][2]:<13}"
        text += stamp.format(number % 60) + (header if line == "header" else line) + "\n"
    at_once, one_by_one = (decoded(text, is_many) for is_many in (True, False))
    assert at_once == one_by_one


def decoded(text: str, at_once: bool) -> Any:
    decoder = Decoder(None, Clock(), at_once)
    block = text.encode()
    rows = [row for batch in decoder.batches(1, block, False) for row in batch.to_pylist()]
    left_out = {key: count for key, count in decoder.left_out.items() if count}
    return rows, decoder.skipped.issues(), left_out, decoder.other_rows, decoder.clock.zero_ns


# -- damage of any kind --------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damage_never_adds_a_row(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    clean = HEADER + "".join(ROW.format(i % 2, f"{i}.500", i, i + 30) for i in range(12))
    text = bytearray(clean.encode())
    kind = data.draw(st.sampled_from(["cut", "flip", "shuffle"]))
    if kind == "cut":
        del text[data.draw(st.integers(0, len(text))) :]
    elif kind == "flip":
        for _ in range(data.draw(st.integers(1, 5))):
            text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    else:
        lines = data.draw(st.permutations(clean.splitlines(keepends=True)))
        text = bytearray("".join(lines).encode())
    path = tmp_path_factory.mktemp("damage")
    expected = {(r["metric"], r["value"], r["gpu_id"]) for r in read(path, clean)[0]}
    found = read(path, bytes(text))[0]
    if kind != "flip":
        assert {(r["metric"], r["value"], r["gpu_id"]) for r in found} <= expected
    with contextlib.suppress(StopIteration):
        assert all(row["value"] >= -250 for row in found)


# -- published logs ------------------------------------------------------------------------


class TestRealLogs:
    pytestmark = real

    def values(self, name: str) -> list[tuple[Any, ...]]:
        recording = dcgm_dmon.read(TRACES / name, name)
        rows = [row for part in recording.parts for b in part.batches() for row in b.to_pylist()]
        return short(rows)

    def test_a_group_of_two(self) -> None:
        assert self.values("dmon_h800_group18.txt") == [
            *[(2, f"gpu:{gpu}", "nvlink_tx_bytes_per_s", 0.0) for gpu in (7, 0)],
            (3, "gpu:7", "nvlink_tx_bytes_per_s", 0.0),
            *[(2, f"gpu:{gpu}", "nvlink_rx_bytes_per_s", 0.0) for gpu in (7, 0)],
            (3, "gpu:7", "nvlink_rx_bytes_per_s", 0.0),
            (2, "gpu:7", "pcie_tx_bytes_per_s", 499346.0),
            (2, "gpu:0", "pcie_tx_bytes_per_s", 498931.0),
            (3, "gpu:7", "pcie_tx_bytes_per_s", 499343.0),
            (2, "gpu:7", "pcie_rx_bytes_per_s", 3629.0),
            (2, "gpu:0", "pcie_rx_bytes_per_s", 2074.0),
            (3, "gpu:7", "pcie_rx_bytes_per_s", 3111.0),
        ]

    def test_gpus_in_descending_order(self) -> None:
        rows = self.values("dmon_h800_nvlink_desc_order.txt")
        text = (TRACES / "dmon_h800_nvlink_desc_order.txt").read_text()
        own = [line.split() for line in text.splitlines() if line.startswith("GPU")]
        assert len(own) == 24
        assert sorted(rows) == sorted(
            (number // 4, f"gpu:{gpu}", f"nvlink_{way}_bytes_per_s", float(value))
            for number, (_, gpu, sent, received) in enumerate(own)
            for way, value in (("tx", sent), ("rx", received))
        )

    def test_pasted_and_annotated(self) -> None:
        rows = self.values("dmon_h800_noheader_annotated.txt")
        assert len(rows) == 16 * 4 - 2  # an N/A, and a number that lost its first digit
        assert (0, "gpu:6", "nvlink_tx_bytes_per_s", 38735656050.0) in rows
        assert (1, "gpu:0", "pcie_rx_bytes_per_s", 1055934784.0) in rows
        assert not [row for row in rows if row[-1] == 69653476.0]

    def test_one_gpu_with_and_without_values(self) -> None:
        assert self.values("dmon_rtx2080ti_3.3.5_test_strings.txt") == [
            (0, "gpu:0", "gpu_util_share", 0.75),
            (0, "gpu:0", "memory_util_share", 0.42),
            (0, "gpu:0", "power_w", 185.3),
            (0, "gpu:0", "temperature_celsius", 68.0),
            (0, "gpu:0", "ecc_sbe_vol_count", 0.0),
            (0, "gpu:0", "ecc_dbe_vol_count", 0.0),
            (0, "gpu:0", "fb_used_bytes", 28456.0 * 2**20),
        ]

    def test_glued_values_of_1_4_are_none(self) -> None:
        # N/A for the energy, and a PCIe rate of 161 exabytes.
        assert self.values("iss_dcgm143_dmon_overflow.txt") == []

    def test_zeros_of_4_4_and_nothing_of_4_5(self) -> None:
        rows = self.values("iss_dcgmexporter700_dmon_441_vs_453.txt")
        assert len(rows) == 3 * 8 and {tick for tick, *_ in rows} == {0, 1, 2}
        assert {value for *_, value in rows} == {0.0}

    def test_no_other_published_file_is_taken_for_dmon(self) -> None:
        taken = [
            path.name
            for path in sorted(TRACES.iterdir())
            if dcgm_dmon.recognise(Head(path.read_bytes()))
        ]
        assert taken == [
            "dmon_h800_group18.txt",
            "dmon_h800_noheader_annotated.txt",
            "dmon_h800_nvlink_desc_order.txt",
            "dmon_rtx2080ti_3.3.5_test_strings.txt",
            "iss_dcgm143_dmon_overflow.txt",
            "iss_dcgmexporter700_dmon_441_vs_453.txt",
        ]


def test_a_log_in_a_store(tmp_path: Path) -> None:
    assert dcgm_dmon in READERS
    (tmp_path / "dmon.txt").write_text(HEADER + ROW.format(0, "185.300", 75, 68))
    store = Store.create(tmp_path / "store")
    (outcome,) = ingest([tmp_path / "dmon.txt"], store, jobs=1, hints=Hints("node-a")).outcomes
    assert (outcome.kind, outcome.row_count) == ("stored", 3)
    found = store.connect(asked=["gpu_sample"]).execute(
        "SELECT host, metric, value FROM gpu_sample ORDER BY metric"
    )
    assert found.fetchall()[1] == ("node-a", "power_w", 185.3)


def test_bare_numbers_beside_nvidia_smis_dmon_are_not_of_a_command(tmp_path: Path) -> None:
    smi = "# gpu     sm    mem    enc    dec\n# Idx      %      %      %      %\n"
    smi_row = "    0     10      5      0      0\n"
    command = "+ dcgmi dmon -e 1011,1012,1009,1010\n"
    own = "GPU 0     1      2      3      4\n"
    for text in (smi + command + smi_row + own, command + smi + own + smi_row):
        rows, _ = read(tmp_path, text)
        assert [row["value"] for row in rows] == [1, 2, 3, 4]
