"""The HTML report: one self-contained page per run, and an index of the store's runs.

A section is one module below and one line in ``SECTIONS``, in the order of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import quote

from pipeline.errors import UserError
from pipeline.report import (
    activity,
    api,
    bandwidth,
    benchmarks,
    collectives,
    communication,
    conditions,
    copies,
    counters,
    earlier_runs,
    gap_causes,
    gaps,
    hardware,
    headline,
    index,
    kernels,
    memory,
    nvtx,
    page,
    ranks,
    roofline,
    sources,
    step_map,
    step_marks,
    steps,
    thresholds,
    time_split,
    utilisation,
    verdict,
)

if TYPE_CHECKING:
    import duckdb

    from pipeline.report.section import Section
    from pipeline.store import Store

SECTIONS: tuple[ModuleType, ...] = (
    verdict,
    headline,
    steps,
    step_map,
    step_marks,
    time_split,
    communication,
    collectives,
    ranks,
    gap_causes,
    gaps,
    activity,
    conditions,
    hardware,
    counters,
    bandwidth,
    benchmarks,
    roofline,
    utilisation,
    copies,
    memory,
    kernels,
    nvtx,
    earlier_runs,
    api,
    sources,
    thresholds,
)


def write_report(
    store: Store,
    runs: Sequence[str] | None,
    output: Path,
    overrides: Mapping[str, float] | None = None,
) -> list[Path]:
    """Writes ``index.html`` and a page for each of ``runs`` (None: all); the pages' paths."""
    overrides = overrides or {}
    written = []
    for run in dict.fromkeys(runs if runs is not None else store.runs()):
        connection = store.connect(overrides, [run], asked=[], kept=views())
        path = output / page_name(run)
        _write(path, page.run_page(run, sections(connection), overrides))
        connection.close()
        written.append(path)
    _write(output / "index.html", page.index_page(index.rows(store, output, page_name)))
    return written


def views() -> list[str]:
    """What the sections ask. They share views that take seconds: each is to be computed once."""
    return sorted({view for module in SECTIONS for view in module.VIEWS})


def sections(connection: duckdb.DuckDBPyConnection) -> list[Section]:
    """Every section of the run that the connection is opened for, with :func:`views` kept."""
    return [module.section(connection) for module in SECTIONS]


def page_name(run: str) -> str:
    """File of the run's page; a run called index must not take the index's place."""
    return "%69ndex.html" if run == "index" else f"{quote(run, safe='')}.html"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(
            str(path), f"cannot be written: {error.strerror}", "name another with --output"
        ) from error
