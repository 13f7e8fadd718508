"""The raw page: a row per kernel, a column per metric, the units in a row of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.readers.ncu_cells import Cells
from pipeline.readers.ncu_columns import (
    Codes,
    Columns,
    Kind,
    Origin,
    Tally,
    column_of,
    flags_of,
    kind_of,
)
from pipeline.readers.ncu_kernel_rows import Kernels
from pipeline.readers.ncu_kernels import LAUNCH_METRICS, identity_columns
from pipeline.readers.ncu_lines import Header
from pipeline.readers.ncu_numbers import C_FLOAT, Style, parse, plain, scaled

# A hundred kernels of hundreds of metrics show how numbers are written, or that nothing tells;
# then a few of each later block are looked at.
_ROWS_TO_LEARN = 100
_MORE_ROWS_TO_LEARN = 10


class RawPage:
    """One table of the raw page: which columns are metrics, their units."""

    def __init__(
        self,
        header: Header,
        kernels: Kernels,
        style: Style,
        tally: Tally,
        codes: dict[str, Codes],
    ) -> None:
        identity = set(identity_columns(header))
        self.names = [name for name in header.columns if name not in identity]
        self.needs_units = True
        self._rows_to_learn = _ROWS_TO_LEARN
        self._kernels = kernels
        self._style = style
        self._tally = tally
        self._codes = codes
        self._kinds: list[Kind] = []
        self._powers = np.zeros(0, np.int64)
        # What each column's rows share, as codes.
        self._spread: dict[str, np.ndarray | None] = {}
        self._assumed = np.zeros(0, bool)
        # Columns that held nothing but numbers so far: the quick way is tried for these.
        self._is_plain = np.ones(len(self.names), bool)

    def take_units(self, table: pa.Table | None) -> None:
        """Units from the first row of a table, or none at all."""
        units = [(table.column(name)[0].as_py() if table else None) or "" for name in self.names]
        self._kinds = [
            kind_of("", "", name, unit) for name, unit in zip(self.names, units, strict=True)
        ]
        self._powers = np.array([kind.power for kind in self._kinds], np.int64)
        for name, book in self._codes.items():
            texts = [getattr(kind, name) for kind in self._kinds]
            codes = np.array([book.of(text) for text in texts], np.int32)
            self._spread[name] = codes if any(text is not None for text in texts) else None
        self._assumed = np.array([kind.is_assumed for kind in self._kinds], bool)
        self._is_plain &= [kind.unknown_unit is None for kind in self._kinds]
        self.needs_units = False

    def is_scaled(self, table: pa.Table) -> bool:
        """Whether a table may be in automatic units, which print floats with six decimals.

        Only its row of units tells how far each number is scaled then.
        """
        columns = (table.column(name).drop_null() for name in self.names)
        return any(pc.any(pc.match_substring_regex(c, C_FLOAT)).as_py() for c in columns)

    @property
    def number_columns(self) -> list[str]:
        """Columns that may be read as numbers at once: so far they held nothing else."""
        has_looked = self._style.is_c or self._rows_to_learn < _ROWS_TO_LEARN
        if self.needs_units or not self._style.may_be_c or not has_looked:
            return []
        return [name for name, is_plain in zip(self.names, self._is_plain, strict=True) if is_plain]

    def rows(self, cells: Cells, ids: np.ndarray) -> Iterator[tuple[Columns, np.ndarray | None]]:
        """The table metric by metric, and which rows to keep: an empty cell is no row."""
        columns = [column_of(column) for column in cells.table.select(self.names).columns]
        missing = [column.null_count for column in columns]
        style = self._style
        if not style.decimal:
            some = [
                column.slice(0, self._rows_to_learn)
                for column in columns
                if not pa.types.is_floating(column.type)
            ]
            if some:
                style.learn(pa.concat_arrays(some).drop_null())
            self._rows_to_learn = _MORE_ROWS_TO_LEARN
        # Columns with empty cells by themselves: filtering rows costs as much as making them.
        whole_ones = [at for at, count in enumerate(missing) if not count]
        yield self._some(cells, ids, columns, whole_ones)[0], None
        gaps = [at for at, count in enumerate(missing) if 0 < count < len(ids)]
        if gaps:
            rows, order = self._some(cells, ids, columns, gaps)
            yield rows, np.concatenate([flags_of(columns[at].is_valid()) for at in order])

    def _some(
        self, cells: Cells, ids: np.ndarray, columns: list[pa.Array], chosen: list[int]
    ) -> tuple[Columns, list[int]]:
        """Some of the columns, one after the other, and in which order."""
        # What Arrow has read as numbers already.
        order = [at for at in chosen if pa.types.is_floating(columns[at].type)]
        values: list[np.ndarray] = []
        texts: list[pa.Array] = []
        if order:
            read = pa.concat_arrays([columns[at] for at in order]).to_numpy(zero_copy_only=False)
            is_finite = np.isfinite(read)
            if not is_finite.all():
                read = np.where(is_finite, read, np.nan)
            values.append(self._scaled(read, order, len(ids)))
            texts.append(pa.nulls(len(read), pa.string()))
            self._tally.valued += len(read)
            chosen = [at for at in chosen if not pa.types.is_floating(columns[at].type)]
        if self._style.may_be_c and not cells.is_doubtful:
            for power in np.unique(self._powers[chosen]).tolist():
                quick = self._quick(columns, chosen, power)
                if quick is not None:
                    order += quick[0]
                    values.append(quick[1])
                    texts.append(pa.nulls(len(quick[1]), pa.string()))
                    self._tally.valued += len(quick[1])
        rest = sorted(set(chosen) - set(order))  # texts, units to scale, other locales
        if rest:
            powers = np.repeat(self._powers[rest], len(ids))
            joined = pa.concat_arrays([columns[at] for at in rest])
            parsed = parse(joined, powers, self._style)
            codes, lines = np.repeat(np.array(rest), len(ids)), np.tile(cells.numbers, len(rest))
            Origin(joined, self._kinds, codes, lines).settle(parsed, self._tally)
            order += rest
            values.append(parsed.values)
            texts.append(parsed.texts)
        joined = np.concatenate(values or [np.zeros(0)]) if len(values) != 1 else values[0]
        if order:
            self._learn_launch(ids, order, joined)
        return self._columns(ids, np.array(order, np.int64), joined, texts), order

    def _scaled(self, read: np.ndarray, order: list[int], count: int) -> np.ndarray:
        """The values of some columns, one after the other, in base units."""
        powers = self._powers[order]
        if not powers.any():
            return read
        found = np.array(read.reshape(len(order), count))
        for power in np.unique(powers[powers != 0]).tolist():
            own = powers == power
            found[own] = scaled(found[own].ravel(), power).reshape(-1, count)
        return found.ravel()

    def _quick(
        self, columns: list[pa.Array], chosen: list[int], power: int
    ) -> tuple[list[int], np.ndarray] | None:
        own = [at for at in chosen if self._is_plain[at] and self._powers[at] == power]
        if not own:
            return None
        values = plain(pa.concat_arrays([columns[at] for at in own]), power)
        if values is None:
            self._is_plain[[at for at in own if plain(columns[at], power) is None]] = False
            return self._quick(columns, chosen, power)
        return own, values

    def _columns(
        self, ids: np.ndarray, order: np.ndarray, values: np.ndarray, texts: list[pa.Array]
    ) -> Columns:
        count = len(ids)

        return Columns(
            kernel=np.tile(ids, len(order)),
            **{
                name: len(order) * count if codes is None else np.repeat(codes[order], count)
                for name, codes in self._spread.items()
            },
            is_assumed=np.repeat(self._assumed[order], count),
            values=values,
            texts=pa.concat_arrays(texts) if texts else pa.nulls(0, pa.string()),
        )

    def _learn_launch(self, ids: np.ndarray, order: list[int], joined: np.ndarray) -> None:
        # The columns of a table are the same for all its kernels.
        known = self._kernels.row(int(ids[0]))
        for place, at in enumerate(order):
            metric = self._kinds[at].metric
            if metric in LAUNCH_METRICS and known.get(LAUNCH_METRICS[metric]) is None:
                own = joined[place * len(ids) : (place + 1) * len(ids)]
                for kernel, value in zip(ids.tolist(), own.tolist(), strict=True):
                    if value == value:
                        self._kernels.add_launch(kernel, metric, value)
