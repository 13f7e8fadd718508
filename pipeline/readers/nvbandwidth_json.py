"""The JSON of nvbandwidth: the same matrices, their numbers as texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipeline.readers.json_text import documents
from pipeline.readers.nvbandwidth_matrix import Cells, Row, described
from pipeline.readers.nvbandwidth_tally import STATUSES, Tally
from pipeline.readers.record import Issue

BEGIN = re.compile(r'^[ \t]*\{\s*"nvbandwidth"\s*:', re.MULTILINE)


def json_rows(text: str, first_line: int, tally: Tally) -> Iterator[Row]:
    """Rows of every document in a text that begins at ``first_line`` of its file."""
    for document in documents(text, BEGIN):
        line = first_line + document.line - 1
        root = document.content["nvbandwidth"] if document.content else None
        if not isinstance(root, dict):
            tally.skipped.add("JSON that is cut short or damaged", line, "")
            continue
        _about(root, line, tally)
        tests = root.get("testcases")
        for test in tests if isinstance(tests, list) else []:
            yield from _test(test, line, tally)


def _about(root: dict[str, Any], line: int, tally: Tally) -> None:
    if isinstance(root.get("version"), str):
        tally.version = tally.version or root["version"][:40]
    driver = root.get("Driver Version")
    if isinstance(driver, str) and re.fullmatch(r"\d{1,5}(?:\.\d{1,5}){1,3}", driver):
        tally.settings.setdefault("NVIDIA_DRIVER_VERSION", driver)
    if root.get("error"):
        problem = "nvbandwidth ended with an error"
        tally.errors.append(Issue("warning", f"line {line}", problem, "run it again"))


def _test(test: object, line: int, tally: Tally) -> Iterator[Row]:
    name = test.get("name") if isinstance(test, dict) else None
    if not isinstance(test, dict) or not isinstance(name, str):
        tally.skipped.add("a test case without a name", line, "")
        return
    matrix = test.get("bandwidth_matrix")
    if not isinstance(matrix, list):
        status = STATUSES.get(str(test.get("status")).lower(), "missing")
        tally.missing_count += status == "missing"
        yield tally.unmeasured(name, status, line)
        return
    table = tally.next_matrix()
    tally.ended_count += 1
    description = described(str(test.get("bandwidth_description")))
    if description is None:
        tally.skipped.add("a matrix whose description is not known", line, name)
        return
    cells = Cells(description, name, {}, is_json=True)
    for row_number, row in enumerate(matrix):
        for column, word in enumerate(row if isinstance(row, list) else []):
            yield from tally.cell(cells, row_number, column, str(word), line, table)
