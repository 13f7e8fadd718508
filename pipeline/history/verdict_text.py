"""Verdicts as rows for the store, and as text: for a terminal, JSON, JUnit, Markdown."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from pipeline import units
from pipeline.history.attribution import Attribution
from pipeline.history.compare import VERDICTS
from pipeline.history.judged import Judged, Night, Told

# Parts of a change below this share of it are told together.
_SMALL_PART = 0.02


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
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(sum(verdict in fail_on for _, verdict, _ in cases)))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(text: str) -> str:
    """XML 1.0 has no control characters."""
    return "".join(c if c >= " " and not "\ud800" <= c <= "\udfff" else "?" for c in text)


# -- for people ----------------------------------------------------------------------------


def signed(column: str, value: float) -> str:
    """A change with its sign."""
    text = units.show(column, abs(value))
    return f"{'+' if value >= 0 else '-'}{text}"


def percent(share: float | None) -> str:
    """A relative change; empty where there is none."""
    return "" if share is None else f"{share * 100:+.1f} %"


def change_text(told: Told) -> str:
    """One number's change in a line: before, after, by how much, how sure."""
    j, column = told.judgement, told.metric[1]
    if j.value is None or j.baseline is None:
        return j.reason or j.word
    now = j.value if j.change is None or j.word == "one night" else j.baseline + j.change
    text = f"{units.show(column, j.baseline)} -> {units.show(column, now)}"
    if j.change_share is not None:
        text += f"  {percent(j.change_share)}"
        if j.noise is not None and j.baseline:
            text += f"  (noise {abs(j.noise / j.baseline) * 100:.1f} %"
            text += f", {j.baseline_count} runs)"
    elif j.change:
        text += f"  {signed(column, j.change)}  (from 0: no percentage)"
    return "  ".join(part for part in (text, j.word, j.reason) if part)


def attribution_lines(found: Attribution) -> list[str]:
    """What a changed step is made of; small parts together, so that the lines sum to it."""
    lines = []
    limit = _SMALL_PART * abs(found.change_ns)
    rest, count = 0, 0
    for d in found.differences:
        if abs(d.change_ns) < limit or not d.change_ns:
            rest, count = rest + d.change_ns, count + (d.change_ns != 0)
            continue
        name = d.name if len(d.name) <= 60 else f"{d.name[:57]}..."
        where = " ".join(part for part in (d.part, d.class_, name) if part)
        word = f" ({d.word} from {d.old_name[:60]})" if d.old_name else ""
        word = word or (f" ({d.word})" if d.word else "")
        lines.append(f"{signed('step_ns', d.change_ns)}  {where}{word}")
    if count:
        lines.append(f"{signed('step_ns', rest)}  {count} smaller parts together")
    return lines


def since_text(one: Judged, told: Told) -> str:
    """Since which run and day the level is another."""
    if told.since_run is None:
        return ""
    runs = [*one.earlier, *([one.run] if one.run else [])]
    date = next((run.date for run in runs if run.run_id == told.since_run), "")
    return f"since {told.since_run}" + (f" ({date})" if date and date not in told.since_run else "")


def counts_text(night: Night) -> str:
    """All verdicts with their counts, which sum to the total."""
    counts = night.counts()
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return f"{', '.join(parts) or 'nothing'}; {sum(counts.values())} verdicts in " + (
        f"{len({one.series.name for one in night.judged})} series"
    )


def as_table(night: Night) -> str:
    """What a person reads: the worst first; everything that changed, the rest in numbers."""
    lines = [counts_text(night)]
    lines += [f"common cause {c.number}: {c}" for c in night.causes]
    caused = {name: c.number for c in night.causes for name in c.series}
    for one in night.judged:
        lines.append("")
        run = one.run.run_id if one.run else "no run"
        cause = f"  [common cause {caused[one.series.name]}]" if one.series.name in caused else ""
        lines.append(f"{one.verdict}: {one.series.name}: {run}{cause}")
        if one.reason:
            lines.append(f"  {one.reason}")
        changed = [t for t in one.told if t.judgement.verdict in ("regressed", "improved")]
        shown = [t for t in one.told if t.is_headline and t not in changed] + changed
        for told in sorted(shown, key=lambda t: (not t.is_headline, t.name)):
            parts = (told.judgement.verdict, told.name, change_text(told), since_text(one, told))
            lines.append("  " + "  ".join(part for part in parts if part))
        rest = len(one.told) - len(shown)
        if rest:
            lines.append(f"  {rest} other numbers without a change; --format json has them")
        for key, (before, after) in one.suspects.items():
            lines.append(f"  changed with it: {key} {before} -> {after}")
        if one.attribution is not None:
            change = signed("step_ns", one.attribution.change_ns)
            lines.append(f"  the mean step changed by {change}:")
            lines += [f"    {line}" for line in attribution_lines(one.attribution)]
        if one.missing_nights:
            lines.append(f"  nights without a run: {', '.join(one.missing_nights)}")
        if one.left_out:
            lines.append(f"  {len(one.left_out)} earlier runs left out; --format json says why")
    return "\n".join(lines)


def as_markdown(night: Night) -> str:
    """A summary for GitHub: a table, the worst first."""
    lines = ["## Throughput", "", counts_text(night), ""]
    lines += [f"- **common cause {c.number}**: {_cell(str(c))}" for c in night.causes]
    lines += [""] if night.causes else []
    lines += ["| verdict | series | run | step or rate | change | since | changed with it |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for one in night.judged:
        head = one.headline
        cells = [
            one.verdict,
            one.series.name,
            one.run.run_id if one.run else "",
            change_text(head) if head else one.reason,
            percent(head.judgement.change_share) if head else "",
            since_text(one, head) if head else "",
            "; ".join(f"{key} {a} -> {b}" for key, (a, b) in one.suspects.items()),
        ]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    for one in night.judged:
        if one.attribution is not None:
            lines += ["", f"**{_cell(one.series.name)}**: what the step's change is made of", ""]
            lines += [f"- {_cell(line)}" for line in attribution_lines(one.attribution)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text in which nothing is markup: names in a trace are hostile."""
    for character in "\\`*_{}[]<>|#!~":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split()).replace("\\<", "&lt;").replace("\\>", "&gt;")
