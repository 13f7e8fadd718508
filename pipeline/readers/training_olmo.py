"""Steps as OLMo's and Composer's console loggers print them: a header, then a value a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.readers.training_entry import (
    NUMBER,
    Entry,
    Quoted,
    Unreadable,
    clock_of,
    count,
    is_quoted,
    loss,
    ratio,
    scaled,
)
from pipeline.readers.training_lines import Line

_HEADER = re.compile(r"\[(?:step|batch)=(?P<step>\d{1,12})/(?P<last>\d{1,12})\]")
_RANK = re.compile(r"rank=(\d{1,8})\]")
_VALUE = re.compile(
    rf"\s{{1,20}}(?:Train )?([A-Za-z][\w/ ().\-]{{0,80}}?)\s?(?:=|: )({NUMBER}|nan|-?inf)\s*"
)
_LOSS = ("train/CrossEntropyLoss", "loss/train/total")
_RATIOS = {
    "throughput/tokens_per_sec": "tokens_per_s",
    "throughput/samples_per_sec": "samples_per_s",
    "optim/total_grad_norm": "grad_norm",
    "optim/learning_rate_group0": "learning_rate",
}
_TOTAL = "throughput/total_tokens"
_PEAK = "System/Peak GPU Memory (MB)"
_TOKENS = ("throughput/device/tokens_per_second", "throughput/device/tokens_per_sec")
_KNOWN = frozenset((*_LOSS, *_TOKENS, *_RATIOS, _TOTAL, _PEAK))
_MEGA = 10**6
_NAMED = re.compile(r"\s{1,20}(?:Train )?([A-Za-z][\w/ ().\-]{0,80}?)\s?(?:=|: )")


class Olmo:
    """Reads headers with the values below them."""

    NEEDLES = (b"[step=", b"[batch=")

    def entries(self, line: Line) -> Iterator[Entry]:
        text = line.printed.line
        found = _HEADER.search(text)
        if not found:
            return
        before = text[: found.start()]
        fields: dict[str, str] = {}
        for following in line.following():
            # Composer's other values, as strings and images, are none of ours.
            if not following[:1].isspace() or not following.strip() or "[" in following[:12]:
                break
            if value := _VALUE.fullmatch(following):
                fields.setdefault(value[1], value[2])
            elif (named := _NAMED.match(following)) and named[1] in _KNOWN:
                raise Unreadable("no number where one is expected")
        values = _values(fields)
        if not values and fields and not is_quoted(before):
            raise Unreadable("a step with none of the values that are known")
        if not values:
            return
        if is_quoted(before):
            raise Quoted
        rank = _RANK.search(before)
        yield Entry(
            "olmo",
            line,
            int(found["step"]),
            found[0] + str(sorted(fields.items())),
            values,
            last_step=int(found["last"]),
            clock=clock_of(line, before),
            rank=int(rank[1]) if rank else None,
        )


def _values(fields: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name in _LOSS:
        if name in fields:
            values |= loss(fields[name])
            break
    for name in _TOKENS:
        if name in fields:
            values["tokens_per_s_per_gpu"] = ratio(fields[name])
            break
    for name, column in _RATIOS.items():
        if name in fields:
            values[column] = ratio(fields[name])
    if _TOTAL in fields:
        values["consumed_token_count"] = count(fields[_TOTAL])
    if values and (peak := fields.get(_PEAK)):
        values |= {"memory_bytes": scaled(peak, _MEGA), "memory_kind": "max_allocated"}
    return values
