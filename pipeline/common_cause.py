"""One cause behind many: what the series that changed have in common and the others have not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Of the series that share a host or a version, so many must have changed for it to be the cause.
_LEAST_SHARE = 0.8
_LEAST_SERIES = 2


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

    def __str__(self) -> str:
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
            causes.append(
                Cause(number, verdict, key, value, tuple(sorted(found)), others, contrasted)
            )
            open_ -= found
    return causes


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
    return best[1] if best else None
