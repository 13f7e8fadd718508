"""Steps as torchtitan prints them.

``step: 10  loss: 10.7069  memory: 30.99GiB(32.62%)  tps: 7,034  tflops: 407.35  mfu: 41.19%``;
2024 said wps for tps. Tokens per second are one device's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.readers.training_entry import (
    GIBI,
    NUMBER,
    TERA,
    Entry,
    Quoted,
    Unreadable,
    clock_of,
    decimal,
    is_quoted,
    loss,
    magnitude,
    ratio,
    scaled,
)
from pipeline.readers.training_lines import Line

_STEP = re.compile(
    rf"(?<![\w{{])(?P<validate>validate )?step:\s{{0,12}}(?P<step>\d{{1,12}})\s{{1,8}}"
    rf"loss:\s{{0,12}}(?P<loss>{NUMBER}|-?inf|nan)(?=\s)"
)
# The shape of a step, whatever its numbers: two of its fields after the loss, or one cut.
_LOOKS = re.compile(
    r"(?<![\w{])(?:validate )?step:\s{0,12}[^\s{}]{1,24}\s{1,8}loss:\s{0,12}[^\s{}]{1,40}\s"
    r".{0,80}?(?:memory|tps|wps|mfu):"
)
_FIELD = re.compile(r"\s{0,8}(\w{1,40}):\s{0,12}([^\s:]{1,40})(?=\s|$)")
_MEMORY = re.compile(rf"({NUMBER})GiB\([^)]{{1,12}}\)")


class TorchTitan:
    """Reads training and validation steps."""

    NEEDLES = (b"step:",)

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line
        looks = _LOOKS.search(text)
        if not looks:
            return
        if is_quoted(text[: looks.start()]):
            raise Quoted
        found = _STEP.match(text, looks.start())
        if not found:
            raise Unreadable("a step whose number or loss is none")
        before = text[: found.start()]
        fields: dict[str, str] = {}
        at = found.end()
        while field := _FIELD.match(text, at):
            # A colour whose escape was stripped but for its m: mmemory.
            fields["memory" if field[1] == "mmemory" else field[1]] = field[2]
            at = field.end()
        if text[at:].strip() or not ("tps" in fields or "wps" in fields):
            raise Unreadable("a step that breaks off")
        if line.is_torn and not text.rstrip().endswith(("%", "N/A")):
            raise Unreadable("a step that breaks off")
        is_validation = found["validate"] is not None
        yield Entry(
            "torchtitan",
            line,
            int(found["step"]),
            text[found.start() :].rstrip(),
            loss(found["loss"]) | _values(fields),
            kind="validation" if is_validation else "step",
            clock=clock_of(line, before),
        )


def _values(fields: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    values["tokens_per_s_per_gpu"] = magnitude(fields.get("tps") or fields["wps"])
    if "grad_norm" in fields:
        values["grad_norm"] = ratio(fields["grad_norm"])
    if "lr" in fields:
        values["learning_rate"] = ratio(fields["lr"])
    if "tflops" in fields:
        values["reported_flops_per_s_per_gpu"] = magnitude(fields["tflops"], TERA)
    # N/A with FP8 and MX, for which its peak does not hold.
    if (share := fields.get("mfu")) and share != "N/A":
        if not share.endswith("%") or decimal(share[:-1]) is None:
            raise Unreadable("no number where one is expected")
        values["reported_mfu_share"] = magnitude(share[:-1], 0.01)
    if "memory" in fields:
        memory = _MEMORY.fullmatch(fields["memory"])
        if memory is None:
            raise Unreadable("no number where one is expected")
        values["memory_bytes"] = scaled(memory[1], GIBI)
        values["memory_kind"] = "max_reserved"
    return values
