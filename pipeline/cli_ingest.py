"""The command that reads traces into the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline import units
from pipeline.cli_options import store_option
from pipeline.cli_output import plural
from pipeline.errors import UserError

if TYPE_CHECKING:
    from pipeline.ingest import Outcome, OutcomeKind, Summary
    from pipeline.readers.record import Issue


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_option
@click.option("--run", metavar="NAME", help="Put everything into this one run.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Workers.  [default: one per core]"
)
@click.option("--host", metavar="NAME", help="Host of files that don't say it (dmon text).")
@click.option(
    "--interval",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Sampling interval of files without a clock (dmon text).",
)
def ingest(
    paths: tuple[Path, ...],
    store_path: Path,
    run: str | None,
    jobs: int | None,
    host: str | None,
    interval: float | None,
) -> None:
    """Read traces under PATHS into the store.

    Each folder directly under a PATH that holds traces is one run; a PATH whose traces lie
    directly in it is itself one run. Compressed files and archives (.gz .xz .zst .tar* .zip)
    are read as they are. A file already stored is left alone, a changed one is replaced.

    \b
    Example:
      tracelake ingest sample_traces --store demo/store
    """
    from pipeline.ingest import ingest as ingest_paths
    from pipeline.readers.record import Hints
    from pipeline.store import Store

    if run is not None and (not run or run in (".", "..")):
        raise UserError("--run", f"{run!r} cannot name a run", "choose another name")
    hints = Hints(host, None if interval is None else round(interval * 1e9))
    store = Store.create(store_path)
    with _Progress(paths) as progress:
        summary = ingest_paths(paths, store, run, jobs, progress.outcome, hints)
    _say_summary(summary, store_path)
    if summary.count("refused"):
        sys.exit(2)


class _Progress:
    """Faults as they come and, on a terminal, a bar of the bytes dealt with so far."""

    WIDTH = 30

    def __init__(self, paths: Sequence[Path]) -> None:
        from pipeline.archive import total_bytes

        self.is_terminal = sys.stderr.isatty()
        self.total = sum(map(total_bytes, paths)) if self.is_terminal else 0
        self.done_bytes = 0
        self.done_files = 0

    def __enter__(self) -> _Progress:
        self._draw("")
        return self

    def outcome(self, outcome: Outcome) -> None:
        self.done_files += 1
        self.done_bytes += outcome.size_bytes
        self._clear()
        if outcome.fault is not None:
            click.echo(f"tracelake: {outcome.fault}", err=True)
        if outcome.kind == "duplicate":
            click.echo(f"{outcome.shown}: skipped: {outcome.detail}", err=True)
        for issue in outcome.issues:
            if issue.severity == "warning":
                place = f"{outcome.shown}: {issue.place}" if issue.place else outcome.shown
                problem = issue.problem + _more(issue)
                click.echo(f"{UserError(place, problem, issue.way_out)}", err=True)
        self._draw(outcome.name)

    def _draw(self, name: str) -> None:
        if self.is_terminal:
            # Members of an archive are larger than their part of it: never beyond the end.
            part = min(1.0, self.done_bytes / self.total) if self.total else 0.0
            bar = ("#" * round(part * self.WIDTH)).ljust(self.WIDTH, "-")
            text = f"[{bar}] {part:4.0%}  {plural(self.done_files, 'file')}  {name[-40:]}"
            click.echo(f"\r{text}", nl=False, err=True)

    def _clear(self) -> None:
        if self.is_terminal:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __exit__(self, *_: object) -> None:
        self._clear()


def _more(issue: Issue) -> str:
    """How often an issue was met, beyond the one that is shown."""
    if issue.row_count is None or issue.row_count < 2:
        return ""
    if issue.place.startswith("line "):
        return f" (and {units.count(issue.row_count - 1)} more)"
    return f" ({units.count(issue.row_count)} times)"


def _say_summary(summary: Summary, store_path: Path) -> None:
    words: tuple[tuple[OutcomeKind, str], ...] = (
        ("stored", "stored"),
        ("replaced", "replaced"),
        ("unchanged", "unchanged"),
        ("duplicate", "duplicates"),
        ("refused", "refused"),
        ("ignored", "not traces"),
    )
    counted = [
        f"{units.count(number)} {word}" for kind, word in words if (number := summary.count(kind))
    ]
    runs = summary.runs
    rows = f", {units.count(summary.rows)} rows" if summary.rows else ""
    click.echo(f"{', '.join(counted)}{rows}; {plural(len(runs), 'run')} in {store_path}", err=True)
