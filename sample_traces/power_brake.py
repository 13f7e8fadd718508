"""Plays a job whose GPUs of one power domain are slowed down by an external power brake."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Bits of the clock event reasons (NVML). Hardware slowdown is set together with the brake.
POWER_CAP, HARDWARE_SLOWDOWN, POWER_BRAKE = 0x4, 0x8, 0x80


@dataclass(frozen=True)
class Reading:
    """What a tool reads of one GPU in one round, in the units of NVML."""

    round: int
    host: str
    gpu: int
    uuid: str
    bus_id: str
    reasons: int
    sm_clock_mhz: int
    memory_clock_mhz: int
    power_mw: int
    util_percent: int
    temperature: int
    memory_used_mib: int
    # Counters since the driver was loaded.
    braked_us: int
    energy_mj: int


def uuid_of(host: int, gpu: int) -> str:
    """A made-up UUID: the same host and GPU have the same in every format."""
    return f"5a3b{host:04x}-{gpu:04x}-4c1d-9e8f-{0x10AD00000000 + host * 256 + gpu:012x}"


def play(description: dict[str, Any]) -> Iterator[Reading]:
    """All readings, round by round, host by host."""
    brake, gpu_about = description["power_brake"], description["gpu"]
    interval_ms = description["interval_ms"]
    braked_us: dict[tuple[str, int], int] = {}
    energy_mj: dict[tuple[str, int], int] = {}
    for at in range(description["rounds"]):
        for number, host in enumerate(description["hosts"]):
            for gpu in range(host["gpus"]):
                key = (host["name"], gpu)
                is_braked = host["power_domain"] == brake["power_domain"] and (
                    brake["from_round"] <= at < brake["to_round"]
                )
                # The clock falls in steps, and is back at once when the brake is released.
                fallen = min(at - brake["from_round"] + 1, brake["steps"]) if is_braked else 0
                full, least = gpu_about["sm_clock_mhz"], brake["sm_clock_mhz"]
                clock = full - (full - least) * fallen // brake["steps"]
                wobble = (7 * gpu + 13 * at + 5 * number) % 11
                power = gpu_about["power_w"] * 1000 * clock // full - 370 * wobble
                if is_braked:
                    braked_us[key] = braked_us.get(key, 0) + interval_ms * 1000
                energy_mj[key] = energy_mj.get(key, 10**9 + gpu) + power * interval_ms // 1000
                yield Reading(
                    round=at,
                    host=host["name"],
                    gpu=gpu,
                    uuid=uuid_of(number, gpu),
                    bus_id=f"00000000:{0x1B + 0x10 * gpu:02X}:00.0",
                    reasons=HARDWARE_SLOWDOWN | POWER_BRAKE if is_braked else POWER_CAP,
                    sm_clock_mhz=clock,
                    memory_clock_mhz=gpu_about["memory_clock_mhz"],
                    power_mw=power,
                    util_percent=100 - wobble % 3,
                    temperature=gpu_about["temperature"] + wobble % 4 - 9 * (fallen > 1),
                    memory_used_mib=gpu_about["memory_used_mib"] + gpu,
                    braked_us=braked_us.get(key, 0),
                    energy_mj=energy_mj[key],
                )


def throttled(description: dict[str, Any]) -> dict[str, Any]:
    """Who was slowed down, when and how far: the part of the truth that both formats share."""
    brake = description["power_brake"]
    interval_ns = description["interval_ms"] * 10**6
    return {
        "cause": "power brake",
        "power_domain": brake["power_domain"],
        "gpu_ids": [
            uuid_of(number, gpu)
            for number, host in enumerate(description["hosts"])
            if host["power_domain"] == brake["power_domain"]
            for gpu in range(host["gpus"])
        ],
        "start_ns": brake["from_round"] * interval_ns,
        "end_ns": brake["to_round"] * interval_ns,
        "full_sm_clock_hz": description["gpu"]["sm_clock_mhz"] * 10**6,
        "least_sm_clock_hz": brake["sm_clock_mhz"] * 10**6,
    }
