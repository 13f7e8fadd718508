"""One command for cron: ingest what is new, judge the newest runs, write the pages.

Everything may be interrupted and started again: files are committed one by one, numbers are made
where they are missing, pages are replaced whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import UserError
from pipeline.history import regress, run_metrics, verdict_record, verdict_text
from pipeline.ingest import Outcome, Summary, ingest
from pipeline.store import Store

if TYPE_CHECKING:
    from pipeline.history.judged import Night

_PAGES = ".pages.json"


@dataclass(frozen=True)
class Report:
    """What a night came to."""

    summary: Summary
    night: Night
    pages: list[str]


def keep_verdicts(store: Store, night: Night) -> None:
    """Stores what was said of each judged run, in place of what was said before."""
    for one in night.judged:
        if one.run is not None:
            rows = {"verdict": verdict_record.stored_rows(one)}
            run_metrics.keep(store, one.run.run_id, "verdict", rows)


@contextmanager
def only_one(folder: Path, option: str = "--output") -> Iterator[None]:
    """Holds the lock of the folder that ``option`` names; :class:`UserError` while another
    process does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise UserError(str(folder), problem, f"name another with {option}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        problem = "another nightly is at work on it"
        raise UserError(str(folder), problem, f"wait for it, or name another {option}") from None
    try:
        yield
    finally:
        os.close(lock)


def nightly(
    archive: Sequence[Path],
    store_path: Path,
    output: Path,
    thresholds: Mapping[str, float],
    on_outcome: Callable[[Outcome], None],
    jobs: int | None = None,
) -> Report:
    """Ingests, judges, and writes ``output``: summary.json, summary.md, night.html, history.html,
    and a page for each judged run that has none of its present content."""
    from pipeline.report import history, night_page

    store = Store.create(store_path)
    # The store's own lock: two nights with different outputs must not judge half of a night.
    with only_one(output), only_one(store.root / ".nightly", "--store"):
        summary = ingest(archive, store, jobs=jobs, on_outcome=on_outcome)
        store = Store.open(store.root)
        night = regress.regress(store, thresholds=thresholds)
        keep_verdicts(store, night)
        pages = _run_pages(store, night, output, thresholds)
        record = verdict_record.as_record(night) | {"ingest": _ingest_record(summary)}
        text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        replace_file(output / "summary.json", text)
        replace_file(output / "summary.md", verdict_text.as_markdown(night))
        replace_file(output / "history.html", history.page(night))
        replace_file(output / "night.html", night_page.page(night, "history.html"))
    return Report(summary, night, pages)


def _ingest_record(summary: Summary) -> dict[str, Any]:
    """What there is now, not what this start of it did: started again, it says the same."""
    held = summary.count("stored", "replaced", "unchanged")
    faults = sorted({str(o.fault) for o in summary.outcomes if o.fault is not None})
    return {"file_count": held, "refused": faults, "run_count": len(summary.runs)}


def _run_pages(
    store: Store, night: Night, output: Path, thresholds: Mapping[str, float]
) -> list[str]:
    from pipeline.report import page_name, write_report

    made = output / _PAGES
    try:
        known = json.loads(made.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    stamps = run_metrics.stamps(store)
    runs = sorted({one.run.run_id for one in night.judged if one.run is not None})
    stale = [
        run
        for run in runs
        if known.get(run) != stamps[run] or not (output / page_name(run)).exists()
    ]
    for run in stale:
        write_report(store, [run], output, thresholds)
        known[run] = stamps[run]
        replace_file(made, json.dumps(known, sort_keys=True))
    return stale


def replace_file(file: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".tracelake-")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        os.chmod(name, 0o644)
        os.replace(name, file)
    except OSError as error:
        raise UserError(
            str(file), f"cannot be written: {error.strerror}", "name another with --output"
        ) from error
