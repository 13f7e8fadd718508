"""What lines say of steps -> rows of ``training_step``: one a step, whoever printed it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.readers.record import Status
from pipeline.readers.training_entry import Clock, Entry, Kind

Identity = tuple[int | None, str | None]
Key = tuple[Kind, int | None, Identity]

# Rows held back: lines of the same step come close to each other, whoever prints them.
_HELD = 1024
# Ranks that print the same steps keep about abreast; one that is further behind has restarted.
_ABREAST = 8
_NOBODY: Identity = (None, None)
_AVERAGING = frozenset(("megatron", "hf_trainer"))


@dataclass
class _Row:
    entry: Entry
    identity: Identity
    attempt: int
    texts: set[str]
    before: int | None  # the step its printer told of before this one


@dataclass
class _Series:
    """The steps of one framework."""

    attempt: int = 1
    rows: dict[Key, _Row] = field(default_factory=dict)
    last: dict[tuple[Kind, Identity], int] = field(default_factory=dict)
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=_ABREAST))
    smallest_gap: int | None = None
    is_closed: bool = False
    # Supplements of steps whose line has not come: other ranks print before the one that logs.
    waiting: list[Entry] = field(default_factory=list)

    def restart(self) -> None:
        self.attempt += 1
        self.last.clear()
        self.recent.clear()
        self.smallest_gap = None
        self.is_closed = False


class Rows:
    """Takes entries in the order of their lines, gives rows a little later.

    ``notes`` counts what was left out knowingly; ``first`` and ``latest`` are the first and the
    latest time said, ``last_step`` and ``planned_step`` the last step and that of the job's end.
    """

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}
        self._unnumbered: dict[str, None] = {}
        self.log_interval: int | None = None
        self.notes: Counter[str] = Counter()
        self.noted_at: dict[str, int] = {}
        self.first: Clock | None = None
        self.latest: Clock | None = None
        self.last_step: int | None = None
        self.planned_step: int | None = None
        self.is_closed = False

    def restart(self) -> Iterator[dict[str, object]]:
        """The job's arguments are printed, as at its begin: steps so far are of an earlier one."""
        for series in self._series.values():
            if series.rows or series.last:
                yield from self._flush(series)
                series.restart()

    def add(self, entry: Entry) -> Iterator[dict[str, object]]:
        """Takes an entry; gives the rows that nothing can change any more."""
        if entry.clock is not None:
            self.first = self.first or entry.clock
            self.latest = entry.clock
        for note in entry.notes:
            self._note(note, entry)
        series = self._series.setdefault(entry.framework, _Series())
        if entry.is_supplement:
            self._supplement(series, entry)
            return
        if entry.kind == "step" and entry.step is not None:
            self.last_step = entry.step
            self.planned_step = entry.last_step
        self.is_closed = entry.kind == "summary"
        if entry.framework == "deepspeed" and self._is_told(entry):
            return
        yield from self._placed(series, entry)
        if len(series.rows) >= 2 * _HELD:
            yield from self._flush(series, _HELD)

    def rest(self) -> Iterator[dict[str, object]]:
        """The rows still held."""
        for series in self._series.values():
            for entry in series.waiting:
                self._note(_NO_STEP, entry)
            yield from self._flush(series)

    def status(self) -> tuple[Status, str]:
        """Whether the log is whole: only a job that reached its last step proves it."""
        if self.is_closed:
            return "complete", "the framework's closing line is there"
        if self.last_step is None:
            return "unknown", "no numbered step"
        if self.planned_step is None:
            return "unknown", f"ends at step {self.last_step}; the log does not say of how many"
        if self.last_step >= self.planned_step:
            return "complete", f"the last of {self.planned_step} steps is there"
        return "unknown", f"ends at step {self.last_step} of {self.planned_step}"

    def _placed(self, series: _Series, entry: Entry) -> Iterator[dict[str, object]]:
        identity = self._identity(entry)
        if entry.step is None:
            yield from self._unnumbered_placed(series, entry, identity)
            return
        key = (entry.kind, entry.step, identity)
        same = [
            row
            for who in {identity, *(who for _, who in series.last)}
            if (row := series.rows.get((entry.kind, entry.step, who)))
            and row.attempt == series.attempt
        ]
        if any(entry.text in row.texts for row in same):
            self._note("the same step printed by several ranks", entry)
            return
        own = next((row for row in same if row.identity == identity), None)
        if own and _merges(own, entry):
            return
        if self._is_restart(series, entry, identity):
            yield from self._flush(series)
            series.restart()
        before = series.last.get((entry.kind, identity))
        series.rows[key] = _Row(entry, identity, series.attempt, {entry.text}, before)
        series.last[entry.kind, identity] = entry.step
        series.is_closed = series.is_closed or entry.kind == "summary"
        if entry.kind == "step":
            series.recent.append(entry.step)
            if before is not None and before < entry.step:
                gap = entry.step - before
                series.smallest_gap = min(gap, series.smallest_gap or gap)
        if entry.kind == "step" and series.waiting:
            waiting, series.waiting = series.waiting, []
            for supplement in waiting:
                if supplement.step == entry.step:
                    self._supplement(series, supplement)
                elif (supplement.step or 0) < entry.step:
                    self._note(_NO_STEP, supplement)
                else:
                    series.waiting.append(supplement)
        if entry.framework == "megatron":
            self._take_over(entry)

    def _unnumbered_placed(
        self, series: _Series, entry: Entry, identity: Identity
    ) -> Iterator[dict[str, object]]:
        """A line that does not say of which step it is; its number sets it apart."""
        if entry.text in self._unnumbered:
            self._note("the same step printed by several ranks", entry)
            return
        self._unnumbered[entry.text] = None
        if len(self._unnumbered) > _HELD:
            del self._unnumbered[next(iter(self._unnumbered))]
        if series.is_closed and entry.kind != "validation":
            yield from self._flush(series)
            series.restart()
        series.is_closed = series.is_closed or entry.kind == "summary"
        key = (entry.kind, -entry.number, identity)
        series.rows[key] = _Row(entry, identity, series.attempt, {entry.text}, None)

    @staticmethod
    def _is_restart(series: _Series, entry: Entry, identity: Identity) -> bool:
        step = entry.step or 0
        if series.is_closed and entry.kind != "validation":
            return True
        # Lines without a name may be anyone's, those with one are of their own printer.
        lasts = [
            last
            for (kind, who), last in series.last.items()
            if kind == entry.kind and (who == identity or _NOBODY in (who, identity))
        ]
        if lasts:
            return step <= max(lasts)
        return entry.kind == "step" and bool(series.recent) and step < min(series.recent)

    @staticmethod
    def _identity(entry: Entry) -> Identity:
        printed = entry.printed
        rank = entry.rank if entry.rank is not None else printed.task
        return (rank, printed.host)

    # -- two clocks of one step: Megatron's and DeepSpeed's ---------------------------------

    def _is_told(self, entry: Entry) -> bool:
        """Whether Megatron's line of the same step has come; it takes what it lacks."""
        megatron = self._series.get("megatron")
        if not megatron or not megatron.recent or megatron.recent[-1] != entry.step:
            return False
        rows = [row for row in megatron.rows.values() if row.attempt == megatron.attempt]
        if not rows or rows[-1].entry.step != entry.step:
            return False
        _fill(rows[-1].entry, entry)
        self._note(_SECOND_CLOCK, entry)
        return True

    def _take_over(self, entry: Entry) -> None:
        """Drops DeepSpeed's row of a step that Megatron's line tells of."""
        deepspeed = self._series.get("deepspeed")
        if not deepspeed:
            return
        for key, row in list(deepspeed.rows.items())[-2 * _ABREAST :]:
            if row.entry.step == entry.step and row.attempt == deepspeed.attempt:
                _fill(entry, row.entry)
                self._note(_SECOND_CLOCK, row.entry)
                del deepspeed.rows[key]

    def _supplement(self, series: _Series, entry: Entry) -> None:
        for row in reversed(series.rows.values()):
            if row.entry.step == entry.step and row.attempt == series.attempt:
                # Several ranks print their memory: the fullest one counts.
                most = row.entry.values.get("memory_bytes")
                if not isinstance(most, int) or most < int(str(entry.values["memory_bytes"])):
                    row.entry.values |= entry.values
                return
        series.waiting.append(entry)
        if len(series.waiting) > _HELD:
            self._note(_NO_STEP, series.waiting.pop(0))

    # -- rows ------------------------------------------------------------------------------

    def _flush(self, series: _Series, count: int | None = None) -> Iterator[dict[str, object]]:
        for key in list(series.rows)[:count]:
            yield self._as_row(series, series.rows.pop(key))

    def _as_row(self, series: _Series, row: _Row) -> dict[str, object]:
        entry = row.entry
        values = dict(entry.values)
        if entry.kind == "step" and "step_count_averaged" not in values:
            values["step_count_averaged"] = self._averaged(series, row)
        return {
            "framework": entry.framework,
            "kind": entry.kind,
            "attempt": row.attempt,
            "line": entry.number,
            "printed_rank": row.identity[0],
            "host": row.identity[1],
            "step": entry.step,
            "planned_last_step": entry.last_step,
            "ts_ns": self._since_first(entry.clock),
            **values,
        }

    def _since_first(self, clock: Clock | None) -> int | None:
        if clock is None or self.first is None or clock.is_utc != self.first.is_utc:
            return None
        return clock.ns - self.first.ns

    def _averaged(self, series: _Series, row: _Row) -> int | None:
        """Over how many steps a line's values are means, where that can be told."""
        step = row.entry.step
        if step is None:
            return None
        if row.entry.framework == "torchtitan":  # it begins anew after each line
            if row.before is None:
                return 1 if step == 1 else None
            return step - row.before
        if row.entry.framework == "deepspeed" and "step_ns" not in row.entry.values:
            return 1
        if row.entry.framework not in _AVERAGING:
            return None
        interval = self.log_interval or series.smallest_gap
        # A line is printed at multiples of the interval; a gap of lost lines need not divide.
        if interval is None or step % interval:
            return None
        return interval if interval == 1 or row.before is not None or step == interval else None

    def _note(self, note: str, entry: Entry) -> None:
        self.notes[note] += 1
        self.noted_at.setdefault(note, entry.number)


_NO_STEP = "memory of a step that no line tells of, left out"
_SECOND_CLOCK = "DeepSpeed's lines of a step that Megatron's line tells of"


def _fill(entry: Entry, other: Entry) -> None:
    """Gives Megatron's step DeepSpeed's time and memory, where it has none of its own."""
    entry.clock = entry.clock or other.clock
    if "memory_bytes" not in entry.values and "memory_bytes" in other.values:
        for name in ("memory_bytes", "memory_kind"):
            entry.values[name] = other.values[name]


def _merges(row: _Row, entry: Entry) -> bool:
    """Joins an entry to the row of its step: an update, or a line on other things of it."""
    if entry.is_update:
        entry.clock = entry.clock or row.entry.clock
        row.entry = entry
        row.texts.add(entry.text)
        return True
    old = row.entry.values
    both = {name for name in entry.values if old.get(name) is not None}
    if entry.framework == "deepspeed" and all(old[name] == entry.values[name] for name in both):
        row.entry.values |= entry.values
        row.entry.clock = row.entry.clock or entry.clock
        row.texts.add(entry.text)
        return True
    return False
