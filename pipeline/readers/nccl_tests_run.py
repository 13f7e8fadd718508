"""One test of a log: what is known of it, and its rows once that is enough to judge them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pipeline.readers.nccl_tests_checks import (
    OPS,
    doubts,
    is_old_algbw,
    op_of,
    shape,
    told_nranks,
    told_op,
)
from pipeline.readers.nccl_tests_lines import Device, Options
from pipeline.readers.nccl_tests_row import Layout, Measured
from pipeline.readers.nccl_tests_tables import Row, measured_row
from pipeline.readers.record import Issue

# So many halves of rows are looked at before op and ranks are settled; tests that run for days
# have more.
_LOOKED_AT = 8192
_LARGEST_RANK = (1 << 31) - 1


@dataclass
class Test:
    """One test. ``rows_ready`` are judged and not yet taken; see :meth:`add` and :meth:`settle`."""

    number: int
    first_line: int | None
    tool: str = "nccl-tests"
    tool_version: str | None = None
    program: str | None = None
    command_program: str | None = None
    nccl_version: str | None = None
    nccl_header_version: str | None = None
    options: Options | None = None
    devices: list[Device] = field(default_factory=list)
    has_whole_list: bool = True
    preamble_count: int = 1
    ranks_per_device_line: int = 1
    above: str = ""
    layout: Layout | None = None
    is_blocking: bool = False
    has_parallel_init: bool = False
    has_iteration_report: bool = False
    memory: dict[str, int] = field(default_factory=dict)
    out_of_bounds: tuple[int, bool | None] | None = None
    average: tuple[str, bool | None] | None = None
    footer_count: int = 0
    is_concluded: bool = False
    has_elided_rows: bool = False
    has_unknown_columns: bool = False
    torn_count: int = 0
    failures: list[str] = field(default_factory=list)
    failure_count: int = 0
    last_errors: list[str] = field(default_factory=list)
    report_version: str | None = None
    start_local_ns: int | None = None
    end_local_ns: int | None = None
    cut: str | None = None
    op: str | None = None
    op_source: str | None = None
    nranks: int | None = None
    nranks_source: str | None = None
    row_count: int = 0
    issues: list[Issue] = field(default_factory=list)
    rows_ready: list[Row] = field(default_factory=list)
    _waiting: list[tuple[Measured, int]] = field(default_factory=list)
    _is_settled: bool = False
    has_old_algbw: bool = False
    _doubtful: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    _sweep: int = -1
    _starts_sweep: bool = True
    _last: Measured | None = None
    _times_listed: dict[int, int] = field(default_factory=dict)
    _seen: dict[tuple[object, ...], int] = field(default_factory=dict)
    communicator: tuple[int | None, int | None, int | None] = (None, None, None)

    @property
    def test(self) -> str | None:
        """The program: as printed, or of the command line if the numbers do not deny it."""
        return self.program or (self.command_program if self.op_source == "command" else None)

    @property
    def process_count(self) -> int:
        """Processes that print into this test and do not know of each other.

        Built without MPI, each calls itself rank 0 (nccl-tests issues 71, 107 and 294).
        """
        return max(self._times_listed.values(), default=self.preamble_count)

    @property
    def is_interleaved(self) -> bool:
        return self.process_count > 1

    @property
    def has_rows(self) -> bool:
        return self.row_count > 0 or bool(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether all its footers have been met."""
        count = self.process_count
        return self.footer_count >= count or (self.is_concluded and count == 1)

    @property
    def is_complete(self) -> bool:
        has_end = self.is_over or (self.out_of_bounds is not None and not self.is_interleaved)
        return has_end and self.cut is None

    @property
    def is_whole(self) -> bool:
        """Whether all that it printed is there."""
        return self.is_complete and not (self.has_elided_rows or self.torn_count)

    def begin_sweep(self) -> None:
        """The next row begins another pass over the sizes."""
        self._starts_sweep = True

    def forget_last_said(self) -> None:
        """The file ends within the last line of the preamble: so may its last word."""
        if self.devices:
            self.devices[-1] = replace(self.devices[-1], name="")
        elif self.options and self.options.named:
            *whole, _ = self.options.named.items()
            self.options = replace(self.options, named=dict(whole))

    def add_device(self, device: Device) -> None:
        """A line of the list of ranks."""
        if device.rank > _LARGEST_RANK or device.device > _LARGEST_RANK:
            self.has_whole_list = False
            return
        self.devices.append(device)
        self._times_listed[device.rank] = self._times_listed.get(device.rank, 0) + 1

    def add(self, halves: list[Measured]) -> None:
        """The halves of one row."""
        if self._is_settled or len(self._waiting) >= _LOOKED_AT:
            self.settle()  # not the newest row, which may prove to be cut
        sweep = self._sweep_of(halves[0])
        self._waiting += [(half, sweep) for half in halves]

    def forget(self, line: int) -> bool:
        """Drops a row that turned out to be cut; False when it has been judged already."""
        kept = [(half, sweep) for half, sweep in self._waiting if half.line != line]
        dropped, self._waiting = len(kept) < len(self._waiting), kept
        return dropped

    def _sweep_of(self, row: Measured) -> int:
        key = (row.dtype, row.redop, row.root, row.rank)
        if self.is_interleaved or row.rank is not None:
            self._seen[(*key, row.size)] = number = self._seen.get((*key, row.size), -1) + 1
            return number
        last, self._last = self._last, row
        is_new = (
            self._starts_sweep or last is None or key[:3] != (last.dtype, last.redop, last.root)
        )
        if not is_new and last is not None:
            # Sizes are rounded to the ranks' multiples: small ones repeat within one pass.
            is_one_size = self.options is None or self.options.min_bytes == self.options.max_bytes
            is_new = row.size < last.size or (row.size == last.size > 0 and is_one_size)
        self._starts_sweep = False
        self._sweep += is_new
        return self._sweep

    # -- judging ---------------------------------------------------------------------------

    def settle(self) -> None:
        """Decides what can be decided and judges the rows that wait."""
        if not self._is_settled:
            self._is_settled = True
            self._name()
        waiting, self._waiting = self._waiting, []
        for row, sweep in waiting:
            self.rows_ready.append(self._judged(row, sweep))
        self.row_count += len(waiting)

    def taken(self) -> Iterator[Row]:
        """The rows judged since the last call."""
        rows, self.rows_ready = self.rows_ready, []
        yield from rows

    def _name(self) -> None:
        rows = [row for row, _ in self._waiting]
        self.communicator = self._from_list()
        self.nranks = self.nranks or self.communicator[0]
        self.nranks_source = "printed" if self.nranks else None
        has_blank = bool(self.layout and "redop" in self.layout.before)
        self.op, self.op_source = op_of(self.program), "printed"
        if self.op is None and rows:
            hint = op_of(self.command_program)
            if hint in (shape(rows, has_blank) if self.layout else OPS):
                self.op, self.op_source = hint, "command"
            else:
                self.op, self.op_source = told_op(rows, has_blank, self.nranks), "numbers"
        elif self.op is None:
            self.op, self.op_source = op_of(self.command_program), "command"
        if self.op is None:
            self.op_source = None
        told = told_nranks(rows, self.op) if rows else None
        if told and (self.nranks is None or told > self.nranks):
            if self.nranks:
                # People shorten the list of ranks when they paste a log.
                problem = f"ranks listed: {self.nranks}; but busbw / algbw is that of {told}"
                self.issues.append(Issue("warning", self._place(), problem))
                self.has_whole_list = False
            self.nranks, self.nranks_source = told, "numbers"
            self.communicator = (None, None, None)
        self.has_old_algbw = is_old_algbw(rows, self.op, self.nranks)
        self._tell()

    def _tell(self) -> None:
        place = self._place()
        if self.is_interleaved:
            self.issues.append(
                Issue(
                    "warning",
                    place,
                    f"{self.process_count} processes that do not know of each other print into "
                    "this test: each measured its own ranks only, and their lines are mixed",
                    "build nccl-tests with MPI=1, or start it without mpirun",
                )
            )
        elif self.nranks == 1:
            self.issues.append(
                Issue("note", place, "a single rank: busbw says nothing about any link")
            )
        if self.has_old_algbw:
            self.issues.append(
                Issue(
                    "note",
                    place,
                    f"{self.op} before June 2020 printed algbw with (n-1)/n in it: algbw is "
                    "stored as size / time, as newer versions print it; busbw is as printed",
                )
            )

    def _place(self) -> str:
        return f"line {self.first_line}" if self.first_line else f"test {self.number}"

    def _from_list(self) -> tuple[int | None, int | None, int | None]:
        """Ranks, hosts and GPUs of one communicator, where the list of ranks is whole."""
        if not self.devices or not self.has_whole_list:
            return None, None, None
        groups: dict[object, list[Device]] = {}
        for device in self.devices:
            own = (device.host, device.pid) if self.is_interleaved else None
            groups.setdefault((device.group, own), []).append(device)
        found = set()
        for group in groups.values():
            ranks = {device.rank for device in group}
            if len(ranks) < len(group):
                return None, None, None
            hosts = {device.host for device in group}
            # The bus may be hidden from a virtual machine (0x00): then the ordinal tells.
            gpus = {
                (d.host, d.bus_id, d.device if set(d.bus_id) <= set("0:") else 0) for d in group
            }
            found.add((len(ranks), len(hosts), len(gpus)))
        every = {device.rank for device in self.devices}
        many = self.ranks_per_device_line
        if len(found) > 1 or every != set(range(0, len(every) * many, many)):
            return None, None, None
        ((ranks_found, hosts_found, gpus_found),) = found
        return ranks_found * many, hosts_found, gpus_found if many == 1 else None

    @property
    def communicator_count(self) -> int | None:
        if self.is_interleaved:
            return self.process_count
        if not self.devices or not self.has_whole_list:
            return None
        return len({device.group for device in self.devices})

    def _judged(self, row: Measured, sweep: int) -> Row:
        is_consistent, doubt = doubts(row, self.op, self.nranks, self.has_old_algbw)
        if doubt:
            kind = doubt.partition(" is ")[0]
            place = f"line {row.line}" if row.line else f"size {row.size}"
            first, said, count = self._doubtful.get(kind, (place, doubt, 0))
            self._doubtful[kind] = (first, said, count + 1)
        return measured_row(self, row, sweep, is_consistent)

    # -- closing ---------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing more comes: judges what waits, and says what was doubtful."""
        self.settle()
        for place, said, count in self._doubtful.values():
            way_out = "the numbers of a row contradict each other: take the table from its source"
            self.issues.append(Issue("warning", place, said, way_out, count))
        if self.last_errors:
            problem = f"NCCL's last error: '{self.last_errors[0]}'"
            way_out = "run again with NCCL_DEBUG=WARN to see where it comes from"
            self.issues.append(
                Issue("warning", self._place(), problem, way_out, len(self.last_errors))
            )
        if self.has_elided_rows:
            self.issues.append(
                Issue("warning", self._place(), "rows were left out of the table ('...')")
            )

    @property
    def reason(self) -> str | None:
        """How it died, or what is missing; None for one that has its end."""
        if self.failures:
            # A failed call says what happened; others only that something did.
            return next((said for said in self.failures if ": " in said), self.failures[0])
        if self.cut:
            return self.cut
        if not self.is_complete:
            return "its footer is missing: it died, or the log was cut"
        if self.has_elided_rows:
            return "rows were left out of the table"
        return "some rows cannot be read" if self.torn_count else None
