"""A diagnosis on one screen, for people."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from pipeline.diagnose import Diagnosis, Row, needs, reservations, savings

# More findings than a screen holds; the rest is one query away.
FINDINGS_SHOWN = 8
# What a text is told as: a kind of verdict, a severity, a mark; and the text.
Paint = Callable[[str, str], str]


def _plain(_: str, text: str) -> str:
    return text


def as_text(diagnosis: Diagnosis, width: int = 100, paint: Paint = _plain) -> str:
    """The diagnosis on one screen of ``width`` columns; ``paint`` may colour parts of it."""
    head = _wrapped(f"{diagnosis.run}: {diagnosis.verdict}", width)
    parts = [
        paint(diagnosis.kind, head),
        _wrapped(_trust(diagnosis), width, "  "),
        *([_wrapped(saving, width, "  ")] if (saving := _saving(diagnosis)) else []),
        "",
        _walls_table(diagnosis.all_walls, width, paint),
    ]
    if diagnosis.findings:
        parts += ["", "findings"]
        for finding in diagnosis.findings[:FINDINGS_SHOWN]:
            parts += _finding_lines(finding, width, paint)
        count = len(diagnosis.findings)
        if count > FINDINGS_SHOWN:
            more = f"first {FINDINGS_SHOWN} of {count}; all: tracelake query finding"
            parts.append(f"  {more} --run {shlex.quote(diagnosis.run)}")
    if wanted := needs(diagnosis):
        parts += ["", "to tell more, collect"]
        for need, (command, remark) in wanted.items():
            # Unbroken, so that it can be copied as it stands.
            parts += [_wrapped(f"{need}: {remark}", width, "  "), f"    {command}"]
    return "\n".join(parts)


def _trust(diagnosis: Diagnosis) -> str:
    reasons = reservations(diagnosis)
    return "; ".join((f"confidence: {diagnosis.confidence}", *reasons))


def _saving(diagnosis: Diagnosis) -> str:
    """What the first wall's removal saves, in time, GPU-hours and money."""
    from pipeline import units

    saved, words = savings(diagnosis), []
    if "before_ns" in saved:
        words.append(f"step {units.time(saved['before_ns'])} -> {units.time(saved['after_ns'])}")
    if "gpu_hours_per_day" in saved:
        hours = units.count(saved["gpu_hours_per_day"])
        gpus = units.quantity("GPU", saved["gpu_count"])
        words.append(f"{hours} GPU-hours a day on {gpus}")
    if "price_per_day" in saved:
        price = f"{units.count(saved['price_per_day'])} {saved['currency']}".rstrip()
        words.append(f"{price} a day")
    return f"without it: {', '.join(words)}" if words else ""


def _walls_table(walls: Sequence[Row], width: int, paint: Paint) -> str:
    from pipeline import units

    rows = []
    for wall in walls:
        if wall["cost_share"] is not None:
            cost = units.share(wall["cost_share"])
            note = wall["subject"] or ""
        else:
            cost = "unknown"
            bound = wall["bound_share"]
            limit = f"at most {units.share(bound)}; " if bound is not None else ""
            note = f"{limit}{units.prose(wall['reason'] or '')}"
        mark = "*" if wall["is_wall"] else "?" if wall["is_open"] else " "
        rows.append((mark, wall["wall"], cost, wall["evidence_view"], note))
    name_width = max((len(row[1]) for row in rows), default=0)
    view_width = max((len(row[3]) for row in rows), default=0)
    # The note beside the rest where it has room, else below, with the view.
    place = name_width + view_width + 16
    is_narrow = place > width - 24
    lines = []
    for mark, name, cost, view, note in rows:
        head = f"{mark} {name:<{name_width}}  {cost:>8}"
        if is_narrow:
            first, more = "", _note_lines(f"{view}: {note}" if note else view, width - 6)
        else:
            first, *more = _note_lines(note, width - place)
            first = f"  {view:<{view_width}}  {first}"
        lines.append(paint({"*": "wall", "?": "open"}.get(mark, ""), f"{head}{first}".rstrip()))
        lines += [" " * (6 if is_narrow else place) + rest for rest in more]
    return "\n".join(lines)


def _note_lines(note: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(note, max(width, 20)) or [""]


def _finding_lines(finding: Row, width: int, paint: Paint) -> list[str]:
    from pipeline import units

    words = [finding["statement"].rstrip(".")]
    if finding["subject"]:
        words.append(f" ({finding['subject']})")
    if finding["value"] is not None:
        words.append(f": {units.quantity(finding['unit'], finding['value'])}")
        if finding["threshold"] is not None:
            words.append(f", limit {units.quantity(finding['unit'], finding['threshold'])}")
    if finding["detail"]:
        words.append(f"; {units.prose(finding['detail'])}")
    head = f"{finding['severity']:<7} {''.join(words)}"
    told = _wrapped(head, width, "  ")
    severity = finding["severity"]
    return [
        told.replace(severity, paint(severity, severity), 1),
        _wrapped(f"-> {finding['hint']}", width, "          "),
    ]


def _wrapped(text: str, width: int, indent: str = "") -> str:
    import textwrap

    return textwrap.fill(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
