"""Lines of the other formats that a job's log may hold beside the one being read.

A table of telemetry mostly has no end mark. It ends where a block of another format begins, and
a line that another format owns is none of its damaged rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.readers.text import Skipped

# How the blocks of the formats begin; each name is one that a reader passes as its own.
_BEGINNINGS = {
    "smi_dmon": r"\s{0,9}#\s{0,9}(?:(?:date|time)[\s,]{1,9}){0,2}gpu[\s,]",
    "dcgm_dmon": r"\s{0,64}#\s{0,16}Entity\s|.{0,200}\bdcgmi\s{1,9}dmon\b",
    "smi_query": r"(?i:[a-z][a-z0-9_.]{1,60}(?: ?\[[^\]]{1,9}\])?,\s?){1,300}"
    r"(?i:[a-z][a-z0-9_.]{1,60}(?: ?\[[^\]]{1,9}\])?)\s*$",
    "topo": r".{0,80}\bGPU\d{1,3}\b.{1,2000}\bCPU Affinity",
    "nvlink": r".{0,80}\bGPU \d{1,4}: [^()]{1,80} \(UUID: GPU-",
    "dcgm_stats": r".{0,80}retrieved statistics for job|\s{0,9}\+-{10}",
    "box": r"\s{0,9}[|+][-=\s|+]|\s{0,9}\|.{0,300}\|\s*$",
    "nccl_tests": r".{0,20}#?\s{0,9}(?:nThread \d|(?:size|bytes)\s+(?:count|N)\s+type\b"
    r"|[nr]ccl-tests version|Collective test starting|Using devices|Out of bounds values)",
    "perftest": r"\s{0,9}#bytes\s|\s{0,9}-{40,}\s*$",
    "nvbandwidth": r".{0,80}\bnvbandwidth Version: |.{0,80}\b[Rr]unning [a-z]+_[a-z_]{3,80}\.",
    "prometheus": r"#\s?(?:HELP|TYPE)\s|[a-zA-Z_:][a-zA-Z0-9_:]{0,200}\s?\{[^{}]{0,4000}\}\s",
    "json": r'\s{0,9}\{\s{0,9}["\']',
    "command": r"(?:.{0,80}[$#>%]\s)?(?:nvidia-smi|dcgmi|nvbandwidth|ib_\w{1,20}|curl|srun|mpirun"
    r"|\S{1,80}_perf)\s{1,9}(?:-|\w)",
    "ncu": r'==(?:PROF|ERROR|WARNING)==|"ID","',
}
_BEGINNING = re.compile("|".join(f"(?P<{name}>{text})" for name, text in _BEGINNINGS.items()))
_ONE_LINE = re.compile(
    r"\bNCCL (?:INFO|WARN|TRACE|ERROR|version)\b"
    r"|\biteration\s{1,9}\d{1,9}\s?/\s{0,9}\d|\bsteps?[:=\s]{1,3}\d{1,9}\b|\bloss['\":=\s]"
    r"|\b(?:DEBUG|INFO|WARNING|ERROR)\b|\|\s*\d{1,9}/\d{1,9}\s*\[|%\|",
    re.IGNORECASE,
)
# Rows of tables that a job prints while telemetry runs beside it: of nccl-tests two counts and a
# type, of perftest (bandwidth) two counts, two speeds and a rate of six decimals.
_ROW = re.compile(
    r"\s{0,40}\d{1,20}\s{1,40}\d{1,20}\s{1,40}"
    r"(?:[a-z][a-z0-9_]{2,11}\s|\d{1,9}\.\d{2,6}\s{1,40}\d{1,9}\.\d{2,6}\s{1,40}\d{1,9}\.\d{6}\s*$)"
)
_LONGEST = 4096  # characters of a line that are looked at


def begins_other(line: str, own: str) -> bool:
    """Whether a block of another format than ``own`` begins with the line."""
    found = _BEGINNING.match(line[:_LONGEST])
    return bool(found) and found.lastgroup != own  # type: ignore[union-attr]


def is_of_other(line: str) -> bool:
    """Whether a line is another format's that stands alone: a training step, NCCL's or a log's
    own message."""
    return bool(_ONE_LINE.search(line[:_LONGEST]))


def is_row_of_other(line: str) -> bool:
    """Whether a line is a row of nccl-tests or perftest, wherever its header stood."""
    return "." in line and bool(_ROW.match(line[:_LONGEST]))


@dataclass
class Strays:
    """Lines below a header that are no rows, held until it shows whether the table goes on."""

    reason: str = "a line in the table that is none of its rows"
    count: int = 0
    number: int = 0
    quoted: str = ""

    def hold(self, number: int, line: str) -> None:
        """Takes a line of which nobody knows yet whose it is."""
        if not self.count:
            self.number, self.quoted = number, line
        self.count += 1

    def tell(self, skipped: Skipped) -> None:
        """The table goes on: what was held stands within it."""
        if self.count:
            skipped.add(self.reason, self.number, self.quoted, self.count)
            self.count = 0

    def drop(self) -> None:
        """The table is over: what was held came after it."""
        self.count = 0
