"""The matrix of ``nvidia-smi topo -m``: how each pair of a host's devices is connected.

Columns are parted by tabs or by spaces, the header may be underlined by escape sequences, rows of
network adapters have no affinities, and copies from terminals lose characters at their line ends:
a row is read only when it has one code for each column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from pipeline.readers.foreign_lines import Strays, begins_other, is_of_other
from pipeline.readers.launcher_prefix import host_in
from pipeline.readers.printed_numbers import whole
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
from pipeline.readers.text import Skipped, ends_whole, lines, without_escapes

Row = dict[str, object]

FORMAT = "nvidia-smi-topo"
SUFFIXES: tuple[str, ...] = ()

_DEVICE = r"(?:GPU|NIC)\d{1,4}|[a-z][a-z0-9_.]{1,30}\d"
_LABELS = re.compile(r"(?:\s+(?:NUMA Affinity|GPU NUMA ID)){0,2}\s*")
_ROW = re.compile(rf"\s*(?P<device>{_DEVICE})\s+(?P<cells>\S.*)")
_LEGEND = re.compile(r"\s*(?P<device>NIC\d{1,4}): (?P<name>[\w.\-]{1,64})\s*")
_CODE = re.compile(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|PSB", re.ASCII)
_CODES = re.compile(rf"(?:{_CODE.pattern})+", re.ASCII)
_RANGES = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*", re.ASCII)
_LABEL = "CPU Affinity"
_LONGEST = 8192  # characters of a line
_TRIES = 1000
_COPY_AGAIN = "copy the output of 'nvidia-smi topo -m' again, to a file"


def recognise(head: Head) -> bool:
    text = head.text
    at = text.find(_LABEL)
    for _ in range(_TRIES):
        if at < 0:
            break
        begin = text.rfind("\n", max(0, at - _LONGEST), at) + 1
        end = text.find("\n", at)
        if _header(text[begin : end if end >= 0 else None]):
            return True
        at = text.find(_LABEL, at + len(_LABEL))
    return False


def _header(line: str) -> _Header | None:
    """A matrix's header: its devices, then the labels of the affinities."""
    before, label, labels = without_escapes(line[:_LONGEST]).rpartition(_LABEL)
    if not label or not _LABELS.fullmatch(labels):
        return None
    words, devices = before.split(), []
    while words and re.fullmatch(_DEVICE, words[-1]):
        devices.append(words.pop())
    while devices and not devices[-1].startswith("GPU"):
        words.append(devices.pop())
    if not devices or before[-1:] not in " \t":
        return None
    kinds = re.findall(r"NUMA Affinity|GPU NUMA ID", labels)
    return _Header(devices[::-1], ["cpu", *kinds], " ".join(words))


@dataclass(frozen=True)
class _Header:
    """``before`` is what stands before the devices: a launcher's word, mostly nothing."""

    devices: list[str]
    labels: list[str]
    before: str


def read(path: Path, name: str, pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """Rows of ``link`` and ``device_affinity``; see :mod:`pipeline.readers`."""
    recording = Recording(Facts(FORMAT, host=hints.host), [])
    affinities: list[Row] = []

    def links() -> Iterator[Row]:
        count, skipped = 0, Skipped()
        for matrix in _matrices(path, recording, skipped):
            host = hints.host or host_in(matrix.before)
            for row in matrix.links():
                count += 1
                yield {"host": host, "origin": "topo", **row}
            affinities.extend({"host": host, **row} for row in matrix.affinities())
        if count + len(affinities) == 0:
            nothing = "no pair of devices could be read"
            if not skipped.count:
                first = next(iter(recording.issues), None)
                nothing += f": {first.problem if first else 'a matrix without rows'}"
            recording.refusal = skipped.refusal(nothing, _COPY_AGAIN)

    recording.parts.append(Part("link", lambda: row_batches("link", links())))
    recording.closing_parts.append(
        Part("device_affinity", lambda: row_batches("device_affinity", affinities))
    )
    return recording


def _matrices(path: Path, recording: Recording, skipped: Skipped) -> Iterator[_Matrix]:
    """The matrices of a file, each once everything that belongs to it has been read."""
    matrix, count = None, 0
    is_whole = ends_whole(path)
    facts = recording.facts
    facts.status, facts.status_reason = "complete", "every matrix has a row for each of its GPUs"
    for number, raw in lines(path):
        line = without_escapes(raw[:_LONGEST])
        if header := _header(line):
            if matrix:
                _finish(matrix, recording, skipped)
                yield matrix
            matrix = _Matrix(header.devices, header.labels, header.before, count, number)
            count += 1
        elif matrix:
            matrix.line(number, line, skipped)
    if matrix:
        if not is_whole and matrix.last_row_line == number:
            matrix.doubt_end(skipped)
        _finish(matrix, recording, skipped)
        yield matrix
    for issue in skipped.issues(_COPY_AGAIN):
        recording.report(issue)


def _finish(matrix: _Matrix, recording: Recording, skipped: Skipped) -> None:
    for issue in matrix.issues(skipped):
        recording.report(issue)
    if matrix.lacking:
        recording.facts.status = "incomplete"
        recording.facts.status_reason = f"a matrix lacks the row of {matrix.lacking[0]}"


@dataclass
class _Line:
    """One row of a matrix."""

    device: str
    codes: list[str]
    rest: list[str]
    number: int


@dataclass
class _Matrix:
    devices: list[str]
    labels: list[str]
    before: str
    table_number: int
    number: int
    rows: list[_Line] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    is_over: bool = False  # a legend follows the rows
    is_foreign: bool = False  # a block of another format began: only whole rows are the matrix's
    strays: Strays = field(default_factory=Strays)

    @property
    def last_row_line(self) -> int | None:
        return self.rows[-1].number if self.rows else None

    @property
    def lacking(self) -> list[str]:
        """GPUs that have a column and no row."""
        present = {row.device for row in self.rows}
        return [d for d in self.devices if d.startswith("GPU") and d not in present]

    def line(self, number: int, line: str, skipped: Skipped) -> None:
        """Takes a line after the header: a row, a name of the legend, or anything else."""
        line = line.removeprefix(self.before) if self.before else line
        if found := _LEGEND.fullmatch(line):
            self.names[found["device"]] = found["name"]
            return
        self.is_over |= "Legend:" in line
        self.is_foreign |= begins_other(line, "topo")
        if self.is_over or self.is_foreign:
            self.strays.drop()
        if self.is_over:
            return
        found = _ROW.fullmatch(line)
        codes, rest = _codes(found["cells"].split()) if found else ([], [])
        device = found["device"] if found else ""
        if not codes and (self.is_foreign or device not in self.devices):
            if line.strip() and not self.is_foreign and not is_of_other(line):
                self.strays.hold(number, line)
            return
        self.strays.tell(skipped)
        if len(codes) != len(self.devices):
            skipped.add("a row with other cells than its matrix has columns", number, line)
        elif any(
            (code == "X") != (device == d) for code, d in zip(codes, self.devices, strict=True)
        ):
            skipped.add("a row whose X is not at its own device", number, line)
        elif any(row.device == device for row in self.rows):
            skipped.add("a second row of one device", number, line)
        else:
            self.rows.append(_Line(device, codes, rest, number))

    def doubt_end(self, skipped: Skipped) -> None:
        """The file ends with the last row, within its line: its last cell may be cut."""
        last = self.rows[-1]
        skipped.add("the file ends within a row, whose last cell may be cut", last.number, "")
        if last.rest:
            last.rest.clear()
        else:
            last.codes[-1] = ""

    def links(self) -> Iterator[Row]:
        for row in self.rows:
            for destination, code in zip(self.devices, row.codes, strict=True):
                if code in ("X", ""):
                    continue
                is_nvlink = code.startswith("NV")
                yield {
                    "source": row.device,
                    "source_name": self.names.get(row.device),
                    "destination": destination,
                    "destination_name": self.names.get(destination),
                    "kind": "nvlink" if is_nvlink else code.lower(),
                    "link_count": int(code[2:]) if is_nvlink else None,
                    "table_number": self.table_number,
                    "line": row.number,
                }

    def affinities(self) -> Iterator[Row]:
        """Affinities of GPUs. One that lost characters makes all CPUs of its matrix doubtful."""
        is_doubtful = any(not _RANGES.fullmatch(cpus) for _, cpus in self._cpus())
        for row in self.rows:
            if not row.device.startswith("GPU") or len(row.rest) != len(self.labels):
                continue
            told = dict(zip(self.labels, row.rest, strict=True))
            numa = told.get("NUMA Affinity", "")
            own = whole(told.get("GPU NUMA ID", ""))
            yield {
                "device": row.device,
                "cpu_affinity": None if is_doubtful or told["cpu"] == "N/A" else told["cpu"],
                "numa_affinity": numa if _RANGES.fullmatch(numa) else None,
                "numa_node": _int32(whole(numa)),
                "gpu_numa_node": _int32(own),
                "table_number": self.table_number,
                "line": row.number,
            }

    def _cpus(self) -> Iterator[tuple[_Line, str]]:
        for row in self.rows:
            if row.rest and row.rest[0] != "N/A" and len(row.rest) == len(self.labels):
                yield row, row.rest[0]

    def issues(self, skipped: Skipped) -> list[Issue]:
        """What is doubtful in the matrix as a whole."""
        for row, cpus in self._cpus():
            if not _RANGES.fullmatch(cpus):
                problem = "the CPUs of a row are damaged, so those of its matrix are left out"
                skipped.add(problem, row.number, cpus)
        for row in self.rows:
            if row.rest and len(row.rest) != len(self.labels):
                problem = "a row with other affinities than its matrix has columns"
                skipped.add(problem, row.number, " ".join(row.rest))
        place, found = f"line {self.number}", []
        if self.lacking:
            problem = f"no row for {', '.join(self.lacking[:8])}"
            found.append(Issue("warning", place, problem, _COPY_AGAIN, len(self.lacking)))
        uneven = self._uneven()
        if uneven:
            problem = f"the matrix is not symmetric: {uneven[0]}"
            found.append(Issue("warning", place, problem, _COPY_AGAIN, len(uneven)))
        adapters = {*self.devices, *(row.device for row in self.rows)}
        unnamed = sorted(d for d in adapters if d.startswith("NIC") and d not in self.names)
        if unnamed:
            problem = f"the legend does not name {', '.join(unnamed[:8])}"
            found.append(Issue("note", place, problem, "", len(unnamed)))
        return found

    def _uneven(self) -> list[str]:
        """Pairs of which each direction is said to be another."""
        codes = {
            (row.device, d): code
            for row in self.rows
            for d, code in zip(self.devices, row.codes, strict=True)
            if code
        }
        pairs = combinations([row.device for row in self.rows], 2)
        return [
            f"{a} to {b} is {codes[a, b]}, back {codes[b, a]}"
            for a, b in pairs
            if (a, b) in codes and (b, a) in codes and codes[a, b] != codes[b, a]
        ]


def _codes(words: list[str]) -> tuple[list[str], list[str]]:
    """The codes that a row begins with, and its other cells; a terminal may have glued some."""
    codes: list[str] = []
    for number, word in enumerate(words):
        if not _CODES.fullmatch(word):
            return codes, words[number:]
        codes += _CODE.findall(word)
    return codes, []


def _int32(number: int | None) -> int | None:
    return number if number is not None and number < 1 << 31 else None
