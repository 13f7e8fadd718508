"""``dcgmi dmon`` logs of every generation -> ``gpu_sample``.

dmon prints a row per GPU and round, and no time at all. Rounds are counted; times come from
stamps that somebody put before the lines, or from the interval where one is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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
from pipeline.readers.text import blocks

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "dcgmi-dmon"
SUFFIXES: tuple[str, ...] = ()

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
            layout = layout_of(line[stamp_before(line)[1] :]) if mark == "#" else None
            if layout and layout.has_word:
                return True
            if (layout or (mark == "dmon" and is_command(line))) and tried < _MOST_TRIED:
                tried += 1
                if _has_row(text[begin : begin + _TRIED_CHARACTERS]):
                    return True
            at = text.find(mark, end)
    return False


def _has_row(text: str) -> bool:
    """Whether a row of dmon is in a text that begins with its command or a header of 1.x."""
    decoder = Decoder(None, Clock())
    for _ in decoder.batches(1, f"{text}\n".encode("utf-8", "replace"), is_cut=False):
        pass
    return decoder.row_count > 0


def read(path: Path, name: str = "", pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """A log of dmon as one part of ``gpu_sample``."""
    named_ns, host = _said_by_name(name)
    facts = Facts(FORMAT, host=hints.host or host)
    clock = Clock(hints.sample_interval_ns, named_ns)
    decoder = Decoder(facts.host, clock)
    recording = Recording(facts, [])
    is_cut = _is_cut(path)

    def batches() -> Iterator[pa.RecordBatch]:
        waiting: tuple[int, bytes] | None = None
        for block in blocks(path):
            if waiting:
                yield from decoder.batches(*waiting, is_cut=False)
            waiting = block
        if waiting:
            yield from decoder.batches(*waiting, is_cut=is_cut)
        _conclude(recording, decoder, is_cut)

    recording.parts = [Part("gpu_sample", batches)]
    return recording


def _conclude(recording: Recording, decoder: Decoder, is_cut: bool) -> None:
    """What is known when everything has been read."""
    facts, clock = recording.facts, decoder.clock
    facts.tool_version = ", ".join(
        dict.fromkeys(layout.version for layout in decoder.layouts if layout.version)
    ) or None  # fmt: skip
    if clock.kind == "utc":
        facts.capture_start_utc_ns = clock.zero_ns
    elif clock.kind == "local":
        facts.capture_start_local_ns = clock.zero_ns
    facts.capture_dur_ns = clock.last_ns if clock.kind or clock.interval_ns else None
    if decoder.is_stopped:
        facts.status, facts.status_reason = "complete", "dmon says at its end that it was stopped"
    elif is_cut:
        facts.status, facts.status_reason = "incomplete", "the last line has no end"
    else:
        facts.status, facts.status_reason = "unknown", "dmon does not say where its log ends"
    for issue in [*decoder.skipped.issues(), *issues(decoder)]:
        recording.report(issue)
    if not decoder.row_count:
        skipped = decoder.skipped.issues()
        problem = skipped[0].problem if skipped else "a header of dcgmi dmon without any row"
        recording.refusal = Refused(problem, "give the whole log, with its headers")


def issues(decoder: Decoder) -> list[Issue]:
    """What was left out, and what to know of the rest."""
    found: list[Issue] = []
    missing: Counter[str] = Counter()
    for (column, reason), count in sorted(decoder.left_out.items()):
        missing[column] += count if reason == NO_VALUE else -count if reason in (TEXT, CUT) else 0
        if reason != NO_VALUE and count:
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
    return found + _issues_of_time(decoder)


def _issues_of_time(decoder: Decoder) -> list[Issue]:
    found: list[Issue] = []
    clock = decoder.clock
    if clock.is_broken:
        problem = "the header changes: rounds are counted on, when the later ones were is not known"
        found.append(Issue("note", "", problem))
    if decoder.gaps:
        problem = "lines were cut out of the log ('...'): rounds are not evenly spaced"
        found.append(Issue("note", "", problem, "", decoder.gaps))
    if clock.odd:
        found.append(Issue("warning", "", "rows without a time of the log's clock", "", clock.odd))
    if decoder.row_count and not clock.kind and not clock.interval_ns and not clock.is_broken:
        problem = "dmon prints no time: rounds are only counted"
        found.append(Issue("note", "", problem, "say --interval SECONDS to place them in time"))
    if decoder.ambiguous_zeros:
        problem = "0 of XIDER, GNVERR and CLK*NS may mean no data before DCGM 4.5.3"
        found.append(Issue("note", "", problem, "", decoder.ambiguous_zeros))
    return found


def _said_by_name(name: str) -> tuple[int | None, str | None]:
    """The interval in ns and the node that a file's name tells."""
    found = _NAME.search(name)
    if not found:
        return None, None
    return int(found[1]) * 1_000_000 or None, f"node{int(found[2])}"


def _is_cut(path: Path) -> bool:
    """Whether the last line has no end: dmon is often killed, or still writing."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - 4, 0))
        return not stream.read().rstrip(b"\0").endswith((b"\n", b"\r"))
