"""``nvidia-smi --query-gpu --format=csv``: a few lines in, samples and devices out."""

import random
import re
from pathlib import Path

import pytest
from gpu_rows import kept, read_file, read_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import prometheus_json, prometheus_text, smi_dmon, smi_query
from pipeline.readers.record import Head, Hints
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces"
REAL = sorted(TRACES.glob("dcgm/smi_*query_gpu.txt"))

PLAIN = """\
timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.sm [MHz]
2026/07/14 08:12:53.353, 0, 100 %, 19818 MiB, 631.95 W, 1980 MHz
2026/07/14 08:12:53.355, 1, 7 %, 2 MiB, 70.10 W, 345 MHz
2026/07/14 08:12:54.353, 0, 99 %, 19818 MiB, 630.00 W, 1410 MHz
"""
SECOND = 10**9


def test_rows_become_samples_on_a_local_clock(tmp_path: Path) -> None:
    result = read_text(smi_query, tmp_path, PLAIN)
    assert result.brief("gpu_id", "device_id", "ts_ns", "tick", "metric", "value")[:4] == [
        ("gpu:0", 0, 0, None, "gpu_util_share", 1),
        ("gpu:0", 0, 0, None, "fb_used_bytes", 19818 << 20),
        ("gpu:0", 0, 0, None, "power_w", 631.95),
        ("gpu:0", 0, 0, None, "sm_clock_hz", 1.98e9),
    ]
    assert [ts for _, ts, _ in result.series("power_w")] == [0, 2_000_000, SECOND]
    facts = result.recording.facts
    assert facts.capture_start_local_ns == 1_784_016_773_353_000_000
    assert facts.capture_start_utc_ns is None
    assert result.problems == []


def test_identification_goes_to_device(tmp_path: Path) -> None:
    text = (
        "index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], clocks.max.sm [MHz],"
        " compute_cap, temperature.gpu\n"
        "3, NVIDIA H100 80GB HBM3, GPU-5a3b0000-0003-4c1d-9e8f-10ad00000003,"
        " 00000000:DB:00.0, 550.54.15, 81559 MiB, 1980 MHz, 9.0, 61\n"
    )
    result = read_text(smi_query, tmp_path, text, Hints("node-a"))
    uuid = "5a3b0000-0003-4c1d-9e8f-10ad00000003"
    (device,) = result.devices
    assert {key: value for key, value in device.items() if value is not None} == {
        "gpu_id": uuid,
        "device_id": 3,
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": uuid,
        "bus_id": "0000:db:00.0",
        "memory_bytes": 81559 << 20,
        "clock_hz": 1_980_000_000,
        "compute_capability": "9.0",
    }
    assert result.recording.facts.tool_version == "550.54.15"
    assert result.brief("host", "gpu_id", "metric", "value")[-1] == (
        "node-a", uuid, "temperature_celsius", 61,
    )  # fmt: skip


def test_a_uuid_of_zeros_names_no_gpu(tmp_path: Path) -> None:
    text = (
        "uuid, pci.bus_id, temperature.gpu\n"
        "GPU-00000000-0000-0000-0000-000000000000, 00000000:1B:00.0, 61\n"
        "GPU-00000000-0000-0000-0000-000000000000, 00000000:2B:00.0, 62\n"
    )
    result = read_text(smi_query, tmp_path, text)
    assert [gpu for gpu, *_ in result.series("temperature_celsius")] == [
        "0000:1b:00.0", "0000:2b:00.0",
    ]  # fmt: skip


def test_without_units_in_the_cells(tmp_path: Path) -> None:
    text = re.sub(r" (%|MiB|W|MHz)(?=[,\n])", "", PLAIN)
    assert "[MiB]" in text and " MiB" not in text
    assert read_text(smi_query, tmp_path, text).samples == (
        read_text(smi_query, tmp_path, PLAIN).samples
    )


def test_a_cell_in_another_unit_than_its_column_is_no_value(tmp_path: Path) -> None:
    result = read_text(smi_query, tmp_path, PLAIN.replace("2 MiB", "2 GiB"))
    assert len(result.series("fb_used_bytes")) == 2
    assert result.problems == [
        "a row whose memory.used is no number in the unit of its column: '2 GiB'"
    ]


def test_what_stands_for_no_value(tmp_path: Path) -> None:
    cells = ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "-", ""]
    cells.append("[Requested functionality has been deprecated]")
    rows = "".join(f"0, {cell}, 61\n" for cell in cells)
    result = read_text(smi_query, tmp_path, "index, fan.speed [%], temperature.gpu\n" + rows)
    assert len(result.samples) == len(cells) == len(result.series("temperature_celsius"))
    assert sum(issue.row_count or 0 for issue in result.recording.issues) == len(cells)


def test_words_masks_and_states_are_numbers(tmp_path: Path) -> None:
    text = (
        "index, pstate, clocks_event_reasons.active, clocks_event_reasons.sw_power_cap,"
        " clocks_throttle_reasons.hw_slowdown, ecc.mode.current, retired_pages.pending,"
        " clocks_event_reasons_counters.sw_power_cap [us]\n"
        "0, P2, 0x0000000000000084, Active, Not Active, Enabled, No, 834002687 us\n"
    )
    assert dict(read_text(smi_query, tmp_path, text).brief("metric", "value")) == {
        "pstate": 2,
        "clock_event_reasons": 0x84,
        "clock_event_sw_power_cap": 1,
        "clock_event_hw_slowdown": 0,
        "ecc_mode": 1,
        "retired_page_pending": 0,
        "clock_event_sw_power_cap_ns": 834_002_687_000,
    }


def test_two_names_of_one_metric_are_one_series(tmp_path: Path) -> None:
    text = "index, clocks.sm [MHz], clocks.current.sm [MHz]\n0, 1980 MHz, 1980 MHz\n"
    assert read_text(smi_query, tmp_path, text).brief("metric", "value") == [
        ("sm_clock_hz", 1.98e9)
    ]


def test_without_a_clock_rounds_are_counted(tmp_path: Path) -> None:
    text = "index, temperature.gpu, power.draw [W]\n" + "".join(
        f"{gpu}, {degrees}, 70 W\n" for gpu, degrees in ((2, 40), (0, 41), (2, 42), (0, 43))
    )
    result = read_text(smi_query, tmp_path, text)
    assert result.series("temperature_celsius") == [
        ("gpu:2", 0, 40), ("gpu:0", 0, 41), ("gpu:2", 1, 42), ("gpu:0", 1, 43),
    ]  # fmt: skip


def test_a_row_must_say_which_gpu_it_is_of(tmp_path: Path) -> None:
    text = "timestamp, power.draw [W]\n2026/07/14 08:12:53.353, 70 W\n"
    result = read_text(smi_query, tmp_path, text)
    assert result.samples == [] and result.recording.refusal is not None
    # A host with one GPU says so.
    text = "count, power.draw [W]\n1, 70 W\n"
    assert read_text(smi_query, tmp_path, text).brief("gpu_id") == [("gpu:0",)]


def test_values_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    result = read_text(smi_query, tmp_path, PLAIN.replace("100 %", "4294967295 %"))
    assert [value for *_, value in result.series("gpu_util_share")] == [0.07, 0.99]
    assert len(result.series("power_w")) == 3


def test_other_output_around_and_runs_one_after_another(tmp_path: Path) -> None:
    other = "starting, with care\nstep 1, loss 2.5, lr 0.1\n"
    result = read_text(smi_query, tmp_path, other + PLAIN + other + PLAIN)
    assert len(result.series("power_w")) == 6
    assert result.problems == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_powershell_writes_utf_16(tmp_path: Path, encoding: str) -> None:
    content = PLAIN.replace("\n", "\r\n").encode(encoding)
    assert smi_query.recognise(Head(content))
    assert read_text(smi_query, tmp_path, content).samples == (
        read_text(smi_query, tmp_path, PLAIN).samples
    )


def test_a_header_is_needed() -> None:
    rows = Head(PLAIN.partition("\n")[2].encode())
    assert not smi_query.recognise(rows)
    refused = smi_query.why_not(rows, [])
    assert refused and "header" in refused.problem
    for other in ("1, 2, 3\n4, 5, 6\n", "a, b\n", "", "12 %\n"):
        assert smi_query.why_not(Head(other.encode()), []) is None


def test_what_is_no_query_of_gpus_is_not_recognised() -> None:
    for other in (
        "pid, process_name, used_gpu_memory [MiB]\n1, python, 70000 MiB\n",
        "name, index\nfoo, 1\n",
        "epoch, loss, lr\n1, 2.5, 0.1\n",
        "utilization.gpu is the share of time, and more\n",
        "|   0  NVIDIA H100   On  | 00000000:1B:00.0 Off |  0 |\n",
    ):
        assert not smi_query.recognise(Head(other.encode())), other


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    assert len(read_text(smi_query, tmp_path, PLAIN[:-1]).series("power_w")) == 3
    torn = read_text(smi_query, tmp_path, PLAIN[:-2])
    assert len(torn.series("power_w")) == 2
    assert torn.recording.facts.status == "incomplete"


def test_it_is_ingested_and_without_a_header_refused(tmp_path: Path) -> None:
    (tmp_path / "gpus.csv").write_text(PLAIN)
    (tmp_path / "bare.csv").write_text(PLAIN.partition("\n")[2])
    store = Store.create(tmp_path / "store")
    summary = ingest([tmp_path / "gpus.csv", tmp_path / "bare.csv"], store, jobs=1)
    assert (summary.count("stored"), summary.count("refused")) == (1, 1)
    query = "SELECT count(*), max(value) FROM gpu_sample WHERE metric = 'power_w'"
    assert store.connect(asked=["gpu_sample"]).execute(query).fetchall() == [(3, 631.95)]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32), st.data())
def test_damage_never_makes_a_value(tmp_path: Path, seed: int, data: st.DataObject) -> None:
    content = PLAIN.encode()
    clean = kept(smi_query, tmp_path, content)
    assert clean is not None
    cut = content[: data.draw(st.integers(0, len(content)))]
    assert (kept(smi_query, tmp_path, cut) or set()) <= clean
    lines = content.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    assert (kept(smi_query, tmp_path, b"".join(lines)) or set()) <= clean
    flipped = bytearray(content)
    flipped[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    kept(smi_query, tmp_path, bytes(flipped))
    smi_query.recognise(Head(bytes(flipped)))


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="the published files are not there")
class TestRealFiles:
    @pytest.mark.parametrize("file", REAL, ids=lambda file: file.name)
    def test_every_number_with_a_unit_is_there(self, file: Path) -> None:
        header, row = file.read_text().splitlines()[:2]
        factors = {"%": 0.01, "W": 1, "MiB": 2**20, "MHz": 1e6, "us": 1e3}
        expected = []
        for name, cell in zip(header.split(", "), row.split(", "), strict=True):
            found = re.fullmatch(r"(\d+(?:\.\d+)?) (\S+)", cell)
            if found and "[" in name:
                expected.append(float(found[1]) * factors[found[2]])
        result = read_file(smi_query, file)
        units = ("_share", "_w", "_bytes", "_hz", "_ns")
        values = [row["value"] for row in result.samples if row["metric"].endswith(units)]
        assert sorted(values) == pytest.approx(sorted(expected))
        assert len(values) > 15
        assert {issue.severity for issue in result.recording.issues} == {"note"}

    def test_an_h100_under_load(self) -> None:
        name = "dcgm/smi_h100-80gb-hbm3__590.48.01__load_query_gpu.txt"
        result = read_file(smi_query, TRACES / name)
        values = dict(result.brief("metric", "value"))
        assert values["power_w"] == 631.95 and values["instant_power_w"] == 625.68
        assert values["supported_clock_event_reasons"] == 0x1FF
        assert (values["temperature_celsius"], values["pcie_link_width"]) == (59, 16)
        assert {row["gpu_id"] for row in result.samples} == {"0000:00:09.0"}
        assert result.devices[0]["memory_bytes"] == 81559 << 20


OTHERS = [
    file
    for folder in ("train_logs", "nccl_tests", "perftest")
    for file in sorted((TRACES / folder).glob("*"))
    if file.suffix in (".txt", ".log", ".md", ".out", ".csv", ".json")
]


@pytest.mark.real_traces
@pytest.mark.skipif(not OTHERS, reason="the published files are not there")
@pytest.mark.parametrize("file", OTHERS, ids=lambda file: file.name)
def test_logs_with_tables_of_nvidia_smi_are_no_telemetry(file: Path) -> None:
    head = Head(file.read_bytes()[: 4 << 20], file.name)
    for reader in (smi_dmon, smi_query, prometheus_text, prometheus_json):
        assert not reader.recognise(head)
    assert smi_query.why_not(head, []) is None


def test_every_line_within_the_table_is_kept_or_told(tmp_path: Path) -> None:
    header, *rows = PLAIN.splitlines(keepends=True)
    text = (
        header
        + rows[0]
        + "\0\0junk\n502 Bad Gateway\n"
        + rows[1]
        + "2026/07/14 08:12:5\n"
        + rows[2]
    )
    result = read_text(smi_query, tmp_path, text + "that is all\n")
    assert len(result.series("power_w")) == 3
    assert [(i.place, i.problem, i.row_count) for i in result.recording.issues] == [
        ("line 3", "a line in the table that is none of its rows: '\0\0junk'", 3)
    ]


def test_rows_with_few_cells_are_told(tmp_path: Path) -> None:
    result = read_text(smi_query, tmp_path, PLAIN + "2026/07/14 08:12:55.353, 0\n")
    assert result.problems == ["a row of 2 cells below 6 columns: '2026/07/14 08:12:55.353, 0'"]


def test_the_table_ends_where_another_format_begins(tmp_path: Path) -> None:
    dmon = "# gpu    pwr\n# Idx      W\n    0     12\n"
    training = "2025-06-04 08:51:58,557 - root - INFO - step: 10, loss: 2.5, mfu: 41.19%\n"
    for other in (dmon, training, "#Entity   SMCLK\nID\nGPU 0   1980\n", '{"a": 1, "b": 2}\n'):
        result = read_text(smi_query, tmp_path, PLAIN + other + PLAIN.splitlines()[-1] + "\n")
        assert (len(result.series("power_w")), result.problems) == (4, []), other


def test_a_table_of_damaged_rows_alone_is_refused_with_the_first(tmp_path: Path) -> None:
    header = PLAIN.partition("\n")[0]
    for line in ("2026/07/14 08:12:53.353, 0, x, 1 MiB, 2 W, 3 MHz", "2026/07/14 08:12:5", "?, ?"):
        refusal = read_text(smi_query, tmp_path, f"{header}\n{line}\n").recording.refusal
        assert refusal and "line 2: " in refusal.problem, line
    alone = read_text(smi_query, tmp_path, header + "\n").recording.refusal
    assert alone and alone.problem == "a CSV of nvidia-smi with its header only"


def test_gpus_that_measured_nothing_are_described_all_the_same(tmp_path: Path) -> None:
    result = read_text(smi_query, tmp_path, "index, name, power.draw [W]\n0, NVIDIA L4, [N/A]\n")
    assert (result.samples, result.recording.refusal) == ([], None)
    assert [row["name"] for row in result.devices] == ["NVIDIA L4"]
    assert result.problems == ["cells of known metrics say 'N/A'"]


def test_tasks_of_a_launcher_have_tables_of_their_own(tmp_path: Path) -> None:
    text = "".join(f"{task}: {line}\n" for line in PLAIN.splitlines() for task in (0, 1))
    assert smi_query.recognise(Head(text.encode()))
    result = read_text(smi_query, tmp_path, text)
    power = [
        (r["host"], r["gpu_id"], r["value"]) for r in result.samples if r["metric"] == "power_w"
    ]
    assert power[:3] == [
        ("task0", "gpu:0", 631.95),
        ("task0", "gpu:1", 70.1),
        ("task0", "gpu:0", 630),
    ]
    assert len(power) == 6 and result.problems == []
