"""Judges the newest run of every series by the runs before it, over all of their numbers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.errors import UserError
from pipeline.history import run_metrics, series
from pipeline.history.common_cause import Case, common_causes
from pipeline.history.compare import Judgement, Point, Rule, judge, settle
from pipeline.history.judged import About, Judged, MetricKey, Night, Told, by_cost
from pipeline.history.series import Run, Series
from pipeline.history.step_change import attribute_changes, find_suspects

if TYPE_CHECKING:
    from pipeline.store import Store


def rule_of(store: Store, thresholds: Mapping[str, float]) -> tuple[Rule, dict[str, float]]:
    """The thresholds of judging, and the least change that matters by unit."""
    for name in thresholds:
        if not name.startswith("regression_"):
            problem = "numbers of runs are kept as made without it"
            raise UserError(f"--set {name}", problem, "only regression_... can be set here")
    connection = store.lookups(["regression_rule"], thresholds)
    cursor = connection.execute("FROM regression_rule")
    names = [name for name, *_ in cursor.description or []]
    (row,) = cursor.fetchall()
    values = dict(zip(names, row, strict=True))
    least = "least_change_"
    floors = {k.removeprefix(least): float(v) for k, v in values.items() if k.startswith(least)}
    kinds = {name: type(value) for name, value in vars(Rule()).items()}
    rule = Rule(**{k: kinds[k](v) for k, v in values.items() if not k.startswith(least)})
    return rule, floors


@dataclass
class Numbers:
    """All numbers of all runs, by metric and run."""

    points: dict[MetricKey, dict[str, Point]] = field(default_factory=dict)
    about: dict[MetricKey, About] = field(default_factory=dict)


def load_numbers(store: Store) -> Numbers:
    """Everything in run_metric."""
    numbers = Numbers()
    metrics, columns = run_metrics.load(store.bare(["run_metric"]))
    held: list[dict[str, Point]] = []
    for view, column, statistic, key, unit, better in metrics:
        metric = (view, column, statistic, key)
        numbers.about[metric] = About(unit, better)
        held.append(numbers.points.setdefault(metric, {}))
    for place, run, value, samples, spread in zip(*columns, strict=True):
        held[place][run] = Point(value, samples, spread)
    return numbers


def regress(
    store: Store,
    only_series: Sequence[str] = (),
    only_run: str | None = None,
    since: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    on_run: Callable[[int, int], None] = lambda _done, _all: None,
) -> Night:
    """Judges ``only_run``, else the newest run of each series, by what came before."""
    rule, floors = rule_of(store, thresholds or {})
    run_metrics.derive(store, on_run)
    runs = load_runs(store)
    if not runs:
        raise UserError(str(store.root), "no runs in it", "ingest some first")
    every = series.into_series(runs.values())
    chosen = _chosen(every, runs, only_series, only_run)
    numbers = load_numbers(store)
    newest_ns = max((r.start_ns for r in runs.values() if r.start_ns is not None), default=None)
    judged = []
    for one in chosen:
        judged += _judge_series(one, every, only_run, since, newest_ns, numbers, floors, rule)
    _settle(judged, rule)
    find_suspects(judged)
    causes = common_causes([_case(one) for one in judged if one.run is not None])
    for cause in causes:
        for each in judged:
            if each.series.name in cause.series:
                each.told = [
                    replace(t, cause=cause.number) if t.judgement.verdict == cause.verdict else t
                    for t in each.told
                ]
    attribute_changes(store, judged)
    judged.sort(key=by_cost)
    return Night(rule, judged, causes, len(runs))


def load_runs(store: Store) -> dict[str, Run]:
    """Every run whose numbers are kept."""
    rows = store.bare(["run_condition"]).execute(
        "SELECT run_id, kind, key, value_text FROM run_condition ORDER BY ALL"
    )
    return series.runs_of(rows.fetchall())


def names_like(name: str, known: Collection[str]) -> str:
    """The names most like one that is not known, and how many there are."""
    near = difflib.get_close_matches(name, known, n=5, cutoff=0.4) or sorted(known)[-5:]
    return f"of {len(known)} the nearest are {'; '.join(near)}"


def _chosen(
    every: list[Series], runs: dict[str, Run], only_series: Sequence[str], only_run: str | None
) -> list[Series]:
    if only_run is not None and only_run not in runs:
        raise UserError(f"run {only_run}", "not in the store", names_like(only_run, runs))
    for name in only_series:
        if all(one.name != name for one in every):
            way_out = names_like(name, [one.name for one in every])
            raise UserError(f"--series {name}", "no such series", way_out)
    chosen = [one for one in every if not only_series or one.name in only_series]
    if only_run is not None:
        chosen = [
            one for one in chosen if any(r.run_id == only_run for r in (*one.runs, *one.misplaced))
        ]
        if not chosen:
            raise UserError(f"run {only_run}", "is of another series", "leave --series out")
    return chosen


def _judge_series(
    one: Series,
    every: list[Series],
    only_run: str | None,
    since: str | None,
    newest_ns: int | None,
    numbers: Numbers,
    floors: Mapping[str, float],
    rule: Rule,
) -> list[Judged]:
    found = []
    misplaced = [r for r in one.misplaced if only_run in (None, r.run_id)]
    for run in misplaced:
        reason = "no start time: say run.start in run.toml"
        found.append(Judged(one, run, [], verdict="inconclusive", reason=reason))
    place = next((i for i, r in enumerate(one.runs) if r.run_id == only_run), len(one.runs) - 1)
    if only_run is not None and all(r.run_id != only_run for r in one.runs):
        return found
    run, before = one.runs[place], one.runs[:place]
    if since is not None:
        before = [r for r in before if (r.start_ns or 0) >= _since_ns(since)]
    judged = Judged(one, run, [])
    judged.missing_nights = series.missing_nights(one.runs[: place + 1])
    found.append(judged)
    _choose_baseline(judged, before, every)
    if not judged.verdict:
        for metric, points in numbers.points.items():
            _judge_metric(judged, metric, points, numbers.about[metric], floors, rule)
        if not judged.told:
            judged.verdict, judged.reason = "inconclusive", "no numbers to compare"
    step = series.cadence(one.runs)
    if only_run is None and newest_ns and run.start_ns and step:
        late = (newest_ns - run.start_ns) / series.NIGHT_NS
        if late >= 1.5 * step:
            reason = f"last run {run.run_id} of {run.date}, one every {step} days before"
            found.append(Judged(one, None, [], verdict="missing", reason=reason))
    return found


def _since_ns(since: str) -> int:
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise UserError(f"--since {since}", "no date", "write it as 2026-03-31") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1e9)


def _choose_baseline(judged: Judged, before: list[Run], every: list[Series]) -> None:
    """Which earlier runs count, and whether the run itself can be judged at all."""
    run = judged.run
    assert run is not None
    usual = series.usual(before)
    for other in before:
        differing = series.differences(other, run)
        short = series.shortcoming(other, usual)
        if differing:
            judged.left_out[other.run_id] = f"not comparable: {_listed(differing)}"
        elif short:
            judged.left_out[other.run_id] = f"incomplete: {short}"
        else:
            judged.earlier.append(other)
    if judged.earlier:
        judged.suspects = series.suspects(judged.earlier[-1], run)
    short = series.shortcoming(run, series.usual(judged.earlier or before))
    if short:
        judged.verdict, judged.reason = "inconclusive", f"incomplete: {short}"
        return
    if judged.earlier:
        return
    nearest = before[-1] if before else _nearest(run, every)
    contradicted = series.differences(nearest, run) if nearest else {}
    if nearest and contradicted:
        judged.verdict = "not comparable"
        judged.reason = f"beside {nearest.run_id}: {_listed(contradicted)}"
    else:
        judged.verdict, judged.reason = "no baseline", "no earlier run of this series"


def _nearest(run: Run, every: list[Series]) -> Run | None:
    """The run before it, of whatever series, that contradicts it least."""
    if run.named_series:
        return None
    others = [
        other
        for one in every
        for other in one.runs
        if other.run_id != run.run_id
        and not other.named_series
        and (other.start_ns or 0) <= (run.start_ns or 0)
    ]
    agreeing = {o.run_id: len(o.conditions.keys() & run.conditions.keys()) for o in others}
    return max(
        (o for o in others if len(series.differences(o, run)) < agreeing[o.run_id]),
        key=lambda o: (-len(series.differences(o, run)), o.start_ns or 0, o.run_id),
        default=None,
    )


def _listed(differing: Mapping[str, tuple[str, str]]) -> str:
    return "; ".join(f"{key} {one} -> {two}" for key, (one, two) in differing.items())


def _judge_metric(
    judged: Judged,
    metric: MetricKey,
    points: Mapping[str, Point],
    about: About,
    floors: Mapping[str, float],
    rule: Rule,
) -> None:
    run = judged.run
    assert run is not None
    with_it = [r.run_id for r in judged.earlier if r.run_id in points]
    if run.run_id not in points:
        # What most of the last runs had and this one does not is missing.
        last = judged.earlier[-rule.baseline_run_count :]
        if last and 2 * sum(r.run_id in points for r in last) > len(last):
            reason = f"{len(with_it)} earlier runs have it"
            judged.told.append(Told(metric, about, Judgement("missing", reason=reason)))
        return
    ids = [*with_it, run.run_id]
    history = [points[run_id] for run_id in ids]
    floor = floors.get(about.unit or "", 0.0)
    better = "higher" if about.better == "higher" else "lower"
    verdict = judge(history, better, floor, rule)  # type: ignore[arg-type]
    told = Told(
        metric,
        about,
        verdict,
        tuple((run_id, point.value) for run_id, point in zip(ids, history, strict=True)),
    )
    judged.told.append(told)


def _settle(judged: list[Judged], rule: Rule) -> None:
    """Corrects for how many numbers were looked at, in all series together."""
    settled = iter(settle([t.judgement for one in judged for t in one.told], rule))
    for one in judged:
        told = [replace(t, judgement=next(settled)) for t in one.told]
        one.told = [
            replace(t, since_run=t.history[t.judgement.since][0])
            if t.judgement.since is not None
            else t
            for t in told
        ]
        if one.told and not one.verdict:
            one.verdict = _verdict_of(one)


def _case(one: Judged) -> Case:
    assert one.run is not None
    changed = one.count(one.verdict) if one.told else 0
    judged = sum(one.count(verdict) for verdict in ("regressed", "improved", "unchanged"))
    about = (one.series.name, one.verdict, one.run.suspects, frozenset(one.suspects))
    return Case(*about, one.run.run_id, changed, judged)


def _verdict_of(one: Judged) -> str:
    """That of the number that says how fast the job is, unless another one is worse."""
    if one.count("regressed"):
        return "regressed"
    if one.headline is not None:
        return one.headline.judgement.verdict
    order = ("improved", "unchanged", "inconclusive", "no baseline", "missing")
    return next(word for word in order if one.count(word))
