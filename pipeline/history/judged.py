"""What is found when runs are judged: numbers, series, a whole night."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pipeline.history import run_metrics
from pipeline.history.attribution import Attribution
from pipeline.history.common_cause import Cause
from pipeline.history.compare import VERDICTS, Judgement, Rule
from pipeline.history.series import Run, Series

# (view, column, statistic, key): one number of a run.
MetricKey = tuple[str, str, str, str]
# The numbers by which a job's speed is known, best first: cost is told in them.
HEADLINES: tuple[tuple[str, str], ...] = (
    ("step_time", "step_ns"),
    ("training_step_summary", "median_step_ns"),
    ("training_step_summary", "tokens_per_s"),
    ("training_step_summary", "tokens_per_s_per_gpu"),
)


@dataclass(frozen=True)
class About:
    """What a number is, beside its value."""

    unit: str | None
    better: str


@dataclass(frozen=True)
class Told:
    """One number of one series, judged. ``history`` holds run and value, the judged one last."""

    metric: MetricKey
    about: About
    judgement: Judgement
    history: tuple[tuple[str, float], ...] = ()
    since_run: str | None = None
    cause: int | None = None

    @property
    def name(self) -> str:
        return run_metrics.metric_name(*self.metric)

    @property
    def is_headline(self) -> bool:
        return self.metric[:2] in HEADLINES and self.metric[2] == "median"

    @property
    def lost_share(self) -> float:
        """How much more time the work takes, or less, as a share: a rate that halves takes twice
        the time. Infinite where it was 0 before."""
        share = self.judgement.change_share
        if share is None:
            return math.inf if self.judgement.change else 0.0
        if self.about.better == "higher":
            share = 1.0 / (1.0 + share) - 1.0 if share > -1.0 else math.inf
        return abs(share)


@dataclass
class Judged:
    """One series, its judged run, and what was found. ``run`` is None for a series that should
    have had a run and has none."""

    series: Series
    run: Run | None
    earlier: list[Run]  # whole and comparable, in the order of time
    told: list[Told] = field(default_factory=list)
    verdict: str = ""
    reason: str = ""
    suspects: dict[str, tuple[str, str]] = field(default_factory=dict)
    missing_nights: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    attribution: Attribution | None = None

    @property
    def headline(self) -> Told | None:
        """The number that says how fast the job is; None where none is known."""
        for view, column in HEADLINES:
            for told in self.told:
                if told.metric[:3] == (view, column, "median"):
                    return told
        return None

    def count(self, verdict: str) -> int:
        return sum(told.judgement.verdict == verdict for told in self.told)


def by_cost(one: Judged) -> tuple[object, ...]:
    """Sorts the worst first: what a step, or else the run, loses, times its GPUs."""
    order = ("regressed", "missing", "inconclusive", "not comparable", "improved", "no baseline")
    place = order.index(one.verdict) if one.verdict in order else len(order)
    gpus = float(one.run.conditions.get("hardware.gpu_count", 1)) if one.run else 1.0
    changed = [t for t in one.told if t.judgement.verdict == one.verdict]
    heads = [t for t in changed if t.is_headline]
    lost = max((t.lost_share for t in heads or changed), default=0.0)
    return (place, -lost * gpus, one.series.name, one.run.run_id if one.run else "")


@dataclass
class Night:
    """Everything that was judged at once."""

    rule: Rule
    judged: list[Judged]
    causes: list[Cause]
    runs_total: int

    def count(self, verdict: str) -> int:
        """Numbers of that verdict, and runs that as a whole have it."""
        whole = sum(not one.told and one.verdict == verdict for one in self.judged)
        return whole + sum(one.count(verdict) for one in self.judged)

    def counts(self) -> dict[str, int]:
        return {verdict: self.count(verdict) for verdict in VERDICTS}
