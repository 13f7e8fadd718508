"""Steps as Hugging Face's Trainer prints them: dicts, without their step unless asked to.

The step is then that of the progress bar which is redrawn right after the dict, if it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from pipeline.readers.training_entry import (
    NUMBER,
    SECOND_NS,
    Entry,
    Unreadable,
    clock_of,
    count,
    duration,
    loss,
    magnitude,
    ratio,
)
from pipeline.readers.training_lines import Line

# Trainer 5 quotes its numbers; NumPy 2 shows its types; before 4 the dicts were JSON.
_VALUE = rf"np\.float\d\d\((?:{NUMBER}|nan|-?inf)\)|"
_VALUE += rf"'(?:{NUMBER}|nan|-?inf)'|{NUMBER}|nan|NaN|-?inf|-?Infinity|None|null|True|False"
_PAIR = re.compile(
    rf"""\s{{0,4}}(['"])([\w/@.\- ]{{1,80}})\1:\s{{0,4}}({_VALUE})\s{{0,4}}(,|\}})"""
)
_TYPE = re.compile(r"np\.float\d\d\(")
_BEGIN = re.compile(r"""\{['"](?:loss|train_runtime|eval_\w{1,60})['"]: """)
_BAR = re.compile(r"\d{1,3}%\|[^|]{0,400}\|\s{0,4}(\d{1,12})/(\d{1,12}) \[")
# The shape of a step, whatever its numbers: {'loss': .., 'learning_rate' or 'epoch' or more.
_LOOKS = re.compile(
    r"""\{['"](?:loss|train_runtime|eval_\w{1,60})['"]: (?!['"][A-Za-z])[^,{}]{0,40},"""
    r""".{0,600}['"](?:learning_rate|epoch|train_\w{1,60}|eval_\w{1,60})['"]"""
)
_LINES_AFTER = 3


class HfTrainer:
    """Reads training, evaluation and closing dicts."""

    NEEDLES = (b"{'loss'", b"{'train_runtime'", b"{'eval_", b'{"loss"')

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line
        found = _BEGIN.search(text)
        # A progress bar may stand before it; code and prose are told by what does.
        if not found or not _may_precede(text[: found.start()]):
            return
        pairs = _pairs(text, found.start() + 1)
        if pairs is None:
            if line.is_torn or _LOOKS.match(text, found.start()):
                raise Unreadable("a step that breaks off")
            return
        if "epoch" not in pairs:
            if _LOOKS.match(text, found.start()):
                raise Unreadable("a step without its epoch")
            return
        step, last = _step(pairs, line)
        entry = Entry("hf_trainer", line, step, str(sorted(pairs.items())), {}, last_step=last)
        entry.clock = clock_of(line, text[: found.start()])
        if "loss" in pairs:
            entry.values = _of_step(pairs)
        elif "train_runtime" in pairs:
            entry.kind = "summary"
            entry.values = _of_summary(pairs)
            if last is not None:
                entry.values["step_count_averaged"] = last
        elif "eval_loss" in pairs:
            entry.kind = "validation"
            entry.values = loss(pairs["eval_loss"])
        else:
            raise Unreadable("an evaluation without its loss")
        yield entry


def _may_precede(before: str) -> bool:
    return not before.strip() or bool(_BAR.search(before)) or before.rstrip().endswith(("-", "]"))


def _pairs(text: str, at: int) -> dict[str, str] | None:
    """The numbers of a dict that begins at ``at``; None when it is no dict of numbers."""
    pairs: dict[str, str] = {}
    while found := _PAIR.match(text, at):
        pairs.setdefault(found[2], _TYPE.sub("", found[3]).strip("')"))
        at = found.end()
        if found[4] == "}":
            return pairs
    return None


def _step(pairs: dict[str, str], line: Line) -> tuple[int | None, int | None]:
    for following in islice((text for text in line.following() if text.strip()), _LINES_AFTER):
        if following.lstrip().startswith("{"):
            break
        if bar := _BAR.search(following):
            done, last = int(bar[1]), int(bar[2])
            if "step" in pairs and count(pairs["step"]) != done:
                break
            return (done, last) if done else (None, last)
    return (count(pairs["step"]) if "step" in pairs else None), None


def _of_step(pairs: dict[str, str]) -> dict[str, object]:
    values = loss(pairs["loss"])
    for name in ("learning_rate", "grad_norm"):
        if pairs.get(name, "None") not in ("None", "null"):
            values[name] = ratio(pairs[name])
    if "num_tokens" in pairs:
        values["consumed_token_count"] = count(pairs["num_tokens"])
    return values


def _of_summary(pairs: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {"train_time_ns": duration(pairs["train_runtime"], SECOND_NS)}
    if "train_loss" in pairs:
        values |= loss(pairs["train_loss"])
    for name, column in (
        ("train_samples_per_second", "samples_per_s"),
        ("train_tokens_per_second", "tokens_per_s"),
    ):
        if name in pairs:
            values[column] = magnitude(pairs[name])
    return values
