"""Steps as NeMo's loggers print them through PyTorch Lightning.

As a progress bar that rewrites its line, ``Epoch 0: 60%|..| 6024/10000 [.., global_step=6023.0]``,
or, since NeMo 2, as ``Training epoch 0, iteration 45/99 | lr: .. | global_step: 45 | ..``. The
global step counts from 0 in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.readers.training_entry import (
    SECOND_NS,
    TERA,
    Entry,
    Quoted,
    Unreadable,
    clock_of,
    count,
    duration,
    is_quoted,
    loss,
    magnitude,
    ratio,
)
from pipeline.readers.training_lines import Line

_BAR = re.compile(
    r"Epoch (?P<epoch>\d{1,9})(?:/\d{1,9})?: {0,4}(?::|(?=\d)).{0,400}?"
    r"(?<!\d)(?P<done>\d{1,12})(?:it|/(?P<all>\d{1,12}))"
    r" \[(?P<fields>[^\[\]]{1,2000})\]"
)
_LINE = re.compile(
    r"Training epoch (?P<epoch>\d{1,9}), iteration (?P<done>\d{1,12})/(?P<last>\d{1,12}) \|"
)
_LOOKS = re.compile(r"Training epoch [^\s{}]{1,16}, iteration [^\s{}]{1,24} \|")
# A value ends where the next field begins: a comma within it is no other field's.
_BAR_FIELD = re.compile(r"([\w /.\-]{1,80})=([^=\]]{0,40}?)(?=,[\w /.\-]{1,80}=|$)")
_CUT_AFTER = re.compile(r"[-+.,\w]{1,40}(?=[\s\[(]|$)")
_LINES_OF_A_STEP = 4
_STEP_TIME = "train_step_timing in s"
_ROLE = re.compile(r"\s{0,8}\S{1,80}/\d{1,6}(?:\s|$)")


class Lightning:
    """Reads both forms."""

    NEEDLES = (b"global_step=", b"Training epoch ")

    def __init__(self) -> None:
        self._exact: tuple[str, int] | None = None  # an epoch, and its steps - batches

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line
        if found := _last_bar(text):
            fields = {
                name.strip(): value.strip() for name, value in _BAR_FIELD.findall(found["fields"])
            }
            if is_quoted(text[max(0, found.start() - 3) : found.start()]):
                raise Quoted
            if "global_step" in fields:
                yield self._of_bar(line, text, found, fields)
        elif f"{_STEP_TIME}=" in text and "Epoch " in text:
            raise Unreadable("a step that breaks off")
        elif (looks := _LOOKS.search(text)) and not _LINE.match(text, looks.start()):
            raise (
                Quoted
                if is_quoted(text[: looks.start()])
                else Unreadable("a step without its number")
            )
        elif found := _LINE.search(text):
            before = text[: found.start()]
            if is_quoted(before):
                raise Quoted
            yield _of_line(line, before, found, text[found.end() :])

    def _of_bar(self, line: Line, text: str, found: re.Match[str], fields: dict[str, str]) -> Entry:
        step, notes = self._step(found, fields["global_step"])
        values = _values(fields)
        if "e" in fields.get("consumed_samples", "") and not notes:
            notes = ["counts rounded to three digits by the progress bar"]
        return Entry(
            "nemo",
            line,
            step,
            found["fields"],
            values | {"step_count_averaged": 1},
            last_step=int(found["all"]) - 1 if found["all"] and found["epoch"] == "0" else None,
            clock=clock_of(line, text[: found.start()]),
            is_update=True,
            notes=notes,
        )

    def _step(self, found: re.Match[str], printed: str) -> tuple[int, list[str]]:
        """The step of a bar, and notes. tqdm prints 1998.0 as 2e+3: then batches count on."""
        step, done = count(printed), int(found["done"])
        if "e" not in printed:
            self._exact = found["epoch"], step - done
            return step, []
        if self._exact and self._exact[0] == found["epoch"]:
            exact = done + self._exact[1]
            if exact >= 0 and float(f"{float(exact):.3g}") == float(step):
                return exact, []
        return step, ["counts rounded to three digits by the progress bar"]


def _last_bar(text: str) -> re.Match[str] | None:
    """The last whole update of a bar: several may be glued together, and the last one cut."""
    at = len(text)
    for _ in range(2):
        at = text.rfind("Epoch ", 0, max(0, text.rfind("global_step=", 0, at)))
        if at < 0:
            return None
        if found := _BAR.match(text, at):
            return found
    return None


def _of_line(line: Line, before: str, found: re.Match[str], rest: str) -> Entry:
    following = line.following()
    for _ in range(_LINES_OF_A_STEP):
        if "consumed_samples:" in rest:
            break
        more = next(following, "")
        rest = f"{rest.rstrip()} {_without_role(more).strip()}"
        if _LINE.search(more) or "|" not in more:
            raise Unreadable("a step that breaks off")
    if line.is_torn:
        raise Unreadable("a step that may be cut")
    fields: dict[str, str] = {}
    *parts, last = rest.split("|")
    for part in (*parts, last):
        name, colon, value = part.partition(":")
        if not colon:
            raise Unreadable("a step that breaks off")
        fields[name.strip()] = value.strip()
        # Another rank's text may be glued to the last value.
        if part is last:
            own = _CUT_AFTER.match(value.strip())
            fields[name.strip()] = own[0] if own else ""
    step = count(fields.get("global_step", found["done"]))
    return Entry(
        "nemo",
        line,
        step,
        rest.strip(),
        _values(fields) | {"step_count_averaged": 1},
        last_step=int(found["last"]),
        clock=clock_of(line, before),
    )


def _without_role(text: str) -> str:
    role = _ROLE.match(text)
    return text[role.end() :] if role else text


def _values(fields: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    if _STEP_TIME in fields:
        values["step_ns"] = duration(fields[_STEP_TIME], SECOND_NS)
    for name in ("reduced_train_loss", "train_loss"):
        if name in fields:
            values |= loss(fields[name])
            break
    for name, column, unit in (
        ("lr", "learning_rate", 1),
        ("grad_norm", "grad_norm", 1),
        ("TFLOPS_per_GPU", "reported_flops_per_s_per_gpu", TERA),
        ("tokens_per_sec_per_gpu", "tokens_per_s_per_gpu", 1),
    ):
        if name in fields:
            read = ratio if column in ("learning_rate", "grad_norm") else magnitude
            values[column] = read(fields[name], unit)
    for name, column in (
        ("consumed_samples", "consumed_sample_count"),
        ("global_batch_size", "global_batch_size"),
    ):
        if name in fields:
            values[column] = count(fields[name])
    # Not peak_memory_usage of older callbacks, which does not say what it is.
    if most := fields.get("max_memory_allocated"):
        values |= {"memory_bytes": count(most), "memory_kind": "max_allocated"}
    return values
