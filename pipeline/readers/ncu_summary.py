"""Pages of ``--print-summary``: least, largest and mean value over the launches of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pipeline.readers.ncu_cells import Cells
from pipeline.readers.ncu_columns import ODD, Tally, by_code, column_of, kinds_of
from pipeline.readers.ncu_kernels import Row, identity_columns, nvtx_columns, shared, whole
from pipeline.readers.ncu_lines import Header
from pipeline.readers.ncu_numbers import Style, parse
from pipeline.readers.text import Skipped

_DEVICES = ("Device", "Device Id")


class Summaries:
    """Turns rows of ``--print-summary`` into ``kernel_metric_summary``."""

    def __init__(self, style: Style, tally: Tally, skipped: Skipped) -> None:
        self._style = style
        self._tally = tally
        self._skipped = skipped

    def rows(self, cells: Cells) -> Iterator[Row]:
        """Rows of the table."""
        header, table = cells.header, cells.table
        names = ("Section Name", "", "Metric Name", "Metric Unit")
        kinds, codes = kinds_of(table, names)
        powers = by_code(codes, [kind.power for kind in kinds])
        three = [column_of(table, name) for name in ("Minimum", "Maximum", "Average")]
        parsed = parse(pa.concat_arrays(three), np.tile(powers, 3), self._style)
        low, high, mean = (
            [None if value != value else value for value in part.tolist()]
            for part in np.split(parsed.values, 3)
        )
        texts = parsed.texts.to_pylist()
        count = table.num_rows
        for at in parsed.odd:
            self._tally.odd_numbers.add(
                ODD, int(cells.numbers[at % count]), three[at // count][at % count].as_py()
            )
        about = table.select([*identity_columns(header)]).to_pylist()
        per = _summed_per(header)
        for row, code in enumerate(codes.tolist()):
            who, kind = about[row], kinds[code]
            invocations = whole(who["Invocations"])
            is_whole = (
                who["Kernel Name"] and invocations is not None and (kind.metric or kind.label)
            )
            if not is_whole or ("Process ID" in who and whole(who["Process ID"]) is None):
                self._skipped.add(
                    "a row of a summary that does not say its kernel and its metric",
                    int(cells.numbers[row]),
                    cells.lines[row].decode("utf-8", "replace"),
                )
                continue
            has_value = mean[row] is not None or low[row] is not None or high[row] is not None
            own = [texts[part * count + row] for part in range(3)]
            yield {
                "summed_per": per,
                **shared(who, nvtx_columns(header)),
                "invocation_count": invocations,
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


def _summed_per(header: Header) -> str:
    if "Domain" in header.columns:
        return "nvtx"
    device = next((at for at, name in enumerate(header.columns) if name in _DEVICES), 1 << 30)
    return "gpu" if device < header.columns.index("Kernel Name") else "kernel"
