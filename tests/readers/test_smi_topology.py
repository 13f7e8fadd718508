"""nvidia-smi topo -m: a matrix in, a row per pair out."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_reading import Read, mangled, read_text, recognises, rows_or_refusal

from pipeline.ingest import ingest
from pipeline.readers import smi_topology
from pipeline.readers.record import Hints
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "perftest"

TABS = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPIX\t0-23,48-71\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\t24-47,72-95\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n\n"
)
SPACES = """$ nvidia-smi topo -m
        GPU0    GPU1    mlx5_0  CPU Affinity
GPU0     X      NV2     PHB     0-95
GPU1    NV2      X      NODE    0-95
mlx5_0  PHB     NODE     X
"""
PAIR = ("source", "destination", "kind", "link_count")


def test_each_pair_is_a_row(tmp_path: Path) -> None:
    assert recognises(smi_topology, TABS)
    read = read_text(smi_topology, tmp_path, TABS, Hints(host="node-a"))
    assert read.rows("link", *PAIR) == [
        ("GPU0", "GPU1", "nvlink", 18),
        ("GPU0", "NIC0", "pix", None),
        ("GPU1", "GPU0", "nvlink", 18),
        ("GPU1", "NIC0", "sys", None),
        ("NIC0", "GPU0", "pix", None),
        ("NIC0", "GPU1", "sys", None),
    ]
    assert read.tables["link"][1] == {
        "host": "node-a",
        "origin": "topo",
        "source": "GPU0",
        "destination": "NIC0",
        "destination_name": "mlx5_0",
        "kind": "pix",
        "table_number": 0,
        "line": 2,
    }
    assert (read.facts.status, read.issues) == ("complete", [])


def test_affinities_are_those_of_gpus(tmp_path: Path) -> None:
    read = read_text(smi_topology, tmp_path, TABS)
    columns = ("device", "cpu_affinity", "numa_node", "gpu_numa_node")
    assert read.rows("device_affinity", *columns) == [
        ("GPU0", "0-23,48-71", 0, None),
        ("GPU1", "24-47,72-95", 1, None),
    ]


def test_numa_nodes_may_be_several_or_the_gpus_own(tmp_path: Path) -> None:
    text = TABS.replace("\t0\t\tN/A", "\t0-1\t\t2")
    read = read_text(smi_topology, tmp_path, text)
    columns = ("numa_affinity", "numa_node", "gpu_numa_node")
    assert read.rows("device_affinity", *columns)[0] == ("0-1", None, 2)


def test_old_output_has_no_numa_column_and_adapters_by_their_names(tmp_path: Path) -> None:
    assert recognises(smi_topology, SPACES)
    read = read_text(smi_topology, tmp_path, SPACES)
    assert read.rows("link", *PAIR)[0] == ("GPU0", "GPU1", "nvlink", 2)
    assert ("mlx5_0", "GPU1", "node", None) in read.rows("link", *PAIR)
    assert read.rows("device_affinity", "cpu_affinity", "numa_node") == [("0-95", None)] * 2


def test_adapters_of_other_makers(tmp_path: Path) -> None:
    read = read_text(smi_topology, tmp_path, SPACES.replace("mlx5_0", "rocep1s0f1"))
    assert ("rocep1s0f1", "GPU0", "phb", None) in read.rows("link", *PAIR)


def test_cells_that_a_terminal_glued_together(tmp_path: Path) -> None:
    read = read_text(smi_topology, tmp_path, SPACES.replace("NV2     PHB ", "NV2PHB "))
    assert read.rows("link", *PAIR)[:2] == [
        ("GPU0", "GPU1", "nvlink", 2),
        ("GPU0", "mlx5_0", "phb", None),
    ]
    assert read.issues == []


def test_a_row_that_lost_a_cell_is_skipped_and_its_gpu_missed(tmp_path: Path) -> None:
    text = SPACES.replace("NV2      X      NODE", "NV2      X  ")
    read = read_text(smi_topology, tmp_path, text)
    assert {source for source, *_ in read.rows("link", *PAIR)} == {"GPU0", "mlx5_0"}
    assert read.issues == [
        ("line 2", "no row for GPU1", 1),
        ("line 4", "a row with other cells than its matrix has columns: 'GPU1 NV2 X 0-95'", 1),
    ]
    assert read.facts.status == "incomplete"


def test_a_row_whose_x_stands_elsewhere_is_skipped(tmp_path: Path) -> None:
    text = SPACES.replace("GPU1    NV2      X      NODE", "GPU1     X      NV2     NODE")
    read = read_text(smi_topology, tmp_path, text)
    assert any("X is not at its own device" in problem for _, problem, _ in read.issues)


def test_directions_that_differ_are_told(tmp_path: Path) -> None:
    text = TABS.replace("GPU1\tNV18", "GPU1\tNV17")
    read = read_text(smi_topology, tmp_path, text)
    assert read.issues == [
        ("line 1", "the matrix is not symmetric: GPU0 to GPU1 is NV18, back NV17", 1)
    ]


def test_cpus_that_lost_a_character_are_left_out_with_those_beside_them(tmp_path: Path) -> None:
    read = read_text(smi_topology, tmp_path, TABS.replace("24-47,72-95", "-47,72-95"))
    columns = ("cpu_affinity", "numa_node")
    assert read.rows("device_affinity", *columns) == [(None, 0), (None, 1)]
    assert "the CPUs of a row are damaged" in read.issues[0][1]


def test_several_hosts_in_one_file(tmp_path: Path) -> None:
    read = read_text(smi_topology, tmp_path, SPACES + TABS)
    assert sorted(set(read.rows("link", "table_number"))) == [0, 1]
    assert len(read.tables["link"]) == 12


def test_launchers_prefixes_name_the_hosts(tmp_path: Path) -> None:
    text = "".join(f"node-{n}: {line}\n" for n in (1, 2) for line in TABS.splitlines())
    read = read_text(smi_topology, tmp_path, text)
    hosts = [("node-1", 0), ("node-2", 1)]
    assert sorted(set(read.rows("link", "host", "table_number"))) == hosts
    assert sorted(set(read.rows("device_affinity", "host"))) == ["node-1", "node-2"]
    said = read_text(smi_topology, tmp_path, text, Hints(host="other"))
    assert set(said.rows("link", "host")) == {"other"}


def test_the_last_cell_of_a_file_that_was_cut_is_not_believed(tmp_path: Path) -> None:
    text = TABS[: TABS.index("NIC0\tPIX")] + "NIC0\tPIX\tSYS\t X"
    read = read_text(smi_topology, tmp_path, text)
    assert len(read.tables["link"]) == 6
    text = SPACES[: SPACES.index("mlx5_0  PHB")].rstrip()
    cut = read_text(smi_topology, tmp_path, text[:-1])  # 0-95 is now 0-9
    assert cut.rows("device_affinity", "device") == ["GPU0"]


def test_a_matrix_without_rows_is_refused(tmp_path: Path) -> None:
    read = read_text(smi_topology, tmp_path, SPACES.splitlines()[1] + "\n")
    assert read.refusal is not None
    assert read.refusal.problem.startswith("no pair of devices could be read: no row for GPU0")


@pytest.mark.parametrize(
    "text",
    ["GPU0 CPU affinity\n", "CPU Affinity: 0-23\n", "cpu_bind: GPU0 and CPU Affinity are set\n"],
)
def test_other_texts_are_not_recognised(text: str) -> None:
    assert not recognises(smi_topology, text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["truncate", "shuffle", "change"]))
def test_whatever_happens_to_a_file_its_pairs_are_those_it_prints(
    tmp_path: Path, seed: int, kind: str
) -> None:
    def pairs(content: bytes) -> set[tuple[object, ...]]:
        rows = rows_or_refusal(smi_topology, tmp_path, content)
        return {tuple(row.get(name) for name in PAIR) for row in rows if row["table"] == "link"}

    content = mangled(TABS.encode(), seed, kind)
    if kind != "change":
        assert pairs(content) <= pairs(TABS.encode())
    else:
        pairs(content)


# -- published files -----------------------------------------------------------------------


@pytest.mark.real_traces
@pytest.mark.skipif(not TRACES.is_dir(), reason="the published files are not there")
class TestPublished:
    def read(self, folder: Path, name: str) -> Read:
        text = (TRACES / name).read_bytes()
        assert recognises(smi_topology, text.decode())
        return read_text(smi_topology, folder, text)

    def test_links_of_a_v100_host(self, tmp_path: Path) -> None:
        read = self.read(tmp_path, "topo_v100_8gpu_issue37.txt")
        first = [row for row in read.rows("link", *PAIR) if row[0] == "GPU0"]
        assert [(kind, count) for *_, kind, count in first] == [
            ("nvlink", 1),
            ("nvlink", 1),
            ("nvlink", 2),
            ("sys", None),
            ("sys", None),
            ("nvlink", 2),
            ("sys", None),
        ]
        assert len(read.tables["link"]) == 56
        assert read.rows("device_affinity", "cpu_affinity") == ["0-95"] * 8
        assert read.issues == []

    def test_two_hosts_with_all_gpus_connected(self, tmp_path: Path) -> None:
        read = self.read(tmp_path, "stas_topo_a100_h100.txt")
        counts = set(read.rows("link", "table_number", "kind", "link_count"))
        assert counts == {(0, "nvlink", 12), (1, "nvlink", 18)}
        assert len(read.tables["link"]) == 112
        cpus = read.rows("device_affinity", "cpu_affinity", "numa_node")
        assert cpus == [
            *[("0-23", 0)] * 4,
            *[("24-47", 1)] * 4,
            *[("0-51", 0)] * 4,
            *[("52-103", 1)] * 4,
        ]

    def test_a_copy_that_lost_characters(self, tmp_path: Path) -> None:
        read = self.read(tmp_path, "topo_a800_mangled.txt")
        pairs = read.rows("link", "source", "destination", "kind", "link_count", "source_name")
        assert len(pairs) == 56 + 32
        assert ("NIC1", "GPU3", "pix", None, "mlx5_1") in pairs
        assert ("NIC3", "GPU0", "sys", None, None) in pairs
        assert read.rows("device_affinity", "cpu_affinity", "numa_node") == [
            *[(None, 0)] * 4,
            *[(None, 1)] * 4,
        ]
        assert [problem for _, problem, _ in read.issues] == [
            "the legend does not name NIC3",
            "the CPUs of a row are damaged, so those of its matrix are left out: '-31,64-95'",
        ]

    @pytest.mark.parametrize(
        ("name", "cpus"), [("h100-80gb-hbm3__590.48.01", "0-19"), ("l40s__595.80", "0-7")]
    )
    def test_a_host_of_one_gpu_has_no_pair(self, tmp_path: Path, name: str, cpus: str) -> None:
        read = self.read(tmp_path, f"smi_{name}__capabilities_topo.txt")
        assert "link" not in read.tables
        assert read.rows("device_affinity", "device", "cpu_affinity", "numa_node") == [
            ("GPU0", cpus, 0)
        ]
        assert read.refusal is None


def test_a_file_is_ingested(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "topo.txt").write_text("\ufeff" + TABS, encoding="utf-8")
    store = Store.create(tmp_path / "store")
    summary = ingest([folder], store, jobs=1, hints=Hints(host="node-a"))
    assert [(o.kind, o.row_count, o.issues) for o in summary.outcomes] == [("stored", 8, ())]
    asked = "SELECT host, count(*) FROM link GROUP BY host"
    assert store.connect(asked=["link"]).execute(asked).fetchall() == [("node-a", 6)]


def test_lines_within_the_matrix_are_kept_or_told(tmp_path: Path) -> None:
    text = SPACES.replace("GPU1    NV2      X      NODE", "retry\nGPU1    ???      X      NODE")
    issues = read_text(smi_topology, tmp_path, text).issues
    assert ("line 4", "a line in the table that is none of its rows: 'retry'", 1) in issues
    assert any(place == "line 5" and "'GPU1 ???" in problem for place, problem, _ in issues)


def test_a_matrix_of_damaged_rows_alone_is_refused_with_the_first(tmp_path: Path) -> None:
    header = next(line for line in SPACES.splitlines() if "CPU Affinity" in line)
    refusal = read_text(smi_topology, tmp_path, f"{header}\nGPU0 ? ?\n").refusal
    assert refusal and "line 2: " in refusal.problem and "'GPU0 ? ?'" in refusal.problem


def test_the_matrix_ends_where_another_format_begins(tmp_path: Path) -> None:
    other = "# gpu   pwr\n# Idx     W\n    0    12\nGPU0 12 13\n"
    clean = read_text(smi_topology, tmp_path, TABS).issues
    assert read_text(smi_topology, tmp_path, TABS + other).issues == clean


def test_rows_among_another_formats_lines_are_kept(tmp_path: Path) -> None:
    other = "# gpu   pwr\n# Idx     W\n    0    12\n"
    text = TABS.replace("GPU1\tNV18", other + "GPU1\tNV18")
    clean = read_text(smi_topology, tmp_path, TABS)
    read = read_text(smi_topology, tmp_path, text)
    assert read.rows("link", *PAIR) == clean.rows("link", *PAIR) and read.issues == clean.issues
