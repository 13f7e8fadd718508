"""Makes the sample traces from their descriptions: `python sample_traces/make.py [JOB...]`."""

import argparse
import importlib
import json
import lzma
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from description import Job, job_names, load, us
from gpu_samples import sample, samples_truth
from nsys_export import export
from simulation import Call, Recording, simulate
from truth import collectives, file_truth, late_truth

HERE = Path(__file__).parent


def on_file_clock(recording: Recording, drift_ppm: float = 0.0) -> Recording:
    """The same recording, counted from the begin of its capture on a clock that may drift."""
    zero = us(recording.process.capture_begins_us)

    def at(ns: int) -> int:
        return ns - zero + round((ns - zero) * drift_ppm * 1e-6)

    calls: dict[int, Call] = {}
    every = recording.activities + recording.graph_launches + recording.graph_nodes
    for call in recording.calls + [work.call for work in every if work.call]:
        calls.setdefault(id(call), replace(call, start=at(call.start), end=at(call.end)))
    moved = [
        [
            replace(
                work, start=at(work.start), end=at(work.end),
                call=calls[id(work.call)] if work.call else None,
            )
            for work in group
        ]
        for group in (recording.activities, recording.graph_launches, recording.graph_nodes)
    ]  # fmt: skip
    return replace(
        recording,
        calls=[calls[id(call)] for call in recording.calls],
        activities=moved[0],
        graph_launches=moved[1],
        graph_nodes=moved[2],
        ranges=[
            replace(r, start=at(r.start), end=None if r.end is None else at(r.end))
            for r in recording.ranges
        ],
        memory_events=[e._replace(at=at(e.at)) for e in recording.memory_events],
        syncs=[s._replace(start=at(s.start), end=at(s.end)) for s in recording.syncs],
        os_calls=[(name, at(a), at(b), on) for name, a, b, on in recording.os_calls],
        end=at(recording.end),
    )


def as_text(value: Any, indent: str = "") -> str:
    """JSON for people: what is short stands on one line."""
    line = json.dumps(value, sort_keys=True)
    if len(line) <= 400 or not isinstance(value, dict | list):
        return line
    deeper = indent + " "
    if isinstance(value, list):
        parts = [as_text(item, deeper) for item in value]
        opening, closing = "[]"
    else:
        parts = [f"{json.dumps(key)}: {as_text(value[key], deeper)}" for key in sorted(value)]
        opening, closing = "{}"
    return f"{opening}\n{deeper}" + f",\n{deeper}".join(parts) + f"\n{indent}{closing}"


def write_compressed(path: Path, content: bytes) -> None:
    """Writes `content` unless the file holds it already; compressors differ, content does not."""
    if not path.exists() or lzma.decompress(path.read_bytes()) != content:
        path.write_bytes(lzma.compress(content, preset=9))


def make(job: Job, folder: Path) -> dict[str, Any]:
    """Writes one job's files and its truth; returns the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    recordings = simulate(job)
    on_time = simulate(replace(job, late={}))
    files: dict[str, Any] = {}
    for trace in job.files:
        own = [
            on_file_clock(one, job.hosts[one.process.host].get("clock_drift_ppm", 0.0))
            for one in recordings
            if one.process.pid in trace.pids
        ]
        works = own[0].device_work(trace.graph_trace)
        samples = sample(job, works, own[0].end)
        content, rows = export(job, trace, own, samples)
        write_compressed(folder / f"{trace.name}.sqlite.xz", content)
        files[f"{trace.name}.sqlite.xz"] = {
            **file_truth(job, trace, own, rows),
            "gpu_metrics": samples_truth(samples),
        }
    pids = {pid for trace in job.files for pid in trace.pids}
    truth = {
        "job": job.name,
        "title": job.title,
        "steps": job.steps,
        "ranks": sorted(p.rank for p in job.processes if p.rank is not None and p.pid in pids),
        "late": late_truth(job, recordings, on_time),
        "collectives": collectives(recordings, pids),
        "files": files,
    }
    (folder / "truth.json").write_text(as_text(truth) + "\n", encoding="utf-8")
    return truth


def make_others(name: str, folder: Path) -> None:
    """Writes a job's files of other formats, each by its own module, and their truth."""
    for about in sorted((HERE / "jobs").glob(f"{name}.*.toml")):
        writer = about.name.split(".")[1]
        description = tomllib.loads(about.read_text(encoding="utf-8"))
        truth = importlib.import_module(writer).write(description, folder)
        text = as_text(truth) + "\n"
        (folder / f"{writer}.truth.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="which jobs; all by default")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write into")
    arguments = parser.parse_args()
    others = {about.name.split(".")[0] for about in (HERE / "jobs").glob("*.*.toml")}
    for name in arguments.jobs or sorted({*job_names(), *others}):
        if name in job_names():
            make(load(name), arguments.output / name)
        make_others(name, arguments.output / name)


if __name__ == "__main__":
    main()
