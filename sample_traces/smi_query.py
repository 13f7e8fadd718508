"""Writes a job's GPUs as `nvidia-smi --query-gpu --format=csv -l` does: one file per host."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from power_brake import Reading, play, throttled

COLUMNS = (
    "timestamp, index, name, uuid, pci.bus_id, driver_version, pstate,"
    " clocks_event_reasons.active, clocks_event_reasons_counters.hw_power_brake_slowdown [us],"
    " utilization.gpu [%], memory.total [MiB], memory.used [MiB], temperature.gpu,"
    " temperature.memory, power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz],"
    " fan.speed [%]"
)


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes one CSV per host below `folder`; returns the truth they contain."""
    folder.mkdir(parents=True, exist_ok=True)
    readings = list(play(description))
    files: dict[str, Any] = {}
    for host in description["hosts"]:
        own = [one for one in readings if one.host == host["name"]]
        lines = [COLUMNS, *(_row(description, host, one) for one in own)]
        name = f"{host['name']}.gpu.csv"
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        files[name] = _truth(description, host, own)
    return {
        "title": description["title"],
        "throttled": throttled(description),
        "files": files,
    }


def _at(description: dict[str, Any], host: dict[str, Any], one: Reading) -> datetime:
    """Each host has a clock of its own, and a row the time at which its GPU was asked."""
    start = datetime.fromisoformat(description["start_local"])
    late_ms = host["late_ms"] + 2 * one.gpu
    return start + timedelta(milliseconds=one.round * description["interval_ms"] + late_ms)


def _row(description: dict[str, Any], host: dict[str, Any], one: Reading) -> str:
    about = description["gpu"]
    time = _at(description, host, one)
    cells = [
        time.strftime("%Y/%m/%d %H:%M:%S.") + f"{time.microsecond // 1000:03d}",
        one.gpu,
        about["name"],
        f"GPU-{one.uuid}",
        one.bus_id,
        description["driver_version"],
        "P0",
        f"0x{one.reasons:016X}",
        f"{one.braked_us} us",
        f"{one.util_percent} %",
        f"{about['memory_mib']} MiB",
        f"{one.memory_used_mib} MiB",
        one.temperature,
        "N/A",
        f"{one.power_mw / 1000:.2f} W",
        f"{one.sm_clock_mhz} MHz",
        f"{one.memory_clock_mhz} MHz",
        "[N/A]",
    ]
    return ", ".join(map(str, cells))


def _truth(description: dict[str, Any], host: dict[str, Any], own: list[Reading]) -> dict[str, Any]:
    first = _at(description, host, own[0])
    gpus: dict[str, Any] = {}
    for gpu in range(host["gpus"]):
        rows = [one for one in own if one.gpu == gpu]
        times = [_at(description, host, one) - first for one in rows]
        gpus[rows[0].uuid] = {
            "device_id": gpu,
            "bus_id": rows[0].bus_id.lower().removeprefix("0000"),
            "ts_ns": [round(time / timedelta(milliseconds=1)) * 10**6 for time in times],
            "metrics": {
                "pstate": [0 for _ in rows],
                "clock_event_reasons": [one.reasons for one in rows],
                "clock_event_power_brake_ns": [one.braked_us * 1000 for one in rows],
                "gpu_util_share": [one.util_percent / 100 for one in rows],
                "fb_total_bytes": [description["gpu"]["memory_mib"] << 20 for _ in rows],
                "fb_used_bytes": [one.memory_used_mib << 20 for one in rows],
                "temperature_celsius": [one.temperature for one in rows],
                "power_w": [float(f"{one.power_mw / 1000:.2f}") for one in rows],
                "sm_clock_hz": [one.sm_clock_mhz * 10**6 for one in rows],
                "memory_clock_hz": [one.memory_clock_mhz * 10**6 for one in rows],
            },
        }
    return {
        "host": host["name"],
        "tool_version": description["driver_version"],
        "capture_start_local_ns": round((first - datetime(1970, 1, 1)) / timedelta(microseconds=1))
        * 1000,
        "name": description["gpu"]["name"],
        "memory_bytes": description["gpu"]["memory_mib"] << 20,
        "gpus": gpus,
        "not_available_count": 2 * len(own),
    }
