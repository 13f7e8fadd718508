"""Steps as DeepSpeed's engine prints them: its timer, its scheduler, its pipeline engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.readers.training_entry import (
    GIBI,
    NUMBER,
    SECOND_NS,
    Entry,
    Quoted,
    Unreadable,
    clock_of,
    count,
    duration,
    is_quoted,
    loss,
    magnitude,
    ratio,
    scaled,
)
from pipeline.readers.training_lines import Line

# 2022 (0.5 to 0.7): 0/20, RunningAvgSamplesPerSec=..; before, SamplesPerSec was the average.
_TIMER = re.compile(
    r"\[timer\.py:\d{1,5}:stop\]\s{1,4}"
    r"(?:epoch=\d{1,9}/micro_step=\d{1,12}/global_step=(?P<step>\d{1,12})"
    r"|\d{1,9}/(?P<micro>\d{1,12})), "
    r"(?P<fields>.{1,600})"
)
_CURRENT = re.compile(rf"CurrSamplesPerSec=(?P<rate>{NUMBER}|inf|nan)(?=[\s,]|$)")
_MOST = re.compile(rf"MaxMemAllocated=({NUMBER})GB")
_STEP = re.compile(
    r"(?<!\w)step=(?P<step>\d{1,12}), skipped=(?P<skipped>\d{1,12}), "
    r"lr=\[(?P<rates>[^\]\[]{0,4000})\]"
)
_PIPELINE = re.compile(
    rf"steps: (?P<step>\d{{1,12}}) loss: (?P<loss>{NUMBER}|-?inf|nan) "
    rf"iter time \(s\): (?P<time>{NUMBER}) samples/sec: (?P<rate>{NUMBER}|inf|nan)"
)
_BREAKS = "a step that breaks off"
# The shapes of the three, whatever their numbers.
_LOOKS_TIMER = re.compile(r"\[timer\.py:\d{1,5}:\w{1,20}\].{0,120}AvgSamplesPerSec")
_LOOKS_STEP = re.compile(r"(?<!\w)step=[^\s{},]{1,24}, skipped=[^\s{},]{1,24}, lr=\[")
_LOOKS_PIPELINE = re.compile(r"steps: [^\s{}]{1,24} loss: [^\s{}]{1,40} iter time")


class DeepSpeed:
    """Reads the lines of all three; those of one step become one row."""

    NEEDLES = (b"AvgSamplesPerSec", b"CurrSamplesPerSec=", b", skipped=", b" iter time")

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line
        if found := _PIPELINE.search(text):
            if is_quoted(text[: found.start()]):
                raise Quoted
            if line.is_torn and found.end() == len(text):
                raise Unreadable(_BREAKS)
            values = loss(found["loss"]) | {
                "step_ns": duration(found["time"], SECOND_NS),
                "samples_per_s": magnitude(found["rate"]),
            }
            yield _entry(line, text, found, int(found["step"]), values)
        elif found := _STEP.search(text):
            if int(found["step"]) and not is_quoted(text[: found.start()]):
                values = {"skipped_total_count": count(found["skipped"])}
                first = found["rates"].partition(", ")[0]
                if first.strip():
                    values["learning_rate"] = ratio(first)
                yield _entry(line, text, found, int(found["step"]), values)
        elif (found := _TIMER.search(text)) and "CurrSamplesPerSec=" in found["fields"]:
            if is_quoted(text[: found.start()]):
                raise Quoted
            yield self._of_timer(line, text, found)
        else:
            for shape in (_LOOKS_TIMER, _LOOKS_STEP, _LOOKS_PIPELINE):
                if looks := shape.search(text):
                    raise Quoted if is_quoted(text[: looks.start()]) else Unreadable(_BREAKS)

    @staticmethod
    def _of_timer(line: Line, text: str, found: re.Match[str]) -> Entry:
        fields = found["fields"]
        rate = _CURRENT.search(fields)
        if rate is None or (line.is_torn and fields.endswith(rate[0])):
            raise Unreadable(_BREAKS)
        values: dict[str, object] = {"samples_per_s": magnitude(rate["rate"])}
        if most := _MOST.search(fields):
            values["memory_bytes"] = scaled(most[1], GIBI)
            values["memory_kind"] = "max_allocated"
        return _entry(line, text, found, int(found["step"] or found["micro"]), values)


def _entry(
    line: Line, text: str, found: re.Match[str], step: int, values: dict[str, object]
) -> Entry:
    clock = clock_of(line, text[: found.start()])
    return Entry("deepspeed", line, step, found[0], values, clock=clock)
