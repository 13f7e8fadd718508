"""dmon logs in which a launcher names its task or host before each line (srun -l, mpirun, pdsh)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pipeline.readers.dcgm_dmon_lines import ENTITY, UNITS, is_command, layout_of
from pipeline.readers.launcher_prefix import Prefixed, without_prefix
from pipeline.readers.text import lines, without_escapes

_LINES_LOOKED_AT = 2000
_LONGEST = 4096  # characters of a line that are looked at
# Stands for a line of another task, so that every line keeps its number. dmon prints it too.
_FILLER = b"ID\n"


def without_task(line: str) -> str:
    """The line without a launcher's prefix, where this makes it a line of dmon."""
    bare = _prefixed(line)
    return bare.line if bare else line


def are_named(path: Path) -> bool:
    """Whether lines of dmon stand behind a launcher's prefix."""
    return any(_prefixed(line[:_LONGEST]) for _, line in islice(lines(path), _LINES_LOOKED_AT))


def _prefixed(line: str) -> Prefixed | None:
    if ":" not in line[:160] and "]" not in line[:160]:
        return None
    bare = without_prefix(without_escapes(line))
    if bare.who == Prefixed("").who:
        return None
    is_own = layout_of(bare.line) or is_command(bare.line) or ENTITY.match(bare.line.lstrip())
    return bare if is_own else None


def apart(block: bytes) -> dict[str | None, bytes]:
    """A block of whole lines as one text per task, each with as many lines as the block."""
    texts: dict[str | None, list[bytes]] = {}
    for at, (task, line) in enumerate(_named(block)):
        text = texts.setdefault(task, [])
        text += [_FILLER] * (at - len(text))
        text.append(line)
    return {task: b"".join(text) for task, text in texts.items()}


def _named(block: bytes) -> Iterator[tuple[str | None, bytes]]:
    for line in block.splitlines(keepends=True):
        text = line.decode("utf-8", "replace")
        bare = without_prefix(without_escapes(text))
        if bare.who == Prefixed("").who:
            yield None, line
            continue
        # Tasks have the same indices of GPUs: nothing else says that they are of other hosts.
        task = None if bare.task is None else f"task{bare.task}"
        is_blank = not bare.line.strip() or UNITS.match(bare.line)
        yield bare.host or task, _FILLER if is_blank else bare.line.encode("utf-8", "replace")
