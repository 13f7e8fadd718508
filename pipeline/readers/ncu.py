"""Nsight Compute: CSV of every page, versions 2019.5 to 2026.1, and .ncu-rep.

The shapes are told by the names in the header, never by position or version: the layout follows
the ncu that prints, not the one that profiled. Rows of the details page and of the raw page become
``kernel_metric``; summaries have a table of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.readers import ncu_rep
from pipeline.readers.ncu_cells import cells
from pipeline.readers.ncu_kernel_rows import Kernels
from pipeline.readers.ncu_kernels import Row
from pipeline.readers.ncu_lines import Story, header_of, tables
from pipeline.readers.ncu_pages import Metrics
from pipeline.readers.ncu_session import session_row
from pipeline.readers.ncu_summary import Summaries
from pipeline.readers.record import (
    Facts,
    Head,
    Hints,
    Issue,
    NotThisFormat,
    Part,
    Recording,
    Refused,
    row_batches,
)
from pipeline.readers.text import Skipped, rank_in_name

FORMAT = "ncu-csv"
SUFFIXES = (".ncu-rep",)

_NAMED = "Kernel Name"
_CSV = "print it with 'ncu --import REPORT.ncu-rep --csv --page raw', or details"
_DOUBTFUL = "print it again with LC_ALL=C, and see that nothing else wrote to it"
_MESSAGE = re.compile(r"^==(?:PROF|WARNING|ERROR)== ", re.MULTILINE)
_SESSION = re.compile(r'^"(?:Session|Launch) Attribute","', re.MULTILINE)
_SOURCE = re.compile(r'^"Kernel Name","[^\n]*\n"Address","Source"', re.MULTILINE)
# What another program makes of ncu's CSV: a column per metric and no kernels.
_PIVOT = re.compile(r"\ufeff?\"?Metric Name\"?,[^\n]*\w__\w")


def recognise(head: Head) -> bool:
    """Whether a file holds a report, one of ncu's CSV pages or its messages."""
    if ncu_rep.is_report(head.data):
        return True
    text = head.text
    if not text:
        return False
    # The words first: they are found much faster.
    if "== " in text and _MESSAGE.search(text):
        return True
    if 'Attribute","' in text and _SESSION.search(text):
        return True
    if '"Address","Source"' in text and _SOURCE.search(text):
        return True
    return any(header_of(line.encode("utf-8", "replace")) for line in _lines_with(text, _NAMED))


def _lines_with(text: str, word: str) -> Iterator[str]:
    at = text.find(word)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[text.rfind("\n", 0, at) + 1 : end].removeprefix("\ufeff")
        at = text.find(word, end)


def why_not(head: Head, beside: Collection[str]) -> Refused | None:
    """What is wrong with a file that is called like a report, or is made of ncu's CSV."""
    if head.name.lower().endswith(SUFFIXES):
        return Refused("called .ncu-rep, but not a report of Nsight Compute", "copy it again")
    if _PIVOT.match(head.text):
        return Refused(
            "metrics of ncu without their kernels, rearranged by another program",
            "ingest the CSV that ncu itself printed",
        )
    return None


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The recording of a report or a CSV; see :mod:`pipeline.readers`. Read in one piece."""
    with path.open("rb") as stream:
        head = stream.read(64)
    if ncu_rep.is_report(head):
        return ncu_rep.read(path, name)
    if name.lower().endswith(SUFFIXES):
        raise NotThisFormat("called .ncu-rep, but not a report of Nsight Compute")
    return _Csv(path, name).recording


class _Csv:
    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._story = Story()
        self._skipped = Skipped()
        self._kernels = Kernels()
        self._metrics = Metrics(self._kernels, self._skipped)
        self._summaries: list[pa.RecordBatch] = []
        facts = Facts(FORMAT, rank=rank_in_name(name))
        facts.status_reason = "ncu's CSV does not say where it ends"
        self.recording = Recording(
            facts,
            [Part("kernel_metric", self._batches)],
            [
                Part("kernel_profile", self._kernels.batches),
                Part("kernel_rule", lambda: row_batches("kernel_rule", self._metrics.rules)),
                Part("kernel_metric_summary", lambda: iter(self._summaries)),
                Part("profiler_session", self._session),
            ],
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        metrics = self._metrics
        summaries = Summaries(metrics.style, metrics.tally, self._skipped)
        short_at = 0
        for rows in tables(self._path, self._story, self._skipped):
            parts = cells(rows, self._skipped, metrics.number_columns(rows.header))
            short_at = rows.short_at or short_at
            for part in parts:
                if rows.header.page == "details":
                    yield from metrics.details(part)
                elif rows.header.page == "raw":
                    yield from metrics.raw(part)
                else:
                    self._summaries += row_batches("kernel_metric_summary", summaries.rows(part))
        self._story.is_cut |= short_at == self._story.last_line
        self._conclude()

    def _session(self) -> Iterator[pa.RecordBatch]:
        row = session_row(self._story.session)
        return row_batches("profiler_session", [row] if row else [])

    # -- what is known at the end ----------------------------------------------------------

    def _conclude(self) -> None:
        story, recording = self._story, self.recording
        session = session_row(story.session)
        if session:
            self._take_facts(session)
        has_rows = len(self._kernels) or any(batch.num_rows for batch in self._summaries)
        if not has_rows and not session:
            recording.refusal = self._refusal()
            return
        if self._metrics.tally.has_doubts_only:
            recording.refusal = self._metrics.tally.odd_numbers.refusal(
                "no metric of its tables has a number", _DOUBTFUL
            )
            return
        for issue in self._skipped.issues("ncu's other pages or a fresh --csv print may hold them"):
            recording.report(issue)
        for issue in self._issues():
            recording.report(issue)
        if story.is_cut or self._kernels.has_short_last:
            recording.facts.status = "incomplete" if story.is_cut else "unknown"
            recording.facts.status_reason = (
                "the last row is cut off"
                if story.is_cut
                else "the last kernel has fewer metrics than any other: perhaps cut"
            )

    def _take_facts(self, session: Row) -> None:
        facts = self.recording.facts
        host, version, created = (
            session[key] for key in ("host", "tool_version", "created_local_ns")
        )
        facts.host = str(host) if host else None
        facts.capture_version = str(version) if version else None
        facts.capture_start_local_ns = created if isinstance(created, int) else None

    def _issues(self) -> Iterator[Issue]:
        tally = self._metrics.tally
        yield from tally.odd_numbers.issues(_DOUBTFUL)
        if tally.assumed_units:
            problem = "no units printed; base units taken from the table ncu_metric"
            way_out = "print with the version of ncu that profiled, or a newer one"
            yield Issue("note", "", problem, way_out, tally.assumed_units)
        if tally.unknown_labels:
            section, label = next(iter(tally.unknown_labels))
            problem = f"labels without a known raw name, such as '{label}' in '{section}'"
            way_out = "print with '--print-metric-name name' or '--page raw'"
            yield Issue("note", "", problem, way_out, sum(tally.unknown_labels.values()))
        if tally.repeated:
            problem = "metrics printed again for the same kernel and section; the first is kept"
            yield Issue("note", "", problem, "", tally.repeated)
        for kind, text in dict.fromkeys(self._story.messages):
            if kind == "ERROR":
                yield Issue("warning", "", f"ncu says: {text}")

    def _refusal(self) -> Refused:
        story = self._story
        told = self._told()
        if self._skipped.count:
            return self._skipped.refusal(
                "no row of its tables can be understood",
                "print it again, as another page or with another version of ncu",
            )
        if told:
            return Refused(f"no table of metrics: ncu says '{told}'", _way_out(told))
        if story.has_source_page:
            return Refused("ncu's source page, which has no metrics of whole kernels", _CSV)
        if story.has_text_page:
            return Refused("ncu's own printed tables, not CSV", _CSV)
        if story.tables:
            return Refused("a table of ncu without a row", _CSV)
        return Refused("messages of ncu and no table of metrics", _CSV)

    def _told(self) -> str:
        """The message that says best why there is no table."""
        messages = self._story.messages
        for _, text in messages:
            if "No kernels were profiled" in text or "ERR_NVGPUCTRPERM" in text:
                return text
        for wanted in ("ERROR", "WARNING"):
            for kind, text in messages:
                if kind == wanted:
                    return text
        return ""


def _way_out(told: str) -> str:
    if "ERR_NVGPUCTRPERM" in told:
        return "let users read counters (NVreg_RestrictProfilingToAdminUsers=0) or run as root"
    if "No kernels" in told:
        return "check --kernel-name, --launch-skip and --target-processes all"
    return "mend that and profile again"
