"""The nccl-tests reader: logs of all_reduce_perf and its like, and their JSON reports (-J).

Logs of every version since NCCL 1 (2016), rccl-tests too, with what launchers, NCCL itself and
people add. Rows are checked against themselves, see nccl_tests_checks. Of a command line only
the program's name is kept; the environment in JSON reports is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.readers import nccl_tests_json
from pipeline.readers.nccl_tests_log import Log
from pipeline.readers.nccl_tests_row import REDOPS, WIDTHS
from pipeline.readers.nccl_tests_run import Test
from pipeline.readers.nccl_tests_tables import Row, device_rows, run_row
from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Issue,
    Part,
    Recording,
    row_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "nccl-tests"
SUFFIXES: tuple[str, ...] = ()

_TYPE = "|".join(sorted(WIDTHS, key=len, reverse=True))
_CELL = r"[ \t]+(?:\d[\d.]*(?:e[+-]\d\d)?|N/A)"
# A text without the word cannot have the sign, and words are found much faster.
_SIGNS = {
    "minBytes": re.compile(r"nThread \d+ nGpus \d+ minBytes \d+ maxBytes \d+ step: \d+\("),
    "algbw": re.compile(
        r"(?:size[ \t]+count|bytes[ \t]+N)[ \t]+type[ \t][^\n]{0,80}\balgbw[ \t]+busbw\b"
    ),
    "Out of bounds": re.compile(r"Out of bounds values[ \t]*:[ \t]*\d+[ \t]+(?:OK|FAILED)"),
    " failure ": re.compile(r"Test (?:NCCL |CUDA )?failure [\w./\-]{1,200}\.(?:cu|cc|cpp|h):\d+"),
    "ccl-tests version": re.compile(r"\b[nr]ccl-tests version \d[\w.\-]* "),
}
_WIDEST_ROW = 1000
# Rows alone, as people paste them.
_ROW = re.compile(
    rf"(?<![\w.])\d+[ \t]+\d+[ \t]+(?:{_TYPE})(?:[ \t]+(?:sum|prod|max|min|avg|none))?"
    rf"(?:[ \t]+(?:-1|\d+))?{_CELL * 8}[ \t]*$"
)
# A row of the newest layout, however broken its numbers.
_BROKEN_ROW = re.compile(
    rf"(?<![\w.])\d+[ \t]+\d+[ \t]+(?:{_TYPE})[ \t]+(?:{'|'.join(REDOPS)})[ \t]+(?:-1|\d+)"
    r"(?:[ \t]+[^\s\"'{}]{1,20}){8}[ \t]*$"
)
_CHECK_AGAIN = "take the log from where it was written, not from a copy of a terminal"


def recognise(head: Head) -> bool:
    """Whether the text holds a table, a preamble, a footer or a death of nccl-tests."""
    text = head.text
    if nccl_tests_json.recognise(text):
        return True
    if any(word in text and sign.search(text) for word, sign in _SIGNS.items()):
        return True
    # A name alone is found faster than one between blanks; most texts have no tab at all.
    blanks = [" ", "\t"] if "\t" in text else [" "]
    names = [name for name in WIDTHS if name in text]
    has_type = any(f"{blank}{name}{blank}" in text for name in names for blank in blanks)
    return has_type and any(map(_is_row, text.split("\n")))


def _is_row(line: str) -> bool:
    # Where names of kernels are, types are in many a long line.
    return len(line) <= _WIDEST_ROW and bool(_ROW.search(line) or _BROKEN_ROW.search(line))


def read(path: Path, name: str, pieces: int, hints: Hints = NO_HINTS) -> Recording:
    """Rows, tests and devices of one log or report.

    A log in which no test is found, or no row could be read, sets the recording's ``refusal``.
    """
    source: Log | nccl_tests_json.Report
    source = nccl_tests_json.Report(path) if _begins_like_json(path) else Log(path)
    recording = Recording(Facts(FORMAT), [])

    def batches() -> Iterator[pa.RecordBatch]:
        yield from row_batches("collective_benchmark", source.rows())
        _conclude(recording, source)

    def rows_of(table: str) -> Iterator[pa.RecordBatch]:
        return row_batches(table, _closing_rows(table, source.tests))

    recording.parts.append(Part("collective_benchmark", batches))
    for table in ("collective_benchmark_run", "collective_benchmark_device"):
        recording.closing_parts.append(Part(table, lambda table=table: rows_of(table)))  # type: ignore[misc]
    return recording


def _closing_rows(table: str, tests: Iterable[Test]) -> Iterator[Row]:
    for test in tests:
        if table == "collective_benchmark_run":
            yield run_row(test)
        else:
            yield from device_rows(test)


def _begins_like_json(path: Path) -> bool:
    head = Head(_beginning(path))
    return nccl_tests_json.recognise(head.text)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(4 << 20)


def _conclude(recording: Recording, source: Log | nccl_tests_json.Report) -> None:
    """Facts and issues, once everything has been read."""
    tests, skipped = source.tests, source.skipped
    if not any(test.row_count for test in tests) and (skipped.count or not tests):
        what = "no row" if skipped.count else "nothing"
        recording.refusal = skipped.refusal(f"{what} of nccl-tests in it can be read", _CHECK_AGAIN)
    for issue in [issue for test in tests for issue in test.issues]:
        recording.report(issue)
    for issue in skipped.issues(_CHECK_AGAIN):
        recording.report(issue)
    for column, line in source.unknown_columns.items():
        recording.report(Issue("note", f"line {line}", f"column {column} is not stored"))
    alone = [test for test in tests if test.nranks == 1 and test.has_rows]
    if len(alone) > 1 and source.writer_count > 1:
        recording.report(
            Issue(
                "warning",
                "",
                f"{len(alone)} tests of a single rank ran side by side: the processes do not "
                "know of each other",
                "build nccl-tests with MPI=1, or start it without mpirun",
            )
        )
    _state(recording.facts, tests)


def _state(facts: Facts, tests: list[Test]) -> None:
    facts.tool_version = next((t.tool_version for t in tests if t.tool_version), None)
    hosts = {device.host for test in tests for device in test.devices}
    is_all = all(test.has_whole_list and test.devices for test in tests)
    if len(hosts) == 1 and is_all:
        facts.host = hosts.pop()
    starts = [test.start_local_ns for test in tests if test.start_local_ns is not None]
    facts.capture_start_local_ns = min(starts, default=None)
    facts.schema_version = next((t.report_version for t in tests if t.report_version), None)
    broken = next((test for test in tests if not test.is_whole), None)
    if broken is None:
        facts.status, facts.status_reason = "complete", "every test has its footer"
        return
    name = broken.program or broken.op or "test"
    place = f"{name} at line {broken.first_line}" if broken.first_line else name
    facts.status, facts.status_reason = "incomplete", f"{place}: {broken.reason}"
