"""``dcgmi dmon`` logs of every generation -> ``gpu_sample``.

dmon prints a row per GPU and round, and no time at all. Rounds are counted; times come from
stamps that somebody put before the lines, or from the interval where one is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers import dcgm_dmon_tasks as tasks
from pipeline.readers.dcgm_dmon_clock import Clock
from pipeline.readers.dcgm_dmon_lines import (
    CUT,
    LONGEST_HEADER,
    NO_VALUE,
    TEXT,
    UNKNOWN_GPU,
    is_command,
    layout_of,
    stamp_before,
)
from pipeline.readers.dcgm_dmon_rows import Decoder
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    Refused,
)
from pipeline.readers.telemetry import BLANK
from pipeline.readers.text import blocks, ends_whole

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "dcgmi-dmon"
SUFFIXES: tuple[str, ...] = ()

_WAY_OUT = "give the whole log, with its headers"
# Commands and headers of 1.x are only dmon's if rows follow.
_MOST_TRIED = 8
_TRIED_CHARACTERS = 65_536
# How the NERSC wrapper names its files: dcgm.d<delay ms>.<job>.<step>-<node>.out
_NAME = re.compile(r"(?:^|/)dcgm\.d(\d{1,9})\.[^/]{1,99}-(\d{1,6})\.out(?:\.[a-z0-9]+)?$", re.ASCII)


def recognise(head: Head) -> bool:
    """Whether a text has a header of dmon, or one of 1.x or its command and a row."""
    text = head.text
    tried = 0
    for mark in ("#", "dmon"):
        at = text.find(mark)
        while at >= 0:
            begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[begin:end] if end - begin < LONGEST_HEADER else ""
            whole, line = line, tasks.without_task(line)
            layout = layout_of(line[stamp_before(line)[1] :]) if mark == "#" else None
            if layout and layout.has_word:
                return True
            if (layout or (mark == "dmon" and is_command(line))) and tried < _MOST_TRIED:
                tried += 1
                if _has_row(text[begin : begin + _TRIED_CHARACTERS], line != whole):
                    return True
            at = text.find(mark, end)
    return False


def _has_row(text: str, is_prefixed: bool) -> bool:
    """Whether a row of dmon is in a text that begins with its command or a header of 1.x."""
    block = f"{text}\n".encode("utf-8", "replace")
    for own in tasks.Tasks().apart(block).values() if is_prefixed else [block]:
        decoder = Decoder(None, Clock())
        for _ in decoder.batches(1, own, is_cut=False):
            pass
        if decoder.row_count:
            return True
    return False


def read(path: Path, name: str = "", pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """A log of dmon as one part of ``gpu_sample``."""
    named_ns, host = _said_by_name(name)
    facts = Facts(FORMAT, host=hints.host or host)
    clock = Clock(hints.sample_interval_ns, named_ns)
    recording = Recording(facts, [])
    is_cut = not ends_whole(path)

    def batches() -> Iterator[pa.RecordBatch]:
        decoders: dict[str | None, Decoder] = {}
        for task, number, block, is_last in _blocks_of_tasks(path):
            own = hints.host or task or host
            decoder = decoders.setdefault(task, Decoder(own, clock))
            yield from decoder.batches(number, block, is_cut=is_cut and is_last)
        telling = [d for d in decoders.values() if d.row_count or d.skipped.count]
        _conclude(recording, telling or [Decoder(facts.host, clock)], is_cut)

    recording.parts = [Part("gpu_sample", batches)]
    return recording


def _blocks_of_tasks(path: Path) -> Iterator[tuple[str | None, int, bytes, bool]]:
    """The text as blocks of whole lines, each with the host or task that a launcher's prefix
    names, its first line's number, and whether it is the last."""
    named = tasks.Tasks() if tasks.are_named(path) else None
    waiting: tuple[int, bytes] | None = None
    for block in chain(blocks(path), [None]):
        if waiting:
            found = named.apart(waiting[1]) if named else {None: waiting[1]}
            for task, text in found.items():
                yield task, waiting[0], text, block is None
        waiting = block


def _conclude(recording: Recording, decoders: list[Decoder], is_cut: bool) -> None:
    """What is known when everything has been read."""
    facts, clock = recording.facts, decoders[0].clock
    layouts = [layout for decoder in decoders for layout in decoder.layouts]
    facts.tool_version = ", ".join(
        dict.fromkeys(layout.version for layout in layouts if layout.version)
    ) or None  # fmt: skip
    hosts = {decoder.host for decoder in decoders}
    facts.host = hosts.pop() if len(hosts) == 1 else None
    if clock.kind == "utc":
        facts.capture_start_utc_ns = clock.zero_ns
    elif clock.kind == "local":
        facts.capture_start_local_ns = clock.zero_ns
    facts.capture_dur_ns = clock.last_ns if clock.kind or clock.interval_ns else None
    if all(decoder.is_stopped for decoder in decoders):
        facts.status, facts.status_reason = "complete", "dmon says at its end that it was stopped"
    elif is_cut:
        facts.status, facts.status_reason = "incomplete", "the last line has no end"
    else:
        facts.status, facts.status_reason = "unknown", "dmon does not say where its log ends"
    for decoder in decoders:
        decoder.others.finish(decoder.row_count > 0)
        for issue in [*decoder.skipped.issues(_WAY_OUT), *issues(decoder)]:
            recording.report(issue)
    for issue in _issues_of_time(decoders):
        recording.report(issue)
    refusals = [_refusal(decoder) for decoder in decoders]
    if all(refusals):
        recording.refusal = refusals[0]


def _refusal(decoder: Decoder) -> Refused | None:
    """Why nothing of a log can be used; None where something can, be it that GPUs said N/A."""
    if not decoder.row_count:
        if decoder.skipped.count:
            return decoder.skipped.refusal("no row of dcgmi dmon can be used", _WAY_OUT)
        return Refused("a header of dcgmi dmon without any row", _WAY_OUT)
    if decoder.other_rows.total() == decoder.row_count:
        kinds = ", ".join(sorted(decoder.other_rows))
        return Refused(f"no row is of a GPU, all are of: {kinds}", "have dmon watch GPUs")
    if not decoder.sample_count and decoder.odd_rows == decoder.row_count:
        nothing = "no row of dcgmi dmon holds a number"
        return decoder.odd_cells.refusal(nothing, "look at the line; have dmon watch metrics")
    # Absent values are an answer; values that cannot be true are none.
    left_out = +decoder.left_out
    reasons = {reason for _, reason in left_out}
    if not decoder.sample_count and reasons and not reasons & {NO_VALUE, BLANK, TEXT, CUT}:
        column, reason = min(left_out)
        nothing = f"no row of dcgmi dmon holds a value that can be true: {column}: {reason}"
        return Refused(nothing, "look at the log, and watch the metrics again")
    return None


def issues(decoder: Decoder) -> list[Issue]:
    """What was left out, and what to know of the rest."""
    found = decoder.odd_cells.issues()
    missing: Counter[str] = Counter()
    for (column, reason), count in sorted(decoder.left_out.items()):
        is_odd = reason in (TEXT, CUT)
        missing[column] += count if reason == NO_VALUE else -count if is_odd else 0
        if reason != NO_VALUE and not is_odd and count:
            found.append(Issue("warning", column, reason, row_count=count))
    for column, count in sorted(missing.items()):
        if count > 0:
            found.append(Issue("note", column, "no value (N/A or blank)", row_count=count))
    for entity, count in sorted(decoder.other_rows.items()):
        found.append(Issue("note", "", f"rows of {entity} are no GPU's, not stored", "", count))
    for column, metric in sorted(
        {pair for layout in decoder.layouts for pair in zip(layout.names, layout.metrics,
         strict=True)}, key=lambda pair: pair[0]
    ):  # fmt: skip
        if not metric.is_known:
            found.append(Issue("note", column, f"stored as {metric.name}, its unit is not known"))
    kinds = {entity.kind for entity in decoder.entities if entity.gpu_id == UNKNOWN_GPU}
    if kinds:
        problem = "dmon does not say of which GPU its MIG instances and bare links are part"
        found.append(Issue("note", "", problem))
    if decoder.ambiguous_zeros:
        problem = "0 of XIDER, GNVERR and CLK*NS may mean no data before DCGM 4.5.3"
        found.append(Issue("note", "", problem, "", decoder.ambiguous_zeros))
    return found


def _issues_of_time(decoders: list[Decoder]) -> list[Issue]:
    found: list[Issue] = []
    clock, gaps = decoders[0].clock, sum(decoder.others.gaps for decoder in decoders)
    row_count = sum(decoder.row_count for decoder in decoders)
    if clock.is_broken:
        problem = "the header changes: rounds are counted on, when the later ones were is not known"
        found.append(Issue("note", "", problem))
    if gaps:
        problem = "lines were cut out of the log ('...'): rounds are not evenly spaced"
        found.append(Issue("note", "", problem, "", gaps))
    if clock.odd:
        found.append(Issue("warning", "", "rows without a time of the log's clock", "", clock.odd))
    if row_count and not clock.kind and not clock.interval_ns and not clock.is_broken:
        problem = "dmon prints no time: rounds are only counted"
        found.append(Issue("note", "", problem, "say --interval SECONDS to place them in time"))
    return found


def _said_by_name(name: str) -> tuple[int | None, str | None]:
    """The interval in ns and the node that a file's name tells."""
    found = _NAME.search(name)
    if not found:
        return None, None
    return int(found[1]) * 1_000_000 or None, f"node{int(found[2])}"
