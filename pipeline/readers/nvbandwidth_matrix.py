"""What a matrix of nvbandwidth measures: its ends, its direction, its unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from pipeline.readers.printed_numbers import scaled

Row = dict[str, object]

# "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", "memory latency SM CPU(row) <-> GPU(column)
# (ns)", "memcpy SM All Gpus -> GPU(column) total bandwidth (GB/s)".
DESCRIPTION = re.compile(
    r"(?:memcpy|memory|[Ll]atency|multicast|[Cc]opy)\b[^\n]{0,80}\((?:row|column)\)[^\n]{0,80}"
    r"\((?:GB/s|ns)\)(?=:?[ \t]*$)",
    re.MULTILINE,
)
_END = re.compile(r"([A-Za-z]{2,12})\((row|column)\)")
_ARROW = re.compile(r"<->|->|<-")
_PART = re.compile(r"\b(Read[12]|Write[12]|Total) bandwidth")
_UNITS = {"GB/s": 1_000_000_000, "ns": 1}


@dataclass(frozen=True)
class _End:
    """One side of a description: CPU or GPU by row or column, or all of them together."""

    kind: str
    by: str  # row, column, or empty for all

    def name(self, row: int, column: int) -> str:
        if not self.by:
            return f"all {self.kind}s"
        return f"{self.kind}{row if self.by == 'row' else column}"

    def number(self, row: int, column: int) -> int | None:
        return {"row": row, "column": column}.get(self.by)


@dataclass(frozen=True)
class Description:
    """``part`` is set where one test prints several matrices."""

    source: _End
    destination: _End
    is_both: bool
    unit: str
    part: str | None


def described(line: str) -> Description | None:
    """What a description says; None when it is of no known form."""
    found = DESCRIPTION.search(line)
    if not found:
        return None
    text = found[0]
    unit = text[text.rindex("(") + 1 : -1]
    part = _PART.search(text)
    arrow = _ARROW.search(text)
    if arrow is None:
        only = _END.findall(text)
        if len(only) != 1:
            return None
        end = _End(*only[0])
        return Description(end, end, False, unit, None)
    left, right = _end(text[: arrow.start()]), _end(text[arrow.end() :])
    if left is None or right is None:
        return None
    if arrow[0] == "<-":
        left, right = right, left
    part_name = part[1].lower() if part and arrow[0] == "<->" else None
    return Description(left, right, arrow[0] == "<->", unit, part_name)


def _end(text: str) -> _End | None:
    ends = _END.findall(text)
    if len(ends) == 1:
        return _End(*ends[0])
    everyone = re.search(r"\bAll ([A-Za-z]{2,11}?)s\b", text)
    return _End(everyone[1].upper(), "") if everyone and not ends else None


@dataclass(frozen=True)
class Cells:
    """Turns the cells of one matrix into rows; ``hosts`` are those of its numbers."""

    description: Description
    test: str | None
    hosts: dict[int, str]
    is_json: bool = False

    def is_absent(self, row: int, column: int, word: str) -> bool:
        """Whether a cell says that there is no value: N/A, or 0 from a device to itself."""
        d = self.description
        is_itself = d.source.kind == d.destination.kind and row == column
        is_local = d.source == d.destination
        return word == "N/A" or (is_itself and not is_local and self.value(word) == 0)

    def value(self, word: str) -> float | None:
        """A cell in base units; None when it is no number."""
        unit = _UNITS[self.description.unit]
        value = scaled(word, unit)
        if value is None and self.is_json and re.fullmatch(r"\d\.?\d{0,9}e[+-]\d{1,2}", word):
            try:
                return float(Decimal(word) * unit)
            except InvalidOperation:
                return None
        return value

    def row(self, row: int, column: int, value: float) -> Row:
        """The columns of ``link_benchmark`` that this cell fills."""
        d = self.description
        is_latency = d.unit == "ns"
        verb = re.search(r"_(read|write)(?:_|$)", self.test or "")
        source, destination = d.source.number(row, column), d.destination.number(row, column)
        return {
            "test": f"{self.test}_{d.part}" if self.test and d.part else self.test,
            "status": "measured",
            "kind": "latency" if is_latency else "bandwidth",
            "verb": verb[1] if verb else None,
            "is_bidirectional": None if is_latency else d.is_both,
            "source": d.source.name(row, column),
            "source_host": None if source is None else self.hosts.get(source),
            "destination": d.destination.name(row, column),
            "destination_host": None if destination is None else self.hosts.get(destination),
            "latency_avg_ns" if is_latency else "bandwidth_bytes_per_s": value,
        }
