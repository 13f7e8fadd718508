"""Blocks of ``dcgmi dmon`` text -> batches of ``gpu_sample``: layouts, rounds, values left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.readers import dcgm_dmon_lines as dmon
from pipeline.readers.dcgm_dmon_clock import Clock
from pipeline.readers.dcgm_dmon_columns import Lines, all_lines, grouped, numbers
from pipeline.readers.dcgm_dmon_others import Others
from pipeline.readers.smi_dmon_table import HEADER as SMI_HEADER
from pipeline.readers.telemetry import NO_TIME, Coded, Metric, clean, sample_batch
from pipeline.readers.text import Skipped, without_escapes

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_FEWEST_AT_ONCE = 32  # below, one by one is as fast
_ENOUGH_FOR_AN_ENTITY = 16  # that follows a stamp
_LONGEST_COMMAND = 50  # lines
_MOST_HEADERS_KEPT = 1000
_CUT_LINE = "the file ends within this line, so its last value may be cut short"


@dataclass
class Rows:
    """What the lines of one layout hold.

    ``entity`` numbers into ``entities``, in no order; -1 for a line that is no row.
    """

    entities: dict[dmon.Entity, int]
    entity: NDArray[np.int64]
    ns: NDArray[np.int64]
    values: NDArray[np.float64]  # (columns, lines), as read: not scaled, NaN for none

    @classmethod
    def nothing(cls, columns: int, lines: int) -> Rows:
        """Lines none of which is a row so far."""
        return cls(
            {},
            np.full(lines, -1, np.int64),
            np.full(lines, NO_TIME, np.int64),
            np.full((columns, lines), np.nan),
        )

    def number_of(self, entity: dmon.Entity) -> int:
        """The number of an entity, a new one if it is new."""
        return self.entities.setdefault(entity, len(self.entities))


def _marked(lines: Lines, block: bytes) -> list[int]:
    """Lines that may be a header, or the command, in order."""
    places = np.flatnonzero(lines.text == ord("#"))
    at = set(np.unique(np.searchsorted(lines.starts, places, "right") - 1).tolist())
    place = block.find(b"dmon")
    while place >= 0:
        at.add(int(np.searchsorted(lines.starts, place, "right")) - 1)
        place = block.find(b"dmon", place + 4)
    return sorted(at)


class Decoder:
    """Takes a log block by block.

    A new round begins after a header, and where an entity comes that does not stand after the
    one before it in the order in which they were first met.
    """

    def __init__(self, host: str | None, clock: Clock, at_once: bool = True) -> None:
        self.host = host
        self.clock = clock
        self._at_once = at_once  # False: one line after the other, as a check
        self.skipped = Skipped()
        self.left_out: Counter[tuple[str, str]] = Counter()  # values, by column and reason
        self.other_rows: Counter[str] = Counter()  # rows of what is no GPU
        self.odd_cells = Skipped()  # by column and reason
        self.odd_rows = 0  # with a cell that is no value
        self.sample_count = 0
        self.others = Others(self.skipped)
        self._last_line = 0  # the last row
        self.entities: dict[dmon.Entity, int] = {}
        self.layouts: dict[dmon.Layout, None] = {}
        self.row_count = 0
        self.ambiguous_zeros = 0
        self._layout: dmon.Layout | None = None
        self._stamp_length = 0
        self._headers: dict[bytes, tuple[dmon.Layout | None, int]] = {}
        self._previous = -1
        self._tick = -1
        self._is_after_header = True
        self._may_be_bare = False
        self._is_new = True  # a header or command is just above
        # nvidia-smi dmon prints rows of bare numbers too: then none is dcgmi's.
        self._is_beside_smi = False
        self._parent: dmon.Entity | None = None  # of the MIG instances that follow

    @property
    def is_stopped(self) -> bool:
        """Whether the log ends with dmon's word that it was stopped."""
        return self.others.stop_line > self._last_line

    # -- layouts ---------------------------------------------------------------------------

    def batches(self, number: int, block: bytes, is_cut: bool) -> Iterator[pa.RecordBatch]:
        """The rows of a block of whole lines of which the first is line ``number``.

        ``is_cut``: the newline after its last line is not the file's own.
        """
        lines = all_lines(block)
        count = len(lines.starts)
        at = 0
        headers: list[int] = []
        marks = _marked(lines, block)
        for stop in [*marks, count]:
            layout, end = None, stop + 1
            if stop < at:
                continue  # the rest of a command
            if stop < count:
                command, layout, end = self._header(lines, stop)
                if layout is not None and layout == self._layout:
                    headers.append(stop)
                    continue
                if layout is None and not command:
                    continue
                self._is_new = True
            if stop > at:
                yield from self._segment(lines, at, stop, headers, number, is_cut and stop == count)
            headers = []
            at = end
            if stop < count:
                if self._layout is not None and self.row_count:
                    self.clock.break_off()
                self._layout = layout
                self._is_after_header = self._may_be_bare = True

    def _header(self, lines: Lines, at: int) -> tuple[bool, dmon.Layout | None, int]:
        """Whether line ``at`` is the command, the layout that begins there, and the line after."""
        raw = lines.line(at)
        known = self._headers.get(raw)
        if known is None and self._stamp_length:
            # Every stamp makes it another line, of the same header.
            known = self._headers.get(raw[self._stamp_length :])
            known = (known[0], self._stamp_length) if known and known[0] else None
        if known is None:
            line = without_escapes(raw.decode("utf-8", "replace"))
            if dmon.is_command(line):
                return True, *self._after_command(line, lines, at + 1)
            length = dmon.stamp_before(line)[1]
            known = dmon.layout_of(line[length:]), length
            self._is_beside_smi |= known[0] is None and bool(SMI_HEADER.match(line))
            if len(self._headers) < _MOST_HEADERS_KEPT:
                self._headers[raw] = known
                if known[0] and length and raw.isascii():
                    self._headers.setdefault(raw[length:], (known[0], 0))
        if known[0] is not None:
            self._stamp_length = known[1]
        return False, known[0], at + 1

    def _after_command(self, command: str, lines: Lines, at: int) -> tuple[dmon.Layout | None, int]:
        """Reads on where a command goes over several lines."""
        end = min(at + _LONGEST_COMMAND, len(lines.starts))
        while command.rstrip().endswith("\\") and at < end:
            command = command.rstrip()[:-1] + " " + lines.line(at).decode("utf-8", "replace")
            at += 1
        self.clock.command_says(dmon.interval_of_command(command))
        return dmon.layout_of_command(command), at

    # -- lines -> rows ---------------------------------------------------------------------

    def _segment(
        self, lines: Lines, at: int, stop: int, headers: list[int], number: int, is_cut: bool
    ) -> Iterator[pa.RecordBatch]:
        """Lines ``at`` to ``stop``, which have one layout; ``headers`` among them repeat it."""
        layout = self._layout
        own = lines.of(slice(at, stop))
        rows = Rows.nothing(len(layout.names) if layout else 0, stop - at)
        rest = np.ones(stop - at, np.bool_)
        is_header = np.zeros(stop - at, np.bool_)
        is_header[np.array(headers, np.int64) - at] = True
        rest[is_header] = False
        others: list[tuple[int, str]] = []
        if layout and layout.starts and self._at_once and stop - at >= _FEWEST_AT_ONCE:
            # The first row of a log decides what clock it has.
            for index in np.flatnonzero(rest).tolist() if self.clock.kind is None else []:
                rest[index] = False
                self._one(own, index, number + at, rows, others, False)
                if self.clock.kind is not None:
                    break
            self._many(own, layout, rows, rest)
        for index in np.flatnonzero(rest).tolist():
            self._one(own, index, number + at, rows, others, is_cut and index == stop - at - 1)
        if layout:
            self._take_others(layout, rows, headers, at, number, sorted(others))
            self._last_line = self._last_row(rows, number + at)
            yield from self._emit(layout, rows, is_header)

    def _take_others(
        self,
        layout: dmon.Layout,
        rows: Rows,
        headers: list[int],
        at: int,
        number: int,
        others: list[tuple[int, str]],
    ) -> None:
        """Lines that are no rows, and what stands between them, in their order."""
        if self._is_new:
            self.others.begin(is_same=False)
            self._is_new = False
        places = np.flatnonzero(rows.entity >= 0)
        events = sorted([*others, *((header - at, "") for header in headers)])
        is_header = set(headers)
        done, rows_above = -1, 0
        rows_before = np.searchsorted(places, [index for index, _ in events]).tolist()
        for (index, line), count in zip(events, rows_before, strict=True):
            if count > rows_above:
                self.others.row()
            done, rows_above = index, count
            if index + at in is_header:
                self.others.begin(is_same=True)
            else:
                self.others.take(number + at + index, line, layout)
        if len(places) and places[-1] > done:
            self.others.row()

    def _last_row(self, rows: Rows, number: int) -> int:
        """The line of the last row so far; line ``number`` is the first of ``rows``."""
        found = np.flatnonzero(rows.entity >= 0)
        return number + int(found[-1]) if len(found) else self._last_line

    def _many(self, lines: Lines, layout: dmon.Layout, rows: Rows, rest: NDArray[np.bool_]) -> None:
        """Decodes regular rows at once; ``rest`` keeps what must be read one by one."""
        length = self._stamp_length
        chosen = np.flatnonzero(rest)
        first, group = grouped(lines.of(chosen).characters(length, length + layout.starts[0]))
        entity = np.full(len(first), -1, np.int64)  # of each group; -2 for no row at all
        for number, index in enumerate(chosen[first].tolist()):
            text = lines.line(index)[length : length + layout.starts[0]].decode("utf-8", "replace")
            found = dmon.ENTITY.match(text)
            if found and not text[found.end() :].strip(" ") and found.end() < layout.starts[0]:
                entity[number] = rows.number_of(dmon.entity_of(found))
            elif dmon.UNITS.fullmatch(text.rstrip()) or (not length and dmon.UNITS.match(text)):
                entity[number] = -2
        codes = entity[group]
        rest[chosen[codes == -2]] = False
        chosen, codes = chosen[codes >= 0], codes[codes >= 0]
        if not len(chosen):
            return
        some = lines.of(chosen)
        values, is_regular = numbers(some, [s + length for s in layout.starts], layout.has_blanks)
        if length:
            times, has_time = self._times(some)
            is_regular &= has_time
            rows.ns[chosen[is_regular]] = times[is_regular]
        chosen = chosen[is_regular]
        rows.entity[chosen] = codes[is_regular]
        rows.values[:, chosen] = values[:, is_regular]
        rest[chosen] = False

    def _times(self, lines: Lines) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Times of lines whose stamps are as long as their header's."""
        first, group = grouped(lines.characters(0, self._stamp_length))
        times = np.full(len(first), NO_TIME, np.int64)
        begins = lines.of(first).starts
        enough = self._stamp_length + _ENOUGH_FOR_AN_ENTITY
        for number in np.argsort(first, kind="stable").tolist():
            at = int(begins[number])
            line = lines.text[at : at + enough].tobytes().decode("utf-8", "replace")
            stamp, length = dmon.stamp_before(line)
            if stamp is not None and length == self._stamp_length and self.clock.is_plain(stamp):
                times[number] = self.clock.time_of(stamp)
        return times[group], (times != NO_TIME)[group]

    def _one(
        self,
        lines: Lines,
        index: int,
        number: int,
        rows: Rows,
        others: list[tuple[int, str]],
        is_cut: bool,
    ) -> None:
        """Reads line ``index``; what is no row goes to ``others``. ``number`` is the first's."""
        layout = self._layout
        line = without_escapes(lines.line(index).decode("utf-8", "replace"))
        number += index
        stamp, length = dmon.stamp_before(line)
        line = line[length:]
        if layout is None:
            found = dmon.ENTITY.match(line.lstrip())
            if found and len(line.split()) > 2 and dmon.is_value(line.split()[-1]):
                self.skipped.add("a row before any header or command", number, line)
            return
        try:
            row = dmon.row_of(line, layout, self._may_be_bare and not self._is_beside_smi)
            if row is None:
                if line.strip() and not dmon.UNITS.match(line.strip()):
                    self._may_be_bare = False
                others.append((index, line))
                return
            self._may_be_bare = True
            if is_cut and not (line[-1:].isspace() and row[1][-1]):
                raise dmon.SkippedRow(_CUT_LINE)
        except dmon.SkippedRow as error:
            self.skipped.add(_CUT_LINE if is_cut else str(error), number, line)
            return
        rows.entity[index] = rows.number_of(row[0])
        rows.ns[index] = self.clock.time_of(stamp)
        is_odd = False
        for column, cell in enumerate(row[1]):
            value, reason = dmon.number_of(cell)
            if value is not None:
                rows.values[column, index] = value
            elif reason != dmon.NO_VALUE:
                name, is_odd = layout.names[column], True
                self.left_out[name, reason] += 1
                self.odd_cells.add(f"{name}: {reason}", number, cell)
        self.odd_rows += is_odd

    def _numbered(self, rows: Rows, is_row: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The entity of each row, numbered in the order in which they were first met."""
        entity = rows.entity[is_row]
        met, first = np.unique(entity, return_index=True)
        own = list(rows.entities)
        numbers = np.zeros(len(own), np.int64)
        for number in met[np.argsort(first)].tolist():
            numbers[number] = self.entities.setdefault(own[number], len(self.entities))
        return numbers[entity]

    # -- rows -> samples -------------------------------------------------------------------

    def _emit(
        self, layout: dmon.Layout, rows: Rows, is_header: NDArray[np.bool_]
    ) -> Iterator[pa.RecordBatch]:
        is_row = rows.entity >= 0
        if not is_row.any():
            self._is_after_header |= bool(is_header.any())
            return
        self.layouts[layout] = None
        self.row_count += int(is_row.sum())
        if layout.has_blanks:
            self._give_parents(rows)
        entities = self._numbered(rows, is_row)
        ticks = self._ticks(entities, np.cumsum(is_header, dtype=np.int64)[is_row])
        self._is_after_header = bool(is_header[np.flatnonzero(is_row)[-1] :].any())
        known = list(self.entities)
        is_gpu = np.array([entity.kind is not None for entity in known])
        kept = is_gpu[entities]
        for number, count in zip(*np.unique(entities[~kept], return_counts=True), strict=True):
            self.other_rows[known[number].text.split(" ")[0]] += int(count)
        entities, ticks = entities[kept], ticks[kept]
        ts_ns, tick = self.clock.columns(rows.ns[is_row][kept], ticks)
        for column, metric in enumerate(layout.metrics):
            if metric in layout.metrics[:column]:
                continue
            name = layout.names[column]
            raw = rows.values[column][is_row][kept]
            missing = int(np.isnan(raw).sum())
            self.left_out[name, dmon.NO_VALUE] += missing
            values, reasons = clean(metric, raw)
            self.left_out.update({(name, reason): count for reason, count in reasons.items()})
            if name in dmon.AMBIGUOUS_ZEROS:
                self.ambiguous_zeros += int((values == 0).sum())
            batch = self._samples(metric, known, entities, ts_ns, tick, values)
            self.sample_count += batch.num_rows
            yield batch

    def _give_parents(self, rows: Rows) -> None:
        """Says of which GPU MIG instances are part where the order of rows tells: since 4.0 they
        stand below their GPU's own row."""
        known = list(rows.entities)
        is_telling = np.array([entity.kind == "gpu" or entity.is_mig for entity in known])
        places = np.flatnonzero(rows.entity >= 0)
        if not any(entity.is_mig for entity in known):
            places = places[is_telling[rows.entity[places]]][-1:]
        for place in places[is_telling[rows.entity[places]]].tolist():
            entity = known[rows.entity[place]]
            if entity.kind == "gpu":
                self._parent = entity
            elif self._parent is not None:
                rows.entity[place] = rows.number_of(dmon.part_of(entity, self._parent))

    def _ticks(
        self, entity: NDArray[np.int64], headers_before: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        is_new = np.empty(len(entity), np.bool_)
        is_new[0] = self._is_after_header or headers_before[0] > 0 or entity[0] <= self._previous
        is_new[1:] = (entity[1:] <= entity[:-1]) | (np.diff(headers_before) > 0)
        ticks = self._tick + np.cumsum(is_new)
        self._tick, self._previous = int(ticks[-1]), int(entity[-1])
        return ticks

    def _samples(
        self,
        metric: Metric,
        known: list[dmon.Entity],
        entities: NDArray[np.int64],
        ts_ns: NDArray[np.int64] | None,
        tick: NDArray[np.int64] | None,
        values: NDArray[np.float64],
    ) -> pa.RecordBatch:
        def coded(texts: list[str | None]) -> Coded:
            names = sorted({text for text in texts if text is not None})
            code = {text: number for number, text in enumerate(names)}
            codes = [-1 if text is None else code[text] for text in texts]
            return Coded(np.array(codes, np.int32)[entities], names)

        if metric.link is not None:
            # A field of one link; of a row that is about less than a GPU it cannot be.
            values = np.where(np.array([e.kind == "gpu" for e in known])[entities], values, np.nan)
            kinds: list[str | None] = ["link"] * len(known)
            parts: list[str | None] = [str(metric.link)] * len(known)
        else:
            kinds, parts = [e.kind for e in known], [e.part for e in known]
        return sample_batch(
            self.host,
            coded([e.gpu_id for e in known]),
            np.array([e.device_id for e in known], np.int64)[entities],
            coded(kinds),
            coded(parts),
            ts_ns,
            tick,
            metric.name,
            values,
        )
