"""Nsight Compute pages of described kernels: details, raw and session, and what they say.

Both pages are of the same kernels, as two prints of one report: details in units that suit the
numbers and rounded to two decimals, raw in base units. So that both must agree to the last
digit, a description's numbers are such that two decimals of the larger unit hold them.
"""

import argparse
import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from ncu_roofline import roofline

JOBS = Path(__file__).parent / "jobs"

_SOL = "GPU Speed Of Light Throughput"
_OWN = "Command line profiler metrics"  # asked for by their raw names, which have no label
_TENSOR = "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum"
_FP32 = "sass_thread_inst_executed_op_f"
# Key of a description -> section, label, raw name, unit of the details page, its size in base
# units, base unit.
_METRICS: dict[str, tuple[str, str | None, str, str, int, str]] = {
    "duration_ns": (_SOL, "Duration", "gpu__time_duration.sum", "us", 1000, "ns"),
    "sm_clock_hz": (
        _SOL, "SM Frequency", "gpc__cycles_elapsed.avg.per_second", "Ghz", 10**9, "hz",
    ),
    "sm_percent": (
        _SOL, "Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "%", 1, "%",
    ),
    "memory_percent": (
        _SOL, "Memory Throughput",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", 1, "%",
    ),
    "dram_percent": (
        _SOL, "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "%", 1, "%",
    ),
    "dram_bytes_per_s": (
        "Memory Workload Analysis", "Memory Throughput", "dram__bytes.sum.per_second",
        "Gbyte/s", 10**9, "byte/s",
    ),
    "l2_hit_percent": (
        "Memory Workload Analysis", "L2 Hit Rate", "lts__t_sector_hit_rate.pct", "%", 1, "%",
    ),
    "registers": (
        "Launch Statistics", "Registers Per Thread", "launch__registers_per_thread",
        "register/thread", 1, "register/thread",
    ),
    "occupancy_percent": (
        "Occupancy", "Achieved Occupancy",
        "sm__warps_active.avg.pct_of_peak_sustained_active", "%", 1, "%",
    ),
    "waves": (_OWN, None, "launch__waves_per_multiprocessor", "", 1, ""),
    "max_clock_khz": (_OWN, None, "device__attribute_clock_rate", "", 1, ""),
    "dram_clock_hz": (_OWN, None, "dram__cycles_elapsed.avg.per_second", "hz", 1, "hz"),
    "dram_bytes_per_cycle": (
        _OWN, None, "dram__bytes.sum.peak_sustained", "byte/cycle", 1, "byte/cycle",
    ),
    "l2_clock_hz": (_OWN, None, "lts__cycles_elapsed.avg.per_second", "hz", 1, "hz"),
    "l2_bytes_per_cycle": (
        _OWN, None, "derived__lts__lts2xbar_bytes.sum.peak_sustained", "byte", 1, "byte",
    ),
    "l2_bytes_per_s": (
        _OWN, None, "derived__lts__lts2xbar_bytes.sum.per_second", "byte", 1, "byte",
    ),
    "tensor_flop": (_OWN, None, _TENSOR, "", 1, ""),
    "tensor_flop_per_cycle": (_OWN, None, f"{_TENSOR}.peak_sustained", "", 1, ""),
    **{
        f"fp32_{op}_per_cycle": (
            _OWN, None, f"smsp__{_FP32}{op}_pred_on.sum.per_cycle_elapsed",
            "inst/cycle", 1, "inst/cycle",
        )
        for op in ("add", "mul", "fma")
    },
    "fp32_peak_per_cycle": (
        _OWN, None, f"sm__{_FP32}fma_pred_on.sum.peak_sustained", "inst/cycle", 1, "inst/cycle",
    ),
}  # fmt: skip
_CACHE = ("Launch Statistics", "Function Cache Configuration", "launch__func_cache_config")
_IDENTITY = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
    "Block Size", "Grid Size", "Device", "CC",
)  # fmt: skip
_RULES = (
    "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup",
)  # fmt: skip


def _line(*cells: Any, end: str = "") -> str:
    return ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells) + end + "\n"


def _number(value: Decimal, separators: str) -> str:
    """As ncu prints it: whole, or with two decimals; ``separators`` are thousands, decimal."""
    text = f"{value:,.0f}" if value == value.to_integral_value() else f"{value:,.2f}"
    thousands, decimal = separators[:-1], separators[-1]
    return text.translate(str.maketrans({",": thousands, ".": decimal}))


def _size(blocks: list[int]) -> str:
    return f"({', '.join(map(str, blocks))})"


def _identity(description: dict[str, Any], number: int, kernel: dict[str, Any]) -> list[Any]:
    return [
        number, description["pid"], description["process"], "127.0.0.1", kernel["name"], 1,
        kernel["stream"], _size(kernel["block"]), _size(kernel["grid"]), 0, description["cc"],
    ]  # fmt: skip


def _details(description: dict[str, Any]) -> str:
    separators = description.get("details_separators", ".")
    head = (*_IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value", *_RULES)
    text = f"==PROF== Connected to process {description['pid']} (/opt/python3)\n"
    text += f"==PROF== Disconnected from process {description['pid']}\n" + _line(*head)
    for number, kernel in enumerate(description["kernels"]):
        kernel = {**description["gpu_peaks"], **kernel}
        identity = _identity(description, number, kernel)
        for key, (section, label, name, unit, scale, _) in _METRICS.items():
            if key in kernel:
                shown = _number(Decimal(str(kernel[key])) / scale, separators)
                text += _line(*identity, section, label or name, unit, shown, end=",")
        section, label, _ = _CACHE
        text += _line(*identity, section, label, "", "CachePreferNone", end=",")
        for rule in kernel.get("rules", ()):
            told = (rule["rule"], rule["type"], rule["text"])
            gain = (rule.get("speedup_type", ""), rule.get("speedup_percent", ""))
            text += _line(*identity, rule["section"], "", "", "", *told, *gain)
    return text


def _raw(description: dict[str, Any]) -> str:
    columns = sorted([(name, key, base) for key, (*_, name, _, _, base) in _METRICS.items()])
    names = [name for name, _, _ in columns]
    text = _line(*_IDENTITY, *names, _CACHE[2])
    text += _line(*[""] * len(_IDENTITY), *[base for _, _, base in columns], "")
    for number, kernel in enumerate(description["kernels"]):
        kernel = {**description["gpu_peaks"], **kernel}
        cells = [
            _number(Decimal(str(kernel[key])), ".") if key in kernel else ""
            for _, key, _ in columns
        ]
        text += _line(*_identity(description, number, kernel), *cells, "CachePreferNone")
    return text


def _session(description: dict[str, Any]) -> str:
    command = (
        f"/opt/ncu --export /somewhere/report --set full --clock-control"
        f" {description['clock_control']} --nvtx {description['command']}"
    )
    host, version = description["host"], description["ncu_version"]
    blocks = [
        ("Launch Settings", [("Launch Attribute", "Value"), ("Profiler Command Line", command)]),
        (
            "Session Info",
            [
                ("Session Attribute", "Value"),
                ("Created", description["created"]),
                ("Host Name", host),
                ("Target Name", host),
                ("CUDA Version", "12.9"),
                ("Nsight Compute Target", f"{version} (build 1) (public-release)"),
            ],
        ),
        ("Processes", [("Process Id", "Process Name"), (description["pid"], "/opt/python3")]),
        (
            "Device Attributes",
            [("Device Attribute", "Device 0"), ("display_name", description["gpu"])],
        ),
    ]
    parts = [title + "\n" + "".join(_line(*row) for row in rows) for title, rows in blocks]
    return "\n".join(parts).removesuffix("\n")


def _truth(description: dict[str, Any]) -> dict[str, Any]:
    kernels = []
    for number, kernel in enumerate(description["kernels"]):
        kernel = {**description["gpu_peaks"], **kernel}
        metrics = {
            name: {
                "section": section,
                "label": label,
                "value": float(kernel[key]),
                "unit": base or None,
            }
            for key, (section, label, name, _, _, base) in _METRICS.items()
            if key in kernel
        }
        rules = [
            {
                "section": rule["section"],
                "rule": rule["rule"],
                "type": rule["type"],
                "text": rule["text"],
                "speedup_type": rule.get("speedup_type"),
                "speedup_share": float(Decimal(str(rule["speedup_percent"])) / 100)
                if "speedup_percent" in rule
                else None,
            }
            for rule in kernel.get("rules", ())
        ]
        kernels.append(
            {
                "kernel_id": number,
                "ncu_id": number,
                "process": description["pid"],
                "process_name": description["process"],
                "name": kernel["name"],
                "device_id": 0,
                "compute_capability": description["cc"],
                "stream_id": kernel["stream"],
                "grid": kernel["grid"],
                "block": kernel["block"],
                "metrics": metrics,
                "texts": {_CACHE[2]: "CachePreferNone"},
                "rules": rules,
                "class": kernel["class"],
                "roofline": roofline(kernel),
            }
        )
    session = {
        "host": description["host"],
        "tool_version": description["ncu_version"],
        "clock_control": description["clock_control"],
        "cache_control": None,
        "metric_set": "full",
        "gpu_name": description["gpu"],
        "created_local_ns": description["created_local_ns"],
    }
    return {"kernels": kernels, "session": session}


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes the three pages into ``folder``; returns what a store must hold of them."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"ncu_rank{description['rank']}"
    pages = {
        f"{stem}.details.csv": _details(description),
        f"{stem}.raw.csv": _raw(description),
        f"{stem}.session.csv": _session(description),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {"files": sorted(pages), **_truth(description)}


def load(job: str) -> dict[str, Any]:
    """The description of a job's profiled kernels."""
    return tomllib.loads((JOBS / f"{job}.ncu_csv.toml").read_text(encoding="utf-8"))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("output", type=Path, help="folder to write into")
    arguments = parser.parse_args()
    print(json.dumps(write(load(arguments.job), arguments.output), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
