"""The Nsight Compute reader: a few lines of a page in, the rows of our tables out."""

import csv
import importlib.util
import json
import lzma
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import catalog
from pipeline.ingest import ingest
from pipeline.readers import ncu, ncu_numbers, ncu_rep
from pipeline.readers.ncu_columns import ODD
from pipeline.readers.record import NO_HINTS, Head, NotThisFormat, Refused
from pipeline.store import Store

ASKED = catalog.tables()

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "traces" / "ncu"
NEEDS_REAL = pytest.mark.skipif(not REAL.exists(), reason="the published files are not there")

Row = dict[str, Any]
Read = Callable[..., "Found"]

WHO = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream"'
NEW = f'{WHO},"Block Size","Grid Size","Device","CC"'
DETAILS = f'{NEW},"Section Name","Metric Name","Metric Unit","Metric Value"'
RULES = ',"Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"'
SOL = "GPU Speed Of Light Throughput"
CLI = "Command line profiler metrics"
DURATION = "gpu__time_duration.sum"


def who(number: int = 0, name: str = "gemm<float>(int, T1)", pid: int = 77) -> str:
    shape = '"(128, 2, 1)","(9, 32, 1)","0","9.0"'
    return f'"{number}","{pid}","python3","127.0.0.1","{name}","1","7",{shape}'


def metric(section: str, name: str, unit: str, value: str, number: int = 0) -> str:
    return f'{who(number)},"{section}","{name}","{unit}","{value}"'


def raw(names: list[str], units: list[str], *rows: list[str]) -> list[str]:
    def cells(values: list[str]) -> str:
        return "".join(f',"{value}"' for value in values)

    empty = ",".join(['""'] * 11)
    kernels = [who(number) + cells(row) for number, row in enumerate(rows)]
    return [NEW + cells(names), empty + cells(units), *kernels]


class Found:
    """A file that was read: rows by table, facts, issues, refusal."""

    def __init__(self, path: Path) -> None:
        recording = ncu.read(path, path.name, 1, NO_HINTS)
        self.tables: dict[str, list[Row]] = {}
        schemas = catalog.arrow_schemas()
        for part in [*recording.parts, *recording.closing_parts]:
            rows = self.tables.setdefault(part.table, [])
            for batch in part.batches():
                batch.validate(full=True)
                assert batch.schema.names == schemas[part.table].names
                rows += batch.to_pylist()
        self.facts = recording.facts
        self.issues = {issue.problem: issue.row_count for issue in recording.issues}
        self.refusal = recording.refusal

    @property
    def metrics(self) -> list[Row]:
        return self.tables["kernel_metric"]

    @property
    def kernels(self) -> list[Row]:
        return self.tables["kernel_profile"]

    def value(self, name: str, kernel: int = 0) -> Any:
        """The number of a metric, by its raw name."""
        (row,) = (r for r in self.metrics if (r["metric"], r["kernel_id"]) == (name, kernel))
        return row["value"]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def made(*lines: str, name: str = "ncu.csv", encoding: str = "utf-8", end: str = "\n") -> Found:
        path = tmp_path / name
        path.write_bytes((end.join(lines) + end).encode(encoding))
        return Found(path)

    return made


def published(name: str, folder: Path) -> Found:
    """One of the published files."""
    (source,) = (path for path in REAL.iterdir() if path.name in (name, f"{name}.xz"))
    data = source.read_bytes()
    path = folder / name
    path.write_bytes(lzma.decompress(data) if source.suffix == ".xz" else data)
    return Found(path)


# -- details page --------------------------------------------------------------------------


def test_a_kernel_and_its_metrics(read: Read) -> None:
    found = read(DETAILS, metric(SOL, "Duration", "us", "22.59"), metric(CLI, "a__b.sum", "", "3"))
    (kernel,) = found.kernels
    assert [kernel[f"grid_{axis}"] for axis in "xyz"] == [9, 32, 1]
    assert [kernel[f"block_{axis}"] for axis in "xyz"] == [128, 2, 1]
    assert (kernel["grid_block_count"], kernel["block_thread_count"]) == (288, 256)
    assert (kernel["ncu_id"], kernel["process"], kernel["process_name"]) == (0, 77, "python3")
    assert (kernel["name"], kernel["compute_capability"]) == ("gemm<float>(int, T1)", "9.0")
    assert (kernel["context_id"], kernel["stream_id"], kernel["device_id"]) == (1, 7, 0)
    duration, other = found.metrics
    assert (duration["section"], duration["label"]) == (SOL, "Duration")
    assert (duration["metric"], duration["value"], duration["unit"]) == (DURATION, 22590.0, "ns")
    assert (other["label"], other["metric"], other["value"]) == (None, "a__b.sum", 3)


def test_one_label_of_two_sections_is_two_metrics(read: Read) -> None:
    found = read(
        DETAILS,
        metric(SOL, "Memory Throughput", "%", "77.06"),
        metric("Memory Workload Analysis", "Memory Throughput", "Tbyte/second", "1.20"),
    )
    assert [(row["metric"], row["value"], row["unit"]) for row in found.metrics] == [
        ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 77.06, "%"),
        ("dram__bytes.sum.per_second", 1.2e12, "byte/s"),
    ]


def test_rows_of_metrics_are_shorter_than_rows_of_rules(read: Read) -> None:
    rule = ',"SOLBottleneck","OPT","Use more, ""much"" more.","local","2.185"'
    found = read(
        DETAILS + RULES,
        metric(SOL, "Duration", "ns", "5120") + ",",
        who() + ',"SpeedOfLight","","",""' + rule,
        metric(SOL, "Elapsed Cycles", "cycle", "900") + ",",
    )
    assert [row["value"] for row in found.metrics] == [5120, 900]
    assert found.tables["kernel_rule"] == [
        {
            "kernel_id": 0,
            "section": "SpeedOfLight",
            "rule": "SOLBottleneck",
            "type": "OPT",
            "text": 'Use more, "much" more.',
            "speedup_type": "local",
            "speedup_share": 0.02185,
        }
    ]
    assert found.issues == {}


def test_the_layout_before_2023_tells_sizes_only_by_launch_metrics(read: Read) -> None:
    head = WHO.replace(',"Context"', ',"Kernel Time","Context"')
    row = '"0","77","app","127.0.0.1","k(int)","2022-Nov-21 15:45:04","1","14","Launch Statistics"'
    found = read(
        f'{head},"Section Name","Metric Name","Metric Unit","Metric Value"',
        row + ',"Grid Size","","16384"',
        row + ',"Block Size","","256"',
    )
    (kernel,) = found.kernels
    assert (kernel["grid_x"], kernel["grid_block_count"]) == (None, 16384)
    assert (kernel["block_x"], kernel["block_thread_count"]) == (None, 256)
    assert kernel["profiled_local_ns"] == 1669045504 * 10**9


def test_ranges_of_nvtx_outermost_first(read: Read) -> None:
    ranges = (
        '"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",'
        '"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"'
    )
    cell = (
        '"129  ""<default domain>:run: a:none:none:RGB:0xff00ff00:ASCII:run: a""'
        '  ""gemma:layers.0:attn:none:none:none:none:none:none"" ",""'
    )
    head = DETAILS.replace('"Kernel Name"', f'{ranges},"Kernel Name"')
    row = metric(SOL, "Duration", "ns", "5").replace('"gemm', f'{cell},"gemm')
    (kernel,) = read(head, row).kernels
    assert kernel["nvtx"] == "<default domain>:run: a/gemma:layers.0:attn"
    assert (kernel["nvtx_thread_id"], kernel["nvtx_start_end"]) == (129, None)


def test_names_printed_as_raw_names_and_as_both(read: Read) -> None:
    found = read(
        DETAILS,
        metric(SOL, DURATION, "ns", "5"),
        metric(SOL, f"Duration ({DURATION})", "ns", "6", number=1),
    )
    assert [(row["label"], row["metric"]) for row in found.metrics] == [
        (None, DURATION),
        ("Duration", DURATION),
    ]


def test_body_items_and_labels_without_a_known_name(read: Read) -> None:
    head = DETAILS.replace('"Metric Name"', '"Body Item Label","Metric Name"')
    row = who() + ',"Occupancy","Chart","Warp Occupancy","","{}"'
    found = read(head, row.format(1), row.format(2))
    assert [(row["body_item"], row["label"], row["metric"]) for row in found.metrics] == [
        ("Chart", "Warp Occupancy", None)
    ] * 2  # one label for many metrics: none is dropped
    ((problem, count),) = found.issues.items()
    assert problem.startswith("labels without a known raw name") and count == 2


def test_a_metric_printed_twice_is_kept_once(read: Read) -> None:
    twice = metric(SOL, "Duration", "ns", "5")
    found = read(DETAILS, twice, twice, metric(CLI, DURATION, "ns", "5"))
    assert [row["section"] for row in found.metrics] == [SOL, CLI]
    assert list(found.issues.values()) == [1]


def test_no_value_is_a_row_without_a_value(read: Read) -> None:
    cells = ("n/a", "no data", "", "nan", "CachePreferNone", "2338 (8; 8; 16)", "(4)")
    lines = [metric(CLI, f"a__{at}", "", cell) for at, cell in enumerate(cells)]
    assert [(row["value"], row["text"]) for row in read(DETAILS, *lines).metrics] == [
        (None, None),
        (None, None),
        (None, None),
        (None, None),
        (None, "CachePreferNone"),
        (2338, "(8; 8; 16)"),
        (None, "(4)"),
    ]


# -- raw page ------------------------------------------------------------------------------


def test_the_raw_page_is_read_metric_by_metric(read: Read) -> None:
    found = read(
        *raw(
            [DURATION, "a__name", "launch__waves", "gone__x"],
            ["usecond", "", "", "byte"],
            ["437.440000", "SIMT", "9.48", ""],
            ["1.500000", "n/a", "12", "7"],
        )
    )
    columns = ("kernel_id", "metric", "value", "unit", "text")
    assert {tuple(row[name] for name in columns) for row in found.metrics} == {
        (0, DURATION, 437440.0, "ns", None),
        (1, DURATION, 1500.0, "ns", None),
        (0, "a__name", None, None, "SIMT"),
        (1, "a__name", None, None, None),
        (0, "launch__waves", 9.48, None, None),
        (1, "launch__waves", 12.0, None, None),
        (1, "gone__x", 7.0, "byte", None),
    }  # fmt: skip


def test_units_that_are_not_printed_are_assumed_and_flagged(read: Read) -> None:
    # ncu 2024.1 prints a report of 2025.2 so.
    found = read(*raw([DURATION, "a__b", "launch__grid_size"], ["", "", ""], ["22592", "1", "3"]))
    assert {r["metric"]: (r["value"], r["unit"], r["is_unit_assumed"]) for r in found.metrics} == {
        DURATION: (22592.0, "ns", True),
        "a__b": (1.0, None, False),
        "launch__grid_size": (3.0, None, False),
    }
    assert list(found.issues.values()) == [1]


def test_a_raw_page_without_its_units_row(read: Read) -> None:
    head, _, row = raw([DURATION], [""], ["22592"])
    (only,) = read(head, row).metrics
    assert (only["value"], only["unit"], only["is_unit_assumed"]) == (22592.0, "ns", True)


def test_scaled_numbers_above_the_units_of_a_raw_page_are_left_out(read: Read) -> None:
    # Six decimals are automatic units: 22.592 may be microseconds.
    head, units, first, second = raw([DURATION], ["us"], ["22.592000"], ["5.000000"])
    found = read(head, first, units, second)
    assert [(r["value"], r["unit"]) for r in found.metrics] == [(5000.0, "ns")]
    (problem,) = found.issues
    assert problem.startswith('a row without the row of its units: \'"0","77"')
    refusal = read(head, first, second).refusal
    assert refusal and "line 2: a row without the row of its units" in refusal.problem


def test_headers_with_nvtx_columns_begin_tables_of_their_own(read: Read) -> None:
    nvtx = '"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"'
    ranges = f'{nvtx},"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"'

    def table(name: str, unit: str, value: str) -> list[str]:
        head, units, row = raw([name], [unit], [value])
        return [
            head.replace('"Kernel Name"', f'{ranges},"Kernel Name"'),
            '"","",' + units,
            row.replace('"127.0.0.1",', '"127.0.0.1","","",'),
        ]

    found = read(*table(DURATION, "us", "1.500000"), *table("dram__bytes.sum", "Kbyte", "2.000000"))
    assert [(r["metric"], r["value"], r["unit"]) for r in found.metrics] == [
        (DURATION, 1500.0, "ns"),
        ("dram__bytes.sum", 2000.0, "byte"),
    ]
    assert found.issues == {}


# -- summaries -----------------------------------------------------------------------------


def test_summaries_are_kept_apart(read: Read) -> None:
    found = read(
        '"Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size","Device",'
        '"CC","Invocations","Section Name","Metric Name","Metric Unit",'
        '"Minimum","Maximum","Average"',
        '"7","app","127.0.0.1","k","(256, 1, 1)","(4, 1, 1)","0","8.6","3",'
        f'"{SOL}","Duration","us","1.25","2.50","2.00"',
    )
    (row,) = found.tables["kernel_metric_summary"]
    assert (row["min_value"], row["max_value"], row["avg_value"]) == (1250, 2500, 2000)
    assert (row["summed_per"], row["invocation_count"], row["grid_x"]) == ("kernel", 3, 4)
    assert (row["metric"], row["unit"]) == (DURATION, "ns")
    assert found.metrics == [] and found.kernels == []


def test_a_raw_summary_of_2022_per_gpu(read: Read) -> None:
    found = read(
        '"Process ID","Process Name","Host Name","Device Id","Kernel Name","Block Size",'
        '"Grid Size","Invocations","Metric Name","Metric Unit","Minimum","Maximum","Average"',
        '"0","","","","","a__b","","","","368","0","",""',  # shifted, as 2022.3 prints some
        '"7","app","127.0.0.1","0","k","256","16384","1","a__text","","","","SIMT"',
        '"7","app","127.0.0.1","0","k","256","16384","1","a__b","Kbyte","1.5","1.5","1.500000"',
    )
    text, number = found.tables["kernel_metric_summary"]
    assert (text["summed_per"], text["text"], text["avg_value"]) == ("gpu", "SIMT", None)
    assert (text["grid_x"], text["grid_block_count"], text["block_thread_count"]) == (
        None,
        16384,
        256,
    )
    assert (number["avg_value"], number["unit"]) == (1500.0, "byte")
    assert list(found.issues.values()) == [1]


def test_a_summary_per_range(read: Read) -> None:
    found = read(
        '"Domain","Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name","Block Size",'
        '"Grid Size","Device","CC","Invocations","Section Name","Metric Name","Metric Unit",'
        '"Minimum","Maximum","Average"',
        '"<default domain>"," ""run:none:none:RGB:0xff:ASCII:run""  '
        '""x:none:none:RGB:0xff:ASCII:x"" ",'
        f'"k","(256, 1, 1)","(4, 1, 1)","0","8.6","1","{SOL}","Duration","ns","3","3","3"',
    )
    (row,) = found.tables["kernel_metric_summary"]
    assert row["summed_per"] == "nvtx"
    assert row["nvtx"] == "<default domain>:run/<default domain>:x"


# -- what else stands in a file ------------------------------------------------------------


def test_messages_stand_before_and_between_rows(read: Read) -> None:
    found = read(
        "==PROF== Connected to process 77 (/opt/python3)",
        "WG size of kernel = 192, 3",
        'done"' + DETAILS[1:].replace('ID"', 'ID"', 1),
        "==WARNING== Failed to detect compute capability, assuming 50",
        metric(SOL, "Duration", "ns", "5"),
        '"token","a","b"',
        "==WARNING== Failed to detect compute capability, assuming 50",
        metric(SOL, "Elapsed Cycles", "cycle", "6"),
        "==PROF== Disconnected from process 77",
    )
    assert [row["value"] for row in found.metrics] == [5, 6]
    assert found.issues == {}


def test_tables_of_two_ranks_in_one_file(read: Read) -> None:
    lines = [DETAILS, metric(SOL, "Duration", "ns", "5")]
    found = read(*lines, *lines, *raw([DURATION], ["ns"], ["5"]), *raw([DURATION], ["ns"], ["5"]))
    # The raw page of a kernel joins its details.
    assert [kernel["ncu_id"] for kernel in found.kernels] == [0, 0]
    assert [row["kernel_id"] for row in found.metrics] == [0, 1, 0, 1]


def test_rows_of_a_rule_with_another_stream_are_of_the_same_kernel(read: Read) -> None:
    # ncu 2022.3.
    rule = who().replace('"1","7"', '"1","1"') + ',"Occupancy","","","","Occupancy","WRN","t","",""'
    found = read(DETAILS + RULES, metric(SOL, "Duration", "ns", "5") + ",", rule)
    assert [kernel["stream_id"] for kernel in found.kernels] == [7]


def test_a_cell_over_several_lines(read: Read) -> None:
    rule = who() + ',"Occupancy","","","","Occupancy","WRN","one\ntwo","",""'
    found = read(DETAILS + RULES, metric(SOL, "Duration", "ns", "5") + ",", rule)
    assert [row["text"] for row in found.tables["kernel_rule"]] == ["one\ntwo"]


def test_rows_that_do_not_fit_are_told(read: Read) -> None:
    good = metric(SOL, "Duration", "ns", "5")
    found = read(DETAILS, good, good + ',"6"', good.replace('"0","77"', '"x","77"'))
    assert len(found.metrics) == 1
    assert [problem.partition(":")[0] for problem in found.issues] == [
        "a row of 16 cells under a header of 15",
        "a row without an ID, a process and a kernel",
    ]


@pytest.mark.parametrize("cut", [1, 4])  # within a cell, between two
def test_a_cut_file_is_incomplete(read: Read, cut: int) -> None:
    good = metric(SOL, "Duration", "ns", "5")
    found = read(DETAILS, good, good[:-cut])
    assert found.facts.status == "incomplete"
    assert len(found.metrics) == 1 and len(found.issues) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_ends_of_lines(read: Read, encoding: str, end: str) -> None:
    lines = (DETAILS, metric(SOL, "Duration", "ns", "5"))
    found = read(*lines, encoding=encoding, end=end)
    assert found.value(DURATION) == 5
    data = end.join(lines).encode(encoding)
    assert ncu.recognise(Head(data, "a.csv"))


def test_a_table_saved_again_without_quotes(read: Read) -> None:
    head = DETAILS.replace('"', "")
    row = f'0,77,python3,127.0.0.1,k,1,7,"(1, 1, 1)","(2, 1, 1)",0,9.0,{SOL},Duration,ns,5'
    found = read(head, row, "12,3")
    assert (found.value(DURATION), found.kernels[0]["grid_x"]) == (5, 2)


def test_the_session_page(read: Read) -> None:
    found = read(
        "Launch Settings",
        '"Launch Attribute","Value"',
        '"Profiler Command Line","/opt/ncu --nvtx --set full --clock-control none app --set x"',
        "",
        "Session Info",
        '"Session Attribute","Value"',
        '"Created","2026-Feb-09 11:12:05"',
        '"Host Name","b200-1"',
        '"Target IP Addresses","10.1.17.11"',
        '"Nsight Compute Target","2025.2.1.0 (build 35987062) (public-release)"',
    )
    (row,) = found.tables["profiler_session"]
    assert {name: value for name, value in row.items() if value is not None} == {
        "host": "b200-1",
        "tool_version": "2025.2.1.0",
        "created_local_ns": 1770635525 * 10**9,
        "clock_control": "none",
        "metric_set": "full",
    }
    assert (found.facts.host, found.facts.capture_version) == ("b200-1", "2025.2.1.0")
    assert found.facts.capture_start_local_ns == 1770635525 * 10**9


def test_blocks_give_what_the_whole_gives(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    # A column of numbers that later holds a text, a thousands separator, nothing.
    cells = ["5", "6.25", "1,234", "nan", "SIMT", "", "7"]
    lines = raw([DURATION, "a__b"], ["us", ""], *([cell, cell] for cell in cells))
    whole = read(*lines)
    monkeypatch.setattr("pipeline.readers.text._BLOCK_BYTES", 150)
    parts = read(*lines)
    assert sorted(map(str, parts.metrics)) == sorted(map(str, whole.metrics))
    assert parts.kernels == whole.kernels
    numbers = {row["kernel_id"]: row["value"] for row in whole.metrics if row["metric"] == "a__b"}
    assert numbers == {0: 5, 1: 6.25, 2: 1234, 3: None, 4: None, 6: 7}


# -- refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["==WARNING== No kernels were profiled.", "Available Kernels:"], "No kernels were profil"),
        (["==ERROR== ERR_NVGPUCTRPERM - The user has no right"], "ERR_NVGPUCTRPERM"),
        (["==ERROR== The application returned an error code (1)."], "error code (1)"),
        (["==PROF== Connected to process 7"], "no table of metrics"),
        (['"Kernel Name","k",', '"Address","Source"', '"1","MOV"'], "source page"),
        ([DETAILS], "without a row"),
        ([DETAILS, metric(SOL, "Duration", "ns", "5") + ',"6"'], "no row of its tables"),
    ],
)
def test_files_without_metrics_are_refused(read: Read, lines: list[str], told: str) -> None:
    found = read(*lines)
    assert ncu.recognise(Head("\n".join(lines).encode(), "a.csv"))
    assert found.refusal is not None and told in found.refusal.problem
    assert found.refusal.way_out


def test_folders_in_messages_are_left_out(read: Read) -> None:
    found = read("==ERROR== Failed to open /home/someone/secret/report.ncu-rep.")
    assert found.refusal and found.refusal.problem.endswith("'Failed to open report.ncu-rep.'")


def test_a_pivot_by_another_program_is_told() -> None:
    head = Head(b"Metric Name,dram__bytes.sum,sm__cycles_elapsed.avg\n0,1.0,2.0\n", "a.csv")
    refused = ncu.why_not(head, [])
    assert not ncu.recognise(head)
    assert refused and "without their kernels" in refused.problem


@pytest.mark.parametrize("text", ["", "hello", '"Kernel Name","x"\n', "Kernel Name: x\n== PROF =="])
def test_other_text_is_not_recognised(text: str) -> None:
    assert not ncu.recognise(Head(text.encode(), "a.csv"))


def test_a_report_without_the_package_says_how_to_get_a_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.ncu-rep"
    path.write_bytes(b"NVR\0" + bytes(90))
    assert ncu.recognise(Head(path.read_bytes(), path.name))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refused) as refused:
        ncu.read(path, path.name, 1, NO_HINTS)
    assert "ncu --import my.ncu-rep --csv --page raw > my.csv" in refused.value.way_out
    path.write_bytes(b"something else")
    with pytest.raises(NotThisFormat):
        ncu.read(path, path.name, 1, NO_HINTS)


def test_links_in_rules_are_written_out() -> None:
    text = "See the @section:Memory:Memory Analysis@ and the @url:Guide:https://a.b/c:d@."
    assert ncu_rep.plain_text(text) == "See the Memory Analysis and the Guide (https://a.b/c:d)."


# -- through ingest ------------------------------------------------------------------------


def test_the_sample_holds_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "sample_traces")
    sample = importlib.import_module("ncu_csv")
    truth = sample.write(sample.load("ddp_late_rank"), tmp_path / "run")
    store = Store.create(tmp_path / "store")
    summary = ingest([tmp_path / "run"], store, jobs=1)
    assert [(o.kind, o.issues) for o in summary.outcomes] == [("stored", ())] * 3
    connection = store.connect(asked=ASKED)

    def rows(sql: str) -> list[Row]:
        return list(connection.sql(sql).to_arrow_table().to_pylist())

    pages = rows("SELECT path, source_id, rank FROM source_file ORDER BY path")
    assert [(page["path"], page["rank"]) for page in pages] == [(n, 0) for n in truth["files"]]
    for page in pages[:2]:
        own = f"WHERE source_id = '{page['source_id']}'"
        kernels = rows(f"FROM kernel_profile {own} ORDER BY kernel_id")
        metrics = rows(f"FROM kernel_metric {own}")
        rules = rows(f"FROM kernel_rule {own}")
        for kernel, told in zip(kernels, truth["kernels"], strict=True):
            for name, value in told.items():
                if name in kernel:
                    assert kernel[name] == value, name
            for name in ("grid", "block"):
                assert [kernel[f"{name}_{axis}"] for axis in "xyz"] == told[name]
            own_metrics = [m for m in metrics if m["kernel_id"] == told["kernel_id"]]
            numbers = {m["metric"]: (m["value"], m["unit"]) for m in own_metrics if not m["text"]}
            assert numbers == {n: (m["value"], m["unit"]) for n, m in told["metrics"].items()}
            assert {m["metric"]: m["text"] for m in own_metrics if m["text"]} == told["texts"]
            if "details" in page["path"]:
                labels = {m["metric"]: (m["section"], m["label"]) for m in own_metrics}
                for name, m in told["metrics"].items():
                    assert labels[name] == (m["section"], m["label"])
                said = [rule for rule in rules if rule["kernel_id"] == told["kernel_id"]]
                assert [{n: r[n] for n in t} for r, t in zip(said, told["rules"], strict=True)] == (
                    told["rules"]
                )
    (session,) = rows("FROM profiler_session")
    assert {name: session[name] for name in truth["session"]} == truth["session"]
    stored = json.dumps(rows("FROM profiler_session") + rows("FROM ingest_issue"))
    assert "made-up" not in stored and "someone" not in stored


# -- published files -----------------------------------------------------------------------


@pytest.mark.real_traces
@NEEDS_REAL
@pytest.mark.parametrize("locale", ["de_CH", "de_DE", "en_US", "fr_FR"])
def test_every_locale_gives_the_same_numbers(tmp_path: Path, locale: str) -> None:
    plain = published("nvtx.n241.details.base.csv", tmp_path)
    other = published(f"nvtx.n241.details.base.{locale}.csv", tmp_path)
    assert other.tables == plain.tables and len(plain.metrics) == 96


@pytest.mark.real_traces
@NEEDS_REAL
def test_a_german_raw_page_in_automatic_units_gives_the_same_numbers(tmp_path: Path) -> None:
    # Its floats are printed as C does, its whole numbers as German does.
    one, other = (published(f"nvtx.n241.raw{kind}.csv", tmp_path) for kind in ("", ".auto.de_DE"))
    assert sorted(map(str, one.metrics)) == sorted(map(str, other.metrics))
    assert other.value("device__attribute_total_memory") == 8334737408
    assert other.value("gpu__time_duration.sum") == 84480
    assert other.value("dram__cycles_elapsed.avg.per_second") == 6684848000
    assert other.value("launch__waves_per_multiprocessor") == 59.36


@pytest.mark.real_traces
@NEEDS_REAL
@pytest.mark.parametrize(
    ("details", "raw_page"),
    [
        ("a100.n241.details.all.csv", "a100.n241.raw.base.csv"),
        ("b200_2025.2_algo23.details.csv", "b200_2025.2_algo23.raw.csv"),
        ("nvtx.n241.details.base.csv", "nvtx.n241.raw.base.csv"),
        ("nvtx.n241.details.mname.csv", "nvtx.n241.raw.csv"),
    ],
)
def test_labels_and_raw_names_agree(tmp_path: Path, details: str, raw_page: str) -> None:
    of_raw = {(r["kernel_id"], r["metric"]): r for r in published(raw_page, tmp_path).metrics}
    named = [row for row in published(details, tmp_path).metrics if row["metric"]]
    assert len(named) > 50
    for row in named:
        twin = of_raw[row["kernel_id"], row["metric"]]
        assert row["text"] == twin["text"]
        if row["value"] is None:
            assert twin["value"] is None
            continue
        # Both print two decimals, one of them in a larger unit.
        assert row["value"] == pytest.approx(twin["value"], rel=0.006, abs=0.0051)


@pytest.mark.real_traces
@NEEDS_REAL
@pytest.mark.parametrize(
    "name",
    [
        "a100.n241.raw.base.csv",
        "b200_2025.2_algo23.raw.csv",
        "live_raw_b200_flashinfer.csv",
        "nvtx.n241.raw.csv",
        "live_full_b200_cublaslt.log",
        "details_llm_cc12_kernel1.csv",
        "live_v100_2019.5_hotspot.log",
    ],
)
def test_values_are_those_of_a_plain_reading(tmp_path: Path, name: str) -> None:
    """Another reading: the csv module and ten lines."""
    found = published(name, tmp_path)
    text = (tmp_path / name).read_text(encoding="utf-8")
    if name.startswith("details_llm"):  # printed with LC_ALL=en_US
        text = re.sub(r'(?<=")(\d+),(\d{3}(?:\.\d\d)?)(?=")', r"\1\2", text)
    lines = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    head, *rows = lines
    expected: list[tuple[str, str, float]] = []  # kernel, unit, number as printed
    if "Metric Value" in head:
        unit, value = head.index("Metric Unit"), head.index("Metric Value")
        expected = [(r[0], r[unit], float(r[value])) for r in rows if is_number(r[value])]
    else:
        units, *rows = rows
        expected = [
            (row[0], units[at], float(cell))
            for row in rows
            for at, cell in enumerate(row)
            if head[at] not in NEW and is_number(cell)
        ]
    scales = {"us": 1e3, "usecond": 1e3, "cycle/nsecond": 1e9, "Ghz": 1e9, "%/Kbyte": 1e-3}
    sizes = {"K": 1e3, "M": 1e6, "G": 1e9}
    expected_values = sorted(
        (int(kernel), value * scales.get(unit, sizes.get(unit[:1], 1)))
        for kernel, unit, value in expected
    )
    values = sorted((r["kernel_id"], r["value"]) for r in found.metrics if r["value"] is not None)
    assert len(values) == len(expected_values) > 5
    for one, other in zip(values, expected_values, strict=True):
        assert one == pytest.approx(other, rel=1e-12)


def is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


@pytest.mark.real_traces
@NEEDS_REAL
def test_what_is_known_of_published_files(tmp_path: Path) -> None:
    euro = published("euro_locale_windows_ncu2025.1_id68754238958.csv", tmp_path)
    assert [row["value"] for row in euro.metrics] == [117344, 27595520, 65.77, 6.7]
    session = published("b200_2025.2_algo23.session.csv", tmp_path)
    assert session.tables["profiler_session"][0]["clock_control"] == "base"
    old = published("b200-by-old-ncu.n241.details.csv", tmp_path)
    assert (old.value(DURATION), sum(row["is_unit_assumed"] for row in old.metrics)) == (49952, 29)
    instances = published("nvtx.n241.raw.inst-values.csv", tmp_path)
    assert instances.value("launch__occupancy_per_block_size") == 2338
    broken = published("nvtx.n223.raw.sum-per-gpu.csv", tmp_path)
    assert len(broken.tables["kernel_metric_summary"]) == 367
    assert sum(count or 0 for count in broken.issues.values()) == 301
    for name, told in {
        "nkernels_warning.txt": "No kernels were profiled",
        "no_table_1.csv": "error code (1)",
        "no_table_2.csv": "error code (1)",
        "nvtx.n241.source.csv": "source page",
    }.items():
        refusal = published(name, tmp_path).refusal
        assert refusal and told in refusal.problem


@pytest.mark.real_traces
@NEEDS_REAL
def test_no_other_published_file_is_recognised() -> None:
    for path in sorted(REAL.parent.glob("*/*")):
        if path.parent.name == "ncu":
            continue
        data = path.read_bytes()[: 4 << 20]
        if path.suffix == ".xz":
            data = lzma.LZMADecompressor().decompress(data, 4 << 20)
        assert not ncu.recognise(Head(data, path.name.removesuffix(".xz"))), path


@pytest.mark.real_traces
@NEEDS_REAL
@pytest.mark.skipif(importlib.util.find_spec("ncu_report") is None, reason="needs ncu-report")
def test_a_report_agrees_with_its_raw_page(tmp_path: Path) -> None:
    report = published("manual_nvtx.ncu-rep", tmp_path)
    page = published("nvtx.n241.raw.csv", tmp_path)
    assert report.facts.capture_version == "2022.3.0.0"
    same = ("ncu_id", "name", "grid_x", "block_x", "stream_id", "compute_capability", "nvtx")
    for one, other in zip(report.kernels, page.kernels, strict=True):
        assert [one[name] for name in same] == [other[name] for name in same]
    printed = {(row["kernel_id"], row["metric"]): row for row in page.metrics}
    assert len(report.metrics) > 1000
    for row in report.metrics:
        twin = printed[row["kernel_id"], row["metric"]]
        assert row["text"] == twin["text"]
        if row["value"] is None:
            assert twin["value"] is None
        else:
            assert row["value"] == pytest.approx(twin["value"], rel=1e-5, abs=0.0051)
    types = [rule["type"] for rule in report.tables["kernel_rule"]]
    assert sorted(types) == ["INF"] * 3 + ["WRN"] * 3


@pytest.mark.real_traces
@NEEDS_REAL
@pytest.mark.skipif(importlib.util.find_spec("ncu_report") is None, reason="needs ncu-report")
def test_broken_reports(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"NVR\0" + b"x" * 500)
    refusal = Found(path).refusal
    assert refusal and "without a kernel" in refusal.problem
    whole = lzma.decompress((REAL / "manual_nvtx.ncu-rep.xz").read_bytes())
    path.write_bytes(whole[: len(whole) * 2 // 3])
    assert len(Found(path).kernels) == 2


# -- fuzz ----------------------------------------------------------------------------------

CLEAN = [
    "==PROF== Connected to process 77 (app)",
    DETAILS + RULES,
    metric(SOL, "Duration", "us", "1,022.59") + ",",
    metric(SOL, "Memory Throughput", "%", "65.77") + ",",
    who() + ',"Occupancy","","","","Occupancy","WRN","a, ""b"" c","local","9.741"',
    metric(CLI, "dram__bytes.sum", "byte", "27,595,520", number=1) + ",",
    *raw([DURATION, "a__b", "a__c"], ["ns", "", "Kbyte"], ["5", "x", "1.50"], ["1,234", "", "2"]),
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files_give_fewer_rows_or_none(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "a.csv"
    lines = data.draw(st.permutations(CLEAN)) if data.draw(st.booleans()) else CLEAN
    content = bytearray("\n".join(lines).encode())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    with suppress(NotThisFormat, Refused):
        Found(path)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, len("\n".join(CLEAN))))
def test_a_cut_file_holds_nothing_else_than_the_whole(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.csv"
    path.write_text("\n".join(CLEAN))
    whole = [tuple(row.values()) for row in Found(path).metrics]
    path.write_text("\n".join(CLEAN)[:length])
    assert {tuple(row.values()) for row in Found(path).metrics} <= set(whole)


# -- cells that contradict their file ------------------------------------------------------


GERMAN = metric(SOL, "Memory Throughput", "%", "65,77")


@pytest.mark.parametrize(
    "cell", ["1,234", "12,3", "1,2345", "1234,567", "1,234,567", "65.77", "1.23.456"]
)
def test_a_number_that_is_no_german_one_in_a_german_file_is_kept_as_text(
    read: Read, cell: str
) -> None:
    odd = metric(CLI, DURATION, "ns", cell)
    found = read(DETAILS, GERMAN, odd)
    assert [(row["value"], row["text"]) for row in found.metrics] == [(65.77, None), (None, cell)]
    (problem,) = found.issues
    assert problem.startswith("a number that this file's other numbers contradict")
    assert cell in problem


def test_a_file_of_one_locale_reads_whole_numbers_and_two_decimals(read: Read) -> None:
    cells = ["1.234", "117.344", "1.234.567", "1234", "0,50", "1.234,50", "437.440000"]
    rows = [metric(CLI, f"a__{at}", "ns", cell) for at, cell in enumerate(cells)]
    found = read(DETAILS, GERMAN, *rows)
    values = [65.77, 1234, 117344, 1234567, 1234, 0.5, 1234.5, 437.44]
    assert [row["value"] for row in found.metrics] == values
    assert found.issues == {}


@pytest.mark.parametrize("page", ["details", "raw"])
def test_three_digits_after_the_point_are_doubtful_in_the_c_locale_too(
    read: Read, page: str
) -> None:
    if page == "details":
        found = read(
            DETAILS, metric(CLI, "a__x", "ns", "65.77"), metric(CLI, "b__x", "ns", "1.234")
        )
    else:
        found = read(*raw(["a__x", "b__x"], ["ns", "ns"], ["65.77", "1.234"], ["0.123", "1.5"]))
    assert found.metrics[0]["value"] == 65.77
    doubtful = next(row for row in found.metrics if row["text"])
    assert (doubtful["metric"], doubtful["value"], doubtful["text"]) == ("b__x", None, "1.234")
    assert list(found.issues.values()) == [1]


@pytest.mark.parametrize("page", ["details", "raw", "summary"])
def test_a_number_in_an_unknown_unit_is_kept_as_text_and_told(read: Read, page: str) -> None:
    if page == "details":
        lines = [DETAILS, metric(CLI, DURATION, "furlong", "12"), metric(CLI, "a__x", "ns", "1")]
    elif page == "raw":
        lines = raw([DURATION, "a__x"], ["furlong", "ns"], ["12", "1"])
    else:
        head = DETAILS.partition(",")[2].replace(',"Context","Stream"', "")
        head = head.replace('"Section Name"', '"Invocations","Section Name"')
        head = head.replace('"Metric Value"', '"Minimum","Maximum","Average"')
        about = '"77","python3","127.0.0.1","gemm","(128, 2, 1)","(9, 32, 1)","0","9.0","3"'
        lines = [head] + [
            f'{about},"{CLI}","{name}","{unit}","{number}","{number}","{number}"'
            for name, unit, number in ((DURATION, "furlong", 12), ("a__x", "ns", 1))
        ]
    found = read(*lines)
    table = "kernel_metric_summary" if page == "summary" else "kernel_metric"
    value = "avg_value" if page == "summary" else "value"
    rows = {row["metric"]: row for row in found.tables[table]}
    duration = rows[DURATION]
    assert (duration[value], duration["unit"], duration["text"]) == (None, None, "12 furlong")
    assert rows["a__x"][value] == 1
    problem = next(iter(found.issues))
    assert problem.startswith("a number in a unit that is not known; kept as text: ")
    assert f"{DURATION}: 12 furlong" in problem


def test_a_word_where_a_number_is_expected_is_told_with_its_line(tmp_path: Path) -> None:
    lines = [DETAILS, metric(CLI, DURATION, "ns", "12"), metric(CLI, "a__x", "ns", "abc")]
    lines += [metric(CLI, "launch__func_cache_config", "", "CachePreferNone")]
    lines += [metric(CLI, "b__x", "ns", "n/a"), metric(CLI, "c__x", "inst", "7 (3; 4)")]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    recording = ncu.read(tmp_path / "a.csv", "a.csv", 1, NO_HINTS)
    for part in recording.parts:
        list(part.batches())
    (issue,) = recording.issues
    assert issue.place == "line 3"
    assert issue.problem == "a text where a number is expected: 'a__x: abc'"


def test_a_table_whose_numbers_are_all_doubtful_is_refused(read: Read) -> None:
    found = read(DETAILS, metric(CLI, DURATION, "furlong", "12"), metric(CLI, "a__x", "ns", "abc"))
    assert found.refusal
    assert "no metric of its tables has a number; line 2: " in found.refusal.problem


@NEEDS_REAL
@pytest.mark.real_traces
@pytest.mark.parametrize("locale", ["de_CH", "de_DE", "en_US", "fr_FR"])
def test_every_locale_gives_the_numbers_of_the_c_locale(locale: str, tmp_path: Path) -> None:
    def rows(name: str) -> list[tuple[Any, ...]]:
        found = published(name, tmp_path)
        assert not any(ODD in problem for problem in found.issues)
        return [(r["kernel_id"], r["section"], r["label"], r["value"]) for r in found.metrics]

    assert rows(f"nvtx.n241.details.base.{locale}.csv") == rows("nvtx.n241.details.base.csv")


def test_six_decimals_and_whole_numbers_alone_tell_no_locale_and_are_read_quickly(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: object) -> None:
        raise AssertionError("read cell by cell")

    monkeypatch.setattr("pipeline.readers.ncu_raw.parse", slowly)
    lines = raw(["a__x", "b__x"], ["ns", "inst"], ["1980.123456", "12"], ["0.500000", "7"])
    assert [row["value"] for row in read(*lines).metrics] == [1980.123456, 0.5, 12, 7]


def test_a_session_page_that_ends_in_a_cell_has_none_of_it(read: Read) -> None:
    page = ['"Session Attribute","Value"', '"Nsight Compute Target","2024.1.0 (build 1)"']
    assert read(*page, '"Target Name","node-').tables["profiler_session"][0]["host"] is None
    (row,) = read(
        '"Launch Attribute","Value"', '"Profiler Command Line","ncu --set full --clock-control ba'
    ).tables["profiler_session"]
    assert (row["metric_set"], row["clock_control"]) == ("full", None)


# -- the quick ways give what the plain ones do --------------------------------------------


@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from([-9, -6, -3, 3, 6, 9, 12, 18]),
    st.integers(0, 9),
)
def test_a_number_in_automatic_units_is_rounded_once(
    millionths: int, power: int, more: int
) -> None:
    whole, small = f"{millionths / 1e6:.6f}", f"{millionths % 10**9 / 1e6:.6f}{more}"
    for text in (f"{millionths}", whole, small):
        assert ncu_numbers.scaled(np.array([float(text)]), power)[0] == float(f"{text}e{power}")


def test_kernels_whose_ids_rise_are_found_again_by_another_page(read: Read) -> None:
    page = raw([DURATION], ["ns"], ["5"], ["6"], ["7"])
    found = read(*page, DETAILS, metric(SOL, "Duration", "ns", "6", number=1), *page)
    # The details are of kernel 1; the second raw page is another rank's.
    assert [row["kernel_id"] for row in found.metrics] == [0, 1, 2, 1, 3, 4, 5]
    assert [row["ncu_id"] for row in found.kernels] == [0, 1, 2, 0, 1, 2]


def test_ids_that_do_not_rise_are_kernels_too(read: Read) -> None:
    head, units, first, second = raw([DURATION], ["ns"], ["5"], ["6"])
    found = read(head, units, second, first, second)
    assert [row["ncu_id"] for row in found.kernels] == [1, 0, 1]
    assert [row["value"] for row in found.metrics] == [6, 5, 6]


def test_broken_rows_among_whole_ones_take_no_other_with_them(read: Read) -> None:
    head, units, *rows = raw([DURATION, "smsp__warps.sum"], ["ns", ""], *[["5", "8"]] * 6)
    broken = [rows[1][:-1], rows[3] + '"', rows[4].replace('"8"', '"8","9"')]
    lines = [rows[0], broken[0], rows[2], broken[1], broken[2], rows[5]]
    found = read(head, units, *lines)
    kept = {row["ncu_id"] for row in found.kernels}
    assert {0, 2, 5} >= kept >= {0, 5}
    assert all((row["value"] in (5, 8)) for row in found.metrics)
    told = sum(count or 0 for count in found.issues.values())
    assert told + len(kept) >= len(lines) - 1
