"""nvbandwidth: a matrix in, a row per pair out."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_reading import mangled, read_text, recognises, rows_or_refusal

from pipeline.ingest import ingest
from pipeline.readers import nvbandwidth
from pipeline.readers.record import Hints
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "perftest"

HEAD = """nvbandwidth Version: v0.7
Built from Git version: v0.7

CUDA Runtime Version: 12080
CUDA Driver Version: 12080
Driver Version: 570.124.06

Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)

"""
PEERS = """Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    370.90
 1    372.05       N/A

SUM device_to_device_memcpy_read_ce 742.95

"""
LATENCY = """Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    613.22    614.00

SUM host_device_latency_sm 1227.22

"""
WHERE = ("source", "destination", "bandwidth_bytes_per_s")


def test_each_pair_of_a_matrix_is_a_row(tmp_path: Path) -> None:
    read = read_text(nvbandwidth, tmp_path, HEAD + PEERS, Hints(host="node-a"))
    first, second = read.tables["link_benchmark"]
    assert first == {
        "tool": "nvbandwidth",
        "test": "device_to_device_memcpy_read_ce",
        "status": "measured",
        "kind": "bandwidth",
        "verb": "read",
        "is_bidirectional": False,
        "host": "node-a",
        "source": "GPU0",
        "destination": "GPU1",
        "bandwidth_bytes_per_s": 370_900_000_000,
        "table_number": 0,
        "line": 13,
    }
    assert (second["source"], second["destination"], second["line"]) == ("GPU1", "GPU0", 14)
    assert (read.facts.tool_version, read.facts.status, read.issues) == ("v0.7", "complete", [])
    assert read.tables["setting"] == [{"name": "NVIDIA_DRIVER_VERSION", "value": "570.124.06"}]


def test_an_arrow_to_the_left_turns_the_pair_round(tmp_path: Path) -> None:
    read = read_text(nvbandwidth, tmp_path, PEERS.replace("->", "<-"))
    assert read.rows("link_benchmark", *WHERE) == [
        ("GPU1", "GPU0", 370_900_000_000),
        ("GPU0", "GPU1", 372_050_000_000),
    ]


def test_latency_is_in_ns(tmp_path: Path) -> None:
    read = read_text(nvbandwidth, tmp_path, LATENCY)
    columns = ("kind", "source", "destination", "latency_avg_ns", "is_bidirectional")
    assert read.rows("link_benchmark", *columns) == [
        ("latency", "CPU0", "GPU0", 613.22, None),
        ("latency", "CPU0", "GPU1", 614.0, None),
    ]


def test_zero_is_no_bandwidth(tmp_path: Path) -> None:
    """Old versions print 0.00 for a device and itself, and for pairs without a path."""
    text = PEERS.replace("   N/A", "  0.00").replace("372.05", "  0.00")
    read = read_text(nvbandwidth, tmp_path, text)
    assert read.rows("link_benchmark", *WHERE) == [("GPU0", "GPU1", 370_900_000_000)]
    assert read.issues == [("line 5", "pairs with a value of 0, which is none", 1)]


def test_tests_that_were_not_measured(tmp_path: Path) -> None:
    text = "Running device_to_device_memcpy_write_ce.\nWaived.\n\nWaived: \n"
    text += "Running device_to_host_memcpy_sm.\nError: out of memory\nRunning one_to_all_read_sm.\n"
    read = read_text(nvbandwidth, tmp_path, HEAD + PEERS + text)
    assert read.rows("link_benchmark", "test", "status")[2:] == [
        ("device_to_device_memcpy_write_ce", "waived"),
        (None, "waived"),
        ("device_to_host_memcpy_sm", "error"),
        ("one_to_all_read_sm", "missing"),
    ]
    assert read.facts.status == "incomplete"


def test_one_test_may_print_three_matrices(tmp_path: Path) -> None:
    begin = "Running device_to_device_bidirectional_memcpy_read_ce.\n"
    matrix = "memcpy CE GPU(row) <-> GPU(column) {} bandwidth (GB/s)\n    0    1\n0 0.00 45.1\n\n"
    text = begin + "".join(matrix.format(part) for part in ("Read1", "Read2", "Total"))
    read = read_text(nvbandwidth, tmp_path, text)
    name = "device_to_device_bidirectional_memcpy_read_ce"
    assert read.rows("link_benchmark", "test", "is_bidirectional", "table_number") == [
        (f"{name}_read1", True, 0),
        (f"{name}_read2", True, 1),
        (f"{name}_total", True, 2),
    ]


@pytest.mark.parametrize(
    ("description", "source", "destination"),
    [
        ("memcpy SM All Gpus -> GPU(column) total bandwidth (GB/s)", "all GPUs", "GPU3"),
        ("memcpy SM All GPUs <- GPU(column) total bandwidth (GB/s)", "GPU3", "all GPUs"),
        ("memcpy local GPU(column) bandwidth (GB/s)", "GPU3", "GPU3"),
        ("memcpy CE GPU(row) -> CPU(column) bandwidth (GB/s)", "GPU0", "CPU3"),
    ],
)
def test_ends_of_other_tests(
    tmp_path: Path, description: str, source: str, destination: str
) -> None:
    text = f"Running some_test.\n{description}\n      3\n0   84.33\n\n"
    assert recognises(nvbandwidth, text)
    read = read_text(nvbandwidth, tmp_path, text)
    assert read.rows("link_benchmark", *WHERE) == [(source, destination, 84_330_000_000)]


def test_tests_over_several_hosts_name_them(tmp_path: Path) -> None:
    processes = "".join(
        f"Process {n} (worker-{n}): device 0: HGX GB200 (00000008:01:00)\n" for n in range(2)
    )
    text = HEAD + processes + PEERS.replace("device_to", "multinode_device_to", 1) + PEERS
    read = read_text(nvbandwidth, tmp_path, text)
    assert read.rows("link_benchmark", "source_host", "destination_host") == [
        ("worker-0", "worker-1"),
        ("worker-1", "worker-0"),
        (None, None),
        (None, None),
    ]


def test_a_launcher_indents_or_tags_the_lines(tmp_path: Path) -> None:
    text = "".join(f"[1,0]<stdout>: {line}\n" for line in (HEAD + PEERS).splitlines())
    read = read_text(nvbandwidth, tmp_path, text)
    assert len(read.tables["link_benchmark"]) == 2
    assert read.facts.status == "complete"


def test_a_row_that_is_not_whole_is_skipped_and_quoted(tmp_path: Path) -> None:
    text = HEAD + PEERS.replace(" 1    372.05       N/A", " 1    372.05")
    read = read_text(nvbandwidth, tmp_path, text)
    assert read.rows("link_benchmark", "line") == [13]
    assert read.issues == [("line 14", "a row with other columns than its matrix: '1 372.05'", 1)]


def test_a_cell_that_is_no_number_is_skipped_alone(tmp_path: Path) -> None:
    read = read_text(nvbandwidth, tmp_path, HEAD + PEERS.replace("370.90", "37O.90"))
    assert read.rows("link_benchmark", "line") == [14]
    assert read.issues == [("line 13", "a cell that is no number: '37O.90'", 1)]


def test_the_last_cell_of_a_file_that_was_cut_is_not_believed(tmp_path: Path) -> None:
    text = PEERS[: PEERS.index("370.90") + len("370.9")]
    read = read_text(nvbandwidth, tmp_path, text + "\n")
    assert len(read.tables["link_benchmark"]) == 1
    cut = read_text(nvbandwidth, tmp_path, text)
    assert cut.refusal is not None
    assert "the file ends within a row" in cut.refusal.problem


def document(**test: Any) -> str:
    root = {
        "CUDA Runtime Version": 12080,
        "Driver Version": "570.124.06",
        "testcases": [{"name": "device_to_device_memcpy_read_ce", "status": "Passed", **test}],
        "version": "v0.8",
    }
    return json.dumps({"nvbandwidth": root}, indent=1)


def test_json_has_its_numbers_in_quotes(tmp_path: Path) -> None:
    text = document(
        bandwidth_description="memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
        bandwidth_matrix=[["N/A", "276.07"], ["1.2e+03", "N/A"]],
        sum=1476.07,
    )
    assert recognises(nvbandwidth, text)
    read = read_text(nvbandwidth, tmp_path, "a warning before it\n  " + text)
    assert read.rows("link_benchmark", *WHERE, "line") == [
        ("GPU0", "GPU1", 276_070_000_000, 2),
        ("GPU1", "GPU0", 1_200_000_000_000, 2),
    ]
    assert (read.facts.tool_version, read.facts.status) == ("v0.8", "complete")
    assert read.rows("setting", "value") == ["570.124.06"]


@pytest.mark.parametrize(
    ("printed", "kept"),
    [("Waived", "waived"), ("Error", "error"), ("Not Found", "not_found"), ("Running", "missing")],
)
def test_json_of_a_test_that_was_not_measured(tmp_path: Path, printed: str, kept: str) -> None:
    read = read_text(nvbandwidth, tmp_path, document(status=printed))
    assert read.rows("link_benchmark", "status") == [kept]


def test_json_that_is_cut_is_refused(tmp_path: Path) -> None:
    read = read_text(nvbandwidth, tmp_path, document()[:-10])
    assert read.refusal is not None
    assert "cut short or damaged" in read.refusal.problem


@pytest.mark.parametrize(
    "text",
    [
        "Running some_test.\n",
        "memory bandwidth (GB/s)\n",
        "bandwidth (GB/s) of GPU 0\n",
        'name = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"\n',
        "print('nvbandwidth Version: 1')\n",
    ],
)
def test_other_texts_are_not_recognised(text: str) -> None:
    assert not recognises(nvbandwidth, text)


SAMPLE = (HEAD + PEERS + LATENCY).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["truncate", "shuffle", "change"]))
def test_whatever_happens_to_a_file_its_numbers_are_those_it_prints(
    tmp_path: Path, seed: int, kind: str
) -> None:
    clean = rows_or_refusal(nvbandwidth, tmp_path, SAMPLE)
    rows = rows_or_refusal(nvbandwidth, tmp_path, mangled(SAMPLE, seed, kind))
    measured = [row for row in rows if row.get("status") == "measured"]
    if kind == "truncate":
        assert all(row in clean for row in measured)
        assert {row.get("test") for row in rows} <= {row.get("test") for row in clean}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["truncate", "shuffle", "change"]))
def test_whatever_happens_to_json_it_is_read_or_refused(
    tmp_path: Path, seed: int, kind: str
) -> None:
    text = document(
        bandwidth_description="memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
        bandwidth_matrix=[["N/A", "276.07"], ["275.00", "N/A"]],
    )
    rows_or_refusal(nvbandwidth, tmp_path, mangled(text.encode(), seed, kind))


@pytest.mark.real_traces
@pytest.mark.skipif(not TRACES.is_dir(), reason="the published files are not there")
def test_the_matrices_of_a_published_page(tmp_path: Path) -> None:
    text = (TRACES / "nvbandwidth_readme.md").read_text(encoding="utf-8")
    read = read_text(nvbandwidth, tmp_path, text)
    expected = []
    for begin, columns in (("Running device_to_device_memcpy_write", 8), ("Running host", 8)):
        lines = text[text.index(begin) :].splitlines()[3:]
        for row in [line.split() for line in lines[: lines.index("```")]]:
            assert len(row) == 1 + columns
            cells = [(row[0], str(n), cell) for n, cell in enumerate(row[1:])]
            expected += [cell for cell in cells if float(cell[2])]
    found = read.tables["link_benchmark"]
    assert len(found) == 56 + 8 + 8
    assert [(r["destination"][3:], r["source"][3:]) for r in found[:56]] == [
        cell[:2] for cell in expected[:56]
    ]
    assert [r["bandwidth_bytes_per_s"] for r in found[:64]] == [
        pytest.approx(float(cell) * 1e9, rel=1e-12) for *_, cell in expected
    ]
    assert {r["is_bidirectional"] for r in found[64:]} == {True}
    assert read.issues == []


def test_a_compressed_file_is_ingested(tmp_path: Path) -> None:
    import gzip

    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "nvbandwidth.txt.gz").write_bytes(gzip.compress((HEAD + PEERS).encode()))
    store = Store.create(tmp_path / "store")
    summary = ingest([folder], store, jobs=1)
    assert [(o.kind, o.row_count) for o in summary.outcomes] == [("stored", 3)]
    asked = "SELECT source, destination FROM link_benchmark ORDER BY line"
    assert store.connect(asked=["link_benchmark"]).execute(asked).fetchall() == [
        ("GPU0", "GPU1"),
        ("GPU1", "GPU0"),
    ]
