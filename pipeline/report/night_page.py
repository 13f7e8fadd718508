"""The page of one night: what regressed, improved, is missing or cannot be judged, worst first."""

from __future__ import annotations

from pipeline.history.compare import VERDICTS
from pipeline.history.judged import Judged, Night
from pipeline.history.verdict_text import (
    attribution_lines,
    change_text,
    counts_text,
    signed,
    since_text,
    worst_first,
)
from pipeline.history.verdict_words import meanings
from pipeline.report import page as pages
from pipeline.report import page_name


def page(night: Night, history: str, has_pages: bool = True) -> str:
    """The night as a page; ``history`` is the address of the histories' page, ``has_pages`` whether
    the judged runs' own pages lie beside it."""
    return pages.night_page(
        counts=counts_text(night),
        causes=[str(cause) for cause in night.causes],
        entries=[_entry(one) for one in night.judged],
        table=[(verdict, night.count(verdict)) for verdict in VERDICTS],
        meanings=meanings(night),
        history=history,
        has_pages=has_pages,
        page_name=page_name,
    )


def _entry(one: Judged) -> dict[str, object]:
    head = one.headline
    found = one.attribution
    return {
        "series": one.series.name,
        "run": one.run.run_id if one.run else "",
        "date": one.run.date if one.run else "",
        "verdict": one.verdict,
        "reason": one.reason,
        "headline": change_text(head) if head else "",
        "since": since_text(one, head) if head else "",
        "suspects": [f"{key}: {a} -> {b}" for key, (a, b) in one.suspects.items()],
        "change": signed("step_ns", found.change_ns) if found else "",
        "parts": attribution_lines(found) if found else [],
        "missing_nights": one.missing_nights,
        "left_out": sorted(one.left_out.items()),
        "numbers": [
            (t.name, t.judgement.verdict, change_text(t), since_text(one, t))
            for t in worst_first(one.told)
        ],
    }
