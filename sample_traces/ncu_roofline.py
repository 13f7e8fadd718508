"""Where a described kernel lies under its roofs: the truth of the roofline."""

from typing import Any

Kernel = dict[str, Any]


def _work(kernel: Kernel) -> dict[str, tuple[float, float]]:
    """FLOP/s and peak of each kind of work."""
    found = {}
    clock = kernel["sm_clock_hz"]
    if "fp32_fma_per_cycle" in kernel:
        simple = kernel["fp32_add_per_cycle"] + kernel["fp32_mul_per_cycle"]
        flop = simple + 2 * kernel["fp32_fma_per_cycle"]
        found["fp32"] = (flop * clock, 2 * kernel["fp32_peak_per_cycle"] * clock)
    if "tensor_flop" in kernel:
        achieved = kernel["tensor_flop"] / kernel["duration_ns"] * 1e9
        found["tensor bf16"] = (achieved, kernel["tensor_flop_per_cycle"] * clock)
    return found


def _traffic(kernel: Kernel) -> dict[str, tuple[float, float]]:
    """Bytes per second and peak of each memory level."""
    return {
        level.upper(): (
            kernel[f"{level}_bytes_per_s"],
            kernel[f"{level}_bytes_per_cycle"] * kernel[f"{level}_clock_hz"],
        )
        for level in ("dram", "l2")
        if f"{level}_bytes_per_s" in kernel
    }


def roofline(kernel: Kernel) -> list[dict[str, Any]]:
    """A point for each memory level and kind of work."""
    points = []
    for level, (rate, peak_rate) in _traffic(kernel).items():
        for work, (achieved, peak) in _work(kernel).items():
            intensity = achieved / rate
            points.append(
                {
                    "level": level,
                    "work": work,
                    "intensity": intensity,
                    "ridge": peak / peak_rate,
                    "roof": "memory" if intensity * peak_rate < peak else "compute",
                    "flops_per_s": achieved,
                    "attainable_flops_per_s": min(peak, intensity * peak_rate),
                }
            )
    return points
