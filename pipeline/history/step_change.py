"""Why a step takes another time: the parts of runs before and after a change, from the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.history import series
from pipeline.history.attribution import Attribution, Key, Part, attribute, mean_of
from pipeline.history.judged import Judged, Told

if TYPE_CHECKING:
    from pipeline.store import Store


def load_parts(store: Store, runs: Sequence[str]) -> dict[str, dict[Key, Part]]:
    """The parts of each run's mean step."""
    rows: list[tuple[Any, ...]] = (
        store.bare(["run_step_part"], list(runs))
        .execute(
            "SELECT run_id, part, coalesce(class, ''), coalesce(name, ''), coalesce(shape, ''), "
            "launch_count, device_step_count, total_ns FROM run_step_part ORDER BY ALL"
        )
        .fetchall()
    )
    found: dict[str, dict[Key, Part]] = {}
    for run, part, class_, name, shape, launches, steps, total_ns in rows:
        per_step = None if launches is None else launches / steps
        found.setdefault(run, {})[part, class_, name] = Part(total_ns / steps, per_step, shape)
    return found


def attribute_changes(store: Store, judged: list[Judged]) -> None:
    """Says of each series whose step time changed what the change is made of."""
    for one in judged:
        headline = one.headline
        if headline is None or one.run is None:
            continue
        since = headline.judgement.since
        if headline.judgement.verdict not in ("regressed", "improved") or since is None:
            continue
        base, now = _sides(headline, since)
        parts = load_parts(store, [*base, *now])
        before = [parts[run] for run in base if run in parts]
        after = [parts[run] for run in now if run in parts]
        if before and after:
            one.attribution = attribute(mean_of(before), mean_of(after))
            one.told = [_renamed(told, one.attribution) for told in one.told]


def _sides(told: Told, since: int) -> tuple[list[str], list[str]]:
    """Runs of the level before a change and of that after it, spikes left out."""
    ids, j = [run_id for run_id, _ in told.history], told.judgement
    if j.word == "drift":
        third = max(1, len(ids) // 3)
        return ids[:third][-10:], ids[-third:][-10:]
    start = max(1, since)
    begin = max((s for s in j.starts if s < start), default=0)
    whole = [i for i in range(begin, start) if i not in j.spikes] or [start - 1]
    after = [i for i in range(start, len(ids)) if i not in j.spikes] or [len(ids) - 1]
    return [ids[i] for i in whole[-10:]], [ids[i] for i in after[-10:]]


def find_suspects(judged: Sequence[Judged]) -> None:
    """Takes as suspects what changed where the level changed, be that nights ago."""
    for one in judged:
        changed = [t for t in one.told if t.judgement.verdict == one.verdict and t.since_run]
        if one.verdict not in ("regressed", "improved") or one.run is None or not changed:
            continue
        heads = [t for t in changed if t.is_headline]
        runs = Counter(t.since_run for t in heads or changed if t.judgement.word != "drift")
        if not runs:
            continue
        (since, _), *_ = runs.most_common(1)
        ordered = [*one.earlier, one.run]
        place = next(i for i, run in enumerate(ordered) if run.run_id == since)
        if place:
            one.suspects = series.suspects(ordered[place - 1], ordered[place])


def _renamed(told: Told, found: Attribution) -> Told:
    """A kernel that is missing because it is called something else now says so."""
    if told.judgement.verdict != "missing" or told.metric[0] != "step_kernel_time":
        return told
    names = (
        d.name for d in found.differences if d.old_name and told.metric[3].endswith(d.old_name)
    )
    new = next(names, None)
    if new is None:
        return told
    return replace(told, judgement=replace(told.judgement, reason=f"renamed to {new}"))
