"""What launchers put before each line of a job's output, and whose line it says it is.

``0: `` (srun -l), ``[1,0]<stdout>:`` (mpirun --tag-output, after a date with --timestamp-output),
``[0] `` (Hydra -prepend-rank), ``vm-07-05: `` (pdsh, clush), ``[default7]:``
(torchrun), ``[rank3]:`` (torch's own log),
``[pod/NAME/CONTAINER] `` (kubectl logs --prefix), ``worker-0  | `` (docker compose), and the times
of container logs before or after any of them. pssh says before many lines whose they are.
``1: `` or ``node1: `` may also be a line's own text: a reader that knows its lines tries the
whole line first. A name without a digit counts only before what is plainly a format's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_LARGEST = 10_000_000
# Every alternative begins with fixed text or a bounded class, so that no line takes long.
_PREFIX = re.compile(
    r"""\s{0,16}(?:
      (?:[a-z]{3}\ [a-z]{3}\ [\ \d]\d\ \d\d:\d\d:\d\d\ \d{4})?
      (?:\[(?:prterun-[\w.\-]{1,80}@)?\d{1,6},(?P<task>\d{1,8})\])?
      (?:\[[\w.\-]{1,80}:\d{1,10}\])?<(?P<stream>stdout|stderr|stddiag)>:\ ?
    | \[default(?P<local>\d{1,4})\]:\ ?
    | \[rank(?P<rank>\d{1,8})\]:\ ?
    | \[(?P<hydra>\d{1,8})\](?!\ \d\d:\d\d:\d\d\ \[[A-Z])(?:\ |(?=\#)|$)
    | \[pod/(?P<pod>[\w.\-]{1,253})/[\w.\-]{1,253}\](?:\ |$)
    | (?P<srun>\d{1,8}):(?:\ |$)
    | \((?:\w{1,40}\ )?pid=\d{1,10}(?:,\ ip=(?P<ip>[\w.:\-]{1,60}))?\)\ ?
    | (?P<host>[A-Za-z0-9](?=[\w.\-]{0,80}[0-9\-.])[\w.\-]{0,80}|localhost):(?:\ |$)
    | (?!(?:warn|warning|error|info|debug|fatal|note|trace)\b)
      (?P<word>[a-z][\w.\-]{0,80})(?::\ |\ {1,20}\|\ )(?=\s{0,9}(?:\#|gpu\ \d|id\ {4}
      |\d{1,20}\s{1,40}\d{1,20}\s{1,40}[a-z]|dcgm_\w{1,99}\{))
    | (?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+\-]\d\d:\d\d))[ ]
      (?:std(?:out|err)\ [FP]\ )?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# pssh -i, before what a host printed: the host's number, when it ended and how.
_ANNOUNCED = re.compile(
    r"\[\d{1,6}\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] (?P<host>[\w.\-@:]{1,120})(?: .{0,200})?$"
)
# Launchers seen to be nested two deep (pdsh round torchrun), and a container's times before.
_DEEPEST = 3


@dataclass(frozen=True)
class Prefixed:
    """A line without its launcher's prefix.

    ``task`` is the number of the task in the whole job (global rank), ``local_rank`` that within
    its node, ``host`` the node, ``time`` an ISO 8601 time with its zone; each None when not said.
    """

    line: str
    task: int | None = None
    local_rank: int | None = None
    host: str | None = None
    time: str | None = None
    is_stderr: bool = False

    @property
    def who(self) -> tuple[int | None, int | None, str | None]:
        """Equal for lines of one process, as far as the prefix tells."""
        return self.task, self.local_rank, self.host


def without_prefix(line: str) -> Prefixed:
    """The line without the prefixes of launchers, and what these say."""
    bare = Prefixed(line)
    for _ in range(_DEEPEST):
        found = _PREFIX.match(bare.line)
        if not found:
            break
        named = found.groupdict()
        task = next((named[k] for k in ("task", "rank", "hydra", "srun") if named[k]), None)
        if task is not None and (bare.task is not None or int(task) > _LARGEST):
            break  # the second number is the line's own
        host = named["host"] or named["pod"] or named["word"]
        if host and (bare.host is not None or bare.task is not None):
            break
        bare = replace(
            bare,
            line=bare.line[found.end() :],
            task=bare.task if task is None else int(task),
            local_rank=int(named["local"]) if named["local"] else bare.local_rank,
            host=host or named["ip"] or bare.host,
            time=named["time"] or bare.time,
            is_stderr=bare.is_stderr or named["stream"] in ("stderr", "stddiag"),
        )
    return bare


def host_in(prefix: str) -> str | None:
    """The host that a prefix by itself names, None if it names none."""
    bare = without_prefix(f"{prefix.strip()} ")
    return None if bare.line.strip() else bare.host


def announced_host(line: str) -> str | None:
    """The host whose lines follow, where pssh says so."""
    found = _ANNOUNCED.match(line) if line.startswith("[") else None
    return found["host"] if found else None
