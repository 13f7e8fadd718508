"""Steps as Megatron-LM prints them, and what grew out of it.

Megatron-DeepSpeed, AMD's Primus and Megatron-Bridge print the same line with keys of their own:
``iteration 100/ 5000 | key: value | key: value |``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from pipeline.readers.training_entry import (
    GIBI,
    MEBI,
    MILLI_NS,
    NUMBER,
    SECOND_NS,
    TERA,
    Entry,
    Quoted,
    Unreadable,
    clock_of,
    count,
    decimal,
    duration,
    is_quoted,
    loss,
    magnitude,
    ratio,
    scaled,
)
from pipeline.readers.training_lines import Line

ITERATION = re.compile(r"(?<![\w.])iteration\s{1,16}(\d{1,15})\s{0,8}/\s{0,12}(\d{1,15})\s{0,4}\|")
ELAPSED = "elapsed time per iteration ("
_MEMORY = re.compile(
    r"\(?after (\d{1,15}) iterations\)? memory \(MB\) \|.{0,80}?"
    r"\| max allocated: (\d{1,12}(?:\.\d{1,20})?) \|"
)
_VALIDATION = re.compile(
    rf"(?<![\w.])validation loss at iteration (\d{{1,15}})(?: on validation set)? \|"
    rf" lm loss value: ({NUMBER}|nan|-?inf) \|"
)
_STEP_TIME = re.compile(
    r"Step Time ?: (\d{1,9}(?:\.\d{1,6})?)s\b.{0,60}?GPU utilization: "
    r"(\d{1,9}(?:\.\d{1,6})?) ?MODEL_TFLOP/s/GPU"
)
# The same two, whatever their numbers.
_LIKE_STEP_TIME = re.compile(
    r"Step Time ?: [^\s{}]{1,24}s?\b.{0,60}?GPU utilization|Step Time ?: \d"
)
_LIKE_VALIDATION = re.compile(r"(?<![\w.])validation loss at iteration [^\s{}]{1,16} ")
_NO_STEP_TIME = "a step time that breaks off"
_NO_VALIDATION = "a validation loss that breaks off, or of another set"
# nemo-run and torchx put role/replica before each line.
_ROLE = re.compile(r"\S{1,80}/\d{1,6}(?:\s|$)")
# The shape of a step, whatever its numbers.
_LOOKS = re.compile(
    rf"(?<![\w.])iteration\s{{1,16}}[^\s{{}}|]{{1,24}}.{{0,40}}?\|.{{0,400}}?{re.escape(ELAPSED)}m?s\):"
)
_LINES_OF_A_STEP = 8
_RANK = re.compile(r"\[rank-(\d{1,7})/\d{1,7}\]")
_FLOPS = (
    "throughput per gpu (tflop/s/gpu)",
    "throughput per gpu",
    "flop throughput (tflop/sec/gpu)",
    "model tflop/s/gpu",
    "tflops",
)
_TOKENS = (
    "tokens per gpu (tokens/s/gpu)",
    "tokens per gpu per second (tgs)",
    "tokens/sec/gpu",
    "tokens/s/gpu",
    "token throughput (token/sec/gpu)",
)
_RATIOS = {
    "learning rate": "learning_rate",
    "grad norm": "grad_norm",
}
_MAGNITUDES = {
    "samples per second": "samples_per_s",
    "energy per gpu (j/iter/gpu)": "energy_j",
    "power per gpu (w/gpu)": "power_w",
}
_COUNTS = {
    "consumed samples": "consumed_sample_count",
    "consumed tokens": "consumed_token_count",
    "global batch size": "global_batch_size",
    "number of skipped iterations": "skipped_count",
    "number of nan iterations": "nan_count",
}
# Megatron-DeepSpeed of 2021 wrote it with a hyphen.
_LOSSES = ("lm loss", "lm-loss", "loss")
_OTHER = (
    *_LOSSES[:2],
    "loss scale",
    "num zeros",
    "params norm",
    "skipped samples",
    "actual seqlen",
)
_KNOWN = frozenset((*_FLOPS, *_TOKENS, *_RATIOS, *_MAGNITUDES, *_COUNTS, *_OTHER))


class Megatron:
    """Reads the iteration lines, and the memory and step time lines that belong to them."""

    NEEDLES = (b"iteration ", b"Step Time", b"memory (MB)")

    def __init__(self) -> None:
        self._step_time: tuple[Decimal, str] | None = None
        self._waiting: tuple[int, str] | None = None  # the line of that time, and its text
        self._joined_to = 0  # the last line that went into the step before

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line
        if b"memory (MB)" in line.needles and (found := _MEMORY.search(text)):
            values = {"memory_bytes": scaled(found[2], MEBI), "memory_kind": "max_allocated"}
            step = int(found[1])
            yield Entry("megatron", line, step, found[0], values, is_supplement=True)
        elif b"Step Time" in line.needles and (found := _STEP_TIME.search(text)):
            # Megatron-Bridge prints it just before the line of its iteration.
            waiting, self._step_time = self._step_time, (Decimal(found[1]), found[2])
            self._waiting = line.number, found[0]
            if waiting:
                raise Unreadable("a step time without its iteration before it")
        elif b"Step Time" in line.needles and (looks := _LIKE_STEP_TIME.search(text)):
            raise Quoted if is_quoted(text[: looks.start()]) else Unreadable(_NO_STEP_TIME)
        elif (
            "validation loss" in text
            and (found := _VALIDATION.search(text))
            and not is_quoted(text[: found.start()])
        ):
            clock = clock_of(line, text[: found.start()])
            step, values = int(found[1]), loss(found[2])
            yield Entry("megatron", line, step, found[0], values, kind="validation", clock=clock)
        elif looks := _LIKE_VALIDATION.search(text):
            raise Quoted if is_quoted(text[: looks.start()]) else Unreadable(_NO_VALIDATION)
        anchors = [
            found
            for found in ITERATION.finditer(text)
            # NeMo 2: Training epoch 0, iteration 45/99 | ...
            if not text[max(0, found.start() - 8) : found.start()].rstrip().endswith(",")
        ]
        if not anchors and line.number > self._joined_to and (looks := _LOOKS.search(text)):
            raise (
                Quoted
                if is_quoted(text[: looks.start()])
                else Unreadable("a step without its number")
            )
        for at, anchor in enumerate(anchors):
            end = anchors[at + 1].start() if at + 1 < len(anchors) else None
            before = text[: anchor.start()] if at == 0 else ""
            own = text[anchor.start() : end]
            if at == 0 and is_quoted(before):
                if ELAPSED in own:
                    raise Quoted
                continue
            if end is None:
                own, joined = _whole(own, line)
                self._joined_to = line.number + joined
            if ELAPSED in own:
                yield self._entry(line, before, anchor, own)
            elif any(map(_is_known, _names(own[anchor.end() - anchor.start() :]))):
                raise Unreadable("a step that breaks off")

    def rest(self) -> Iterator[tuple[str, int, str]]:
        """What waits still at the end of the log: reason, line and text."""
        if self._step_time and self._waiting:
            yield "a step time without its iteration after it", *self._waiting

    def _entry(self, line: Line, before: str, anchor: re.Match[str], own: str) -> Entry:
        fields = _fields(own[anchor.end() - anchor.start() :])
        values = _values(fields)
        notes: list[str] = []
        waiting, self._step_time = self._step_time, None
        if waiting and "reported_flops_per_s_per_gpu" not in values:
            seconds, flops = waiting
            # Both are of one clock, this one printed with two decimals.
            if abs(int(seconds * SECOND_NS) - int(str(values["step_ns"]))) <= 6 * MILLI_NS:
                values["reported_flops_per_s_per_gpu"] = ratio(flops, TERA)
            else:
                notes.append("a step time that is not that of the iteration after it")
        rank = _RANK.search(before)
        return Entry(
            "megatron",
            line,
            int(anchor[1]),
            own.rstrip(),
            values,
            last_step=int(anchor[2]),
            clock=clock_of(line, before),
            rank=int(rank[1]) if rank else None,
            notes=notes,
        )


def _whole(own: str, line: Line) -> tuple[str, int]:
    """The line of an iteration, joined where a console broke it over several; how many more."""
    following = ((at, text) for at, text in enumerate(line.following(), 1) if text.strip())
    joined = 0
    for _ in range(_LINES_OF_A_STEP):
        if "number of nan iterations:" in own and own.rstrip().endswith("|"):
            break
        at, text = next(following, (0, ""))
        more = _without_role(text)
        if ITERATION.search(more) or "|" not in more:
            break
        # A field may be broken in itself; else what follows must be fields of a step.
        if own.rstrip().endswith("|") and not any(map(_is_known, _names(more))):
            break
        own, joined = f"{own.rstrip()} {more.strip()}", at
    name = own.rpartition("|")[2].partition(":")[0].strip().lower()
    if name and any(known.startswith(name) for known in (*_KNOWN, ELAPSED)):
        raise Unreadable("a step that breaks off")
    return own, joined


def _is_known(name: str) -> bool:
    return name in _KNOWN or name.startswith(ELAPSED)


@lru_cache(4096)
def _named(printed: str) -> tuple[str, bool]:
    """A key in lower case, and whether it is known: the same few in each line."""
    name = " ".join(printed.split()).lower()
    return name, _is_known(name)


def _without_role(text: str) -> str:
    role = _ROLE.match(text.lstrip())
    return text.lstrip()[role.end() :] if role else text


def _names(text: str) -> Iterator[str]:
    for part in text.split("|")[:-1]:
        yield part.partition(":")[0].strip().lower()


def _fields(text: str) -> dict[str, str]:
    """Keys in lower case and their values; what is not closed by a bar is no value."""
    fields: dict[str, str] = {}
    for part in text.split("|")[:-1]:
        printed, colon, value = part.partition(":")
        if not colon:  # 2019: learning rate 1.500E-04
            printed, _, value = part.rstrip().rpartition(" ")
        name, is_known = _named(printed)
        if is_known and name in fields:
            raise Unreadable("a step that says a thing twice")
        fields.setdefault(name, value.strip())
    return fields


def _own(value: str) -> str:
    """The step's own value of Primus' pairs of it and a running average, ``13100.0/13240.9``."""
    return value.partition("/")[0]


def _values(fields: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for unit, in_ns in (("ms", MILLI_NS), ("s", SECOND_NS)):  # BLOOM's fork prints seconds
        if (value := fields.get(f"{ELAPSED}{unit})")) is not None:
            values["step_ns"] = duration(_own(value), in_ns)
    if "step_ns" not in values:
        raise Unreadable("a step that breaks off")
    for name in _FLOPS:
        if name in fields:
            values["reported_flops_per_s_per_gpu"] = magnitude(_own(fields[name]), TERA)
            break
    for name in _TOKENS:
        if name in fields:
            values["tokens_per_s_per_gpu"] = magnitude(_own(fields[name]))
            break
    for name, column in _RATIOS.items():
        if name in fields:
            values[column] = ratio(fields[name])
    for name, column in _MAGNITUDES.items():
        if name in fields:
            values[column] = magnitude(fields[name])
    for name, column in _COUNTS.items():
        if name in fields:
            values[column] = count(fields[name])
    for name in _LOSSES:
        if name in fields:
            return values | loss(fields[name]) | _memory(fields)
    return values | _memory(fields)


def _memory(fields: dict[str, str]) -> dict[str, object]:
    """Primus: ``hip mem usage/free/total/usage_ratio: 253.38GB/2.60GB/255.98GB/98.98%``."""
    used = _own(fields.get("hip mem usage/free/total/usage_ratio", ""))
    if not used.endswith("GB") or decimal(used.removesuffix("GB")) is None:
        return {}
    return {"memory_bytes": scaled(used.removesuffix("GB"), GIBI), "memory_kind": "device_used"}
