"""JSON reports of nccl-tests (-J, since 2.17): one test, written value by value.

Booleans and roots are texts, "nan" too; a test that died leaves an unfinished report. Devices
hold the first GPU of each process only. The environment (``env``) is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.archive import text_encoding
from pipeline.readers.nccl_tests_lines import Device, Options, failure, version_of
from pipeline.readers.nccl_tests_row import Measured, Printed, in_ns, local_ns
from pipeline.readers.nccl_tests_run import Test
from pipeline.readers.nccl_tests_tables import Row
from pipeline.readers.text import Skipped

_SIGN = re.compile(r"\s*\{\s*\"version\"\s*:\s*\d+\s*,\s*\"start_time\"\s*:")
_BLANK = re.compile(r"[\s,]*")
# "%lf" prints six digits after the point.
_LAST_DIGIT = 1e-6
_LARGEST = (1 << 62) - 1
_MOST_GPUS = 1 << 16
_OPTION_KEYS = {
    "warmup_iters": "warmup iters",
    "iterations": "iters",
    "aggregated_iterations": "agg iters",
    "validation": "validation",
    "graph": "graph",
    "unalign": "unalign",
}


class _Cut(Exception):
    """The report ends here, or goes on as nothing that nccl-tests writes."""


def recognise(text: str) -> bool:
    """Whether a text is the beginning of a report."""
    return bool(_SIGN.match(text)) and '"args"' in text


@dataclass
class Report:
    """A report as one test; ``tests`` and ``skipped`` are as those of a log."""

    path: Path
    tests: list[Test] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)
    unknown_columns: dict[str, int] = field(default_factory=dict)
    writer_count: int = 1

    def rows(self) -> Iterator[Row]:
        """All rows of ``collective_benchmark``; afterwards ``tests`` are closed."""
        raw = self.path.read_bytes()  # one line, of which only the results can be long
        text = raw.decode(text_encoding(raw) or "utf-8", "replace").removeprefix("\ufeff")
        test = Test(0, None)
        self.tests.append(test)
        try:
            for key, value in _members(text):
                if key == "results":
                    yield from self._result(test, value)
                else:
                    self._told(test, key, value)
        except _Cut:
            test.cut = "the report ends before its end"
        if test.end_local_ns is not None and test.cut is None:
            test.is_concluded = True
        test.close()
        yield from test.taken()

    def _told(self, test: Test, key: str, value: Any) -> None:
        if key == "version" and isinstance(value, int):
            test.report_version = str(value)
        elif key in ("start_time", "end_time"):
            setattr(test, key.replace("time", "local_ns"), _local_ns(value))
        elif key == "args" and isinstance(value, list) and value:
            test.program = str(value[0]).replace("\\", "/").rpartition("/")[2][:200] or None
        elif key == "nccl_version" and isinstance(value, int):
            test.nccl_version = version_of(str(value))
        elif key == "config" and isinstance(value, dict):
            _configure(test, value)
        elif key == "out_of_bounds" and isinstance(value, dict):
            count = _count(value.get("count"))
            if count is not None:
                test.out_of_bounds = (count, _truth(value.get("okay")))
        elif key == "average_bus_bandwidth" and isinstance(value, dict):
            test.average = (str(value.get("bandwidth"))[:30], _truth(value.get("okay")))
        elif key == "errors" and isinstance(value, list):
            self._errors(test, [str(error) for error in value if error])

    def _errors(self, test: Test, errors: list[str]) -> None:
        for error in errors:
            said = failure(error)
            if said:
                test.failures.append(said)
                test.failure_count += 1
            else:
                test.last_errors.append(" ".join(error.split())[:200])

    def _result(self, test: Test, value: Any) -> Iterator[Row]:
        size = _count(value.get("size")) if isinstance(value, dict) else None
        if size is None:
            self.skipped.add("a result without its size", 1, str(value)[:100])
            return
        halves = [
            half
            for key, is_in_place in (("out_of_place", False), ("in_place", True))
            if (half := _measured(value, size, key, is_in_place))
        ]
        if not halves:
            self.skipped.add("a result without its times", 1, f"size {size}")
            return
        test.add(halves)
        yield from test.taken()


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """The members of the outermost object; of ``results`` each element by itself."""
    decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda name: None)

    def value_at(at: int) -> tuple[Any, int]:
        try:
            return decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise _Cut from None

    at = text.find("{") + 1
    while True:
        at = _after_blank(text, at)
        if text[at : at + 1] == "}":
            return
        key, at = value_at(at)
        at = _after_blank(text, at)
        if not isinstance(key, str) or text[at : at + 1] != ":":
            raise _Cut
        at = _after_blank(text, at + 1)
        if key != "results" or text[at : at + 1] != "[":
            value, at = value_at(at)
            if key != "env":
                yield key, value
            continue
        at = _after_blank(text, at + 1)
        while text[at : at + 1] != "]":
            value, at = value_at(at)
            yield key, value
            at = _after_blank(text, at)
        at += 1


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _measured(value: dict[str, Any], size: int, key: str, is_in_place: bool) -> Measured | None:
    half = value.get(key)
    if not isinstance(half, dict):
        return None
    is_host = "cpu_time" in half
    root = str(value.get("root", "")).strip()
    wrong = _number(half.get("nwrong"))
    return Measured(
        None,
        size,
        _count(value.get("count")),
        _text(value.get("type")),
        _text(value.get("redop")),
        int(root) if re.fullmatch(r"\d{1,9}", root) else None,
        is_in_place,
        _printed(half.get("cpu_time" if is_host else "time")),
        _printed(half.get("alg_bw")),
        _printed(half.get("bus_bw")),
        is_time_host=is_host,
        wrong=int(wrong) if wrong is not None and 0 <= wrong <= _LARGEST else None,
        iterations=_iterations(value.get(f"{key}_per_iter")),
    )


def _iterations(value: Any) -> tuple[int | None, int | None, int | None, float | None]:
    if not isinstance(value, dict):
        return (None,) * 4
    least, most, p99, variation = (
        _number(value.get(key)) for key in ("min_us", "max_us", "p99_us", "cv_pct")
    )
    times = [None if number is None else in_ns(number) for number in (least, most, p99)]
    share = None if variation is None else float(variation.scaleb(-2))
    return times[0], times[1], times[2], share


def _configure(test: Test, config: dict[str, Any]) -> None:
    threads, gpus, least, most = (
        _count(config.get(key)) for key in ("nthreads", "ngpus", "minimum_bytes", "maximum_bytes")
    )
    step = _count(config.get("step_factor", config.get("step_bytes")))
    if None not in (threads, gpus, least, most, step) and (threads or 1) * (gpus or 1) < _MOST_GPUS:
        named = {
            name: number
            for key, name in _OPTION_KEYS.items()
            if (number := _count(config.get(key))) is not None and number < 1 << 31
        }
        is_factor = "step_factor" in config
        test.options = Options("", threads, gpus, least, most, step, is_factor, named)  # type: ignore[arg-type]
        test.ranks_per_device_line = (threads or 1) * (gpus or 1)
    test.is_blocking = _truth(config.get("blocking_collectives")) is True
    test.has_parallel_init = _truth(config.get("parallel_init")) is True
    test.has_iteration_report = _truth(config.get("per_iter_timing")) is True
    for device in config.get("devices") or ():
        if isinstance(device, dict):
            _add_device(test, device)


def _add_device(test: Test, device: dict[str, Any]) -> None:
    rank, ordinal = _count(device.get("rank")), _count(device.get("device"))
    group = _count(device.get("group"))
    if rank is None or ordinal is None or (group or 0) >= 1 << 31:
        test.has_whole_list = False
        return
    test.add_device(
        Device(
            rank,
            group,
            _count(device.get("pid")),
            _text(device.get("hostname")),
            ordinal,
            str(device.get("device_hex", "")).lower().removeprefix("0x")[:20],
            str(device.get("device_info", "")).strip()[:200],
        )
    )


def _text(value: Any) -> str | None:
    return value.strip()[:200] or None if isinstance(value, str) else None


def _truth(value: Any) -> bool | None:
    return {"true": True, "false": False, True: True, False: False}.get(
        value if isinstance(value, str | bool) else ""
    )


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
    return value if is_count else None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    return number if number.is_finite() and number < Decimal(10) ** 30 else None


def _printed(value: Any) -> Printed | None:
    number = _number(value)
    return Printed(number, _LAST_DIGIT) if number is not None and number >= 0 else None


def _local_ns(value: Any) -> int | None:
    try:
        return local_ns(str(value))
    except ValueError:
        return None
