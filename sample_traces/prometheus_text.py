"""Writes a job's GPUs as scrapes of dcgm-exporter with times, appended: one file per host."""

from pathlib import Path
from typing import Any

from power_brake import Reading, play, throttled

# What DCGM writes for a value it does not have yet, and what H100s said once in a long while.
BLANK, GLITCH = 9223372036854775794, 4294967295
_FIELDS = {
    "DCGM_FI_DEV_SM_CLOCK": ("gauge", "SM clock frequency (in MHz)."),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": ("gauge", "Current clock event reasons (bitmask)."),
    "DCGM_FI_DEV_GPU_TEMP": ("gauge", "GPU temperature (in C)."),
    "DCGM_FI_DEV_POWER_USAGE": ("gauge", "Power draw (in W)."),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("counter", "Total energy since boot (in mJ)."),
    "DCGM_FI_DEV_GPU_UTIL": ("gauge", "GPU utilization (in %)."),
    "DCGM_FI_DEV_FB_USED": ("gauge", "Framebuffer memory used (in MiB)."),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS": ("counter", "Power brake (ns)."),
}


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes one text per host below `folder`; returns the truth they contain."""
    folder.mkdir(parents=True, exist_ok=True)
    readings = list(play(description))
    files: dict[str, Any] = {}
    for number, host in enumerate(description["hosts"]):
        missed = [scrape["round"] for scrape in description["missed"] if scrape["host"] == number]
        own = [r for r in readings if r.host == host["name"] and r.round not in missed]
        name = f"{host['name']}.prom"
        (folder / name).write_text(_text(description, host, own), encoding="utf-8")
        files[name] = _truth(description, host, own)
    return {
        "title": description["title"],
        "throttled": throttled(description),
        "files": files,
    }


def _utc_ms(description: dict[str, Any], host: dict[str, Any], one: Reading) -> int:
    at: int = description["start_utc_ms"] + host["late_ms"]
    return at + one.round * int(description["interval_ms"])


def _values(one: Reading) -> tuple[str, ...]:
    """The value of each field, as the exporter writes it."""
    is_first, is_odd = one.round == 0, (one.round, one.gpu) == (3, 1)
    return (
        str(one.sm_clock_mhz),
        str(one.reasons),
        str(one.temperature),
        f"{one.power_mw / 1000:.6f}",
        str(one.energy_mj),
        str(GLITCH if is_odd else one.util_percent),
        str(one.memory_used_mib),
        str(BLANK if is_first else one.braked_us * 1000),
    )


def _text(description: dict[str, Any], host: dict[str, Any], own: list[Reading]) -> str:
    lines = []
    for at in dict.fromkeys(one.round for one in own):
        scrape = [one for one in own if one.round == at]
        for place, (field, (kind, about)) in enumerate(_FIELDS.items()):
            lines += [f"# HELP {field} {about}", f"# TYPE {field} {kind}"]
            for one in scrape:
                labels = {
                    "gpu": one.gpu,
                    "UUID": f"GPU-{one.uuid}",
                    "pci_bus_id": one.bus_id,
                    "device": f"nvidia{one.gpu}",
                    "modelName": description["gpu"]["name"],
                    "Hostname": one.host,
                    "DCGM_FI_DRIVER_VERSION": description["driver_version"],
                }
                told = ",".join(f'{label}="{value}"' for label, value in labels.items())
                value = _values(one)[place]
                lines.append(f"{field}{{{told}}} {value} {_utc_ms(description, host, one)}")
    return "\n".join(lines) + "\n"


def _truth(description: dict[str, Any], host: dict[str, Any], own: list[Reading]) -> dict[str, Any]:
    zero = _utc_ms(description, host, own[0])
    gpus: dict[str, Any] = {}
    for gpu in range(host["gpus"]):
        rows = [one for one in own if one.gpu == gpu]
        values: dict[str, list[float]] = {
            "sm_clock_hz": [one.sm_clock_mhz * 10**6 for one in rows],
            "clock_event_reasons": [one.reasons for one in rows],
            "temperature_celsius": [one.temperature for one in rows],
            "power_w": [one.power_mw / 1000 for one in rows],
            "energy_j": [one.energy_mj / 1000 for one in rows],
            "gpu_util_share": [one.util_percent / 100 for one in rows],
            "fb_used_bytes": [one.memory_used_mib << 20 for one in rows],
            "clock_event_power_brake_ns": [one.braked_us * 1000 for one in rows],
        }
        absent = {"gpu_util_share": [3] if gpu == 1 else [], "clock_event_power_brake_ns": [0]}
        metrics = {
            metric: [
                [(_utc_ms(description, host, one) - zero) * 10**6, value]
                for one, value in zip(rows, series, strict=True)
                if one.round not in absent.get(metric, [])
            ]
            for metric, series in values.items()
        }
        gpus[rows[0].uuid] = {
            "device_id": gpu,
            "bus_id": rows[0].bus_id.lower().removeprefix("0000"),
            "metrics": metrics,
        }
    return {
        "host": host["name"],
        "tool_version": description["driver_version"],
        "capture_start_utc_ns": zero * 10**6,
        "name": description["gpu"]["name"],
        "gpus": gpus,
        "blank_count": host["gpus"],
        "glitch_count": 1,
    }
