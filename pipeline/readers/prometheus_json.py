"""Reads answers of Prometheus' HTTP API: range and instant queries, as JSON.

Series come from the file one by one, so that memory is bounded by the longest.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.readers.prometheus_grids import Moments
from pipeline.readers.prometheus_labels import GpuLabels
from pipeline.readers.prometheus_series import MOST_S, Columns, Elements
from pipeline.readers.record import Facts, Head, Hints, Issue, Part, Recording, Refused
from pipeline.readers.text import Skipped, opened

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

FORMAT = "prometheus-json"
SUFFIXES: tuple[str, ...] = ()

_HEAD_CHARACTERS = 65_536
_MARKS = re.compile(r'"(?:resultType|errorType)"\s*:\s*"')
_STATUS = re.compile(r'"status"\s*:\s*"(?:success|error)"')
_ROWS_PER_BATCH = 65_536
_TEXT_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|NaN|[-+]?Inf", re.ASCII)
_MESSAGE = re.compile(r'"error"\s*:\s*"((?:[^"\\]|\\.){1,500})')
_ODD = "samples that are no pair of time and number"
_QUOTED = 60
_AGAIN = "fetch it again"


def recognise(head: Head) -> bool:
    """Whether the text is an answer of Prometheus' API to a query, be it an error."""
    start = head.text[:_HEAD_CHARACTERS].lstrip("\ufeff \t\n")
    return start.startswith("{") and bool(_MARKS.search(start) and _STATUS.search(start))


def read(path: Path, name: str, pieces: int, hints: Hints) -> Recording:
    """The samples and the GPUs of Prometheus' answers; one piece.

    Raises :class:`Refused` with Prometheus' own message for an error. The refusal is set while
    reading, when no sample could be used.
    """
    message = _error_of(path)
    if message is not None:
        raise Refused(f"Prometheus answered with an error: {message}", "mend the query, ask again")
    facts = Facts(FORMAT)
    recording = Recording(facts, [])
    answers = _Answers(path, recording, GpuLabels(hints, facts))
    recording.parts.append(Part("gpu_sample", answers.batches))
    recording.closing_parts.append(answers.labels.devices.part())
    return recording


def _error_of(path: Path) -> str | None:
    """The message of an error envelope; None when the answer is no error."""
    with opened(path) as stream:
        text = stream.read(_HEAD_CHARACTERS).lstrip("\ufeff \t\r\n")
    status = _STATUS.search(text)
    if not status or "error" not in status[0].partition(":")[2]:
        return None
    try:
        answer = json.JSONDecoder().raw_decode(text)[0]
        message = answer.get("error") or answer.get("errorType")
    except (ValueError, RecursionError, AttributeError):
        found = _MESSAGE.search(text)
        message = found[1] if found else ""
    return " ".join(str(message or "").split()) or "no message"


@dataclass
class _Answers:
    """The state of reading one file: series that wait for a batch, and what was left out."""

    path: Path
    recording: Recording
    labels: GpuLabels
    moments: Moments = field(default_factory=Moments)
    left_out: Counter[str] = field(default_factory=Counter)
    result_count: int = 0
    _first_odd: str = ""
    _waiting: list[tuple[int, int, NDArray[np.int64], NDArray[np.float64]]] = field(
        default_factory=list
    )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of ``gpu_sample``, series by series in the order of the file."""
        rows = 0
        elements = Elements(self.path)
        for element in elements:
            self.result_count += 1
            rows += self._take(element)
            if rows >= _ROWS_PER_BATCH:
                yield from self._flushed()
                rows = 0
        yield from self._flushed()
        self._conclude(elements.damage)
        self._tell()

    def _conclude(self, damage: str | None) -> None:
        facts = self.recording.facts
        facts.status, facts.status_reason = "complete", "the JSON is whole"
        if damage is not None:
            problem = f"the JSON is cut short or damaged {damage}"
            if self.result_count:
                problem += f", in or after series {self.result_count}"
            facts.status, facts.status_reason = "incomplete", problem
            self.recording.report(Issue("warning", "", problem, _AGAIN))

    def _take(self, item: Any) -> int:
        """Takes one element of a result; the count of samples kept."""
        labels = item.get("metric") if isinstance(item, dict) else None
        if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
            self.left_out["elements of a result that are no series (scalars)"] += 1
            return 0
        samples = item.get("values")
        if samples is None:
            samples = [item["value"]] if "value" in item else []
        if "histogram" in item or "histograms" in item:
            self.left_out["series of native histograms"] += 1
        if not isinstance(samples, list | Columns):
            self.left_out["series whose samples are no list"] += 1
            return 0
        series, its_field = self.labels.number(labels.get("__name__", ""), labels)
        if series < 0:
            self.labels.left_out[series] += len(
                samples.values if isinstance(samples, Columns) else samples
            )
            return 0
        times, raw = self._columns(samples)
        is_first = self.moments.firsts(series, times, raw)
        if is_first.any():
            self._waiting.append((series, its_field, times[is_first], raw[is_first]))
        return int(np.count_nonzero(is_first))

    def _columns(
        self, samples: list[Any] | Columns
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times in ns since 1970 UTC and values; NaN and what is no sample is left out."""
        columns = samples if isinstance(samples, Columns) else _all_at_once(samples)
        if columns is None:
            pairs = [sample for sample in samples if _is_sample(sample)]
            if len(pairs) < len(samples):
                first = next(sample for sample in samples if not _is_sample(sample))
                self._first_odd = self._first_odd or json.dumps(first)[:_QUOTED]
                self.left_out[_ODD] += len(samples) - len(pairs)
            columns = Columns(
                np.array([pair[0] for pair in pairs], np.float64),
                np.array([float(pair[1]) for pair in pairs], np.float64),
            )
        seconds, raw = columns
        # Prometheus keeps milliseconds; as floating-point seconds they are a little off.
        times = np.rint(seconds * 1000).astype(np.int64) * 10**6
        is_number = np.isfinite(raw)
        self.labels.nan_count += len(raw) - int(np.count_nonzero(is_number))
        return times[is_number], raw[is_number]

    def _flushed(self) -> Iterator[pa.RecordBatch]:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        lengths = [len(times) for *_, times, _ in waiting]
        when = np.concatenate([times for *_, times, _ in waiting])
        facts = self.recording.facts
        if facts.capture_start_utc_ns is None:
            facts.capture_start_utc_ns = int(when.min())
        yield self.labels.series.batch(
            np.repeat(np.array([one[0] for one in waiting], np.int64), lengths),
            np.repeat(np.array([one[1] for one in waiting], np.int64), lengths),
            when - facts.capture_start_utc_ns,
            None,
            np.concatenate([raw for *_, raw in waiting]),
        )

    def _tell(self) -> None:
        for problem, count in sorted(self.left_out.items()):
            if problem == _ODD:
                problem += f" (the first: {self._first_odd})"
            self.recording.report(Issue("warning", "", f"{problem}, left out", "", count))
        for issue in [*self.labels.issues(), *self.moments.issues()]:
            self.recording.report(issue)
        is_damaged = self.recording.facts.status == "incomplete" or bool(self.left_out)
        is_absent = self.labels.are_absent(Skipped()) and not is_damaged
        if not self.labels.series.row_count and not is_absent:
            self.recording.refusal = self._refusal()

    def _refusal(self) -> Refused:
        nothing = "no sample of a GPU in it can be used"
        if self.recording.facts.status == "incomplete":
            return Refused(f"{nothing}: {self.recording.facts.status_reason}", _AGAIN)
        if self.left_out[_ODD]:
            return Refused(f"{nothing}: {_ODD} (the first: {self._first_odd})", _AGAIN)
        if not self.result_count:
            return Refused("Prometheus' answer holds no series", "check the query and its range")
        if why := self.labels.why_none():
            return Refused(f"{nothing}{why}", "look at the exporter, and ask for another range")
        return Refused(
            nothing, "query a metric of dcgm-exporter itself: sums and rates lose name or GPU"
        )


def _all_at_once(samples: list[Any]) -> Columns | None:
    """Seconds and values of samples that all are what they should be; None where one is odd."""
    try:
        if set(map(len, samples)) != {2}:
            return None
        seconds = [sample[0] for sample in samples]
        texts = [sample[1] for sample in samples]
        together = "".join(texts)
        values = np.array(list(map(float, texts)), np.float64)
    except (TypeError, ValueError, LookupError):
        return None
    # float() reads 1_0 as 10.
    if not set(map(type, seconds)) <= {int, float} or "_" in together or not together.isascii():
        return None
    times = np.array(seconds, np.float64)
    return Columns(times, values) if ((times >= 0) & (times < MOST_S)).all() else None


def _is_sample(sample: object) -> bool:
    """Whether it is ``[seconds, "number"]``."""
    if not isinstance(sample, list) or len(sample) != 2:
        return False
    seconds, value = sample
    is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_time or not 0 <= seconds < MOST_S:
        return False
    return isinstance(value, str) and bool(_TEXT_NUMBER.fullmatch(value))
