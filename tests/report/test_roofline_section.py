"""Sections of rooflines and MFU: what they draw, and that profiles alone make a page too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.ingest import ingest
from pipeline.report import roofline, sections, utilisation, views
from pipeline.report.section import Section
from pipeline.store import Store

JOB = Path(__file__).parents[2] / "sample_traces" / "ddp_late_rank"


def made(folder: Path, *names: str) -> dict[str, Section]:
    run = folder / "run"
    run.mkdir()
    for name in names:
        (run / name).write_bytes((JOB / name).read_bytes())
    store = Store.create(folder / "store")
    ingest([run], store, jobs=1)
    return {
        section.name: section
        for section in sections(store.connect(runs=["run"], asked=[], kept=views()))
    }


def drawn(section: Section, chart: str, key: str) -> list[dict[str, Any]]:
    """Rows that a chart draws and that have this column."""
    (found,) = (each for each in section.charts if each.name == chart)
    return [row for rows in found.spec["datasets"].values() for row in rows if key in row]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    files = ("rank0.sqlite.xz", "ncu_rank0.raw.csv", "ncu_rank0.details.csv", "run.toml")
    return made(tmp_path_factory.mktemp("page"), *files, "megatron.log")


def test_a_point_for_each_kernel_kind_and_level(page: dict[str, Section]) -> None:
    points = drawn(page["roofline"], "roofline", "roof_share")
    # Four kernels that compute: one by tensor cores alone, one by both, two by neither.
    assert sorted({point["work"] for point in points}) == ["fp32", "tensor bf16"]
    assert len(points) == 2 * (1 + 2 + 1 + 1)
    assert all(point["kernel_time_share"] > 0 for point in points)


def test_roofs_rise_to_their_ridge_and_stay(page: dict[str, Section]) -> None:
    corners = drawn(page["roofline"], "roofline", "roof")
    for roof in {corner["roof"] for corner in corners}:
        left, ridge, right = (c for c in corners if c["roof"] == roof)
        assert left["intensity"] < ridge["intensity"] < right["intensity"]
        assert left["flops_per_s"] < ridge["flops_per_s"]
        assert ridge["flops_per_s"] == pytest.approx(right["flops_per_s"])


def test_shares_of_kernel_time(page: dict[str, Section]) -> None:
    bars = drawn(page["roofline"], "weighted_roofline", "exact_share")
    assert sum(bar["kernel_time_share"] for bar in bars) == pytest.approx(1)


def test_the_table_of_mfu(page: dict[str, Section]) -> None:
    (table,) = page["utilisation"].tables
    found = {row[0]: row[table.columns.index("mfu_share")] for row in table.rows}
    assert set(found) == {"nsys", "megatron"}


def test_profiles_without_a_job(tmp_path: Path) -> None:
    page = made(tmp_path, "ncu_rank0.raw.csv")
    assert [table.name for table in page["roofline"].tables] == ["speed_of_light"]
    points = drawn(page["roofline"], "roofline", "roof_share")
    assert points and all(point["kernel_time_share"] is None for point in points)
    assert page["utilisation"].empty


def test_throughputs_without_work(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream"'
    head += ',"Block Size","Grid Size","Device","CC","Section Name","Metric Name"'
    row = '"0","1","p","127.0.0.1","k","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0"'
    row += ',"GPU Speed Of Light Throughput","Memory Throughput","%","12.00"'
    text = f'{head},"Metric Unit","Metric Value"\n{row}\n'
    (tmp_path / "run" / "k.csv").write_text(text, encoding="utf-8")
    store = Store.create(tmp_path / "store")
    ingest([tmp_path / "run"], store, jobs=1)
    section = roofline.section(store.connect(runs=["run"]))
    assert section.charts == ()
    assert [table.name for table in section.tables] == ["speed_of_light"]
    assert utilisation.section(store.connect(runs=["run"])).empty
