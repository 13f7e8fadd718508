"""Pages of ``--print-summary``: least, largest and mean value over the launches of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pipeline.readers.ncu_cells import Cells
from pipeline.readers.ncu_columns import Origin, Tally, by_code, column_of, kinds_of
from pipeline.readers.ncu_kernels import Row, identity_columns, nvtx_columns, shared, whole
from pipeline.readers.ncu_lines import Header
from pipeline.readers.ncu_numbers import Style, parse
from pipeline.readers.text import Skipped

_NAMES = ("Section Name", "", "Metric Name", "Metric Unit")
_NUMBERS = ("Minimum", "Maximum", "Average")
_SAYING = ("Kernel Name", "Metric Name", "Invocations", "Process ID")
_DEVICES = ("Device", "Device Id")


class Summaries:
    """Turns rows of ``--print-summary`` into ``kernel_metric_summary``."""

    def __init__(self, style: Style, tally: Tally, skipped: Skipped) -> None:
        self._style = style
        self._tally = tally
        self._skipped = skipped

    def rows(self, cells: Cells) -> Iterator[Row]:
        """Rows of the table."""
        cells = self._whole_ones(cells)
        header, table = cells.header, cells.table
        count = table.num_rows
        if not count:
            return
        kinds, codes = kinds_of(table, _NAMES)
        powers = by_code(codes, [kind.power for kind in kinds])
        three = pa.concat_arrays([column_of(table.column(name)) for name in _NUMBERS])
        parsed = parse(three, np.tile(powers, 3), self._style)
        lines = np.tile(cells.numbers, 3)
        Origin(three, kinds, np.tile(codes, 3), lines).settle(parsed, self._tally)
        low, high, mean = (
            [None if value != value else value for value in part.tolist()]
            for part in np.split(parsed.values, 3)
        )
        texts = parsed.texts.to_pylist()
        about = table.select([*identity_columns(header)]).to_pylist()
        per = _summed_per(header)
        for row, code in enumerate(codes.tolist()):
            who, kind = about[row], kinds[code]
            has_value = mean[row] is not None or low[row] is not None or high[row] is not None
            own = [texts[part * count + row] for part in range(3)]
            yield {
                "summed_per": per,
                **shared(who, nvtx_columns(header)),
                "invocation_count": whole(who["Invocations"]),
                "section": kind.section,
                "label": kind.label,
                "metric": kind.metric,
                "min_value": low[row],
                "max_value": high[row],
                "avg_value": mean[row],
                "unit": kind.unit if has_value or not kind.is_assumed else None,
                "is_unit_assumed": kind.is_assumed and has_value,
                "text": next((text for text in reversed(own) if text), None),
            }

    def _whole_ones(self, cells: Cells) -> Cells:
        """The rows that say their kernel and their metric; tells of the others."""
        names = [name for name in _SAYING if name in cells.table.column_names]
        sound = np.ones(cells.table.num_rows, bool)
        for row, who in enumerate(cells.table.select(names).to_pylist()):
            numbers = [who[name] for name in names if name in ("Invocations", "Process ID")]
            is_whole = who["Kernel Name"] and who["Metric Name"]
            if not is_whole or any(whole(number) is None for number in numbers):
                sound[row] = False
                self._skipped.add(
                    "a row of a summary that does not say its kernel and its metric",
                    int(cells.numbers[row]),
                    cells.lines[row].decode("utf-8", "replace"),
                )
        return cells.where(sound)


def _summed_per(header: Header) -> str:
    if "Domain" in header.columns:
        return "nvtx"
    device = next((at for at, name in enumerate(header.columns) if name in _DEVICES), 1 << 30)
    return "gpu" if device < header.columns.index("Kernel Name") else "kernel"
