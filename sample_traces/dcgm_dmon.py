"""Writes a job's GPUs as `dcgmi dmon` does: a text per node, named as the NERSC wrapper does.

One GPU gets too hot: its clock falls step by step while the hardware slows it down, its power
with it, and it recovers as it cools.
"""

from pathlib import Path
from typing import Any

# Bits of the clock event reasons; hardware slowdown is set together with its cause.
POWER_CAP, HARDWARE_SLOWDOWN, HARDWARE_THERMAL = 0x4, 0x8, 0x40
# Column, width of its field in dcgm_fields.cpp, unit that dmon prints.
COLUMNS = (
    ("SMCLK", 5, ""),
    ("DVCCTR", 20, ""),
    ("TMPTR", 5, "C"),
    ("POWER", 10, "W"),
    ("TOTEC", 16, "mJ"),
    ("GPUTL", 10, ""),
    ("XIDER", 5, ""),
    ("TVIOL", 10, ""),
    ("FBUSD", 10, ""),
    ("SMACT", 5, ""),
    ("NVLTX", 20, ""),
)
_ROUNDS_PER_HEADER = 14
_FIRST_WIDTH = 16  # since 4.5


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes one text per node below `folder`; returns the truth they contain."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {}
    for node in range(description["nodes"]):
        gpus = [_Gpu(description, node, gpu) for gpu in range(description["gpus"])]
        lines: list[str] = []
        for at in range(description["rounds"]):
            if at % _ROUNDS_PER_HEADER == 0:
                lines += [
                    _line("#Entity", [name for name, _, _ in COLUMNS]),
                    _line("ID", [unit for _, _, unit in COLUMNS]),
                ]
            lines += [_line(f"GPU {gpu.index}", gpu.sample(at)) for gpu in gpus]
        # Killed at the end of the job, as the wrapper does: the last row is torn.
        text = "".join(f"{line}\n" for line in lines) + _line("GPU 0", gpus[0].cells)[:30]
        name = f"dcgm.d{description['interval_ms']}.{description['job_id']}.0-{node}.out"
        (folder / name).write_text(text, encoding="utf-8")
        files[name] = {
            "host": f"node{node}",
            "interval_ns": description["interval_ms"] * 10**6,
            "gpus": {f"gpu:{gpu.index}": gpu.metrics for gpu in gpus},
            "torn_row_count": 1,
        }
    thermal = description["thermal"]
    return {
        "title": description["title"],
        "throttled": {
            "host": f"node{thermal['node']}",
            "gpu_id": f"gpu:{thermal['gpu']}",
            "rounds": [thermal["from_round"], thermal["to_round"]],
        },
        "files": files,
    }


def _line(first: str, cells: list[str]) -> str:
    padded = (cell.ljust(width + 8) for cell, (_, width, _) in zip(cells, COLUMNS, strict=True))
    return first.ljust(_FIRST_WIDTH) + "".join(padded)


class _Gpu:
    """One GPU while dmon runs; `metrics` is what a reader must find: [round, value] pairs."""

    def __init__(self, description: dict[str, Any], node: int, index: int) -> None:
        self.index = index
        self.metrics: dict[str, list[list[float]]] = {}
        self.cells: list[str] = []
        self._about = description["gpu"]
        self._thermal = description["thermal"]
        self._interval_ms = description["interval_ms"]
        self._is_hot = (node, index) == (self._thermal["node"], self._thermal["gpu"])
        self._energy_mj = 10**9 + 1000 * index + node
        self._slowed_ns = 0

    def sample(self, at: int) -> list[str]:
        """The cells of one round."""
        thermal, about = self._thermal, self._about
        is_slow = self._is_hot and thermal["from_round"] <= at < thermal["to_round"]
        fallen = min(at - thermal["from_round"] + 1, thermal["steps"]) if is_slow else 0
        full = about["sm_clock_mhz"]
        clock = full - (full - thermal["sm_clock_mhz"]) * fallen // thermal["steps"]
        wobble = (7 * self.index + 13 * at) % 11
        heat = thermal["celsius"] - about["celsius"]
        warm = min(max(at - thermal["from_round"] + 4, 0), 4) if self._is_hot else 0
        if self._is_hot and at >= thermal["to_round"]:
            warm = max(4 - (at - thermal["to_round"] + 1), 0)
        milliwatts = about["power_w"] * 1000 * clock // full - 370 * wobble
        self._energy_mj += milliwatts * self._interval_ms // 1000
        self._slowed_ns += self._interval_ms * 10**6 if is_slow else 0
        active = (900 + wobble) if at >= 2 else None  # profiling has no data at first
        reasons = HARDWARE_THERMAL | HARDWARE_SLOWDOWN if is_slow else POWER_CAP
        temperature = about["celsius"] + heat * warm // 4
        xid = thermal["xid"] if self._is_hot and at >= thermal["from_round"] + 2 else 0
        nvlink = about["nvlink_bytes_per_s"] * clock // full if at >= 2 else None
        self._found(at, "sm_clock_hz", clock * 10**6)
        self._found(at, "clock_event_reasons", reasons)
        self._found(at, "temperature_celsius", temperature)
        self._found(at, "power_w", milliwatts / 1000)
        self._found(at, "energy_j", self._energy_mj / 1000)
        self._found(at, "gpu_util_share", 1.0)
        self._found(at, "xid", xid)
        self._found(at, "thermal_violation_ns", self._slowed_ns)
        self._found(at, "fb_used_bytes", about["memory_used_mib"] << 20)
        self._found(at, "sm_active_share", None if active is None else active / 1000)
        self._found(at, "nvlink_tx_bytes_per_s", nvlink)
        self.cells = [
            *(str(clock), str(reasons), str(temperature), f"{milliwatts / 1000:.3f}"),
            *(str(self._energy_mj), "100", str(xid), str(self._slowed_ns)),
            str(about["memory_used_mib"]),
            "N/A" if active is None else f"{active / 1000:.3f}",
            "N/A" if nvlink is None else str(nvlink),
        ]
        return self.cells

    def _found(self, at: int, metric: str, value: float | None) -> None:
        if value is not None:
            self.metrics.setdefault(metric, []).append([at, value])
