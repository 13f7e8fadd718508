"""Prometheus series of dcgm-exporter: which GPU and metric their name and labels tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pipeline.readers import telemetry
from pipeline.readers.gpu_identity import Devices, plain_bus_id, plain_uuid
from pipeline.readers.gpu_series import Series, SeriesTable
from pipeline.readers.record import Facts, Hints, Issue
from pipeline.readers.telemetry import Metric
from pipeline.readers.text import Skipped

# Numbers of what is no series of a GPU, below those of the series.
NOT_OF_GPUS, WITHOUT_GPU, WITHOUT_NAME = -1, -2, -3
_REASONS = {
    NOT_OF_GPUS: "samples of metrics that are not of GPUs, left out",
    WITHOUT_GPU: "samples that belong to no single GPU (aggregates, switches, hosts), left out",
    WITHOUT_NAME: "samples of expressions, which have no metric's name, left out",
}
# What MIG instances of a GPU share: DCGM has it of the GPU alone (entity level GPU in
# dcgm_fields.cpp 4.6), and dcgm-exporter repeats it for each of them.
_OF_THE_BOARD = re.compile(
    r"\w*clock_hz|\w*power(_limit)?_w|energy_j|\w*temperature_celsius|clock_event_\w+"
    r"|\w+_violation_ns|(max_)?pcie_link_(gen|width)|pcie_replay\w*"
)
_NAMES_SHOWN = 8

_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n"}


def parse_labels(text: str) -> dict[str, str] | None:
    """The labels between the braces of a series; None when the text is no list of labels."""
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _LABEL.match(text, at)
        if not found:
            return None if text[at:].strip() else labels
        value = found[2]
        if "\\" in value:
            value = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), value)
        labels[found[1]] = value
        at = found.end()
        if at < len(text):
            if text[at] != ",":
                return None
            at += 1
    return labels


@dataclass
class GpuLabels:
    """Turns names and labels into numbers of series, and notes what labels say of devices."""

    hints: Hints
    facts: Facts
    series: SeriesTable = field(default_factory=SeriesTable)
    devices: Devices = field(default_factory=Devices)
    left_out: Counter[int] = field(default_factory=Counter)
    # Samples that say NaN or Inf: no value.
    nan_count: int = 0
    _hosts: dict[str | None, None] = field(default_factory=dict)
    _names: dict[int, dict[str, None]] = field(default_factory=dict)
    _unknown: dict[str, None] = field(default_factory=dict)

    def number(self, name: str, labels: Mapping[str, str]) -> tuple[int, int]:
        """Series and field number; the first is negative for what is no series of a GPU."""
        code = self._kept(name, labels)
        if code is not None:
            self._names.setdefault(code, {})[name] = None
            return code, 0
        uuid = plain_uuid(labels.get("UUID") or labels.get("uuid") or "")
        bus_id = plain_bus_id(labels.get("pci_bus_id") or "")
        index = labels.get("gpu") or ""
        device_id = int(index) if re.fullmatch(r"[0-9]{1,4}", index) else None
        by_index = f"gpu:{index}" if index else None
        gpu_id = uuid or bus_id or by_index
        if gpu_id is None:
            self._names.setdefault(WITHOUT_GPU, {})[name] = None
            return WITHOUT_GPU, 0
        model = labels.get("modelName") or None
        self.devices.describe(gpu_id, device_id, name=model, uuid=uuid, bus_id=bus_id)
        if self.facts.tool_version is None:
            self.facts.tool_version = labels.get("DCGM_FI_DRIVER_VERSION") or None
        host = labels.get("Hostname") or labels.get("hostname") or self.hints.host
        self._hosts[host] = None
        self.facts.host = host if len(self._hosts) == 1 else None
        metric = _metric(name, labels)
        if not metric.is_known:
            self._unknown[name] = None
        entity, entity_id = _entity(metric, labels)
        own = Series(host, gpu_id, device_id, entity, entity_id, metric)
        return self.series.number(own), self.series.field(metric)

    def _kept(self, name: str, labels: Mapping[str, str]) -> int | None:
        """Why a series is left out; None when it is a GPU's."""
        if not name:
            return WITHOUT_NAME
        is_dcgm = name.upper().startswith("DCGM_")
        has_gpu = any(labels.get(label) for label in ("UUID", "uuid", "pci_bus_id", "gpu"))
        # An exporter of another make may have the label gpu too, with names and units of its own.
        if not is_dcgm:
            return NOT_OF_GPUS
        return WITHOUT_GPU if not has_gpu or labels.get("nvswitch") else None

    def are_absent(self, skipped: Skipped) -> bool:
        """Whether no sample is kept because GPUs measured nothing: no fault of the file."""
        reasons = set(self.series.reasons)
        return (
            not skipped.count and reasons <= {telemetry.BLANK} and bool(reasons or self.nan_count)
        )

    def why_none(self) -> str:
        """Which values cannot be true, as the end of a refusal; empty where none is so."""
        reasons = [reason for reason in self.series.reasons if reason != telemetry.BLANK]
        return f": {reasons[0]}" if reasons else ""

    def issues(self) -> list[Issue]:
        """What was left out or is doubtful, as notes."""
        found = []
        for code, count in sorted(self.left_out.items(), reverse=True):
            names = [name for name in self._names.get(code, {}) if name]
            problem = _REASONS[code] + (f": {_few(names)}" if names else "")
            found.append(Issue("note", "", problem, "", count))
        if self._unknown:
            problem = (
                f"metrics kept under their own names, in units not known: {_few(self._unknown)}"
            )
            found.append(Issue("note", "", problem, "", len(self._unknown)))
        if self.nan_count:
            found.append(Issue("note", "", "samples left out: NaN or Inf", "", self.nan_count))
        return found + self.series.issues()


def _few(names: Mapping[str, None] | list[str]) -> str:
    shown = list(names)
    more = len(shown) - _NAMES_SHOWN
    return ", ".join(shown[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _metric(name: str, labels: Mapping[str, str]) -> Metric:
    metric = telemetry.by_exporter_name(name)
    # dcgm-exporter's own counters have a series per XID and per reason: not the same series.
    for label, prefix in (("xid", "xid_"), ("clock_event", "clock_event_")):
        which = re.sub(r"[^a-z0-9]+", "_", labels.get(label, "").lower()).strip("_")
        if which and metric.name.endswith("_window_count"):
            return replace(metric, name=f"{prefix}{which}_window_count")
    return metric


def _entity(metric: Metric, labels: Mapping[str, str]) -> tuple[str, str | None]:
    """Which part of the GPU a series is of; a MIG instance's rows must not add to the GPU's."""
    instance = labels.get("GPU_I_ID")
    if instance and not _OF_THE_BOARD.fullmatch(metric.name):
        return "gpu_instance", instance
    if metric.link is not None:
        return "link", str(metric.link)
    if link := labels.get("nvlink"):
        return "link", link
    return "gpu", None
