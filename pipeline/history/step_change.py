"""Why a step takes another time: the parts of runs before and after a change, from the store."""

from __future__ import annotations

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
        ids = [run_id for run_id, _ in headline.history]
        start = max(1, since)
        base, now = ids[:start][-10:], ids[start:][-10:]
        if headline.judgement.word == "drift":
            third = max(1, len(ids) // 3)
            base, now = ids[:third][-10:], ids[-third:][-10:]
        if one.suspects == {} and start < len(ids):
            by_id = {r.run_id: r for r in (*one.earlier, one.run)}
            one.suspects = series.suspects(by_id[ids[start - 1]], by_id[ids[start]])
        parts = load_parts(store, [*base, *now])
        before = [parts[run] for run in base if run in parts]
        after = [parts[run] for run in now if run in parts]
        if before and after:
            one.attribution = attribute(mean_of(before), mean_of(after))
            one.told = [_renamed(told, one.attribution) for told in one.told]


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
