"""Reports of Nsight Compute (.ncu-rep), read by NVIDIA's own library where it is installed.

The library says nothing of processes, hosts and times, and takes a cut file for a shorter one.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from pipeline.readers.ncu_kernels import LAUNCH_METRICS, Row
from pipeline.readers.ncu_names import unit_of
from pipeline.readers.record import Facts, Issue, Part, Recording, Refused, row_batches
from pipeline.readers.text import rank_in_name

FORMAT = "ncu-rep"
_MAGIC = b"NVR\0"
_LIBRARY = "ncu_report"
_SECONDS = 1800
_VERSION = re.compile(rb"20\d\d\.\d+\.\d+\.\d+(?= \(build \d+\))")
_LINK = re.compile(r"@(section|url|sass|source):([^@]*)@")
_CSV = "print it with 'ncu --import {name} --csv --page raw > {stem}.csv' and ingest that"


def is_report(head: bytes) -> bool:
    """Whether a file that begins so is a report."""
    return head.startswith(_MAGIC)


def read(path: Path, name: str) -> Recording:
    """The recording of a report. Raises :class:`~pipeline.readers.record.Refused` where the
    package is missing."""
    own_name = Path(name).name
    csv = _CSV.format(name=own_name, stem=own_name.removesuffix(".ncu-rep"))
    if importlib.util.find_spec(_LIBRARY) is None:
        raise Refused(
            "a report of Nsight Compute; reading it needs the optional package ncu-report",
            f"pip install 'tracelake[ncu-rep]', or {csv}",
        )
    return _Report(path, name, csv).recording


def producer(path: Path) -> str | None:
    """Version of the ncu that profiled, None where the report (2019) does not have it."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = _VERSION.search(data)
        return found[0].decode() if found else None


def plain_text(text: str | None) -> str | None:
    """A rule's text with its links written out."""

    def written(link: re.Match[str]) -> str:
        # source:<file>:<line>:<text>; the address of a url has colons of its own.
        if link[1] == "url":
            shown, _, address = link[2].partition(":")
            return f"{shown} ({address})"
        return link[2].rpartition(":")[2]

    return _LINK.sub(written, text) if text else None


class _Report:
    def __init__(self, path: Path, name: str, csv: str) -> None:
        self._path = path
        self._csv = csv
        self._kernels: list[Row] = []
        self._rules: list[Row] = []
        self._assumed = 0
        self._others = 0
        self._library = ""
        self._has_end = False
        facts = Facts(FORMAT, rank=rank_in_name(name), capture_version=producer(path))
        facts.status_reason = "ncu-report does not tell a cut report from a shorter one"
        self.recording = Recording(
            facts,
            [Part("kernel_metric", lambda: row_batches("kernel_metric", self._metrics()))],
            [
                Part("kernel_profile", lambda: row_batches("kernel_profile", self._kernels)),
                Part("kernel_rule", lambda: row_batches("kernel_rule", self._rules)),
            ],
        )

    def _metrics(self) -> Iterator[Row]:
        program = Path(__file__).with_name("ncu_rep_dump.py")
        # -P: the folder of this package must not hide the library's module.
        command = [sys.executable, "-P", str(program), str(self._path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        ) as process:
            alarm = threading.Timer(_SECONDS, process.kill)
            alarm.start()
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    yield from self._line(line)
            finally:
                alarm.cancel()
                process.kill()
        self._conclude()

    def _line(self, line: bytes) -> Iterator[Row]:
        try:
            said = json.loads(line)
        except ValueError:
            return  # cut by the end of the process
        if "metrics" in said:
            yield from self._kernel(said)
        self._library = said.get("library", self._library)
        self._has_end = self._has_end or bool(said.get("is_end"))

    def _kernel(self, said: dict[str, object]) -> Iterator[Row]:
        number = len(self._kernels)
        metrics = said["metrics"]
        assert isinstance(metrics, list)
        kernel: Row = {"kernel_id": number, "ncu_id": number, "name": said["name"]}
        kernel["nvtx"] = "/".join(said["nvtx"]) or None  # type: ignore[arg-type]
        kernel["ncu_version"] = self.recording.facts.capture_version
        self._others += not said["is_kernel"]
        values: dict[str, float] = {}
        for name, printed, value, text in metrics:
            unit, power, is_assumed, unknown = unit_of(name, printed)
            if unknown and value is not None:  # no number in a base unit
                value, text = None, f"{value!r} {unknown}"
            has_value = value is not None
            self._assumed += is_assumed and has_value
            if has_value:
                values[name] = value
            yield {
                "kernel_id": number,
                "metric": name,
                "value": float(value) * 10.0**power if has_value else None,
                "unit": unit if has_value or not is_assumed else None,
                "is_unit_assumed": is_assumed and has_value,
                "text": text or None,
            }
        self._kernels.append(kernel | _launch(values))
        for rule in said["rules"]:  # type: ignore[attr-defined]
            if not rule["rule"]:
                continue
            share = rule.pop("speedup")
            rule |= {"kernel_id": number, "text": plain_text(rule["text"])}
            self._rules.append(rule | {"speedup_share": None if share is None else share / 100})

    def _conclude(self) -> None:
        recording = self.recording
        if not self._kernels:
            recording.refusal = Refused(
                "a report without a kernel that ncu-report can read: broken, or cut", self._csv
            )
            return
        if not self._has_end:
            recording.facts.status = "incomplete"
            recording.facts.status_reason = "ncu-report ended before the report did"
            recording.report(Issue("warning", "", recording.facts.status_reason, self._csv))
        if self._assumed:
            problem = "no units in the report; base units taken from the table ncu_metric"
            recording.report(Issue("note", "", problem, "", self._assumed))
        if self._others:
            problem = "results of ranges or graphs, not of single kernels"
            recording.report(Issue("note", "", problem, "", self._others))
        made, own = recording.facts.capture_version, _release(self._library)
        if made and own and _release(made) > own:
            problem = f"made by ncu {made}, newer than the ncu-report that read it"
            recording.report(Issue("warning", "", problem, "pip install -U ncu-report"))


def _release(version: str) -> tuple[int, ...]:
    found = re.match(r"(\d{4})\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else ()


def _launch(values: dict[str, float]) -> Row:
    """What the launch metrics say of a kernel."""
    row: Row = {
        column: int(values[metric])
        for metric, column in LAUNCH_METRICS.items()
        if metric in values and 0 <= values[metric] < 1 << 53
    }
    row["device_id"] = row.get("device_id") if row.get("device_id", -1) in range(1 << 31) else None
    major, minor = (
        values.get(f"device__attribute_compute_capability_{part}") for part in ("major", "minor")
    )
    if major is not None and minor is not None:
        row["compute_capability"] = f"{major:.0f}.{minor:.0f}"
    return row
