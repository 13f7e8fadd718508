"""``run.toml``: what a person says of a run. Everything in it is optional, and checked.

A file with a fault is refused whole, so that nobody takes a misspelt key for one that counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from pipeline.readers.record import (
    NO_HINTS,
    Facts,
    Head,
    Hints,
    Part,
    Recording,
    Refused,
    row_batches,
)
from pipeline.readers.run_description_keys import (
    HOST_KEYS,
    SECTIONS,
    fault_of,
    unknown,
)
from pipeline.readers.text import lines

Row = dict[str, object]
Key = tuple[str, ...]

FORMAT = "run-description"
SUFFIXES: tuple[str, ...] = ()

_LARGEST_BYTES = 256 << 10
_SHOWN_FAULTS = 3
_SEE_README = "see 'run.toml' in the README"


def recognise(head: Head) -> bool:
    return head.name == "run.toml"


def read(path: Path, name: str, pieces: int = 1, hints: Hints = NO_HINTS) -> Recording:
    """Rows of ``run_description``, ``host_placement`` and ``host_address``.

    Raises :class:`Refused` with the line of each fault; see :mod:`pipeline.readers`.
    """
    if path.stat().st_size > _LARGEST_BYTES:
        raise Refused("more than 256 KiB, so no description of a run", _SEE_README)
    text = "\n".join(line for _, line in lines(path)) + "\n"
    content = _parsed(text)
    found = _line_of_each_key(text)
    faults = sorted(_faults(content, found))
    if faults:
        shown = "; ".join(f"line {line}: {problem}" for line, problem in faults[:_SHOWN_FAULTS])
        more = len(faults) - _SHOWN_FAULTS
        raise Refused(f"{shown}; and {more} more" if more > 0 else shown, _SEE_README)
    recording = Recording(Facts(FORMAT, host=hints.host), [])
    recording.facts.status, recording.facts.status_reason = "complete", "every key was checked"
    tables = {
        "run_description": list(_description(content, found)),
        "host_placement": list(_placements(content, found)),
        "host_address": list(_addresses(content, found)),
    }
    for table, rows in tables.items():
        part = Part(table, lambda table=table, rows=rows: row_batches(table, rows))  # type: ignore[misc]
        recording.parts.append(part)
    return recording


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = int(told[2]) if told and told[2] else text.count("\n")
        problem = (told[1] if told else str(error)).rstrip(".")
        raise Refused(
            f"line {line}: not TOML: {problem[:1].lower()}{problem[1:]}", _SEE_README
        ) from None
    except (RecursionError, ValueError) as error:  # nested without end; a number of 5000 digits
        raise Refused(f"not TOML: {type(error).__name__}", _SEE_README) from None


def _line_of_each_key(text: str) -> dict[Key, int]:
    """Where each key of a valid document stands. tomllib does not tell.

    Statement by statement: each is the fewest lines that are TOML by themselves.
    """
    found: dict[Key, int] = {}
    table: Key = ()
    statement, begin = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        statement = f"{statement}\n{line}" if statement else line
        try:
            said = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        keys = list(_keys(said))
        if re.match(r"\s*\[", statement):
            table = max(keys, key=len, default=())
            keys = [table[: depth + 1] for depth in range(len(table))]
        else:
            keys = [table + key for key in keys]
        for key in keys:
            found.setdefault(key, begin)
        statement, begin = "", number + 1
    return found


def _keys(value: Any, path: Key = ()) -> Iterator[Key]:
    """The path of every table and value in a document."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = value[-1]  # [[an array of tables]]
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from _keys(inner, (*path, key))


def _faults(content: dict[str, Any], found: dict[Key, int]) -> Iterator[tuple[int, str]]:
    for section, value in content.items():
        line = found.get((section,), 1)
        if section != "hosts" and section not in SECTIONS:
            yield line, unknown(section, "")
        elif not isinstance(value, dict):
            yield line, f"'{section}' must be a table: [{section}]"
        elif section == "hosts":
            yield from _host_faults(value, found)
        else:
            for key, inner in value.items():
                problem = fault_of(section, key, inner)
                if problem:
                    yield found.get((section, key), line), problem


def _host_faults(hosts: dict[str, Any], found: dict[Key, int]) -> Iterator[tuple[int, str]]:
    for host, value in hosts.items():
        line = found.get(("hosts", host), 1)
        if not host.strip():
            yield line, "a host must have a name"
        if not isinstance(value, dict):
            yield line, f"'hosts.{host}' must be a table: [hosts.{host}]"
            continue
        for key, inner in value.items():
            problem = fault_of("hosts", key, inner)
            if problem:
                yield found.get(("hosts", host, key), line), problem


def _description(content: dict[str, Any], found: dict[Key, int]) -> Iterator[Row]:
    for section, keys in content.items():
        if section == "hosts":
            continue
        for key, value in keys.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            yield {
                "key": f"{section}.{key}",
                "value_text": _as_text(value),
                "value_number": float(value) if is_number else None,
                "line": found.get((section, key)),
            }


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # 7e9 parameters
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


def _placements(content: dict[str, Any], found: dict[Key, int]) -> Iterator[Row]:
    for host, told in content.get("hosts", {}).items():
        kept = {key: told.get(key) for key in HOST_KEYS if key != "addresses"}
        yield {"host": host, **kept, "line": found.get(("hosts", host))}


def _addresses(content: dict[str, Any], found: dict[Key, int]) -> Iterator[Row]:
    for host, told in content.get("hosts", {}).items():
        line = found.get(("hosts", host, "addresses"), found.get(("hosts", host)))
        for address in told.get("addresses", []):
            yield {"host": host, "address": address, "line": line}
