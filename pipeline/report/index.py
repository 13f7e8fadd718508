"""The rows of the index: what the store holds of every run, and what the run's page says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import units
from pipeline.history import regress, series
from pipeline.report import page

if TYPE_CHECKING:
    from pipeline.store import Store

# A page says in its head what it says of its run; the rest of it need not be read.
_HEAD_BYTES = 65_536
_SAID = ("kind", "verdict", "wall", "cost_share", "gpu_count")


def rows(store: Store, output: Path, page_name: Callable[[str], str]) -> list[dict[str, object]]:
    """One row per run, by name. A run without a page has no verdict."""
    result = store.connect(asked=["run_summary"]).execute("FROM run_summary")
    columns = [name for name, *_ in result.description or ()]
    named = {
        run.run_id: one.name
        for one in series.into_series(regress.load_runs(store).values())
        for run in one.runs
    }
    made = []
    for values in result.fetchall():
        row = dict(zip(columns, values, strict=True))
        file = output / page_name(row["run_id"])
        record = page.record_of(_head(file))
        start = row["start_utc_ns"]
        row |= {name: record.get(name) for name in _SAID}
        row |= {
            "page": file.name if file.exists() else "",
            "series": named.get(row["run_id"]) or record.get("series") or "",
            "day": "" if start is None else units.utc(start)[:10],
        }
        made.append(row)
    return made


def _head(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_HEAD_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
