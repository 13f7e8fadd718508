"""``nvidia-smi dmon``: a few lines in, samples out."""

import random
from pathlib import Path

import pytest
from gpu_rows import kept, read_file, read_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import smi_dmon
from pipeline.readers.record import Head, Hints
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces"
REAL = sorted(TRACES.glob("dcgm/smi_*dmon*.txt"))

PLAIN = """\
# gpu    pwr  gtemp  mtemp     sm   mclk   pclk
# Idx      W      C      C      %    MHz    MHz
    0    123     44      -      5   2619   1980
    1    129     45     52    100   2619   1980
    0    191     45      -     99   2619   1410
    1    186     46     53    100   2619   1980
"""


def head(text: str) -> Head:
    return Head(text.encode())


def test_rows_become_samples_in_base_units_without_a_clock(tmp_path: Path) -> None:
    result = read_text(smi_dmon, tmp_path, PLAIN)
    assert result.brief("device_id", "ts_ns", "tick", "metric", "value")[:5] == [
        (0, None, 0, "power_w", 123),
        (0, None, 0, "temperature_celsius", 44),
        (0, None, 0, "gpu_util_share", 0.05),
        (0, None, 0, "memory_clock_hz", 2_619_000_000),
        (0, None, 0, "sm_clock_hz", 1_980_000_000),
    ]
    assert result.series("sm_clock_hz")[2:] == [("gpu:0", 1, 1.41e9), ("gpu:1", 1, 1.98e9)]
    assert result.problems == [] and result.devices == []


def test_pssh_says_whose_rows_follow(tmp_path: Path) -> None:
    text = "".join(f"[{at}] 10:11:12 [SUCCESS] n{at}\n{PLAIN}" for at in (1, 2))
    result = read_text(smi_dmon, tmp_path, text)
    power = [row for row in result.samples if row["metric"] == "power_w"]
    assert [(row["host"], row["tick"]) for row in power] == [
        (host, tick) for host in ("n1", "n2") for tick in (0, 0, 1, 1)
    ]
    assert result.problems == []


def test_a_dash_is_no_value(tmp_path: Path) -> None:
    result = read_text(smi_dmon, tmp_path, PLAIN)
    assert result.series("memory_temperature_celsius") == [("gpu:1", 0, 52), ("gpu:1", 1, 53)]


def test_the_users_host_and_interval_are_used(tmp_path: Path) -> None:
    result = read_text(smi_dmon, tmp_path, PLAIN, Hints("node-7", 5 * 10**9))
    assert {row["host"] for row in result.samples} == {"node-7"}
    assert [ts for _, ts, _ in result.series("power_w")] == [0, 0, 5 * 10**9, 5 * 10**9]


def test_a_gpu_that_drops_out_shifts_no_round(tmp_path: Path) -> None:
    text = "# gpu pwr\n# Idx W\n 0 10\n 1 11\n 2 12\n 0 20\n 2 22\n 0 30\n 1 31\n"
    assert [(gpu, at) for gpu, at, _ in read_text(smi_dmon, tmp_path, text).series("power_w")] == [
        ("gpu:0", 0), ("gpu:1", 0), ("gpu:2", 0), ("gpu:0", 1), ("gpu:2", 1), ("gpu:0", 2),
        ("gpu:1", 2),
    ]  # fmt: skip


def test_headers_repeat_and_may_change(tmp_path: Path) -> None:
    text = PLAIN + "# gpu   pwr\n# Idx     W\n    0   300\n"
    assert read_text(smi_dmon, tmp_path, text).series("power_w")[-1] == ("gpu:0", 2, 300)


def test_with_date_and_time_there_is_a_local_clock(tmp_path: Path) -> None:
    text = (
        "#Date       Time        gpu   pwr\n"
        "#YYYYMMDD   HH:MM:SS    Idx     W\n"
        " 20240229   23:59:59      0    43\n"
        " 20240301   00:00:01      0    44\n"
    )
    result = read_text(smi_dmon, tmp_path, text)
    assert result.brief("ts_ns", "tick", "value") == [(0, None, 43), (2 * 10**9, None, 44)]
    assert result.recording.facts.capture_start_local_ns == 1_709_251_199 * 10**9
    assert result.recording.facts.capture_start_utc_ns is None


def test_with_the_time_alone_midnight_is_passed(tmp_path: Path) -> None:
    text = "#Time gpu pwr\n#HH:MM:SS Idx W\n 23:59:58 0 43\n 00:00:01 0 44\n 00:00:03 0 45\n"
    result = read_text(smi_dmon, tmp_path, text)
    assert [ts for _, ts, _ in result.series("power_w")] == [0, 3 * 10**9, 5 * 10**9]
    assert result.recording.facts.capture_start_local_ns is None


def test_commas_between(tmp_path: Path) -> None:
    text = "# gpu, pwr, rxpci, txpci\n# Idx, W, MB/s, MB/s\n0, 69, 3, 12\n"
    assert read_text(smi_dmon, tmp_path, text).brief("metric", "value") == [
        ("power_w", 69), ("pcie_rx_nvml_bytes_per_s", 3e6), ("pcie_tx_nvml_bytes_per_s", 12e6),
    ]  # fmt: skip


def test_pcie_spikes_of_terabytes_are_no_values(tmp_path: Path) -> None:
    text = "# gpu rxpci\n# Idx MB/s\n 0 2016001\n 0 52000\n"
    result = read_text(smi_dmon, tmp_path, text)
    assert result.series("pcie_rx_nvml_bytes_per_s") == [("gpu:0", 1, 52e9)]
    assert [issue.row_count for issue in result.recording.issues] == [1]


def test_a_column_in_an_unknown_unit_is_left_out(tmp_path: Path) -> None:
    text = "# gpu pwr mclk\n# Idx kW MHz\n 0 1 2619\n"
    result = read_text(smi_dmon, tmp_path, text)
    assert result.brief("metric", "value") == [("memory_clock_hz", 2.619e9)]
    assert "column pwr in an unknown unit: 'kW'" in result.problems


def test_a_column_the_reference_lacks_is_named_after_its_unit(tmp_path: Path) -> None:
    result = read_text(smi_dmon, tmp_path, "# gpu pwr pviol tviol\n# Idx W % bool\n 0 9 50 1\n")
    assert result.brief("metric", "value") == [
        ("power_w", 9), ("nvidia_smi_dmon_pviol_share", 0.5),
    ]  # fmt: skip
    assert result.problems == ["columns of no known metric or unit, left out: tviol"]


def test_damaged_rows_are_told_and_other_output_is_not(tmp_path: Path) -> None:
    text = (
        PLAIN + "    1    1x6     46     53    100   2619   1980\n   0   12\n  0 1 2 3\nsecret 1\n"
    )
    result = read_text(smi_dmon, tmp_path, text)
    assert len(result.series("power_w")) == 4
    assert result.problems == [
        "a row that does not read as numbers: '1 1x6 46 53 100 2619 1980'",
        "a row of 2 cells below 7 columns: '0 12'",
        "a row of 4 cells below 7 columns: '0 1 2 3'",
    ]


def test_every_line_within_the_table_is_kept_or_told(tmp_path: Path) -> None:
    text = PLAIN + "\0\0 502 Bad\nretry\n" + PLAIN.partition("%    MHz    MHz\n")[2] + "\nbye\n"
    result = read_text(smi_dmon, tmp_path, text)
    assert len(result.series("power_w")) == 8
    [issue] = result.recording.issues
    assert (issue.place, issue.row_count) == ("line 7", 2)
    assert issue.problem == "a line in the table that is none of its rows: '\0\0 502 Bad'"


def test_the_table_ends_where_another_format_begins(tmp_path: Path) -> None:
    others = (
        "# gpu    pid   type     sm\n# Idx      #    C/G      %\n    0  123  C  7  1  2  3\n",
        "#  size count type\n    8 2 float sum -1 5.1 0.0\n   16 4 5 6 7 8 9\n",
        "#bytes #iterations BW peak[Gb/sec]\n 2 1000 0.1 0.2 0.3 0.4 0.5\n",
        "timestamp, index, power.draw [W]\n2026/07/14 08:12:53.353, 0, 12.5 W\n",
        '{"time": "2026-07-14 08:12:53", "gpu_usage:0": 5}\n',
        "iteration 1/ 100 | elapsed time per iteration (ms): 12.5 |\nNCCL INFO 0 1 2 3 4 5\n",
    )
    for other in others:
        result = read_text(smi_dmon, tmp_path, PLAIN + other)
        assert (len(result.series("power_w")), result.problems) == (4, []), other
        # In the background of another program the table goes on between its lines.
        row = PLAIN.splitlines(keepends=True)[-1]
        result = read_text(smi_dmon, tmp_path, PLAIN + other + row)
        assert (len(result.series("power_w")), result.problems) == (5, []), other


def test_a_table_of_damaged_rows_alone_is_refused_with_the_first(tmp_path: Path) -> None:
    for line in ("    0    12x     44      -      5   2619   1980", "    0   12", "damage"):
        text = PLAIN.partition("    0 ")[0] + f"{line}\n"
        refusal = read_text(smi_dmon, tmp_path, text).recording.refusal
        assert refusal and "line 3: " in refusal.problem and line.split()[-1] in refusal.problem


def test_a_table_of_dashes_alone_measured_nothing(tmp_path: Path) -> None:
    result = read_text(smi_dmon, tmp_path, "# gpu pwr sm\n# Idx W %\n 0 - -\n")
    assert (result.samples, result.recording.refusal) == ([], None)
    assert result.problems == ["every cell of the table says '-': nothing was measured"]


@pytest.mark.parametrize(
    "prefixes, hosts",
    [
        (("0: ", "1: "), ("task0", "task1")),
        (("[1,0]<stdout>:", "[1,3]<stdout>:"), ("task0", "task3")),
        (("node-1: ", "node-2: "), ("node-1", "node-2")),
    ],
)
def test_tasks_of_a_launcher_have_tables_of_their_own(
    tmp_path: Path, prefixes: tuple[str, str], hosts: tuple[str, str]
) -> None:
    lines = PLAIN.splitlines()
    text = "".join(f"{prefix}{line}\n" for line in lines for prefix in prefixes)
    assert smi_dmon.recognise(head(text))
    result = read_text(smi_dmon, tmp_path, text)
    power = [row for row in result.samples if row["metric"] == "power_w"]
    assert [(r["host"], r["gpu_id"], r["tick"], r["value"]) for r in power[:5]] == [
        (hosts[0], "gpu:0", 0, 123), (hosts[1], "gpu:0", 0, 123),
        (hosts[0], "gpu:1", 0, 129), (hosts[1], "gpu:1", 0, 129), (hosts[0], "gpu:0", 1, 191),
    ]  # fmt: skip
    assert len(power) == 8 and result.problems == []


def test_a_last_line_without_its_end_is_kept_only_if_as_long_as_the_others(tmp_path: Path) -> None:
    whole = read_text(smi_dmon, tmp_path, PLAIN.rstrip("\n"))
    assert len(whole.series("sm_clock_hz")) == 4
    torn = read_text(smi_dmon, tmp_path, PLAIN.rstrip("\n")[:-2])
    assert len(torn.series("sm_clock_hz")) == 3
    assert torn.recording.facts.status == "incomplete"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str) -> None:
    content = PLAIN.replace("\n", "\r\n").encode(encoding)
    assert (
        read_text(smi_dmon, tmp_path, content).samples
        == read_text(smi_dmon, tmp_path, PLAIN).samples
    )
    assert smi_dmon.recognise(Head(content))


def test_what_is_not_dmon_is_not_recognised() -> None:
    assert smi_dmon.recognise(head("some output\n" + PLAIN))
    for other in (
        "# gpu         pid   type     sm    mem    enc    dec    command\n# Idx  #  C/G  %\n",
        "#Entity   SMCLK  MMCLK\nID\nGPU 0  1980 2619\n",
        "| NVIDIA-SMI 535.54   Driver Version: 535.54 |\n| GPU  Name  pwr |\n",
        "# gpu count of the job\n",
    ):
        assert not smi_dmon.recognise(head(other)), other


def test_values_that_all_cannot_be_true_are_named_in_the_refusal(tmp_path: Path) -> None:
    text = "# gpu  txpci\n# Idx   MB/s\n    0  2016001\n"
    refusal = read_text(smi_dmon, tmp_path, text).recording.refusal
    assert refusal and "pcie_tx_nvml_bytes_per_s cannot be outside" in refusal.problem


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    assert read_text(smi_dmon, tmp_path, "# gpu pwr\n# Idx W\n").recording.refusal is not None


def test_it_is_ingested(tmp_path: Path) -> None:
    file = tmp_path / "gpus.txt"
    file.write_text(PLAIN)
    store = Store.create(tmp_path / "store")
    ingest([file], store, jobs=1)
    query = "SELECT count(*), sum(value) FROM gpu_sample WHERE metric = 'power_w'"
    assert store.connect(asked=["gpu_sample"]).execute(query).fetchall() == [(4, 629)]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32), st.data())
def test_damage_never_makes_a_value(tmp_path: Path, seed: int, data: st.DataObject) -> None:
    clean = kept(smi_dmon, tmp_path, PLAIN.encode())
    assert clean is not None
    content = PLAIN.encode()
    cut = content[: data.draw(st.integers(0, len(content)))]
    assert (kept(smi_dmon, tmp_path, cut) or set()) <= clean
    lines = content.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    assert (kept(smi_dmon, tmp_path, b"".join(lines)) or set()) <= clean
    flipped = bytearray(content)
    flipped[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    kept(smi_dmon, tmp_path, bytes(flipped))


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="the published files are not there")
class TestRealFiles:
    def test_every_number_is_there(self) -> None:
        # Columns as nvidia-smi prints them, by a parser of its own.
        scale = {"pwr": 1, "gtemp": 1, "mtemp": 1, "mclk": 1e6, "pclk": 1e6}
        for file in REAL:
            names: list[str] = []
            total, count = 0.0, 0
            for line in file.read_text().splitlines():
                cells = line.lstrip("#").split()
                if line.startswith("# gpu"):
                    names = cells
                elif cells and cells[0].isdigit():
                    for name, cell in list(zip(names, cells, strict=True))[1:]:
                        if cell != "-":
                            total += float(cell) * scale.get(name, 0.01)
                            count += 1
            result = read_file(smi_dmon, file)
            assert len(result.samples) == count > 0, file
            assert sum(row["value"] for row in result.samples) == pytest.approx(total)
            assert result.problems == []

    def test_eight_gpus_three_rounds(self) -> None:
        result = read_file(smi_dmon, TRACES / "dcgm/smi_dmon_h800_8gpu_d5.txt")
        assert len(result.samples) == 8 * 3 * 9
        assert result.series("gpu_util_share")[19] == ("gpu:3", 2, 0.2)

    def test_under_mig_utilisation_is_absent(self) -> None:
        result = read_file(smi_dmon, TRACES / "dcgm/smi_h200-mig__590.48.01__load_dmon.txt")
        assert {row["metric"] for row in result.samples} == {
            "power_w", "temperature_celsius", "memory_temperature_celsius", "memory_clock_hz",
            "sm_clock_hz",
        }  # fmt: skip


def test_rows_whose_table_was_broken_off_at_once_are_kept(tmp_path: Path) -> None:
    head_lines, rows = PLAIN.partition("%    MHz    MHz\n")[::2]
    text = head_lines + "%    MHz    MHz\nGPU 0: NVIDIA L4 (UUID: GPU-1f)\n" + rows
    assert len(read_text(smi_dmon, tmp_path, text).series("power_w")) == 4


def test_rows_of_benchmarks_between_the_lines_are_nobodys_gpu(tmp_path: Path) -> None:
    table = "# gpu     sm    mem    enc    dec\n# Idx      %      %      %      %\n"
    row = "    0     10      5      0      0\n"
    perftest = " 2          1000             4.11               4.10               2.150000\n"
    nccl = "     1048576        262144     float     sum    52.43   20.00   20.00       0\n"
    result = read_text(smi_dmon, tmp_path, table + row + perftest + nccl + row)
    assert [device for _, device, _ in result.series("gpu_util_share")] == [0, 1]  # ticks
    assert len(result.samples) == 8 and result.problems == []
