"""Columns of text on their way to columns of our tables: codes, kinds of metrics, masks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.ncu_names import named, unit_of
from pipeline.readers.ncu_numbers import Parsed
from pipeline.readers.text import Skipped

SEPARATOR = "\x1f"  # separates the cells of a key
WORD = "a text where a number is expected"
UNKNOWN_UNIT = "a number in a unit that is not known; kept as text"
ODD = "a number that this file's other numbers contradict; kept as text"


class Codes:
    """Texts as numbers, for dictionary-encoded columns: a file has few distinct ones."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._array = pa.array([], pa.string())

    def of(self, text: str | None) -> int:
        """A text's number, -1 for None."""
        return -1 if text is None else self._codes.setdefault(text, len(self._codes))

    def column(self, codes: np.ndarray | int) -> pa.Array:
        """The texts of ``codes``, NULL for -1; a number alone is that of rows without any."""
        if isinstance(codes, int):
            return pa.nulls(codes, pa.dictionary(pa.int32(), pa.string()))
        if len(self._array) != len(self._codes):
            self._array = pa.array(list(self._codes), pa.string())
        if not len(codes) or codes.max() < 0:
            return pa.nulls(len(codes), pa.dictionary(pa.int32(), pa.string()))
        mask = codes < 0
        indices = pa.array(codes.astype(np.int32, copy=False), mask=mask if mask.any() else None)
        return pa.DictionaryArray.from_arrays(indices, self._array, safe=False)


@dataclass
class Tally:
    """What is told at the end: first line, an example, and how often."""

    assumed_units: int = 0
    unknown_labels: dict[tuple[str, str], int] = field(default_factory=dict)
    repeated: int = 0
    odd_numbers: Skipped = field(default_factory=Skipped)
    valued: int = 0  # rows that have a number

    @property
    def has_doubts_only(self) -> bool:
        """Whether all that might have been numbers had to be kept as text."""
        return bool(self.odd_numbers.count) and not self.valued


@dataclass(frozen=True)
class Kind:
    """A distinct (section, body item, printed name, unit): what each of its rows shares."""

    section: str | None
    body_item: str | None
    label: str | None
    metric: str | None
    unit: str | None
    power: int
    is_assumed: bool
    unknown_unit: str | None = None  # as printed: a number in it is kept as text


def kind_of(section: str, body_item: str, printed: str, unit: str) -> Kind:
    label, metric = named(section or None, printed)
    return Kind(section or None, body_item or None, label, metric, *unit_of(metric, unit))


@dataclass(frozen=True)
class Origin:
    """Where cells come from: their texts, the kind of each by its code, its line."""

    cells: pa.Array
    kinds: list[Kind]
    codes: np.ndarray
    lines: np.ndarray

    def settle(self, parsed: Parsed, tally: Tally) -> None:
        """Keeps as text what cannot be trusted as a number, and tells of it."""
        has_value = ~np.isnan(parsed.values)
        tally.valued += int(has_value.sum())
        self._tell(parsed.odd, ODD, tally)
        if parsed.words:
            expected = by_code(self.codes, [k.unit is not None for k in self.kinds])
            self._tell([row for row in parsed.words if expected[row]], WORD, tally)
        if not any(kind.unknown_unit for kind in self.kinds):
            return
        rows = has_value & by_code(self.codes, [bool(k.unknown_unit) for k in self.kinds])
        units = pa.array([kind.unknown_unit or "" for kind in self.kinds]).take(
            pa.array(self.codes)
        )
        with_unit = pc.binary_join_element_wise(self.cells, units, " ")
        parsed.texts = pc.if_else(pa.array(rows), with_unit, parsed.texts)
        parsed.values = np.where(rows, np.nan, parsed.values)
        tally.valued -= int(rows.sum())
        self._tell(np.flatnonzero(rows).tolist(), UNKNOWN_UNIT, tally)

    def _tell(self, rows: list[int], reason: str, tally: Tally) -> None:
        for row in rows:
            kind = self.kinds[self.codes[row]]
            name = kind.metric or kind.label or ""
            quoted = f"{name}: {self.cells[row].as_py()} {kind.unknown_unit or ''}".rstrip()
            tally.odd_numbers.add(reason, int(self.lines[row]), quoted)


@dataclass
class Columns:
    """Rows of kernel_metric on their way; codes are -1 for NULL, or the count of NULLs."""

    kernel: np.ndarray
    section: np.ndarray | int
    body_item: np.ndarray | int
    label: np.ndarray | int
    metric: np.ndarray | int
    unit: np.ndarray | int
    is_assumed: np.ndarray
    values: np.ndarray
    texts: pa.Array


def kinds_of(table: pa.Table, names: tuple[str, ...]) -> tuple[list[Kind], np.ndarray]:
    """The distinct (section, body item, name, unit) of a table, and which one each row is."""
    have = set(table.column_names)
    cells = [
        pc.fill_null(table.column(name), "") if name in have else pa.scalar("") for name in names
    ]
    keys = pc.binary_join_element_wise(*cells, SEPARATOR)
    encoded = keys.combine_chunks().dictionary_encode()
    kinds = []
    for key in encoded.dictionary.to_pylist():
        section, body_item, printed, unit = (key.split(SEPARATOR) + [""] * 3)[:4]
        kinds.append(kind_of(section, body_item, printed, unit))
    codes: np.ndarray = encoded.indices.to_numpy()
    return kinds, codes


def column_of(chunks: pa.ChunkedArray) -> pa.Array:
    return chunks.chunk(0) if chunks.num_chunks == 1 else pa.concat_arrays(chunks.chunks)


def by_code(codes: np.ndarray, values: list[int] | list[bool]) -> np.ndarray:
    """Each row's value by its code."""
    dtype = bool if values and isinstance(values[0], bool) else np.int64
    found: np.ndarray = np.array(values, dtype)[codes]
    return found


def flags_of(mask: pa.Array | pa.ChunkedArray) -> np.ndarray:
    flags: np.ndarray = (
        mask.to_numpy()
        if isinstance(mask, pa.ChunkedArray)
        else mask.to_numpy(zero_copy_only=False)
    )
    return flags.astype(bool)
