"""The session page: which ncu profiled where, when and with which settings.

Its command line, addresses and users stay out of the store; of the command line only the
settings that numbers depend on are taken.
"""

from __future__ import annotations

import re
import shlex

from pipeline.readers.ncu_kernels import Row, local_ns

Session = dict[str, dict[str, str]]

_VERSION = re.compile(r"\d{4}\.\d+(?:\.\d+)*")
_SETTINGS = {
    "--clock-control": ("clock_control", ("base", "none", "boost")),
    "--cache-control": ("cache_control", ("all", "none")),
    "--replay-mode": ("replay_mode", ("kernel", "application", "range", "app-range")),
    "--set": ("metric_set", None),
}
# Options of ncu that take no value: what follows them may be the application.
_FLAGS = frozenset(
    (
        "-f",
        "--force-overwrite",
        "--nvtx",
        "--call-stack",
        "--csv",
        "--quiet",
        "--verbose",
        "--details-all",
        "--print-fp",
        "--open-in-ui",
        "--disable-extra-suffixes",
        "--list-sections",
        "--list-sets",
        "--list-rules",
        "--list-metrics",
    )
)


def session_row(session: Session) -> Row | None:
    """The row of ``profiler_session``; None for a page without its parts."""
    info = session.get("Session Attribute", {})
    launch = session.get("Launch Attribute", {})
    device = session.get("Device Attribute", {})
    if not info and not launch:
        return None
    version = _VERSION.match(info.get("Nsight Compute Target", ""))
    host = info.get("Target Name") or info.get("Host Name")
    return {
        "host": host,
        "tool_version": version[0] if version else None,
        "created_local_ns": local_ns(info.get("Created")),
        "cuda_version": info.get("CUDA Version"),
        "driver_version": info.get("Display Driver Version"),
        "gpu_name": device.get("display_name"),
        **settings(launch.get("Profiler Command Line", "")),
    }


def settings(command: str) -> Row:
    """ncu's own settings in its command line, up to the application."""
    found: Row = {column: None for column, _ in _SETTINGS.values()}
    try:
        words = shlex.split(command)[1:]
    except ValueError:  # quotes that were not printed
        words = command.split()[1:]
    while words and words[0].startswith("-"):
        name, has_value, value = words.pop(0).partition("=")
        if not has_value and name not in _FLAGS and words and not words[0].startswith("-"):
            value = words.pop(0)
        column, allowed = _SETTINGS.get(name, ("", None))
        is_word = re.fullmatch(r"[\w.-]{1,40}", value)
        if column and found[column] is None and is_word and (not allowed or value in allowed):
            found[column] = value
    return found
