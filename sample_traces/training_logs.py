"""Writes what a training job's frameworks would have logged, and the truth of it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

MILLI_NS = 10**6
_ESCAPES = {"red": "\x1b[31m", "blue": "\x1b[34m", "green": "\x1b[32m", "off": "\x1b[39m"}


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes `megatron.log` and `torchtitan.log` of one described job; returns their truth.

    Both tell of the same steps. Times are of the host's own clock, without a zone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    steps = _steps(description)
    files = {
        "megatron.log": _megatron(description, steps),
        "torchtitan.log": _torchtitan(description, steps),
    }
    for name, (lines, _) in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    slow = description.get("slow", {})
    return {
        "title": description["title"],
        "slow_steps": [step["step"] for step in steps if step["is_slow"]],
        "kept_rate": slow.get("kept_rate"),
        "files": {name: truth for name, (_, truth) in files.items()},
    }


def _steps(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Each step: its time in tenths of a millisecond, its end since the start, its loss."""
    slow = description.get("slow", {})
    steps, end_ns = [], 0
    for step in range(1, description["steps"] + 1):
        is_slow = bool(slow) and slow["from_step"] <= step <= slow["to_step"]
        ms = description["first_step_ms"] if step == 1 else description["step_ms"]
        if is_slow:
            ms = ms / slow.get("kept_rate", 1.0) + slow.get("extra_ms", 0.0)
        step_ns = round(ms * 10) * MILLI_NS // 10
        end_ns += step_ns
        loss = description["loss"] - description["loss_fall"] * (step - 1)
        steps.append(
            {
                "step": step,
                "step_ns": step_ns,
                "end_ns": end_ns,
                "loss": round(loss, 4),
                "is_slow": is_slow,
            }
        )
    return steps


def _at(description: dict[str, Any], ns: int) -> datetime:
    """The host's clock at a time since the start; microseconds at most."""
    begin: datetime = description["local_start"]
    return begin + timedelta(microseconds=ns // 1000)


def _local_ns(at: datetime) -> int:
    since = at - datetime(1970, 1, 1)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def _megatron(
    description: dict[str, Any], steps: list[dict[str, Any]]
) -> tuple[list[str], dict[str, Any]]:
    job = description["arguments"]
    gpus, batch = job["world_size"], job["global_batch_size"]
    last = gpus - 1
    lines = _argument_dump(job)
    lines.append(f"0: [before the start of training step] datetime: {_at(description, 0)} ")
    rows = []
    for step in steps:
        at = _at(description, step["end_ns"]).replace(microsecond=0)  # it prints whole seconds
        tokens = batch * job["seq_length"]
        flops = description["flops_per_token"] * tokens / (step["step_ns"] / 1e9) / gpus
        teraflops = round(flops / 1e12, 1)
        lines.append(
            f"{last}:  [{at}] iteration {step['step']:8d}/{len(steps):8d} |"
            f" consumed samples: {step['step'] * batch:12d} |"
            f" elapsed time per iteration (ms): {step['step_ns'] / MILLI_NS:.1f} |"
            f" throughput per GPU (TFLOP/s/GPU): {teraflops:.1f} |"
            f" learning rate: 1.000000E-04 | global batch size: {batch:5d} |"
            f" lm loss: {step['loss']:.6E} | loss scale: 1.0 | grad norm: 1.250 |"
            " number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        rows.append(
            {
                "step": step["step"],
                "ts_ns": _local_ns(at),
                "step_ns": step["step_ns"],
                "loss": step["loss"],
                "consumed_sample_count": step["step"] * batch,
                "global_batch_size": batch,
                "reported_flops_per_s_per_gpu": float(f"{teraflops}e12"),
                "printed_rank": last,
            }
        )
        if step["step"] == 1:
            lines.append(
                f"{last}: [Rank {last}] (after 1 iterations) memory (MB) | allocated: 30000.5 |"
                " max allocated: 61000.25 | reserved: 65000.0 | max reserved: 65000.0"
            )
    arguments = {name: str(value) for name, value in sorted(job.items())}
    return lines, _truth(rows) | {"arguments": arguments}


def _argument_dump(job: dict[str, Any]) -> list[str]:
    """All arguments, some of which nobody may keep."""
    secret = {"data_path": "['/data/someone/corpus']", "save": "/data/someone/checkpoints"}
    lines = ["0: ------------------------ arguments ------------------------"]
    for name, value in sorted({**job, **secret}.items()):
        lines.append(f"0:   {name} {'.' * (48 - len(name))} {value}")
    return [*lines, "0: -------------------- end of arguments ---------------------"]


def _torchtitan(
    description: dict[str, Any], steps: list[dict[str, Any]]
) -> tuple[list[str], dict[str, Any]]:
    job = description["arguments"]
    every = description["torchtitan_log_freq"]
    tokens_per_gpu = job["global_batch_size"] * job["seq_length"] // job["world_size"]
    lines, rows, told = [], [], 0
    for step in steps:
        if step["step"] != 1 and step["step"] % every:
            continue
        averaged = [s["step_ns"] for s in steps[told : step["step"]]]
        told = step["step"]
        at = _at(description, step["end_ns"])
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        rate = round(tokens_per_gpu * len(averaged) * 1e9 / sum(averaged))
        flops = round(description["flops_per_token"] * rate / 1e12, 2)
        share = round(100 * flops * 1e12 / description["peak_flops_per_s"], 2)
        stamp = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}"
        red, blue, green, off = _ESCAPES.values()
        lines.append(
            f"[rank0]:[titan] {stamp} - root - INFO - {red}step: {step['step']:2d}  "
            f"{green}loss: {step['loss']:7.4f}  {green}grad_norm:  1.2500  "
            f"{blue}memory: 61.25GiB(76.56%)  {blue}tps: {rate:,}  "
            f"{red}tflops: {flops:,.2f}  {green}mfu: {share:.2f}%{off}"
        )
        rows.append(
            {
                "step": step["step"],
                "ts_ns": _local_ns(at),
                "step_count_averaged": len(averaged),
                "loss": step["loss"],
                "tokens_per_s_per_gpu": float(rate),
                "reported_flops_per_s_per_gpu": float(f"{flops}e12"),
                "reported_mfu_share": round(share / 100, 4),
                "memory_bytes": round(61.25 * 2**30),
                "printed_rank": 0,
            }
        )
    return lines, _truth(rows)


def _truth(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Times of the rows since the first of them, as a reader counts."""
    begin = rows[0]["ts_ns"]
    steps = [row | {"ts_ns": row["ts_ns"] - begin} for row in rows]
    return {"capture_start_local_ns": begin, "steps": steps}
