"""Steps as nanoGPT and its speedrun descendants print them.

The descendants write their own source code into the log before the first step: a step is a
line that consists of nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.readers.training_entry import (
    MILLI_NS,
    NUMBER,
    SECOND_NS,
    Entry,
    Unreadable,
    clock_of,
    duration,
    loss,
    ratio,
)
from pipeline.readers.training_lines import Line

_NUMBER = rf"{NUMBER}|nan|-?inf"
_SPEEDRUN = re.compile(
    rf"step:(?P<step>\d{{1,12}})/(?P<last>\d{{1,12}})"
    rf"(?: (?P<what>train_loss|val_loss):(?P<loss>{_NUMBER}))?"
    rf" train_time:(?P<time>{NUMBER})(?P<time_unit>m?s)"
    rf"(?: step_avg:(?P<mean>{_NUMBER})(?P<mean_unit>m?s))?"
)
_FIRST = re.compile(rf"s:(?P<step>\d{{1,12}}) (?P<what>trl|tel):(?P<loss>{_NUMBER})")
_NANO = re.compile(
    rf"iter (?P<step>\d{{1,12}}): loss (?P<loss>{_NUMBER}), time (?P<time>{NUMBER})ms"
    rf"(?:, mfu (?P<mfu>{NUMBER})%)?"
)
_EVALUATION = re.compile(
    rf"step (?P<step>\d{{1,12}}): train loss (?:{_NUMBER}), val loss (?P<loss>{_NUMBER})"
)
# The shape of a step, whatever its numbers; braces are those of the program's own text.
_LOOKS = re.compile(
    r"step:[^\s{}/]{1,16}/[^\s{}]{1,16} (?:(?:train|val)_loss:|train_time:)[^\s{}]"
    r"|s:[^\s{}]{1,16} (?:trl|tel):[^\s{}]"
    r"|iter [^\s{}]{1,16}: loss [^\s{}]{1,40}, t"
    r"|step [^\s{}]{1,16}: train loss [^\s{}]{1,40}, val loss [^\s{}]"
)
_LOOKS_TORN = re.compile(r"(?:step:\d{1,12}/\d{1,12} (?:train|val)_|iter \d{1,12}: loss \d)")
# Before a step may stand what a logger or ts(1) puts there: times, levels, names in brackets.
_BEGINS = re.compile(r"(?<=[\s\]:|>])(?:step:|s:|iter |step )\d")
_BEFORE = re.compile(
    r"(?:(?:\[[^\[\]]{1,60}\]|\d[\w.,:/+\-]{0,40}|[A-Z][a-z]{2}|[A-Z]{4,8}|[-|>:])[:,]?\s{1,4}){1,6}"
)
_UNITS = {"ms": MILLI_NS, "s": SECOND_NS}


class NanoGpt:
    """Reads all generations of them."""

    NEEDLES = (b"step:", b" trl:", b" tel:", b": loss ", b": train loss ")

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line.strip()
        begins = _BEGINS.search(text)
        before = text[: begins.start()] if begins else ""
        if before and _BEFORE.fullmatch(before):
            text = text[len(before) :]
        for entry in self._of_text(line, text):
            entry.clock = clock_of(line, before)
            yield entry

    @staticmethod
    def _of_text(line: Line, text: str) -> Iterator[Entry]:
        if found := _SPEEDRUN.fullmatch(text):
            yield _speedrun(line, found)
        elif found := _FIRST.fullmatch(text):
            if line.is_torn:
                raise Unreadable("a step that may be cut")
            kind = "validation" if found["what"] == "tel" else "step"
            yield _entry(line, found, kind, loss(found["loss"]))
        elif found := _NANO.fullmatch(text):
            if line.is_torn and not found["mfu"]:
                raise Unreadable("a step that may be cut")
            values = loss(found["loss"]) | {"step_ns": duration(found["time"], MILLI_NS)}
            # -100.00% stands for none in the first steps; later ones are a running average.
            if found["mfu"] and not found["mfu"].startswith("-"):
                values["reported_mfu_share"] = ratio(found["mfu"], 0.01)
            yield _entry(line, found, "step", values)
        elif found := _EVALUATION.fullmatch(text):
            if line.is_torn:
                raise Unreadable("a step that may be cut")
            yield _entry(line, found, "validation", loss(found["loss"]))
        elif _LOOKS.match(text) or (line.is_torn and _LOOKS_TORN.match(text)):
            raise Unreadable("a step that breaks off")


def _speedrun(line: Line, found: re.Match[str]) -> Entry:
    values = loss(found["loss"]) if found["loss"] else {}
    elapsed = duration(found["time"], _UNITS[found["time_unit"]])
    values["train_time_ns"] = elapsed
    if int(found["step"]) and found["mean"] and ratio(found["mean"]) is not None:
        values["step_ns"] = mean = duration(found["mean"], _UNITS[found["mean_unit"]])
        # The mean over all steps its clock has seen: without the first ten, in 2024.
        steps = elapsed / mean if mean else 0.0
        if steps and abs(steps - round(steps)) < 0.2 and 0 < round(steps) <= int(found["step"]):
            values["step_count_averaged"] = round(steps)
    kind = "validation" if found["what"] == "val_loss" else "step"
    return _entry(line, found, kind, values, int(found["last"]))


def _entry(
    line: Line,
    found: re.Match[str],
    kind: str,
    values: dict[str, object],
    last_step: int | None = None,
) -> Entry:
    entry = Entry("nanogpt", line, int(found["step"]), found[0], values, last_step=last_step)
    entry.kind = "validation" if kind == "validation" else "step"
    return entry
