"""dmon logs in which a launcher names its task or host before each line (srun -l, mpirun, pdsh)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pipeline.readers.dcgm_dmon_lines import ENTITY, UNITS, is_command, layout_of
from pipeline.readers.launcher_prefix import Prefixed, announced_host, without_prefix
from pipeline.readers.text import lines, without_escapes

_LINES_LOOKED_AT = 2000
_LONGEST = 4096  # characters of a line that are looked at
# Stands for a line of another task, so that every line keeps its number. dmon prints it too.
_FILLER = b"ID\n"
_MARKS = b"GPU ", b"#Entity ", b"ID "  # how lines of dmon begin


def without_task(line: str) -> str:
    """The line without a launcher's prefix, where this makes it a line of dmon."""
    bare = _prefixed(line)
    return bare.line if bare else line


def are_named(path: Path) -> bool:
    """Whether lines of dmon stand behind a launcher's prefix."""
    return any(
        _prefixed(line[:_LONGEST]) or announced_host(line[:_LONGEST])
        for _, line in islice(lines(path), _LINES_LOOKED_AT)
    )


def _prefixed(line: str) -> Prefixed | None:
    if not any(mark in line[:160] for mark in ":]|"):
        return None
    bare = without_prefix(without_escapes(line))
    if bare.who == Prefixed("").who:
        return None
    is_own = layout_of(bare.line) or is_command(bare.line) or ENTITY.match(bare.line.lstrip())
    return bare if is_own else None


@dataclass
class Tasks:
    """Takes the lines of tasks apart, block by block."""

    announced: str | None = None  # the host whose lines pssh says these are

    def apart(self, block: bytes) -> dict[str | None, bytes]:
        """A block of whole lines as one text per task, each with as many lines as the block."""
        texts: dict[str | None, list[bytes]] = {}
        for at, (task, line) in enumerate(_named(block)):
            if task is None and line.startswith(b"["):
                self.announced = announced_host(line.decode("utf-8", "replace")) or self.announced
            text = texts.setdefault(task or self.announced, [])
            text += [_FILLER] * (at - len(text))
            text.append(line)
        return {task: b"".join(text) for task, text in texts.items()}


def _named(block: bytes) -> Iterator[tuple[str | None, bytes]]:
    known: dict[bytes, str | None] = {}
    for line in block.splitlines(keepends=True):
        # Most lines are rows behind a prefix that stood before another row already.
        at = next((found for mark in _MARKS if (found := line.find(mark)) > 0), 0)
        if at and (prefix := line[:at]) in known:
            yield known[prefix], _FILLER if line.startswith(_MARKS[-1], at) else line[at:]
            continue
        text = line.decode("utf-8", "replace")
        bare = without_prefix(without_escapes(text))
        if bare.who == Prefixed("").who:
            yield None, line
            continue
        # Tasks have the same indices of GPUs: nothing else says that they are of other hosts.
        task = None if bare.task is None else f"task{bare.task}"
        name = bare.host or task
        own = bare.line.encode("utf-8", "replace")
        if bare.time:
            own = f"{bare.time} ".encode() + own
        elif at and line[at:] == own:
            known[line[:at]] = name
        yield name, _FILLER if not bare.line.strip() or UNITS.match(bare.line) else own
