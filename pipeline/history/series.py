"""Which runs may be compared: runs into series, in the order of time, with what differs.

A series is what run.toml calls one; else runs whose known conditions (GPU, layout, batch, sequence
length, model) do not contradict each other are one. What nobody says is unknown, not different.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median

# Fewer steps beside those of the warm-up are a cold start.
_LEAST_STEPS = 2
NIGHT_NS = 86_400_000_000_000
_DATE = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?:[T_-]?([0-2]\d)[:h-]?([0-5]\d))?(?!\d)")
# What names a series of runs that has no name of its own.
_FINGERPRINT = (
    ("hardware.gpu", ""),
    ("hardware.gpu_count", "gpus "),
    ("parallelism.data", "dp "),
    ("parallelism.tensor", "tp "),
    ("parallelism.pipeline", "pp "),
    ("parallelism.expert", "ep "),
    ("parallelism.context", "cp "),
    ("parallelism.zero_stage", "zero "),
    ("training.global_batch_size", "batch "),
    ("training.micro_batch_size", "micro batch "),
    ("model.sequence_length", "sequence "),
    ("model.name", ""),
    ("model.parameters", "parameters "),
    ("model.layers", "layers "),
)


@dataclass(frozen=True)
class Run:
    """A run as far as comparing needs to know it."""

    run_id: str
    start_ns: int | None
    start_source: str
    named_series: str | None
    conditions: Mapping[str, str]
    suspects: Mapping[str, tuple[str, ...]]
    state: Mapping[str, str]

    def number(self, key: str) -> int | None:
        """A count of the run's state; None where it is not known."""
        text = self.state.get(key)
        return int(float(text)) if text is not None else None

    @property
    def date(self) -> str:
        """Day of its start; empty where that is not known."""
        if self.start_ns is None:
            return ""
        return datetime.fromtimestamp(self.start_ns / 1e9, UTC).strftime("%Y-%m-%d")


@dataclass
class Series:
    """Runs that are meant to be compared, in the order of time."""

    name: str
    runs: list[Run]
    order: str  # what the order rests on
    misplaced: list[Run] = field(default_factory=list)  # runs without a time among others with


def runs_of(rows: Iterable[tuple[str, str, str, str]]) -> dict[str, Run]:
    """Runs from the rows of run_condition: run, kind, key, value."""
    told: dict[str, dict[str, dict[str, list[str]]]] = {}
    for run_id, kind, key, value in rows:
        told.setdefault(run_id, {}).setdefault(kind, {}).setdefault(key, []).append(value)
    found = {}
    for run_id, kinds in sorted(told.items()):
        state = {key: values[0] for key, values in kinds.get("state", {}).items()}
        conditions = {key: values[0] for key, values in kinds.get("condition", {}).items()}
        suspects = {key: tuple(sorted(v)) for key, v in kinds.get("suspect", {}).items()}
        start_ns, source = _start(run_id, state)
        series = state.get("run.series")
        found[run_id] = Run(run_id, start_ns, source, series, conditions, suspects, state)
    return found


def _start(run_id: str, state: Mapping[str, str]) -> tuple[int | None, str]:
    said = state.get("run.start")
    if said:
        moment = datetime.fromisoformat(said.replace("Z", "+00:00"))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) * 1_000_000_000, "run.toml"
    for key, source in (("start_utc_ns", "capture"), ("start_local_ns", "log")):
        if state.get(key):
            return int(state[key]), source
    date = _DATE.search(run_id)
    if date:
        try:
            year, month, day, hour, minute = (int(part or 0) for part in date.groups())
            moment = datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:
            return None, ""
        return int(moment.timestamp()) * 1_000_000_000, "run's name"
    return None, ""


def into_series(runs: Iterable[Run]) -> list[Series]:
    """All series, by name."""
    named: dict[str, list[Run]] = {}
    prints: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        if run.named_series:
            named.setdefault(run.named_series, []).append(run)
        elif not any(key in run.conditions for key, _ in _FINGERPRINT):
            # Nothing is known of it but how it is called.
            named.setdefault(f"runs called {_stem(run.run_id)}", []).append(run)
        else:
            key = tuple((k, run.conditions[k]) for k, _ in _FINGERPRINT if k in run.conditions)
            prints.setdefault(key, []).append(run)
    groups: list[tuple[dict[str, str], list[Run]]] = []
    for known, members in sorted(prints.items(), key=lambda item: (-len(item[0]), item[0])):
        facts = dict(known)
        # A run may leave out what others say; one that says little may belong to several.
        fitting = [
            group
            for group in groups
            if 2 * len(facts) >= len(group[0]) and not _contradict(facts, group[0])
        ]
        if len(fitting) == 1:
            fitting[0][1].extend(members)
        else:
            groups.append((facts, list(members)))
    for facts, members in groups:
        named.setdefault(_name(facts), []).extend(members)
    return [_ordered(name, members) for name, members in sorted(named.items())]


def _stem(run_id: str) -> str:
    """A run's name with its date or number as ``*``."""
    return re.sub(r"[\d_:.-]*\d[\d_:.-]*", "*", run_id)


def _contradict(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return any(_plain(other[key]) != _plain(one[key]) for key in one.keys() & other.keys())


def _plain(value: str) -> str:
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return value.strip().casefold()


def _name(facts: Mapping[str, str]) -> str:
    words = [f"{word}{facts[key]}" for key, word in _FINGERPRINT if key in facts]
    return ", ".join(words)


def _ordered(name: str, runs: Sequence[Run]) -> Series:
    timed = [run for run in runs if run.start_ns is not None]
    if not timed:
        order = "names of the runs" if len(runs) > 1 else ""
        return Series(name, sorted(runs, key=lambda run: _natural(run.run_id)), order)
    timed.sort(key=lambda run: (run.start_ns or 0, _natural(run.run_id)))
    sources = sorted({run.start_source for run in timed})
    lost = sorted((r for r in runs if r.start_ns is None), key=lambda r: _natural(r.run_id))
    return Series(name, timed, ", ".join(sources), lost)


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts)


# -- comparing two runs' circumstances -----------------------------------------------------


def differences(one: Run, other: Run) -> dict[str, tuple[str, str]]:
    """Conditions in which two runs contradict each other: what both say, and differently."""
    both = one.conditions.keys() & other.conditions.keys()
    return {
        key: (one.conditions[key], other.conditions[key])
        for key in sorted(both)
        if _plain(one.conditions[key]) != _plain(other.conditions[key])
    }


def suspects(before: Run, after: Run) -> dict[str, tuple[str, str]]:
    """Versions, hosts and the like that changed from one run to the other."""
    found = {}
    for key in sorted(before.suspects.keys() | after.suspects.keys()):
        old, new = before.suspects.get(key, ()), after.suspects.get(key, ())
        if old != new and old and new:
            found[key] = (", ".join(old), ", ".join(new))
    return found


def usual(runs: Sequence[Run]) -> dict[str, int]:
    """What runs of a series have as a rule: ranks, captures, steps found in them."""
    keys = ("rank_count", "capture_count", "step_count")
    return {key: _usual(runs, key) for key in keys}


def shortcoming(run: Run, usually: Mapping[str, int]) -> str:
    """Why a run is not whole, by itself or beside what is usual; empty if it is."""
    captures = run.number("capture_count") or 0
    work = (run.number("kernel_count") or 0) + (run.number("graph_launch_count") or 0)
    if captures and not work:
        return "a capture without kernels"
    has_steps = run.number("step_count") or (
        run.number("logged_step_count") and not usually["step_count"]
    )
    warm_up, steps = run.number("warm_up_step_count") or 0, run.number("step_count") or 0
    if captures and warm_up and steps < _LEAST_STEPS:
        return f"cold start: {warm_up} of {warm_up + steps} steps are warm-up"
    if captures and not has_steps:
        return "a capture without steps"
    for key, word in (("refused_count", "refused"), ("incomplete_count", "incomplete")):
        if run.number(key):
            return f"{run.number(key)} of its files {word}"
    ranks = run.number("rank_count") or 0
    world = run.number("parallelism.world_size")
    if ranks < usually["rank_count"]:
        return f"{ranks} of {max(usually['rank_count'], world or 0)} ranks"
    if captures == 0 and usually["capture_count"]:
        return "no capture, which other runs of the series have"
    return ""


def _usual(runs: Sequence[Run], key: str) -> int:
    numbers = [run.number(key) or 0 for run in runs]
    return int(median(numbers)) if numbers else 0


def missing_nights(runs: Sequence[Run]) -> list[str]:
    """Days on which a series that runs at regular intervals has no run."""
    days = sorted({run.start_ns // NIGHT_NS for run in runs if run.start_ns is not None})
    step = cadence(runs)
    if step is None or len(days) < 4:
        return []
    lost = []
    for one, two in itertools.pairwise(days):
        count = round((two - one) / step) - 1
        lost += [one + (k + 1) * step for k in range(count)]
    return [datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m-%d") for day in lost]


def cadence(runs: Sequence[Run]) -> int | None:
    """Days from one run of a series to the next, as a rule; None where there is none."""
    days = sorted({run.start_ns // NIGHT_NS for run in runs if run.start_ns is not None})
    apart = [two - one for one, two in itertools.pairwise(days)]
    return int(median(apart)) or 1 if len(apart) >= 3 else None
