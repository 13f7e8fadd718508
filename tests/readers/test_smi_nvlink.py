"""nvidia-smi nvlink -s: links in, rows out."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_reading import mangled, read_text, recognises, rows_or_refusal

from pipeline.readers import smi_nvlink

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "perftest"

UUID = "0a0b0c0d-0000-0000-0000-00000000000"
TEXT = f"""$ nvidia-smi nvlink -s
GPU 0: NVIDIA H200 (UUID: GPU-{UUID}0)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA H200 (UUID: GPU-{UUID}1)
\t Link 0: 26.562 GB/s
"""
LINK = ("source", "link_number", "bandwidth_bytes_per_s", "status")


def test_each_link_is_a_row(tmp_path: Path) -> None:
    assert recognises(smi_nvlink, TEXT)
    read = read_text(smi_nvlink, tmp_path, TEXT)
    assert read.rows("link", *LINK) == [
        ("GPU0", 0, 26_562_000_000, "active"),
        ("GPU0", 1, None, "inactive"),
        ("GPU1", 0, 26_562_000_000, "active"),
    ]
    assert read.tables["link"][0] == {
        "origin": "nvlink",
        "source": "GPU0",
        "product": "NVIDIA H200",
        "gpu_id": f"{UUID}0",
        "kind": "nvlink",
        "link_number": 0,
        "bandwidth_bytes_per_s": 26_562_000_000,
        "status": "active",
        "table_number": 0,
        "line": 3,
    }
    assert read.issues == []


@pytest.mark.parametrize(
    ("sentence", "status"),
    [
        ("Nvlink queries are not supported for Devices in MIG mode", "mig"),
        ("NVML: Unable to retrieve Nvlink information as all links are inActive", "inactive"),
        ("Device does not have or support Nvlink", "unsupported"),
    ],
)
def test_a_sentence_stands_for_all_links(tmp_path: Path, sentence: str, status: str) -> None:
    text = f"GPU 0: NVIDIA H200 (UUID: GPU-{UUID}0)\n{sentence}\n"
    assert recognises(smi_nvlink, text)
    read = read_text(smi_nvlink, tmp_path, text)
    assert read.rows("link", *LINK) == [("GPU0", None, None, status)]


def test_several_hosts_in_one_file_with_what_a_launcher_puts_before(tmp_path: Path) -> None:
    text = "".join(f"node-{n}: {line}\n" for n in (1, 2) for line in TEXT.splitlines())
    read = read_text(smi_nvlink, tmp_path, text)
    assert read.rows("link", "host", "source", "table_number") == [
        *[("node-1", "GPU0", 0)] * 2,
        ("node-1", "GPU1", 0),
        *[("node-2", "GPU0", 1)] * 2,
        ("node-2", "GPU1", 1),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"GPU 0: NVIDIA H200 (UUID: GPU-{UUID}0)\nGPU 1: NVIDIA H200 (UUID: GPU-{UUID}1)\n",
        f"GPU 0: A100 (UUID: GPU-{UUID}0)\n  MIG 1g.5gb Device 0: (UUID: MIG-{UUID}1)\n",
        f"GPU 0: A100 (UUID: GPU-{UUID}0)\n\t Link 0, P2P is supported: true\n",
        f"GPU 0: A100 (UUID: GPU-{UUID}0)\n\t Link 0: Replay Errors: 0\n",
    ],
)
def test_other_listings_of_gpus_are_not_recognised(text: str) -> None:
    assert not recognises(smi_nvlink, text)


def test_a_state_that_was_cut_or_damaged_is_skipped_and_quoted(tmp_path: Path) -> None:
    text = TEXT.replace("Link 0: 26.562 GB/s\n\t Link 1", "Link 0: 26.5x2 GB/s\n\t Link 1")
    read = read_text(smi_nvlink, tmp_path, text.rstrip()[:-2])
    assert read.rows("link", *LINK) == [("GPU0", 1, None, "inactive")]
    assert ("line 3", "a link without a state: 'Link 0: 26.5x2 GB/s'", 2) in read.issues
    assert ("line 6", "the file ends within the links of a GPU", 1) in read.issues


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["truncate", "shuffle", "change"]))
def test_whatever_happens_to_a_file_its_links_are_those_it_prints(
    tmp_path: Path, seed: int, kind: str
) -> None:
    clean = rows_or_refusal(smi_nvlink, tmp_path, TEXT.encode())
    rows = rows_or_refusal(smi_nvlink, tmp_path, mangled(TEXT.encode(), seed, kind))
    if kind == "truncate":
        assert all(row in clean for row in rows)


@pytest.mark.real_traces
@pytest.mark.skipif(not TRACES.is_dir(), reason="the published files are not there")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100-80gb-hbm3__590.48.01", [(n, 26_562_000_000, "active") for n in range(18)]),
        ("h200__590.48.01", [(n, 26_562_000_000, "active") for n in range(18)]),
        ("h100-mig__590.48.01", [(None, None, "mig")]),
        ("h200-mig__590.48.01", [(None, None, "mig")]),
        ("l40s__595.80", [(None, None, "unsupported")]),
        ("geforce-rtx-2080-super__610.57.04", [(None, None, "inactive")]),
        ("win-geforce-rtx-2080-super__610.62", [(None, None, "inactive")]),
    ],
)
def test_published_states(tmp_path: Path, name: str, expected: list[object]) -> None:
    content = (TRACES / f"smi_{name}__capabilities_nvlink_s.txt").read_bytes()
    assert recognises(smi_nvlink, content.decode())
    read = read_text(smi_nvlink, tmp_path, content)
    assert read.rows("link", *LINK[1:]) == expected
    assert read.issues == []


def test_states_that_all_are_damaged_are_refused_with_the_first(tmp_path: Path) -> None:
    for state in ("26.5x2 GB/s", "?", "<inact"):
        text = f"GPU 0: NVIDIA H200 (UUID: GPU-{UUID}0)\n\t Link 0: {state}\n"
        assert recognises(smi_nvlink, text)
        refusal = read_text(smi_nvlink, tmp_path, text).refusal
        assert refusal and f"line 2: a link without a state: 'Link 0: {state}'" in refusal.problem


def test_lines_between_links_are_told_and_other_output_below_is_not(tmp_path: Path) -> None:
    text = TEXT.replace("\t Link 1", "502 Bad Gateway\n\t Link 1") + "done\n\nbye\n"
    assert read_text(smi_nvlink, tmp_path, text).issues == [
        ("line 4", "a line in the table that is none of its rows: '502 Bad Gateway'", 1)
    ]
    dmon = "# gpu   pwr\n# Idx     W\n    0    12\n"
    assert read_text(smi_nvlink, tmp_path, TEXT + dmon).issues == []


def test_links_among_another_formats_lines_are_kept(tmp_path: Path) -> None:
    other = "# gpu   pwr\n# Idx     W\n    0    12\n"
    read = read_text(smi_nvlink, tmp_path, TEXT.replace("\t Link 1", other + "\t Link 1"))
    assert len(read.rows("link", "source")) == 3 and read.issues == []
