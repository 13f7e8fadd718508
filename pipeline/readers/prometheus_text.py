"""Reads dcgm-exporter's text: one scrape or many appended, with times or without.

The text of one series is the same in every scrape: what stands before the value is looked up
whole, so that labels are taken apart once per series.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers.foreign_lines import begins_other, is_of_other
from pipeline.readers.launcher_prefix import Prefixed, announced_host, without_prefix
from pipeline.readers.prometheus_labels import NOT_OF_GPUS, GpuLabels, parse_labels
from pipeline.readers.prometheus_repeats import Repeats
from pipeline.readers.prometheus_values import Sampled, value_and_time, values_of
from pipeline.readers.record import Facts, Head, Hints, Part, Recording, Refused
from pipeline.readers.telemetry import NO_TIME
from pipeline.readers.text import Skipped, blocks, ends_whole

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

FORMAT = "prometheus-text"
SUFFIXES: tuple[str, ...] = ()

_SAMPLE_OF_GPU = re.compile(
    r'^(?:DCGM|dcgm)_\w+\{[^}\n]*\b(?:gpu|UUID|uuid|pci_bus_id)\s*=\s*"[^\n]*\}[ \t]+\S',
    re.MULTILINE,
)
_OWN = "prometheus"
_PRINTED = re.compile(
    r"^\s{0,9}\{\s{0,9}'GPU-[0-9a-f-]{1,64}':\s{0,9}\{\s{0,9}'name':\s{0,9}'[^']{1,99}'",
    re.MULTILINE,
)
_LOOKED_AT = 65_536
_SERIES = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{(.*)\}")
_BARE_SAMPLE = re.compile(
    rb"[a-zA-Z_:][a-zA-Z0-9_:]*[ \t]+[-+]?[0-9NI][^ \t]*(?:[ \t]+[0-9.]+)?\s*"
)
# A sample whose name or labels are damaged.
_LIKE_SAMPLE = re.compile(r'\S{1,200}\{\s{0,9}[a-zA-Z_]\w{0,60}\s?="[^\n]*"[^"\n]*$')
_RULES = " \t`.-=~*_#"  # lines of these alone part paragraphs, or stand for what was left out
_MOST_TRIED = 200
_LONGEST = 4096  # characters of a strange line that are looked at
_DECLARED = re.compile(rb"#[ \t]*(HELP|TYPE)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)")
# Series are looked up by their text; texts that never return (pods come and go) are dropped.
_MOST_TEXTS = 200_000
_NO_SAMPLE = -1
_WAY_OUT = "look at the line; lines that a full disk or a kill cut short cannot be repaired"


def recognise(head: Head) -> bool:
    """Whether the text has a sample of dcgm-exporter with a GPU among its labels, be its value
    damaged."""
    text = head.text
    if _SAMPLE_OF_GPU.search(text):
        return True
    places = islice(re.finditer("DCGM_", text), _MOST_TRIED)  # behind a launcher's prefix
    lines = (text[text.rfind("\n", 0, at.start()) + 1 :][:_LONGEST] for at in places)
    return any(_SAMPLE_OF_GPU.match(without_prefix(line).line) for line in lines)


def why_not(head: Head, beside: list[str]) -> Refused | None:
    """slurm-job-exporter prints what it asked DCGM for as a dict of Python, when debugged."""
    if _PRINTED.search(head.text[:_LOOKED_AT]):
        return Refused(
            "a dict that slurm-job-exporter printed: it has neither times nor units",
            "give a scrape of its or dcgm-exporter's /metrics, or a log of dcgmi dmon",
        )
    return None


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The samples and the GPUs of dcgm-exporter's text; scrapes in a row are one piece.

    The refusal is set while reading, when no sample could be used.
    """
    facts = Facts(FORMAT, status_reason="the format has no end mark")
    recording = Recording(facts, [])
    scrapes = _Scrapes(path, hints, recording, GpuLabels(hints, facts))
    recording.parts.append(Part("gpu_sample", scrapes.batches))
    recording.closing_parts.append(scrapes.labels.devices.part())
    return recording


@dataclass
class _Scrapes:
    """The state of reading one file: texts of series met, and the current scrape."""

    path: Path
    hints: Hints
    recording: Recording
    labels: GpuLabels
    skipped: Skipped = field(default_factory=Skipped)
    repeats: Repeats = field(default_factory=Repeats)
    # By number of the text before a value: series, field, and the scrape it was last met in.
    texts: dict[bytes, int] = field(default_factory=dict)
    texts_of: dict[str, dict[bytes, int]] = field(default_factory=dict)  # by the host pssh says
    announced: str | None = None
    series_of: list[int] = field(default_factory=list)
    field_of: list[int] = field(default_factory=list)
    host_of: list[int] = field(default_factory=list)
    last_scrape: list[int] = field(default_factory=list)
    # Lines of which nobody knows yet whose they are.
    strays: list[tuple[int, bytes]] = field(default_factory=list)
    is_paused: bool = False  # an empty line stands above
    scrape: int = 0
    declared: dict[bytes, int] = field(default_factory=dict)
    hosts: dict[str | None, int] = field(default_factory=dict)
    # Of each host the last scrape that had it, and which of its own scrapes that was.
    rounds: dict[int, tuple[int, int]] = field(default_factory=dict)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of ``gpu_sample`` in the order of the file."""
        for number, block in self._whole_blocks():
            yield from self._batches(self._read(number, block))
        self._tell()

    def _whole_blocks(self) -> Iterator[tuple[int, bytes]]:
        """The file's blocks without a last line that has no end: its number may be torn."""
        is_torn = not ends_whole(self.path)
        held: tuple[int, bytes] | None = None
        for block in blocks(self.path):
            if held:
                yield held
            held = block
        if held and is_torn:
            if held[1].strip():
                self._skip("the last line is cut short", *held)
                facts = self.recording.facts
                facts.status, facts.status_reason = "incomplete", "its last line is cut short"
        elif held:
            yield held

    def _read(self, number: int, block: bytes) -> Sampled:
        """Splits a block into texts of series and of values; the hot loop."""
        texts: list[int] = []
        values: list[bytes] = []
        places: list[int] = []
        scrapes: list[tuple[int, int]] = [(0, self.scrape)]
        known, last_scrape, scrape = self.texts, self.last_scrape, self.scrape
        lines, paused_at = block.split(b"\n"), -1
        for at, line in enumerate(lines):
            cut = line.rfind(b"}") + 1
            text = known.get(line[:cut])
            if text is None:
                self.is_paused &= not places or places[-1] < paused_at
                text = self._new_text(number + at, line, cut)
                known = self.texts
                if self.scrape != scrape:
                    scrape = self.scrape
                    scrapes.append((len(texts), scrape))
                if text == _NO_SAMPLE:
                    paused_at = at if self.is_paused else paused_at
                    continue
                self.is_paused = False
            if last_scrape[text] == scrape:
                # A series returns: a new scrape begins.
                scrape = self.scrape = scrape + 1
                scrapes.append((len(texts), scrape))
            last_scrape[text] = scrape
            texts.append(text)
            values.append(line[cut:])
            places.append(at)
        raw, times, bad = values_of(values)
        self.labels.nan_count += int(np.count_nonzero(~np.isfinite(raw))) - len(bad)
        for place in bad:
            problem = "a sample whose value or time is no number"
            self._skip(problem, number + places[place], lines[places[place]])
        if places:
            self._tell_strays(number + places[-1])
            self.is_paused &= places[-1] < paused_at
        return Sampled(np.array(texts, np.int64), raw, times, _spread(scrapes, len(texts)))

    def _new_text(self, number: int, line: bytes, cut: int) -> int:
        """The number of a text not met before, or that the line is no sample."""
        if not cut or line.startswith(b"#"):
            self._read_other(number, line)
            return _NO_SAMPLE
        found = _SERIES.fullmatch(line[:cut].decode("utf-8", "replace").strip())
        said = self.announced
        if not found:
            bare = without_prefix(line[:cut].decode("utf-8", "replace"))
            found, said = _SERIES.fullmatch(bare.line.strip()), _host_of(bare)
        labels = parse_labels(found[2]) if found else None
        if not found or labels is None or value_and_time(line[cut:]) is None:
            self._read_strange(number, line)
            return _NO_SAMPLE
        if len(self.texts) >= _MOST_TEXTS:
            self.texts.clear()
        host = labels.get("Hostname") or labels.get("hostname")
        if not host and said:
            host = labels["Hostname"] = said
        own, its_field = self.labels.number(found[1], labels)
        self.texts[line[:cut]] = len(self.series_of)
        self.series_of.append(own)
        self.field_of.append(its_field)
        self.host_of.append(self.hosts.setdefault(host, len(self.hosts)))
        self.last_scrape.append(-1)
        return len(self.series_of) - 1

    def _read_other(self, number: int, line: bytes) -> None:
        """A line without labels: a declaration may begin a scrape, other tools' samples count."""
        text = line[:_LONGEST].decode("utf-8", "replace")
        if host := announced_host(text):
            self.announced, self.is_paused = host, True
            self.texts = self.texts_of.setdefault(host, {})
            return
        declared, who = _DECLARED.match(line), ""
        if not declared and line[:1] != b"#" and b"#" in line[:_LONGEST]:
            bare = without_prefix(text)
            declared, who = _DECLARED.match(bare.line.encode()), str(bare.who)
        if declared:
            self.is_paused = False
            what = b" ".join((*declared.groups(), who.encode()))
            if self.declared.get(what) == self.scrape:
                self.scrape += 1
            self.declared[what] = self.scrape
        elif _BARE_SAMPLE.fullmatch(line):
            self.labels.left_out[NOT_OF_GPUS] += 1
        elif not line.strip() or begins_other(text, _OWN):
            self.is_paused = True
        elif not line.startswith(b"#"):
            self._read_strange(number, line)

    def _read_strange(self, number: int, line: bytes) -> None:
        """A line that is none of an exporter: damaged, another format's, or what a proxy said."""
        text = line[:_LONGEST].decode("utf-8", "replace")
        if _is_of_gpus(line) or _LIKE_SAMPLE.match(text):
            self._skip("a sample that cannot be read", number, line)
        elif begins_other(text, _OWN):
            self.is_paused = True
        elif is_of_other(text) or not text.strip(_RULES):
            return
        # Before the first sample, below an empty line and below other formats' beginnings may
        # stand whatever; but a page is a scrape that failed.
        elif (self.texts and not self.is_paused) or text.lstrip().startswith("<"):
            self.strays.append((number, line))

    def _tell_strays(self, before: int) -> None:
        """Lines before one that is a sample stand among the samples."""
        for number, line in self.strays:
            if number < before:
                self._skip("a line among the samples that is none", number, line)
        self.strays = [stray for stray in self.strays if stray[0] > before]

    def _skip(self, reason: str, number: int, quoted: bytes) -> None:
        self.skipped.add(reason, number, quoted.decode("utf-8", "replace"))

    # -- from columns to rows --------------------------------------------------------------

    def _batches(self, sampled: Sampled) -> Iterator[pa.RecordBatch]:
        series = np.array(self.series_of, np.int64)[sampled.texts]
        for code, count in zip(*np.unique(series[series < 0], return_counts=True), strict=True):
            self.labels.left_out[int(code)] += int(count)
        is_kept = (series >= 0) & np.isfinite(sampled.raw)
        has_time = sampled.times != NO_TIME
        for kept in (is_kept & has_time, is_kept & ~has_time):
            if kept.any():
                yield self._batch(sampled, series, np.flatnonzero(kept), bool(has_time[kept][0]))

    def _batch(
        self,
        sampled: Sampled,
        series: NDArray[np.int64],
        kept: NDArray[np.int64],
        has_time: bool,
    ) -> pa.RecordBatch:
        tick = None if has_time else self._ticks(sampled.texts[kept], sampled.scrapes[kept])
        when = sampled.times[kept] if tick is None else tick
        is_first = self.repeats.firsts(series[kept], when, sampled.raw[kept])
        kept, when = kept[is_first], when[is_first]
        ts_ns: NDArray[np.int64] | None = None
        if has_time:
            facts = self.recording.facts
            if facts.capture_start_utc_ns is None:
                facts.capture_start_utc_ns = int(when.min())
            ts_ns, tick = when - facts.capture_start_utc_ns, None
        else:
            tick = when
            interval = self.hints.sample_interval_ns
            ts_ns = None if interval is None else tick * interval
        fields = np.array(self.field_of, np.int64)[sampled.texts[kept]]
        return self.labels.series.batch(series[kept], fields, ts_ns, tick, sampled.raw[kept])

    def _ticks(self, texts: NDArray[np.int64], scrapes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rounds: scrapes of several hosts one after the other are each host's own."""
        hosts = np.array(self.host_of, np.int64)[texts]
        pairs, places = np.unique(scrapes * len(self.hosts) + hosts, return_inverse=True)
        ticks = np.empty(len(pairs), np.int64)
        for place, pair in enumerate(pairs.tolist()):
            scrape, host = divmod(pair, len(self.hosts))
            if host not in self.rounds:
                first = scrape if not self.rounds else 0
                self.rounds[host] = scrape, first
            elif self.rounds[host][0] != scrape:
                last, tick = self.rounds[host]
                # Of a lone host an empty scrape counts: the exporter hung.
                self.rounds[host] = scrape, tick + (scrape - last if len(self.rounds) == 1 else 1)
            ticks[place] = self.rounds[host][1]
        return ticks[places]

    def _tell(self) -> None:
        self._tell_strays(2**62)
        issues = [*self.skipped.issues(_WAY_OUT), *self.labels.issues(), *self.repeats.issues()]
        for issue in issues:
            self.recording.report(issue)
        if not self.labels.series.row_count and not self.labels.are_absent(self.skipped):
            way_out = _WAY_OUT if self.skipped.count else "check what dcgm-exporter was asked for"
            nothing = f"no sample of a GPU in it can be used{self.labels.why_none()}"
            self.recording.refusal = self.skipped.refusal(nothing, way_out)


def _host_of(bare: Prefixed) -> str | None:
    # Tasks have the same indices of GPUs: nothing else says that they are of other hosts.
    return bare.host or (None if bare.task is None else f"task{bare.task}")


def _is_of_gpus(line: bytes) -> bool:
    return line.lstrip()[:5].upper() == b"DCGM_"


def _spread(starts: list[tuple[int, int]], count: int) -> NDArray[np.int64]:
    """The value at each of ``count`` places from the places at which it changes."""
    places = [place for place, _ in starts] + [count]
    return np.repeat(np.array([value for _, value in starts], np.int64), np.diff(places))
