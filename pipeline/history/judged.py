"""What is found when runs are judged: numbers, series, a whole night."""

from __future__ import annotations

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
