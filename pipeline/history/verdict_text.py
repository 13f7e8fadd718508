"""Verdicts for people: a terminal's table, Markdown, and the phrases that pages share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipeline import units
from pipeline.history.attribution import Attribution
from pipeline.history.compare import VERDICTS
from pipeline.history.judged import HEADLINES, Judged, Night, Told

# Parts of a change below this share of it are told together.
_SMALL_PART = 0.02
# Numbers shown of a series whose change has one cause behind it.
_SHOWN_OF_CAUSE = 3


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
        shown = _shown(one, one.series.name in caused)
        for told in shown:
            parts = (told.judgement.verdict, told.name, change_text(told), since_text(one, told))
            lines.append("  " + "  ".join(part for part in parts if part))
        rest = [t for t in one.told if t not in shown]
        if rest:
            lines.append(f"  not shown: {verdicts_text(rest)}; --format json has them")
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
    # A name in a trace neither breaks a line nor steers the terminal.
    return "\n".join(units.printable(line) for line in lines)


def worst_first(told: Iterable[Told]) -> list[Told]:
    """Numbers by verdict; of each those that tell a job's speed first, then by what is lost."""
    verdicts = {verdict: place for place, verdict in enumerate(VERDICTS)}
    heads = {name: place for place, name in enumerate(HEADLINES)}

    def place(told: Told) -> tuple[int, int, float, str]:
        head = heads[told.metric[:2]] if told.is_headline else len(heads)
        lost = 0.0 if told.is_headline else -told.lost_share
        return verdicts[told.judgement.verdict], head, lost, told.name

    return sorted(told, key=place)


def _shown(one: Judged, has_cause: bool) -> list[Told]:
    """The numbers of a series that a terminal shows: what changed, and how fast the job is."""
    told = worst_first(one.told)
    changed = [t for t in told if t.judgement.verdict in ("regressed", "improved")]
    heads = [t for t in told if t.is_headline]
    # One cause is one thing to look at, not a hundred regressions.
    others = [t for t in changed if not t.is_headline]
    return heads + (others[: max(0, _SHOWN_OF_CAUSE - len(heads))] if has_cause else others)


def verdicts_text(told: Iterable[Told]) -> str:
    """How many numbers have which verdict."""
    counts = Counter(t.judgement.verdict for t in told)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def as_markdown(night: Night) -> str:
    """A summary for GitHub: a table, the worst first."""
    lines = ["## Throughput", "", counts_text(night), ""]
    lines += [f"- **common cause {c.number}**: {_cell(str(c))}" for c in night.causes]
    lines += [""] if night.causes else []
    lines += ["| verdict | series | run | step or rate | change | since | changed with it |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for one in night.judged:
        head = one.headline
        worst = head or next(iter(worst_first(one.told)), None)
        cells = [
            one.verdict,
            one.series.name,
            one.run.run_id if one.run else "",
            change_text(head) if head else one.reason or _numbers_text(one),
            percent(worst.judgement.change_share) if worst else "",
            since_text(one, worst) if worst else "",
            "; ".join(f"{key} {a} -> {b}" for key, (a, b) in one.suspects.items()),
        ]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    for one in night.judged:
        if one.missing_nights:
            nights = ", ".join(one.missing_nights)
            lines += ["", f"**{_cell(one.series.name)}**: nights without a run: {nights}"]
        if one.left_out:
            left_out = f"{len(one.left_out)} earlier runs left out; summary.json says why"
            lines += ["", f"**{_cell(one.series.name)}**: {left_out}"]
        if one.attribution is not None:
            lines += ["", f"**{_cell(one.series.name)}**: what the step's change is made of", ""]
            lines += [f"- {_cell(line)}" for line in attribution_lines(one.attribution)]
    return "\n".join(lines) + "\n"


def _numbers_text(one: Judged) -> str:
    """Of a series without steps: its verdicts, and its worst number."""
    worst = next(iter(worst_first(one.told)), None)
    said = f"; worst: {worst.name} {change_text(worst)}" if worst else ""
    return verdicts_text(one.told) + said


def _cell(text: str) -> str:
    """Text in which nothing is markup: names in a trace are hostile."""
    for character in "\\`*_{}[]<>|#!~":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split()).replace("\\<", "&lt;").replace("\\>", "&gt;")
