"""One cause behind many: what the series that changed have in common and the others have not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Of the series that share a host or a version, so many must have changed for it to be the cause.
_LEAST_SHARE = 0.8
_LEAST_SERIES = 2
# So many numbers of one run, and this share of them, are the run as a whole.
_LEAST_NUMBERS = 10
_MOST_NUMBERS = 0.6


@dataclass(frozen=True)
class Cause:
    """What the series that changed share. ``is_contrasted`` says whether series without it were
    judged and did not change; without such it is only what all have in common."""

    number: int
    verdict: str
    key: str
    value: str
    series: tuple[str, ...]
    others: int
    is_contrasted: bool
    numbers: int = 0

    def __str__(self) -> str:
        if self.key == "run" or len(self.series) == 1:
            return f"{self.key} {self.value}: {self.numbers} numbers of one run {self.verdict}"
        beside = f", none of {self.others} without it" if self.is_contrasted else ""
        return f"{self.key} {self.value}: {len(self.series)} series {self.verdict}{beside}"


@dataclass(frozen=True)
class Case:
    """One series: its verdict, what its run was made with (key -> values), and the keys that
    changed since the run before."""

    series: str
    verdict: str
    shared: Mapping[str, Sequence[str]]
    changed: frozenset[str]
    run: str = ""
    changed_numbers: int = 0
    judged_numbers: int = 0


def common_causes(cases: Sequence[Case]) -> list[Cause]:
    """The fewest causes that explain most series, worse and better apart."""
    causes: list[Cause] = []
    for verdict in ("regressed", "improved"):
        open_ = {case.series for case in cases if case.verdict == verdict}
        while len(open_) >= _LEAST_SERIES:
            best = _best(cases, verdict, open_)
            if best is None:
                break
            key, value, found, others, contrasted = best
            number = len(causes) + 1
            numbers = sum(c.changed_numbers for c in cases if c.series in found)
            causes.append(
                Cause(
                    number, verdict, key, value, tuple(sorted(found)), others, contrasted, numbers
                )
            )
            open_ -= found
        for case in cases:
            if case.series in open_ and _is_whole(case):
                hosts = case.shared.get("host", ())
                key, value = ("host", ", ".join(hosts)) if hosts else ("run", case.run)
                about = (len(causes) + 1, verdict, key, value, (case.series,), 0, False)
                causes.append(Cause(*about, numbers=case.changed_numbers))
    return causes


def _is_whole(case: Case) -> bool:
    """Whether most of a run's numbers changed at once: the run has changed, not its numbers."""
    return case.changed_numbers >= max(_LEAST_NUMBERS, _MOST_NUMBERS * case.judged_numbers)


def _best(
    cases: Sequence[Case], verdict: str, open_: set[str]
) -> tuple[str, str, set[str], int, bool] | None:
    """The host or version that most of the series still unexplained share, and others hardly."""
    candidates = sorted({(k, v) for c in cases for k, values in c.shared.items() for v in values})
    best: tuple[tuple[int, ...], tuple[str, str, set[str], int, bool]] | None = None
    for key, value in candidates:
        having = {c.series for c in cases if value in c.shared.get(key, ())}
        # Where nothing was judged to be the same, a series says nothing for or against it.
        against = {c.series for c in cases if c.series in having and c.verdict == "unchanged"}
        found = open_ & having
        without = [c for c in cases if c.series not in having and c.verdict == "unchanged"]
        changed = sum(c.series in found and key in c.changed for c in cases)
        # A version that was there before explains nothing; a host may have become slow.
        if key != "host" and changed < len(found):
            continue
        if len(found) < _LEAST_SERIES or len(found) < _LEAST_SHARE * len(found | against):
            continue
        score = (len(found), len(without), changed, key == "host", -len(having))
        if best is None or score > best[0]:
            best = (score, (key, value, found, len(without), bool(without)))
        elif score == best[0] and (key, found) == (best[1][0], best[1][2]):
            # Two hosts of the same jobs cannot be told apart.
            best = (score, (key, f"{best[1][1]}, {value}", *best[1][2:]))
    return best[1] if best else None
