"""Options that several commands of the command line share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.errors import UserError

DEFAULT_STORE = "tracelake_store"

Command = TypeVar("Command", bound=Callable[..., Any])


def store_option(command: Command) -> Command:
    return click.option(
        "--store",
        "store_path",
        type=click.Path(path_type=Path),
        envvar="TRACELAKE_STORE",
        default=DEFAULT_STORE,
        show_default=True,
        show_envvar=True,
        help="Folder of the store.",
    )(command)


def set_option(command: Command) -> Command:
    return click.option(
        "--set",
        "thresholds",
        multiple=True,
        metavar="NAME=VALUE",
        callback=lambda _ctx, _param, texts: _thresholds(texts),
        help="Override a threshold, as tracelake.toml does; see 'tracelake query threshold'.",
    )(command)


def run_option(help_text: str) -> Callable[[Command], Command]:
    return click.option("--run", "runs", multiple=True, metavar="RUN", help=help_text)


def _thresholds(texts: Sequence[str]) -> dict[str, float]:
    """What tracelake.toml sets, and over it what ``--set`` does."""
    from pipeline.settings import own_thresholds

    return {**own_thresholds(), **dict(_assignment(text) for text in texts)}


def _assignment(text: str) -> tuple[str, float]:
    from pipeline.settings import unknown

    name, equals, value = text.partition("=")
    try:
        number = float(value)
        if not equals or not name or not math.isfinite(number):
            raise ValueError
    except ValueError:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE with a number") from None
    if way_out := unknown(name):
        raise UserError(f"--set {name}", "no such threshold", way_out)
    return name, number
