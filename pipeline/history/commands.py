"""Commands about runs over time: compare, regress, nightly."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli_options import set_option, store_option
from pipeline.errors import UserError

if TYPE_CHECKING:
    from pipeline.history.judged import Night
    from pipeline.history.pair import Pair
    from pipeline.ingest import Outcome

VERDICTS = (
    *("regressed", "improved", "unchanged", "inconclusive"),
    *("not comparable", "no baseline", "missing"),
)


def fail_option(command: Any) -> Any:
    return click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice([*VERDICTS, "none"]),
        default=("regressed",),
        show_default=True,
        help="Verdict that makes the exit code 1; may be repeated.",
    )(command)


def _exit_code(night: Night, fail_on: Sequence[str]) -> int:
    """1 when a verdict of ``fail_on`` is there, 2 when no run could be judged at all."""
    if any(night.count(verdict) for verdict in fail_on if verdict != "none"):
        return 1
    unfit = [one for one in night.judged if not one.told and one.verdict != "no baseline"]
    return 2 if night.judged and len(unfit) == len(night.judged) else 0


@click.command()
@click.argument("base")
@click.argument("run")
@store_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="table scales numbers for people.",
)
@fail_option
@set_option
def compare(
    base: str,
    run: str,
    store_path: Path,
    format_: str,
    fail_on: tuple[str, ...],
    thresholds: dict[str, float],
) -> None:
    """Compare RUN with BASE, number by number, and say what their steps differ in.

    Exit code: 0 nothing regressed, 1 regressed, 2 the two cannot be compared.

    \b
    Example:
      tracelake compare ddp_healthy ddp_late_rank --store demo/store --fail-on none
    """
    from pipeline.history.pair import compare_runs
    from pipeline.store import Store

    pair = compare_runs(Store.open(store_path), base, run, thresholds)
    click.echo(_pair_json(pair) if format_ == "json" else _pair_table(pair))
    if not pair.is_judged and "none" not in fail_on:
        sys.exit(1 if pair.verdict in fail_on else 2)
    if any(told.judgement.verdict in fail_on for told in pair.told):
        sys.exit(1)


def _pair_table(pair: Pair) -> str:
    from pipeline import units
    from pipeline.history.verdict_text import attribution_lines, percent, signed

    lines = [f"{pair.verdict}: {pair.run.run_id} beside {pair.base.run_id}"]
    lines += [f"  {pair.reason}"] if pair.reason else []
    lines += [f"  differs: {key} {a} -> {b}" for key, (a, b) in pair.suspects.items()]
    if pair.attribution is not None:
        lines.append(f"  mean step: {signed('step_ns', pair.attribution.change_ns)}")
        lines += [f"    {line}" for line in attribution_lines(pair.attribution)]
    rows = []
    for told in sorted(pair.told, key=lambda t: (not t.is_headline, t.name)):
        j, column = told.judgement, told.metric[1]
        both = [units.show(column, v) if v is not None else "" for v in (j.baseline, j.value)]
        said = "  ".join(part for part in (j.word, j.reason) if part)
        rows.append([told.name, *both, percent(j.change_share), j.verdict, said])
    names = ["number", pair.base.run_id, pair.run.run_id, "change", "verdict", "why"]
    widths = [max(len(str(row[i])) for row in [names, *rows]) for i in range(len(names))]
    for row in [names, *rows]:
        cells = (str(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(units.printable(line) for line in lines)


def _pair_json(pair: Pair) -> str:
    from pipeline.history.verdict_record import attribution_record, finite, metric_record

    record = {
        "base": pair.base.run_id,
        "run": pair.run.run_id,
        "verdict": pair.verdict,
        "reason": pair.reason,
        "differing": {key: list(both) for key, both in pair.differing.items()},
        "suspects": {key: list(both) for key, both in pair.suspects.items()},
        "attribution": attribution_record(pair.attribution),
        "metrics": [metric_record(told) for told in pair.told],
    }
    return json.dumps(finite(record), indent=1, sort_keys=True, ensure_ascii=False)


@click.command()
@store_option
@click.option("--series", multiple=True, metavar="SERIES", help="Only this series; repeatable.")
@click.option("--run", metavar="RUN", help="Judge this run instead of each series' newest.")
@click.option("--since", metavar="DATE", help="Leave out history before this date.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(("table", "json", "junit")),
    default="table",
    show_default=True,
    help="table is for people, junit for CI servers.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write an HTML page of the verdicts, and one of the histories beside it.",
)
@click.option("--self-check", is_flag=True, help="Check the detector on this history instead.")
@fail_option
@set_option
def regress(
    store_path: Path,
    series: tuple[str, ...],
    run: str | None,
    since: str | None,
    format_: str,
    output: Path | None,
    self_check: bool,
    fail_on: tuple[str, ...],
    thresholds: dict[str, float],
) -> None:
    """Judge the newest run of each series by the runs before it.

    A series is what run.toml names; else runs that agree in GPU, layout, batch, sequence
    length and model. Exit code: 0 nothing regressed, 1 regressed, 2 cannot judge.

    \b
    Example:
      tracelake regress --store demo/store
    """
    from pipeline.errors import UserError
    from pipeline.history.nightly import keep_verdicts
    from pipeline.history.regress import regress as judge
    from pipeline.history.verdict_record import as_json, as_junit
    from pipeline.history.verdict_text import as_table
    from pipeline.store import Store

    store = Store.open(store_path)
    night = judge(store, series, run, since, thresholds, _progress)
    if self_check:
        sys.exit(_check(store, night, thresholds))
    if since is None and not thresholds:  # what was asked in a way of one's own is not kept
        try:
            keep_verdicts(store, night)
        except (UserError, OSError) as error:
            click.echo(f"tracelake: verdicts not stored: {error}", err=True)
    if format_ == "junit":
        click.echo(as_junit(night, fail_on))
    else:
        click.echo(as_json(night) if format_ == "json" else as_table(night))
    if output is not None:
        _write_pages(night, output)
    sys.exit(_exit_code(night, fail_on))


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\rnumbers of {done} of {total} runs made", nl=done == total, err=True)


def _write_pages(night: Night, output: Path) -> None:
    from pipeline.history.nightly import replace_file
    from pipeline.report import history, night_page

    beside = output.with_name(f"{output.stem}.history.html")
    replace_file(beside, history.page(night))
    replace_file(output, night_page.page(night, beside.name, has_pages=False))
    click.echo(f"wrote {output} and {beside}", err=True)


def _check(store: Any, night: Night, thresholds: dict[str, float]) -> int:
    from pipeline.history.regress import rule_of
    from pipeline.history.self_check import self_check

    found = self_check(night, rule_of(store, thresholds)[1])
    if found.rate is None:
        raise UserError("--self-check", "no series is long enough", "12 runs of one are needed")
    click.echo(
        f"{found.series_months:.1f} series-months of equal nights: "
        f"{found.false_regressed} called regressed, {found.false_improved} improved\n"
        f"{found.steps} steps put in: {found.steps_up_found} found upwards, "
        f"{found.steps_down_found} downwards"
    )
    for fault in found.faults:
        click.echo(f"fault: {fault}")
    return 1 if found.faults else 0


@click.command()
@click.argument("archive", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_option
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the pages and summaries.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Workers for reading files.")
@fail_option
@set_option
def nightly(
    archive: tuple[Path, ...],
    store_path: Path,
    output: Path,
    jobs: int | None,
    fail_on: tuple[str, ...],
    thresholds: dict[str, float],
) -> None:
    """Ingest what is new in ARCHIVE, judge it, and write pages and summaries: for cron.

    It may be interrupted and started again; of two at once the second refuses.
    Exit code: 0 nothing regressed, 1 regressed, 2 a file was refused or nothing to judge.

    \b
    Example:
      tracelake nightly sample_history --store demo/nights --output demo/nightly --fail-on none
    """
    from pipeline.history.nightly import nightly as work
    from pipeline.history.verdict_text import as_table

    report = work(archive, store_path, output, thresholds, _say, jobs)
    click.echo(as_table(report.night))
    click.echo(f"wrote {output / 'night.html'} and {output / 'summary.json'}", err=True)
    code = _exit_code(report.night, fail_on)
    sys.exit(code or (2 if report.summary.count("refused") else 0))


def _say(outcome: Outcome) -> None:
    if outcome.fault is not None:
        click.echo(f"tracelake: {outcome.fault}", err=True)
