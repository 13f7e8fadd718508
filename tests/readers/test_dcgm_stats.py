"""dcgmi stats -v of a job: tables in, summaries out."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import READERS, dcgm_stats
from pipeline.readers.record import NO_HINTS, Head, Recording
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "dcgm"

FIRST = "Successfully retrieved statistics for job: 952404.\n"
EDGE = f"+{'-' * 36}+{'-' * 41}+\n"


def table(about: str, *rows: tuple[str, str], edge: str = EDGE) -> str:
    lines = [f"+{'-' * 78}+", f"| {about:77}|", f"+{'=' * 36}+{'=' * 41}+"]
    lines.append(f"|-----  Execution Stats  ------------+{'-' * 41}|")
    lines += [f"| {label:35}| {value:40}|" for label, value in rows]
    return "\n".join(lines) + "\n" + edge


TIMES = (
    ("Start Time", "Fri Dec 10 19:40:36 2021"),
    ("End Time", "Fri Dec 10 19:42:16 2021"),
    ("Total Execution Time (sec)", "100.5"),
)


def read(path: Path, text: str, name: str = "job.out") -> tuple[list[dict[str, Any]], Recording]:
    file = path / "log"
    file.write_text(text)
    recording = dcgm_stats.read(file, name, 1, NO_HINTS)
    rows = [row for part in recording.parts for b in part.batches() for row in b.to_pylist()]
    return rows, recording


def values(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], float]:
    return {(row["gpu_id"], row["metric"], row["statistic"]): row["value"] for row in rows}


def test_a_table_of_one_gpu(tmp_path: Path) -> None:
    text = table(
        "GPU ID: 3",
        *TIMES,
        ("No. of Processes", "1"),
        ("Energy Consumed (Joules)", "7000"),
        ("Power Usage (Watts)", "Avg: 69.8, Max: 71.5, Min: N/A"),
        ("Max GPU Memory Used (bytes) *", "1024"),
        ("SM Clock (MHz)", "Avg: 1410, Max: 1410, Min: 1400"),
        ("Memory Utilization (%)", "Avg: 7, Max: 12, Min: 0"),
        ("Critical XID Errors", "0"),
        ("Overall Health", "Healthy"),
    )
    rows, recording = read(tmp_path, f"loss 0.3\n{FIRST}{text}bye\n")
    assert values(rows) == {
        ("gpu:3", "execution_ns", "total"): 100.5e9,
        ("gpu:3", "process_count", "total"): 1.0,
        ("gpu:3", "energy_j", "total"): 7000.0,
        ("gpu:3", "power_w", "avg"): 69.8,
        ("gpu:3", "power_w", "max"): 71.5,
        ("gpu:3", "fb_used_bytes", "max"): 1024.0,
        ("gpu:3", "sm_clock_hz", "avg"): 1410e6,
        ("gpu:3", "sm_clock_hz", "max"): 1410e6,
        ("gpu:3", "sm_clock_hz", "min"): 1400e6,
        ("gpu:3", "memory_util_share", "avg"): 0.07,
        ("gpu:3", "memory_util_share", "max"): 0.12,
        ("gpu:3", "memory_util_share", "min"): 0.0,
        ("gpu:3", "xid_count", "total"): 0.0,
        ("gpu:3", "is_healthy", "total"): 1.0,
    }
    assert {(row["job"], row["device_id"], row["start_ns"], row["end_ns"]) for row in rows} == {
        ("952404", 3, 0, 100 * 10**9)
    }
    facts = recording.facts
    assert facts.capture_start_local_ns == 1639165236 * 10**9  # 2021-12-10 19:40:36
    assert (facts.status, facts.capture_dur_ns) == ("complete", 100 * 10**9)
    assert all(row["is_reliable"] for row in rows)


def test_slowdowns_are_kept_of_the_summary_only(tmp_path: Path) -> None:
    slowdowns = (
        *(("Due to - Power (%)", "12"), ("       - Thermal (%)", "3")),
        ("       - Board Limit (%)", "Not Supported"),
    )
    rows, recording = read(tmp_path, table("Summary", *slowdowns) + table("GPU ID: 0", *slowdowns))
    assert values(rows) == {
        (None, "power_slowdown_share", "total"): 0.12,
        (None, "thermal_slowdown_share", "total"): 0.03,
    }
    (note,) = [issue for issue in recording.issues if "summary" in issue.problem]
    assert note.row_count == 3


@pytest.mark.parametrize(
    ("rows", "doubted"),
    [
        ([("SM Utilization (%)", "Avg: 0, Max: 0, Min: 0")], {"gpu_util_share"}),
        (
            [
                ("Total Execution Time (sec)", "86454"),
                ("Energy Consumed (Joules)", "252136"),
                ("Power Usage (Watts)", "Avg: 69.8, Max: 70, Min: 69"),
            ],
            {"energy_j"},
        ),
        ([("PCIe Rx Bandwidth (megabytes)", "Avg: 12, Max: 30, Min: 1")], {"pcie_rx_bytes"}),
        (
            [("No. of Processes", "0"), ("Max GPU Memory Used (bytes)", "0")],
            {"fb_used_bytes"},
        ),
    ],
)
def test_what_should_not_be_relied_on(
    tmp_path: Path, rows: list[tuple[str, str]], doubted: set[str]
) -> None:
    found, _ = read(tmp_path, table("GPU ID: 0", *rows))
    assert {row["metric"] for row in found if not row["is_reliable"]} == doubted
    assert all(bool(row["reason"]) != row["is_reliable"] for row in found)


def test_rows_of_processes_are_only_counted(tmp_path: Path) -> None:
    text = table(
        "GPU ID: 0",
        ("No. of Processes", "2"),
        ("Compute PID", "1234"),
        ("PID", "1234"),
        ("    Avg SM Utilization (%)", "7"),
        ("    Avg Memory Utilization (%)", "1"),
    )
    rows, recording = read(tmp_path, text)
    assert [row["metric"] for row in rows] == ["process_count"]
    assert "1234" not in str(recording.issues)


def test_a_torn_table(tmp_path: Path) -> None:
    text = table("GPU ID: 0", ("No. of Processes", "2"), edge="| Energy Consumed (Joules)   | 12")
    rows, recording = read(tmp_path, text)
    assert [row["metric"] for row in rows] == ["process_count"]
    assert recording.facts.status == "incomplete"
    assert "cut or torn" in recording.issues[0].problem


def test_odd_cells_are_told(tmp_path: Path) -> None:
    rows, recording = read(
        tmp_path,
        table(
            "GPU ID: 0",
            ("Double Bit ECC Errors", "1 or 2"),
            ("Memory Utilization (%)", "Avg: 700, Max: N/A, Min: N/A"),
            ("End Time", "yesterday"),
            ("A New Row", "5"),
        ),
    )
    assert rows == [] and recording.refusal is not None
    assert len([issue for issue in recording.issues if issue.severity == "warning"]) == 4


def test_the_name_of_a_file_tells_host_and_job(tmp_path: Path) -> None:
    text = table("GPU ID: 0", ("No. of Processes", "2"))
    rows, _ = read(tmp_path, text, "dcgm/train/77/dcgm-gpu-stats-gpu201-02-77.out")
    assert (rows[0]["host"], rows[0]["job"]) == ("gpu201-02", "77")


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        (table("Summary"), True),
        ("| Summary |\n", False),
        ("Execution Stats\n", False),
    ],
)
def test_what_is_recognised(text: str, is_it: bool) -> None:
    assert dcgm_stats.recognise(Head(text.encode())) is is_it


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_damage_never_adds_a_value(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    rows = (*TIMES, ("Power Usage (Watts)", "Avg: 69.8, Max: 71.5, Min: 3"))
    whole = FIRST + table("GPU ID: 3", *rows) + table("Summary", ("No. of Processes", "1"))
    text = whole[: data.draw(st.integers(0, len(whole)))]
    path = tmp_path_factory.mktemp("damage")
    expected = values(read(path, whole)[0])
    assert values(read(path, text)[0]).items() <= expected.items()
    flipped = bytearray(whole.encode())
    flipped[data.draw(st.integers(0, len(flipped) - 1))] = data.draw(st.integers(0, 127))
    read(path, flipped.decode())


@pytest.mark.real_traces
@pytest.mark.skipif(not TRACES.exists(), reason="the published logs are not there")
def test_a_published_job_on_mig() -> None:
    name = "stats_job_mig_notspecified.txt"
    recording = dcgm_stats.read(TRACES / name, name)
    rows = [row for part in recording.parts for b in part.batches() for row in b.to_pylist()]
    assert values(rows) == {
        (None, "execution_ns", "total"): 6391.9e9,
        (None, "process_count", "total"): 0.0,
        (None, "fb_used_bytes", "max"): 0.0,
    }
    assert rows[0]["job"] == "952404" and rows[0]["end_ns"] == 6392 * 10**9
    assert recording.facts.status == "incomplete"
    others = [path for path in TRACES.iterdir() if path.name != name]
    assert not any(dcgm_stats.recognise(Head(path.read_bytes())) for path in others)


def test_a_table_in_a_store(tmp_path: Path) -> None:
    assert dcgm_stats in READERS
    (tmp_path / "job.out").write_text(FIRST + table("GPU ID: 0", ("No. of Processes", "2")))
    store = Store.create(tmp_path / "store")
    (outcome,) = ingest([tmp_path / "job.out"], store, jobs=1).outcomes
    assert (outcome.kind, outcome.row_count) == ("stored", 1)
    found = store.connect(asked=["job_gpu_summary"]).execute(
        "SELECT job, gpu_id, metric, value FROM job_gpu_summary"
    )
    assert found.fetchall() == [("952404", "gpu:0", "process_count", 2.0)]


def test_lines_within_a_table_are_kept_or_told(tmp_path: Path) -> None:
    text = table("GPU ID: 0", ("No. of Processes", "2"), ("Energy Consumed (Joules)", "5"))
    rows, recording = read(tmp_path, text.replace("| Energy", "retrying\n| Energy") + "bye\n")
    assert len(rows) == 2
    assert [(issue.place, issue.row_count) for issue in recording.issues] == [("line 6", 1)]


def test_a_table_without_its_gpu_is_told(tmp_path: Path) -> None:
    text = table("GPU ID: x", ("No. of Processes", "2"))
    assert dcgm_stats.recognise(Head(text.encode()))
    rows, recording = read(tmp_path, text)
    assert rows == [] and recording.refusal
    assert "line 2: a table that does not say of which GPU it is" in recording.refusal.problem


def test_no_part_of_a_damaged_number_is_read(tmp_path: Path) -> None:
    text = table("GPU ID: 0", ("SM Clock (MHz)", "Avg: 14,00, Max: 1500, Min: 1300"))
    rows, recording = read(tmp_path, text)
    found = {(row["statistic"], row["value"]) for row in rows if row["metric"] == "sm_clock_hz"}
    assert found == {("max", 1.5e9), ("min", 1.3e9)}
    assert "SM Clock (MHz): not a number: '14,00'" in [i.problem for i in recording.issues]


def test_a_job_without_any_value_is_read_and_one_with_damaged_ones_refused(tmp_path: Path) -> None:
    rows, recording = read(tmp_path, table("GPU ID: 0", ("No. of Processes", "N/A")))
    assert (rows, recording.refusal) == ([], None)
    _, recording = read(tmp_path, table("GPU ID: 0", ("No. of Processes", "x2")))
    assert recording.refusal and "line 5: No. of Processes: not a number" in (
        recording.refusal.problem
    )
