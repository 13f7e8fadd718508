"""What the numbers of nccl-tests say of themselves: which collective, how many ranks, and
whether they can be true.

busbw over algbw is a factor of the collective and its ranks, size over time is algbw, and size
over count is ranks x width of an element for collectives whose buffers are as many times larger.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from pipeline.readers.nccl_tests_row import WIDTHS, Measured, Printed

# busbw / algbw as a function of the ranks: twice (n-1)/n, once, or 1.
_TWICE = frozenset(("all_reduce",))
_SCATTERED = frozenset(
    ("all_gather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter")
)
_WHOLE = frozenset(("broadcast", "reduce", "sendrecv", "hypercube"))
OPS = _TWICE | _SCATTERED | _WHOLE
# Their algbw is not size over time: the largest share of a rank, and count x (n-1).
_OTHER_SIZE = frozenset(("alltoallv", "hypercube"))
_PROGRAM = re.compile(
    r"(?<![a-z_])(all_reduce|all_gather|reduce_scatter|alltoallv|alltoall|broadcast|reduce"
    r"|sendrecv|hypercube|gather|scatter)_(?:perf|test)(?![a-z])\w{0,40}"
)
# Beyond printing: the averages over ranks are made before the bandwidths.
_SLACK = 0.002
# So many of the rows that say most are asked for the count of ranks, and only those that leave
# less than so many to choose from.
_SHARPEST = 16
_WIDEST = 64
_MOST_RANKS = 1 << 24


def program(text: str) -> str | None:
    """The benchmark's program named in a text, e.g. in a command line; None if there is none."""
    found = _PROGRAM.search(text)
    return found[0] if found else None


def op_of(test: str | None) -> str | None:
    """The collective that a program measures: ``all_reduce_perf_mpi`` -> ``all_reduce``."""
    found = _PROGRAM.search(test or "")
    return found[1] if found else None


def factor(op: str, nranks: int) -> float:
    """busbw / algbw of a collective."""
    if op in _WHOLE:
        return 1.0
    return (2 if op in _TWICE else 1) * (nranks - 1) / nranks


def group_factor(rows: Iterable[Measured]) -> int | None:
    """How many times the counted elements fill the size, if most rows agree; else None."""
    found = Counter(share for row in rows if (share := _share(row)) is not None)
    ((ratio, votes),) = found.most_common(1) or ((0.5, 0),)
    return int(ratio) if ratio == int(ratio) and votes * 2 > found.total() else None


def _share(row: Measured) -> float | None:
    width = WIDTHS.get(row.dtype or "")
    return row.size / (row.count * width) if row.size and row.count and width else None


def told_op(rows: Sequence[Measured], has_blank_redop: bool, nranks: int | None) -> str | None:
    """The collective that the columns and the numbers leave, if it is only one."""
    found = shape(rows, has_blank_redop)
    times = group_factor(rows)
    is_many = nranks != 1 and any(row.busbw and row.busbw.value > 0 for row in rows)
    if times is None or not is_many:
        return None
    found &= _SCATTERED if times > 1 else _TWICE | _WHOLE
    if found == {"all_gather", "alltoall", "alltoallv"}:
        # Alltoall is not checked in place.
        unchecked = [row.wrong is None for row in rows if row.is_in_place]
        checked = [row.wrong is not None for row in rows if row.is_in_place is False]
        if not unchecked or not all(checked):
            return None
        found = {"alltoall"} if all(unchecked) else {"all_gather"}
    found -= {"hypercube"}
    return found.pop() if len(found) == 1 else None


def shape(rows: Sequence[Measured], has_blank_redop: bool) -> set[str]:
    """The collectives that have these columns: a reduction or not, a root or not."""
    row = rows[0]
    is_reduction = row.redop not in (None, "none")
    if is_reduction:
        return {"reduce"} if row.root is not None else {"all_reduce", "reduce_scatter"}
    if row.root is not None:
        return {"broadcast", "gather", "scatter"}
    if row.redop is None and not has_blank_redop:
        return {"all_gather"}  # until 2022 the one without both columns
    if row.redop is None:
        return {"alltoall", "sendrecv"}
    return {"all_gather", "alltoall", "alltoallv", "sendrecv", "hypercube"}


def told_nranks(rows: Sequence[Measured], op: str | None) -> int | None:
    """The count of ranks that the numbers of most rows allow, None if not exactly one."""
    if op is None or op in _WHOLE:
        return None
    times = group_factor(rows)
    if op in _SCATTERED and times is not None and 1 < times <= _MOST_RANKS:
        return times
    ranges = sorted(
        (found for row in rows if (found := _ranks_of(row, op))), key=lambda r: r[1] - r[0]
    )
    if not ranges:
        return None
    sharp = [
        range(math.ceil(a), math.floor(b) + 1)
        for a, b in ranges[:_SHARPEST]
        if b - a < _WIDEST and b <= _MOST_RANKS
    ]
    candidates = set(chain.from_iterable(sharp)) - {0, 1}
    votes = Counter({n: sum(a <= n <= b for a, b in ranges) for n in candidates})
    best = votes.most_common(2)
    if not best or best[0][1] * 2 <= len(ranges):
        return None
    return best[0][0] if len(best) == 1 or best[1][1] < best[0][1] else None


def _ranks_of(row: Measured, op: str) -> tuple[float, float] | None:
    """Least and largest count of ranks that busbw / algbw leaves, None when it tells nothing."""
    if not (row.algbw and row.busbw) or not (row.algbw.value > 0 and row.busbw.value > 0):
        return None
    twice = 2 if op in _TWICE else 1
    low, high = _ratio(row.busbw, row.algbw)
    # Rounding alone counts here: the slack would leave too many counts.
    if high >= twice or low <= 0:
        return None
    return twice / (twice - low), twice / (twice - high)


def _is_possible(row: Measured, op: str) -> bool | None:
    """Whether some count of ranks gives a row's busbw / algbw; None if it says nothing."""
    if row.algbw is None or row.busbw is None or row.algbw.value <= 0 or row.busbw.value <= 0:
        return None
    twice = 2 if op in _TWICE else 1
    low, high = _ratio(row.busbw, row.algbw)
    low, high = low * (1 - _SLACK), high * (1 + _SLACK)
    if high >= twice:
        return low <= twice
    return max(2, math.ceil(twice / (twice - low))) <= twice / (twice - high)


def _ratio(over: Printed, under: Printed) -> tuple[float, float]:
    most = float(under.value) - under.last_digit / 2
    low = (float(over.value) - over.last_digit / 2) / (float(under.value) + under.last_digit / 2)
    return low, (float(over.value) + over.last_digit / 2) / most if most > 0 else math.inf


def is_old_algbw(rows: Iterable[Measured], op: str | None, nranks: int | None) -> bool:
    """Whether algbw is what all_gather and reduce_scatter printed before June 2020.

    They had (n-1)/n in it, so that it equalled busbw.
    """
    if op not in ("all_gather", "reduce_scatter") or not nranks or nranks < 2:
        return False
    old = new = 0
    for row in rows:
        is_new, is_old = (_is_size_over_time(row, f) for f in (1.0, (nranks - 1) / nranks))
        new += is_new is True and is_old is False
        old += is_old is True and is_new is False and _is_ratio(row, 1.0) is True
    return old > new


def _is_size_over_time(row: Measured, share: float = 1.0) -> bool | None:
    """Whether share x size / time is algbw as far as the printed digits go; None if unknown."""
    if row.time is None or row.algbw is None or row.time.value <= 0:
        return None
    time = float(row.time.value) * 10.0**row.time_exponent  # ns: bytes per ns are GB/s
    expected = share * row.size / time
    digit = row.time.last_digit / float(row.time.value) / 2
    allowed = row.algbw.last_digit / 2 + expected * (min(digit, 1.0) + _SLACK)
    return abs(float(row.algbw.value) - expected) <= allowed


def _is_ratio(row: Measured, times: float) -> bool | None:
    """Whether busbw / algbw is ``times`` as far as the printed digits go; None if unknown."""
    if row.algbw is None or row.busbw is None:
        return None
    expected = times * float(row.algbw.value)
    allowed = row.busbw.last_digit / 2 + times * row.algbw.last_digit / 2 + expected * _SLACK
    return abs(float(row.busbw.value) - expected) <= allowed


def _is_whole(row: Measured, op: str | None, nranks: int | None) -> bool:
    """Whether the counted elements fill the size once, or once for each rank, as op has it."""
    share = _share(row)
    if share is None or op in _OTHER_SIZE:
        return True
    if op in _TWICE | _WHOLE or (share == 1 and row.time_exponent == 6):
        return share == 1  # NCCL 1 counted one rank's part in other tests too
    return share == nranks if op and nranks else share >= 1 and share == int(share)


def doubts(
    row: Measured, op: str | None, nranks: int | None, has_old: bool
) -> tuple[bool | None, str | None]:
    """Whether a row's numbers agree (None: nothing could be checked), and what does not."""
    times = None
    if op and (op in _WHOLE or nranks):
        times = factor(op, nranks or 1)
    own = 1.0
    if has_old and times is not None:
        own, times = times, 1.0
    is_speed = None
    if not row.is_time_host and op not in _OTHER_SIZE:
        is_speed = _is_size_over_time(row, own)
    is_factor = None if times is None else _is_ratio(row, times)
    if op and times is None and op in _TWICE | _SCATTERED:
        is_factor = _is_possible(row, op)
    if not _is_whole(row, op, nranks):
        return False, f"size is not elements x width: {row.size} bytes of {row.count} {row.dtype}"
    if is_speed is False and row.time and row.algbw:
        time = float(row.time.value) * 10.0**row.time_exponent
        speed = own * row.size / time
        return False, f"algbw is not size / time: {row.algbw.value} GB/s instead of {speed:.4g}"
    if is_factor is False and row.algbw and row.busbw:
        seen = float(row.busbw.value) / float(row.algbw.value) if row.algbw.value else math.inf
        ranks = f" of {nranks} ranks" if nranks else ""
        right = (
            f"not {times:.4g} as in {op}{ranks}"
            if times is not None
            else (f"which {op} has with no count of ranks")
        )
        return False, f"busbw / algbw is {seen:.4g}, {right}"
    return (None, None) if is_speed is None and is_factor is None else (True, None)
