"""Writes the nights of `nights.toml`: `python sample_traces/nights.py [--output DIR]`.

Each night of each job is a run of its own, with its run.toml and a training log or a trace.
"""

import argparse
import hashlib
import tomllib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from description import Job, Operation, load
from make import as_text, on_file_clock, write_compressed
from nsys_export import export
from simulation import simulate
from training_logs import _megatron

HERE = Path(__file__).parent
GPU = "NVIDIA H100 80GB HBM3"
STEPS = 12


def normal(*about: object) -> float:
    """A number that looks drawn from the normal distribution, the same every time."""
    digest = hashlib.sha256(repr(about).encode()).digest()
    return (sum(digest[:24]) / 255.0 - 12.0) / 2.0**0.5


def run_toml(job: str, start: str, said: dict[str, Any]) -> str:
    """What the night's run.toml says."""
    versions = "".join(f'{name} = "{value}"\n' for name, value in said.items())
    return (
        f'[run]\nseries = "{job}"\nstart = {start}\n\n'
        f'[model]\nname = "{job}-8b"\nsequence_length = 4096\n\n'
        f"[training]\nglobal_batch_size = 16\n\n"
        f'[hardware]\ngpu = "{GPU}"\ngpu_count = 8\n\n[versions]\n{versions}'
    )


def log(about: dict[str, Any], job: str, night: int, step_ms: float, start: Any) -> str:
    """A Megatron log of a few steps; the first holds initialisation."""
    steps, end_ns = [], 0
    for number in range(1, STEPS + 1):
        ms = 21500.0 if number == 1 else step_ms * (1 + 0.004 * normal(job, night, number))
        step_ns = round(ms * 10) * 100_000
        end_ns += step_ns
        loss = round(10.8 - 0.0625 * (number - 1), 4)
        steps.append({"step": number, "step_ns": step_ns, "end_ns": end_ns, "loss": loss})
    arguments = {"seq_length": 4096, "global_batch_size": 16, "world_size": 8}
    told = {
        "arguments": arguments,
        "steps": STEPS,
        "flops_per_token": 48.0e9,
        "local_start": start.replace(tzinfo=None),
    }
    lines, _ = _megatron(told, steps)
    prefix = f"{about['host']}: "
    return "\n".join(lines).replace(prefix, "") + "\n"


def traced(about: dict[str, Any], night: int, start_ns: int) -> tuple[Job, float]:
    """The night's job, as many steps as its capture has room for, and its step in ms."""
    changed = about["step"] if night >= about["step"]["night"] else {}
    scale = 1 + about["noise"] * normal("dense", night)
    gemm_us = changed.get("gemm_us", about["gemm_us"]) * scale
    other_us = about["other_us"] * scale
    step_ms = (gemm_us + other_us) / 1000
    job = load("gpu_metrics")
    program = [
        Operation("range", ("iteration {step}",), {}),
        Operation("launch", ("saxpy", f"{other_us:.3f}"), {}),
        Operation("launch", ("gemm", f"{gemm_us:.3f}"), {}),
        Operation("sync", ("compute",), {}),
        Operation("end", (), {}),
    ]
    kernels = {**job.kernels}
    kernels["gemm"] = {**kernels["gemm"], "name": changed.get("gemm", "sm90_xmma_gemm_bf16_tn")}
    host = {about["host"]: {"clock_error_us": 0.0, "gpus": 1}}
    return replace(
        job,
        name="dense",
        steps=int(about["capture_ms"] / step_ms),
        epoch_ns=start_ns,
        hosts=host,
        gpu={**job.gpu, "name": GPU, "sm_count": 132},
        processes=[replace(p, host=about["host"]) for p in job.processes],
        files=[replace(job.files[0], name="rank0", metrics_form="table", exporter="2025.5")],
        kernels=kernels,
        programs={"work": {"step": program}},
        gpu_metrics={},
    ), step_ms


def write(output: Path) -> dict[str, Any]:
    """Writes every night below `output`; returns what is true of them."""
    told = tomllib.loads((HERE / "nights.toml").read_text(encoding="utf-8"))
    truth: dict[str, Any] = {"nights": told["nights"], "jobs": {}}
    for job, about in ((name, value) for name, value in told.items() if isinstance(value, dict)):
        runs = {}
        for night in range(1, told["nights"] + 1):
            if night in about.get("missing", ()):
                continue
            start = told["first_night"] + timedelta(days=night - 1)
            folder = output / f"{job}_{start:%Y-%m-%d}"
            folder.mkdir(parents=True, exist_ok=True)
            said = dict(about["versions"])
            upgrade = about.get("upgrade") or about.get("step") or {"night": told["nights"] + 1}
            if night >= upgrade["night"]:
                said |= {key: upgrade[key] for key in said if key in upgrade}
            text = run_toml(job, f"{start:%Y-%m-%dT%H:%M:%SZ}", said)
            (folder / "run.toml").write_text(text, encoding="utf-8")
            if job == "dense":
                made, step_ms = traced(about, night, int(start.timestamp()) * 10**9)
                own = [on_file_clock(one) for one in simulate(made)]
                content, _ = export(made, made.files[0], own, [])
                write_compressed(folder / "rank0.sqlite.xz", content)
            else:
                drift = 1 + about.get("drift", 0.0) * (night - 1)
                step_ms = about["step_ms"] * drift * (1 + about["noise"] * normal(job, night))
                text = log(about, job, night, step_ms, start)
                (folder / "megatron.log").write_text(text, encoding="utf-8")
            runs[folder.name] = round(step_ms, 4)
        truth["jobs"][job] = {"title": about["title"], "step_ms": runs}
    (output / "truth.json").write_text(as_text(truth) + "\n", encoding="utf-8")
    return truth


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = HERE.parent / "sample_history"
    parser.add_argument("--output", type=Path, default=default, help="folder to write into")
    write(parser.parse_args().output)


if __name__ == "__main__":
    main()
