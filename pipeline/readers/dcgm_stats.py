"""``dcgmi stats -v`` of a job -> ``job_gpu_summary``: a table per GPU and one over all.

Sites append it to a job's output in the epilogue, so it may stand between anything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers.foreign_lines import Strays, is_of_other
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    row_batches,
)
from pipeline.readers.telemetry import gpu_of_index
from pipeline.readers.text import Skipped, lines, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "dcgmi-stats"
SUFFIXES: tuple[str, ...] = ()

_SECTION = re.compile(r"[|+]-{2,5}  ([A-Z][A-Za-z ]{3,40}?)  -+")
_TABLE = re.compile(r"\| (?:GPU ID: ([^|\n]{1,70}?)|(Summary)) {1,76}\|", re.ASCII)
_GPU = re.compile(r"\d{1,4}", re.ASCII)
_JOB = re.compile(r"retrieved statistics for job: ?(\S{1,200}?)\.?\s*$")
_ROW = re.compile(r"\| ([^|]{1,40})\| ([^|]{1,60})\|")
_EDGE = re.compile(r"\+-{30,50}\+-{30,50}\+")
_STATISTIC = re.compile(r"(Avg|Max|Min): (\S+?)(?:,(?=\s)|$)")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_NO_VALUE = frozenset(("N/A", "Not Specified", "Not Supported", "Not Found", ""))
_NAME = re.compile(r"dcgm-gpu-stats-(.{1,200})-(\d{1,18})\.out(?:\.[a-z0-9]+)?$", re.ASCII)
_TIMES = ("Start Time", "End Time")
# As the words stand in the table -> metric, factor to its base unit.
_METRICS = {
    "Total Execution Time (sec)": ("execution_ns", 1e9),
    "No. of Processes": ("process_count", 1.0),
    "Energy Consumed (Joules)": ("energy_j", 1.0),
    "Power Usage (Watts)": ("power_w", 1.0),
    "Max GPU Memory Used (bytes)": ("fb_used_bytes", 1.0),
    "SM Clock (MHz)": ("sm_clock_hz", 1e6),
    "Memory Clock (MHz)": ("memory_clock_hz", 1e6),
    "SM Utilization (%)": ("gpu_util_share", 0.01),
    "Memory Utilization (%)": ("memory_util_share", 0.01),
    "PCIe Rx Bandwidth (megabytes)": ("pcie_rx_bytes", 1e6),
    "PCIe Tx Bandwidth (megabytes)": ("pcie_tx_bytes", 1e6),
    "Single Bit ECC Errors": ("ecc_sbe_count", 1.0),
    "Double Bit ECC Errors": ("ecc_dbe_count", 1.0),
    "PCIe Replay Warnings": ("pcie_replay_count", 1.0),
    "Critical XID Errors": ("xid_count", 1.0),
}
_PROCESSES = ("process_count", "total")
_SLOWDOWN = re.compile(r"(?:Due to )?- (Power|Thermal|Reliability|Board Limit|Low Utilization|"
                       r"Sync Boost) \(%\)")  # fmt: skip
_OF_PROCESS = re.compile(r"PID$|Compute PID$|Avg (?:SM|Memory) Utilization \(%\)$")
_AGAIN = "take the whole output of 'dcgmi stats -v -j JOB'"
_RATE = "the tool says bandwidth, but bytes: per what is not known"
_NO_WORK = "0 was seen where work ran"
_ENERGY = "does not fit the mean power and the time"
_NO_PROCESS = "no process was seen: those on MIG instances are not counted"
_ENERGY_SLACK = 0.25  # short jobs have few power samples


@dataclass
class _Table:
    """One table: of a GPU, or the summary (``gpu`` is None)."""

    job: str | None
    gpu: int | None
    strays: Strays = field(default_factory=Strays)
    start_s: int | None = None
    end_s: int | None = None
    values: dict[tuple[str, str], float] = field(default_factory=dict)
    is_whole: bool = False


def recognise(head: Head) -> bool:
    """Whether a text has the table of a job's statistics."""
    return "Execution Stats" in head.text and bool(_TABLE.search(head.text))


def read(path: Path, name: str = "", pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """Every table of a job's statistics in a text."""
    named = _NAME.search(name)
    facts = Facts(FORMAT, host=hints.host or (named[1] if named else None))
    recording = Recording(facts, [])

    def batches() -> Iterator[pa.RecordBatch]:
        found = _Tables(named[2] if named else None)
        for number, line in lines(path):
            found.take(number, without_escapes(line))
        starts = [table.start_s for table in found.tables if table.start_s is not None]
        zero_s = min(starts, default=None)
        facts.capture_start_local_ns = None if zero_s is None else zero_s * 1_000_000_000
        ends = [table.end_s for table in found.tables if table.end_s is not None]
        if zero_s is not None and ends:
            facts.capture_dur_ns = max(max(ends) - zero_s, 0) * 1_000_000_000
        found.conclude(recording)
        rows = (row for table in found.tables for row in _rows(table, zero_s, facts.host))
        yield from row_batches("job_gpu_summary", rows)

    recording.parts = [Part("job_gpu_summary", batches)]
    return recording


class _Tables:
    def __init__(self, job: str | None) -> None:
        self.tables: list[_Table] = []
        self._job = job
        self._table: _Table | None = None
        self._skipped = Skipped()
        self._without: Counter[str] = Counter()
        self._per_gpu_slowdowns = 0
        self._process_rows = 0

    def take(self, number: int, line: str) -> None:
        """Takes one line of the text; what is no line of a table is passed over."""
        job = _JOB.search(line) if "statistics for job" in line else None
        if job:
            self._job, self._table = job[1], None
        at = min((p for p in (line.find("|"), line.find("+")) if p >= 0), default=-1)
        if at < 0 or len(line) > 500:
            if self._table and line.strip() and not is_of_other(line):
                self._table.strays.hold(number, line)
            return
        line = line[at:].rstrip()
        table = _TABLE.fullmatch(line)
        if table and not table[2] and not _GPU.fullmatch(table[1]):
            self._skipped.add("a table that does not say of which GPU it is", number, line)
            self._table = None
        elif table:
            self._table = _Table(self._job, None if table[2] else int(table[1]))
            self.tables.append(self._table)
        elif not _SECTION.match(line):
            self._line(number, line)

    def _line(self, number: int, line: str) -> None:
        """A line with the marks of a table: a row, an edge, or what is left of one."""
        table, row = self._table, _ROW.fullmatch(line)
        if table is None:
            if row and row[1].rstrip(" *").strip() in _METRICS:
                self._skipped.add("a row without a table's heading above", number, line)
        elif _EDGE.fullmatch(line):
            table.strays.tell(self._skipped)
            table.is_whole = bool(table.values)
        elif row:
            table.strays.tell(self._skipped)
            self._row(table, number, row[1].rstrip(" *"), row[2].strip())
        elif line.startswith("|") and line.strip("|=+- "):
            self._skipped.add("a row of the table that is cut or torn", number, line)

    def _row(self, table: _Table, number: int, label: str, text: str) -> None:
        label = label.strip()
        slowdown = _SLOWDOWN.fullmatch(label)
        if label in _TIMES:
            self._time(table, number, label, text)
        elif slowdown and table.gpu is not None:
            # Up to 4.6 the verbose table of every GPU prints the summary's own numbers.
            self._per_gpu_slowdowns += 1
        elif slowdown:
            metric = f"{slowdown[1].lower().replace(' ', '_')}_slowdown_share"
            self._value(table, number, (metric, 0.01), "total", label, text)
        elif _OF_PROCESS.match(label):
            self._process_rows += 1
        elif label in _METRICS:
            found = _STATISTIC.findall(text) or [("total", text)]
            for statistic, value in found:
                self._value(table, number, _METRICS[label], statistic.lower(), label, value)
        elif label == "Overall Health":
            self._health(table, text)
        else:
            self._skipped.add("a row that is not known", number, label)

    def _value(
        self,
        table: _Table,
        number: int,
        metric: tuple[str, float],
        statistic: str,
        label: str,
        text: str,
    ) -> None:
        name, factor = metric
        if label.startswith("Max ") and statistic == "total":
            statistic = "max"
        if text in _NO_VALUE:
            self._without[label] += 1
        elif not _NUMBER.fullmatch(text):
            self._skipped.add(f"{label}: not a number", number, text)
        elif (
            float(text) < 0 or float(text) > 1e18 or (name.endswith("_share") and float(text) > 100)
        ):
            self._skipped.add(f"{label}: cannot be", number, text)
        elif (
            table.values.setdefault((name, statistic), float(text) * factor) != float(text) * factor
        ):
            self._skipped.add(f"{label}: stands twice in one table", number, text)

    def _time(self, table: _Table, number: int, label: str, text: str) -> None:
        if text in _NO_VALUE:
            self._without[label] += 1
            return
        try:
            at = datetime.strptime(text, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)
        except ValueError:
            self._skipped.add(f"{label}: not a time", number, text)
            return
        if label == "Start Time":
            table.start_s = int(at.timestamp())
        else:
            table.end_s = int(at.timestamp())

    def _health(self, table: _Table, text: str) -> None:
        if text in _NO_VALUE:
            self._without["Overall Health"] += 1
        else:
            table.values["is_healthy", "total"] = float(text == "Healthy")

    def conclude(self, recording: Recording) -> None:
        """Issues and status, when all lines were taken."""
        for issue in self._skipped.issues():
            recording.report(issue)
        for label, count in sorted(self._without.items()):
            recording.report(Issue("note", "", f"{label}: no value", "", count))
        if self._per_gpu_slowdowns:
            problem = (
                "slowdowns in a GPU's table are those of the whole job: only the summary's are kept"
            )
            recording.report(Issue("note", "", problem, "", self._per_gpu_slowdowns))
        if self._process_rows:
            problem = "rows of single processes are not stored"
            recording.report(Issue("note", "", problem, "", self._process_rows))
        facts = recording.facts
        if self.tables and all(table.is_whole for table in self.tables):
            facts.status, facts.status_reason = "complete", "every table has its lower edge"
        else:
            facts.status, facts.status_reason = "incomplete", "a table ends before its lower edge"
        # On MIG groups every value is absent: that is no fault of the file.
        is_absent = self._without and not self._skipped.count
        if not is_absent and not any(table.values for table in self.tables):
            for table in self.tables:
                table.strays.tell(self._skipped)
            nothing = "the job's statistics have no value"
            recording.refusal = self._skipped.refusal(nothing, _AGAIN)


def _rows(table: _Table, zero_s: int | None, host: str | None) -> Iterator[dict[str, object]]:
    def since(at: int | None) -> int | None:
        return None if at is None or zero_s is None else (at - zero_s) * 1_000_000_000

    for (metric, statistic), value in table.values.items():
        reason = _doubt(table, metric, value)
        yield {
            "host": host,
            "job": table.job,
            "gpu_id": None if table.gpu is None else gpu_of_index(table.gpu),
            "device_id": table.gpu,
            "start_ns": since(table.start_s),
            "end_ns": since(table.end_s),
            "metric": metric,
            "statistic": statistic,
            "value": value,
            "is_reliable": reason is None,
            "reason": reason,
        }


def _doubt(table: _Table, metric: str, value: float) -> str | None:
    """Why a value should not be relied on, None if nothing speaks against it."""
    if metric in ("pcie_rx_bytes", "pcie_tx_bytes"):
        return _RATE
    if metric == "gpu_util_share" and value == 0:
        return _NO_WORK
    if metric == "fb_used_bytes" and value == 0 and not table.values.get(_PROCESSES, 1):
        return _NO_PROCESS
    # Of several GPUs the summary adds the energy, but not the power.
    if metric == "energy_j" and table.gpu is not None:
        power = table.values.get(("power_w", "avg"))
        time_ns = table.values.get(("execution_ns", "total"))
        if power and time_ns and abs(value / (power * time_ns / 1e9) - 1) > _ENERGY_SLACK:
            return _ENERGY
    return None
