"""Rows of the details and raw pages as columns of ``kernel_metric``, and the rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import catalog
from pipeline.readers.ncu_cells import Cells
from pipeline.readers.ncu_columns import (
    SEPARATOR,
    Codes,
    Columns,
    Kind,
    Origin,
    Tally,
    by_code,
    column_of,
    flags_of,
    kinds_of,
)
from pipeline.readers.ncu_kernel_rows import Kernels
from pipeline.readers.ncu_kernels import LAUNCH_METRICS, Row
from pipeline.readers.ncu_lines import Header
from pipeline.readers.ncu_numbers import Style, parse
from pipeline.readers.ncu_raw import RawPage
from pipeline.readers.text import Skipped


class Metrics:
    """Turns the rows of one file's pages into ``kernel_metric``, kernels and rules."""

    def __init__(self, kernels: Kernels, skipped: Skipped) -> None:
        self.kernels = kernels
        self.style = Style()
        self.tally = Tally()
        self.rules: list[Row] = []
        self._skipped = skipped
        self._codes = {
            name: Codes() for name in ("section", "body_item", "label", "metric", "unit")
        }
        self._keys = Codes()
        self._seen: list[np.ndarray] = []
        self._pages: dict[int, RawPage] = {}

    def details(self, cells: Cells) -> Iterator[pa.RecordBatch]:
        """Rows of the details page."""
        found = self._of_kernels(cells)
        if found is None:
            return
        cells, ids = found
        columns = set(cells.table.column_names)
        if "Rule Name" in columns:
            self._take_rules(cells, ids)
        is_metric = flags_of(pc.is_valid(cells.table.column("Metric Name")))
        if "Rule Name" not in columns:
            self._skip(cells, ~is_metric, "a row without a metric's name")
        cells, ids = cells.where(is_metric), ids[is_metric]
        if len(ids):
            yield from self._details(cells, ids)

    def _details(self, cells: Cells, ids: np.ndarray) -> Iterator[pa.RecordBatch]:
        names = ("Section Name", "Body Item Label", "Metric Name", "Metric Unit")
        kinds, codes = kinds_of(cells.table, names)
        powers = by_code(codes, [kind.power for kind in kinds])
        column = column_of(cells.table.column("Metric Value"))
        parsed = parse(column, powers, self.style)
        Origin(column, kinds, codes, cells.numbers).settle(parsed, self.tally)
        counts = np.bincount(ids, minlength=len(self.kernels)).tolist()
        self.kernels.metric_counts = [
            before + now for before, now in zip(self.kernels.metric_counts, counts, strict=True)
        ]
        self._learn_launch(kinds, codes, ids, parsed.values)
        for kind, count in zip(kinds, np.bincount(codes).tolist(), strict=True):
            if kind.metric is None:
                key = kind.section or "", kind.label or ""
                self.tally.unknown_labels[key] = self.tally.unknown_labels.get(key, 0) + count
        rows = Columns(
            kernel=ids,
            **{
                name: by_code(codes, [book.of(getattr(kind, name)) for kind in kinds])
                for name, book in self._codes.items()
            },
            is_assumed=by_code(codes, [kind.is_assumed for kind in kinds]),
            values=parsed.values,
            texts=parsed.texts,
        )
        keep = self._first_of_each(kinds, codes, ids)
        yield self._batch(rows, None if keep.all() else keep)

    def _first_of_each(self, kinds: list[Kind], codes: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """False for a metric that the same section of the same kernel had already.

        Labels without a canonical name stay all: charts print one label for many metrics.
        """
        own = [
            self._keys.of(SEPARATOR.join(map(str, (kind.section, kind.body_item, kind.metric))))
            if kind.metric
            else -1
            for kind in kinds
        ]
        code = by_code(codes, own)
        keys = ids << 32 | code
        _, first = np.unique(keys, return_index=True)
        keep = np.zeros(len(keys), bool)
        keep[first] = True
        if len(ids):
            for earlier in self._seen:
                # Kernels come one after the other, so that blocks hardly ever overlap.
                if earlier[0] <= keys.max() and keys.min() <= earlier[-1]:
                    at = np.searchsorted(earlier, keys).clip(max=len(earlier) - 1)
                    keep &= earlier[at] != keys
            self._seen.append(np.unique(keys))
        keep |= code < 0
        self.tally.repeated += int((~keep).sum())
        return keep

    def number_columns(self, header: Header) -> list[str]:
        """Columns of a raw page that can be read as numbers at once."""
        page = self._pages.get(header.number)
        return page.number_columns if page else []

    def raw(self, cells: Cells) -> Iterator[pa.RecordBatch]:
        """Rows of the raw page: a metric per column, its units in a row of their own."""
        page = self._pages.get(cells.header.number)
        if page is None:
            page = self._pages[cells.header.number] = RawPage(
                cells.header, self.kernels, self.style, self.tally, self._codes
            )
        if page.needs_units:
            cells = self._below_units(page, cells)
        found = self._of_kernels(cells)
        if found is None:
            return
        cells, ids = found
        for rows, keep in page.rows(cells, ids):
            yield self._batch(rows, keep)

    def _below_units(self, page: RawPage, cells: Cells) -> Cells:
        """The rows that a table's units are known for, now that its first ones are there."""
        is_units = flags_of(
            pc.and_(
                pc.is_null(cells.table.column("ID")),
                pc.is_null(cells.table.column("Kernel Name")),
            )
        )
        rows = np.arange(len(is_units))
        at = int(is_units.argmax()) if is_units.any() else len(rows)
        if at and not page.is_scaled(cells.table):
            page.take_units(None)
            return cells
        self._skip(cells, rows < at, "a row without the row of its units")
        if at < len(rows):
            page.take_units(cells.where(rows == at).table)
        return cells.where(rows > at)

    def _of_kernels(self, cells: Cells) -> tuple[Cells, np.ndarray] | None:
        if not cells.table.num_rows:
            return None
        ids = self.kernels.ids(cells.header, cells.table)
        is_sound = ids >= 0
        self._skip(cells, ~is_sound, "a row without an ID, a process and a kernel")
        ids = ids[is_sound]
        return (cells.where(is_sound), ids) if len(ids) else None

    def _skip(self, cells: Cells, mask: np.ndarray, reason: str) -> None:
        if mask.any():
            first = int(mask.argmax())
            quoted = cells.lines[first].decode("utf-8", "replace")
            self._skipped.add(reason, int(cells.numbers[first]), quoted, int(mask.sum()))

    def _take_rules(self, cells: Cells, ids: np.ndarray) -> None:
        mask = pc.is_valid(cells.table.column("Rule Name"))
        flags = flags_of(mask)
        for kernel, row in zip(
            ids[flags].tolist(), cells.table.filter(mask).to_pylist(), strict=True
        ):
            self.rules.append(
                {
                    "kernel_id": kernel,
                    "section": row.get("Section Name"),
                    "rule": row["Rule Name"],
                    "type": row.get("Rule Type"),
                    "text": row.get("Rule Description"),
                    "speedup_type": row.get("Estimated Speedup Type"),
                    "speedup_share": percent(row.get("Estimated Speedup")),
                }
            )
        is_neither = ~flags & flags_of(pc.is_null(cells.table.column("Metric Name")))
        self._skip(cells, is_neither, "a row with neither a metric nor a rule")

    def _learn_launch(
        self, kinds: list[Kind], codes: np.ndarray, ids: np.ndarray, values: np.ndarray
    ) -> None:
        for code, kind in enumerate(kinds):
            if kind.metric in LAUNCH_METRICS:
                for row in np.flatnonzero((codes == code) & ~np.isnan(values)).tolist():
                    self.kernels.add_launch(int(ids[row]), kind.metric, float(values[row]))

    def _batch(self, rows: Columns, keep: np.ndarray | None) -> pa.RecordBatch:
        has_value = ~np.isnan(rows.values)
        # What has no value has no unit to assume.
        is_assumed, unit = rows.is_assumed, rows.unit
        if is_assumed.any():
            unit = np.where(is_assumed & ~has_value, -1, unit)
            is_assumed = is_assumed & has_value
            self.tally.assumed_units += int(is_assumed.sum())
        columns = {
            "kernel_id": pa.array(rows.kernel),
            "section": self._codes["section"].column(rows.section),
            "body_item": self._codes["body_item"].column(rows.body_item),
            "label": self._codes["label"].column(rows.label),
            "metric": self._codes["metric"].column(rows.metric),
            "value": pa.array(rows.values, mask=None if has_value.all() else ~has_value),
            "unit": self._codes["unit"].column(unit),
            "is_unit_assumed": pa.array(is_assumed),
            "text": rows.texts,
        }
        arrays = [columns[name] for name in catalog.arrow_schemas()["kernel_metric"].names]
        batch = pa.RecordBatch.from_arrays(
            arrays, names=catalog.arrow_schemas()["kernel_metric"].names
        )
        if keep is not None:
            batch = batch.filter(pa.array(keep))
        return batch


def percent(text: str | None) -> float | None:
    """A percentage as ncu's rules print it, C locale always, as a share."""
    try:
        share = float(f"{text}e-2") if text else None
    except ValueError:
        return None
    return share if share is not None and abs(share) < 1e9 else None
