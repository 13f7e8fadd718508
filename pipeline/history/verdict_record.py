"""Verdicts for machines: rows for the store, JSON, JUnit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from pipeline.history.attribution import Attribution
from pipeline.history.judged import Judged, Night, Told
from pipeline.history.verdict_text import change_text

# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile("[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def stored_rows(one: Judged) -> list[tuple[Any, ...]]:
    """A judged run as rows of the table verdict."""
    suspects = "; ".join(f"{key}: {a} -> {b}" for key, (a, b) in one.suspects.items())
    rows: list[tuple[Any, ...]] = []
    for told in one.told:
        j = told.judgement
        low, high = j.interval or (None, None)
        rows.append(
            (
                *(one.series.name, *told.metric, told.about.unit, told.about.better),
                *(j.verdict, j.word, j.reason, j.value, j.baseline, j.baseline_count, j.noise),
                *(j.change, j.change_share, low, high, j.p_value, told.since_run, told.cause),
                suspects,
            )
        )
    if not one.told:
        rows.append(
            (
                *(one.series.name, "", "", "", "", None, "lower", one.verdict, "", one.reason),
                *(None, None, 0, *[None] * 8, suspects),
            )
        )
    return rows


def as_record(night: Night) -> dict[str, Any]:
    """Everything that was found, for machines: plain types, base units, keys sorted."""
    record = {
        "counts": night.counts(),
        "verdict_total": sum(night.counts().values()),
        "run_total": night.runs_total,
        "causes": [
            {
                "number": c.number,
                "verdict": c.verdict,
                "key": c.key,
                "value": c.value,
                "series": list(c.series),
                "series_without_it": c.others,
                "is_contrasted": c.is_contrasted,
                "number_count": c.numbers,
            }
            for c in night.causes
        ],
        "series": [_series_record(one) for one in night.judged],
    }
    plain: dict[str, Any] = finite(record)
    return plain


def finite(value: Any) -> Any:
    """JSON has neither NaN nor infinities: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value


def _series_record(one: Judged) -> dict[str, Any]:
    return {
        "series": one.series.name,
        "run": one.run.run_id if one.run else None,
        "date": one.run.date if one.run else None,
        "order": one.series.order,
        "verdict": one.verdict,
        "reason": one.reason,
        "baseline_runs": [run.run_id for run in one.earlier],
        "left_out": one.left_out,
        "missing_nights": one.missing_nights,
        "suspects": {key: list(both) for key, both in one.suspects.items()},
        "attribution": attribution_record(one.attribution),
        "metrics": [metric_record(told) for told in one.told],
    }


def attribution_record(found: Attribution | None) -> dict[str, Any] | None:
    """What a step's change is made of, as plain types."""
    if found is None:
        return None
    return {
        "base_step_ns": found.base_ns,
        "run_step_ns": found.run_ns,
        "change_ns": found.change_ns,
        "parts": [
            {
                "part": d.part,
                "class": d.class_ or None,
                "name": d.name or None,
                "old_name": d.old_name or None,
                "word": d.word or None,
                "base_ns": d.base_ns,
                "run_ns": d.run_ns,
                "change_ns": d.change_ns,
            }
            for d in found.differences
        ],
    }


def metric_record(told: Told) -> dict[str, Any]:
    """One judged number, as plain types."""
    j = told.judgement
    view, column, statistic, key = told.metric
    return {
        "view": view,
        "metric": column,
        "statistic": statistic,
        "key": key,
        "unit": told.about.unit,
        "better": told.about.better,
        "verdict": j.verdict,
        "word": j.word,
        "reason": j.reason,
        "value": j.value,
        "baseline": j.baseline,
        "baseline_run_count": j.baseline_count,
        "noise": j.noise,
        "change": j.change,
        "change_share": j.change_share,
        "change_interval": list(j.interval) if j.interval else None,
        "p_value": j.p_value,
        "since_run": told.since_run,
        "change_points": [told.history[i][0] for i in j.starts],
        "single_spikes": [told.history[i][0] for i in j.spikes],
        "cause": told.cause,
    }


def as_json(night: Night) -> str:
    """The record as JSON."""
    return json.dumps(as_record(night), indent=1, sort_keys=True, ensure_ascii=False)


def as_junit(night: Night, fail_on: Sequence[str]) -> str:
    """Each series a suite, each number a case: what fails is a failure, what was not judged is
    skipped."""
    root = ElementTree.Element("testsuites", name="tracelake regress")
    for one in night.judged:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(one.series.name))
        cases: list[tuple[str, str, str]] = [
            (t.name, t.judgement.verdict, change_text(t)) for t in one.told
        ]
        cases = cases or [(one.run.run_id if one.run else "run", one.verdict, one.reason)]
        for name, verdict, text in cases:
            owner = one.run.run_id if one.run else one.series.name
            case = ElementTree.SubElement(
                suite, "testcase", classname=_clean(owner), name=_clean(name)
            )
            message = _clean(f"{verdict}: {text}")
            if verdict in fail_on:
                ElementTree.SubElement(case, "failure", message=message).text = message
            elif verdict not in ("regressed", "improved", "unchanged"):
                ElementTree.SubElement(case, "skipped", message=message)
    for level in (*root, root):
        level.set("tests", str(sum(1 for _ in level.iter("testcase"))))
        level.set("failures", str(sum(1 for _ in level.iter("failure"))))
        level.set("skipped", str(sum(1 for _ in level.iter("skipped"))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(text: str) -> str:
    """Text that XML 1.0 can hold, on one line."""
    return _NO_XML.sub("?", text)
