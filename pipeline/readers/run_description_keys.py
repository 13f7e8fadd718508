"""The keys of ``run.toml`` and what each of them may hold."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

# Says what is wrong with a value, or None.
Check = Callable[[Any], str | None]

_LARGEST = 1 << 53  # the largest number up to which a double has every integer
_OFFSET = re.compile(r"[+-](?:0\d|1[0-4]):[0-5]\d")


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be text in quotes"
    return None if value.strip() else "must not be empty"


def _count(value: Any) -> str | None:
    """A whole number of 1 or more; 7e9 is one too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a whole number"
    if isinstance(value, float) and not value.is_integer():
        return "must be a whole number"
    return None if 1 <= value <= _LARGEST else "must be 1 or more, and less than 2^53"


def _amount(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    is_fine = isinstance(value, float | int) and math.isfinite(value) and 0 < value <= _LARGEST
    return None if is_fine else "must be more than 0"


def _pue(value: Any) -> str | None:
    return _amount(value) or (None if value >= 1 else "must be 1 or more")


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _moment(value: Any) -> str | None:
    try:
        if isinstance(value, datetime) and value.astimezone(UTC):
            return None
    except OverflowError:  # before the year 1, or after 9999, in UTC
        pass
    return "must be a date and time without quotes, e.g. 2026-03-02T08:00:00Z"


def _offset(value: Any) -> str | None:
    is_fine = isinstance(value, str) and _OFFSET.fullmatch(value)
    return None if is_fine else 'must be hours and minutes from UTC in quotes, e.g. "+01:00"'


def _version(value: Any) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "must be text in quotes: 12.10 without them is 12.1"
    return _text(value)


def _texts(value: Any) -> str | None:
    is_fine = isinstance(value, list) and value and not any(_text(one) for one in value)
    return None if is_fine else "must be a list of texts in quotes"


def _pattern(value: Any) -> str | None:
    fault = _text(value)
    if fault:
        return fault
    import duckdb

    try:
        duckdb.connect().execute("SELECT regexp_matches('', ?)", [value])  # where it is used
    except duckdb.Error:
        return "must be a regular expression (RE2)"
    return None


def _one_of(*choices: str | int) -> Check:
    def check(value: Any) -> str | None:
        is_fine = not isinstance(value, bool) and value in choices
        listed = ", ".join(f'"{c}"' if isinstance(c, str) else str(c) for c in choices)
        return None if is_fine else f"must be one of {listed}"

    return check


SECTIONS: dict[str, dict[str, Check]] = {
    "run": {"name": _text, "series": _text, "start": _moment, "notes": _text},
    "model": {
        "name": _text,
        "parameters": _count,
        "active_parameters": _count,
        "layers": _count,
        "hidden_size": _count,
        "ffn_hidden_size": _count,
        "attention_heads": _count,
        "kv_heads": _count,
        "head_size": _count,
        "sequence_length": _count,
        "vocab_size": _count,
        "experts": _count,
        "experts_per_token": _count,
        "lora_rank": _count,
    },
    "training": {
        "global_batch_size": _count,
        "micro_batch_size": _count,
        "gradient_accumulation": _count,
        "precision": _text,
        "optimizer": _text,
        "recomputation": _one_of("none", "selective", "full"),
        "flash_attention": _flag,
    },
    "steps": {"pattern": _pattern},
    "parallelism": {
        "data": _count,
        "tensor": _count,
        "pipeline": _count,
        "expert": _count,
        "context": _count,
        "world_size": _count,
        "zero_stage": _one_of(0, 1, 2, 3),
    },
    "hardware": {
        "gpu": _text,
        "gpu_count": _count,
        "gpus_per_host": _count,
        "host_count": _count,
        "interconnect": _text,
        "link": _text,
        "nic_count": _count,
    },
    "versions": {
        "driver": _version,
        "cuda": _version,
        "nccl": _version,
        "framework": _version,
        "commit": _version,
    },
    "cost": {
        "price_per_gpu_hour": _amount,
        "price_per_kwh": _amount,
        "currency": _text,
        "pue": _pue,
    },
    "telemetry": {"utc_offset": _offset, "sample_interval_s": _amount},
    "baseline": {"run": _text},
}
# A section of the user's own names, each with a text.
FREE_SECTION = "versions"
HOST_KEYS: dict[str, Check] = {
    "rack": _text,
    "power_domain": _text,
    "switch": _text,
    "addresses": _texts,
}


def fault_of(section: str, key: str, value: Any) -> str | None:
    """What is wrong with a key of a section, or None."""
    known = HOST_KEYS if section == "hosts" else SECTIONS[section]
    check = known.get(key, _version if section == FREE_SECTION else None)
    if check is None:
        return unknown(key, section)
    problem = check(value)
    return f"'{key}' {problem}" if problem else None


def unknown(key: str, section: str) -> str:
    """That a key is not known, with the nearest that is, or the section it belongs to."""
    if not section:
        known = [*SECTIONS, "hosts"]
    else:
        known = list(HOST_KEYS if section == "hosts" else SECTIONS[section])
    homes = [name for name, keys in SECTIONS.items() if key in keys and name != section]
    if homes:
        return f"unknown key '{key}', it belongs in [{homes[0]}]"
    near = difflib.get_close_matches(key.lower(), known, 1, 0.5)
    if near:
        return f"unknown key '{key}', did you mean '{near[0]}'?"
    if section:
        elsewhere = {k: name for name, keys in SECTIONS.items() for k in keys}
        near = difflib.get_close_matches(key.lower(), list(elsewhere), 1, 0.75)
        if near:
            return f"unknown key '{key}', did you mean '{near[0]}' in [{elsewhere[near[0]]}]?"
    return f"unknown key '{key}', known are {', '.join(known)}"
