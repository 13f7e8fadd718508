"""Write a realistic Nsight Systems SQLite export of any size, for measuring.

    python benchmarks/generate.py OUT.sqlite --kernels 5000000 --devices 8 --seed 1

The file has the tables and columns of an export by Nsight Systems 2023.4 and holds a made-up
training job (see training_job.py): one process per device, three streams each. Rows are in
order of their start, as in real exports. The same arguments make the same rows. Memory stays
small at any size: a slab of iterations is made, sorted, written and forgotten.
"""

import argparse
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import training_job as job
from training_job import Ints, Plan, Times

KERNELS_PER_ITERATION = 2_500
SLAB_KERNELS = 200_000
FIRST_START_NS = 4_000_000_000
VIRTUAL_MACHINE = 1 << 48
UTC_START_NS = 1_700_000_000_000_000_000
CHUNK_ROWS = 50_000
INVALID_ID = 4_294_967_295

INSERT_KERNEL = """INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (?, ?, ?, 1, NULL, ?, ?, ?, ?, ?, ?, 1, 1, ?, ?, ?, 1, ?, 1, 1, ?, ?, 0, 205258752, ?, ?,
    NULL, 0)"""
INSERT_CALL = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?, 0, NULL)"
INSERT_COPY = """INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
    (?, ?, ?, 1, NULL, ?, ?, ?, ?, ?, NULL, ?, ?, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
INSERT_SET = """INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES
    (?, ?, ?, 1, NULL, ?, ?, ?, 0, ?, NULL, 2)"""
# Exports of 2023.4 say 3 for both a wait for an event and a wait for a stream.
INSERT_SYNC = """INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
    (?, ?, ?, 1, NULL, ?, ?, ?, 3, ?)"""
INSERT_RANGE = """INSERT INTO NVTX_EVENTS VALUES
    (?, ?, 59, NULL, NULL, NULL, ?, ?, NULL, ?, ?, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL)"""
INSERT_DOMAIN = """INSERT INTO NVTX_EVENTS VALUES
    (?, NULL, 75, NULL, NULL, NULL, ?, ?, NULL, NULL, ?, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL)"""


class Strings:
    """The table of strings being built: one id per distinct value."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {"[Unknown]": 0}

    def id(self, value: str) -> int:
        return self.ids.setdefault(value, len(self.ids))

    def all_ids(self, values: Iterable[str]) -> Ints:
        return np.array([self.id(value) for value in values])


class Job:
    """Everything about the job that stays the same from iteration to iteration."""

    def __init__(self, kernels: int, devices: int, rng: np.random.Generator) -> None:
        self.devices = devices
        self.iterations = max(1, round(kernels / (devices * KERNELS_PER_ITERATION)))
        per_iteration = round(kernels / (devices * self.iterations))
        self.plan: Plan = job.plan(per_iteration, rng)
        self.strings = Strings()
        self.pids = [41_000 + 17 * device for device in range(devices)]
        self.global_pids = np.array([VIRTUAL_MACHINE | pid << 24 for pid in self.pids])
        # (device, thread): the main thread has the id of its process
        self.global_tids = np.array(
            [[g | pid, g | pid + 9] for g, pid in zip(self.global_pids, self.pids, strict=True)]
        )
        self.call_names = self.strings.all_ids(name for name, *_ in job.CALLS)
        self.call_classes = np.array([event_class for _, event_class, *_ in job.CALLS])
        self.kernel_columns = self._kernel_columns(rng)
        registered = [
            -1 if numbered else self.strings.id(text)
            for text, numbered in zip(
                self.plan.ranges.text, self.plan.ranges.is_numbered, strict=True
            )
        ]
        self.range_texts = [None if text_id < 0 else text_id for text_id in registered]
        copies = len(self.plan.work.kind)
        self.copy_kind = rng.choice([1, 2, 8], copies, p=[0.3, 0.2, 0.5])

    def _kernel_columns(self, rng: np.random.Generator) -> Ints:
        """One row per kernel name: names, registers, grid, block and shared memory."""
        names = self.plan.names
        count = len(names)
        columns = (
            self.strings.all_ids(name.demangled for name in names),
            self.strings.all_ids(name.short for name in names),
            self.strings.all_ids(name.mangled for name in names),
            rng.integers(16, 255, count),
            rng.integers(1, 9_000, count),
            rng.choice([1, 1, 1, 8, 64], count),
            rng.choice([64, 128, 256, 512, 1024], count),
            rng.integers(0, 49_152, count) * (rng.random(count) < 0.3),
            rng.integers(0, 100_000, count) * (rng.random(count) < 0.5),
            rng.choice([8_192, 32_768, 102_400, 167_936], count),
        )
        table = np.column_stack(columns)
        table[-len(job.COLLECTIVES) :, 4:9] = (24, 1, 544, 0, 0)
        return table


def write_slab(db: sqlite3.Connection, made: Job, times: Times, first: int, base: int) -> None:
    """Write the iterations `first`.. whose times are relative to `base`."""
    iterations, devices = times.call_start.shape[:2]
    iteration = first + np.arange(iterations)
    _write_calls(db, made, times, iteration, base)
    _write_work(db, made, times, iteration, base)
    _write_ranges(db, made, times, range(first, first + iterations), base, devices)


def _full(values: Ints, shape: tuple[int, ...]) -> Ints:
    return np.broadcast_to(values, shape).reshape(-1)


def _correlation(made: Job, iteration: Ints) -> Ints:
    calls = made.plan.calls
    return 101 + iteration[:, None, None] * calls.correlations + calls.correlation


def _write_calls(
    db: sqlite3.Connection, made: Job, times: Times, iteration: Ints, base: int
) -> None:
    calls = made.plan.calls
    shape = times.call_start.shape
    device = np.arange(made.devices)[:, None]
    start, end = times.call_start.reshape(-1) + base, times.call_end.reshape(-1) + base
    correlation = _full(_correlation(made, iteration), shape)
    _insert(
        db,
        INSERT_CALL,
        start,
        end,
        _full(made.call_classes[calls.name], shape),
        _full(made.global_tids[device, calls.thread], shape),
        correlation,
        _full(made.call_names[calls.name], shape),
    )

    waits = np.flatnonzero(_full(calls.sync != job.NO_SYNC, shape))
    is_event = _full(calls.sync == job.WAIT_EVENT, shape)[waits]
    stream = np.where(is_event, job.COMMUNICATION_STREAM, job.MAIN_STREAM)
    event = np.where(is_event, np.arange(len(waits)) % 256 + 3, INVALID_ID)
    _insert(
        db,
        INSERT_SYNC,
        start[waits],
        end[waits],
        _full(device, shape)[waits],
        stream,
        correlation[waits],
        _full(made.global_pids[:, None], shape)[waits],
        event,
    )


def _write_work(
    db: sqlite3.Connection, made: Job, times: Times, iteration: Ints, base: int
) -> None:
    work = made.plan.work
    shape = times.work_start.shape
    kind = _full(work.kind, shape)
    columns = (
        times.work_start.reshape(-1) + base,
        times.work_end.reshape(-1) + base,
        _full(np.arange(made.devices)[:, None], shape),
        _full(work.stream, shape),
        _full(_correlation(made, iteration)[..., work.call], shape),
        _full(made.global_pids[:, None], shape),
    )
    is_kernel = np.flatnonzero(kind == job.KERNEL)
    named = made.kernel_columns[times.work_name.reshape(-1)[is_kernel]]
    grid = np.cumsum(work.kind == job.KERNEL)
    grid_id = iteration[:, None, None] * grid[-1] + grid
    _insert(
        db,
        INSERT_KERNEL,
        *(column[is_kernel] for column in columns),
        *named[:, :9].T,
        _full(grid_id, shape)[is_kernel],
        named[:, 9],
    )

    is_copy = np.flatnonzero(kind == job.COPY)
    size = _full(work.bytes, shape)
    copy_kind = _full(made.copy_kind, shape)[is_copy]
    _insert(
        db,
        INSERT_COPY,
        *(column[is_copy] for column in columns),
        size[is_copy],
        copy_kind,
        np.where(copy_kind == 1, 1, 2),  # pinned to device, device to pageable or device
        np.where(copy_kind == 2, 0, 2),
    )

    is_set = np.flatnonzero(kind == job.SET)
    _insert(db, INSERT_SET, *(column[is_set] for column in columns), size[is_set])


def _insert(db: sqlite3.Connection, statement: str, start: Ints, *columns: Ints) -> None:
    """Insert the columns as rows in order of start."""
    order = np.argsort(start, kind="stable")
    rows = np.column_stack((start, *columns))
    for low in range(0, len(order), CHUNK_ROWS):
        db.executemany(statement, rows[order[low : low + CHUNK_ROWS]].tolist())


def _write_ranges(
    db: sqlite3.Connection, made: Job, times: Times, iterations: range, base: int, devices: int
) -> None:
    ranges = made.plan.ranges
    start = times.range_start.reshape(-1) + base
    end = times.range_end.reshape(-1) + base
    order = np.argsort(start, kind="stable")
    count = len(ranges.text)
    tids = made.global_tids[np.arange(devices)[:, None], ranges.thread].tolist()
    domains = ranges.domain.tolist()
    numbered = ranges.is_numbered.tolist()

    def rows() -> Iterator[tuple[object, ...]]:
        for at, opened, closed in zip(
            order.tolist(), start[order].tolist(), end[order].tolist(), strict=True
        ):
            place, index = divmod(at, count)
            iteration, device = divmod(place, devices)
            step = iterations[iteration]
            text = None
            if index == 0:
                text = f"iteration {step}"
            elif numbered[index]:
                number = step * count + index
                text = f"{ranges.text[index]}, seq = {number}, op_id = {3 * number}"
            tid = tids[device][index]
            yield opened, closed, text, tid, made.range_texts[index], domains[index]

    db.executemany(INSERT_RANGE, rows())


def write_head(db: sqlite3.Connection, made: Job) -> None:
    """The tables that come before the events: strings, target, processes, NVTX domains."""
    thread_names = [made.strings.id(name) for name in ("python3", "pt_autograd_0")]
    _rows(db, "StringIds", [(number, value) for value, number in made.strings.ids.items()])
    target = ("Local (CLI)",)
    facts = (
        ("CpuCores", 1, "128"),
        ("CpuArchitecture", 3, "x86_64"),
        ("TargetInstallDir", 170, "/opt/nvidia/nsight-systems/2023.4.4/target-linux-x64"),
        ("NvDriverVersion", 205, "535.129.03"),
        ("OsDescription", 605, "Ubuntu 22.04.3 LTS"),
        ("CudaDriverVersion", 611, "12020"),
        ("Hostname", 619, "node-0"),
    )
    _rows(
        db,
        "TARGET_INFO_SYSTEM_ENV",
        [(VIRTUAL_MACHINE, *target, name, number, value) for name, number, value in facts],
    )
    started = "2023-11-14T22:13:20"
    _rows(db, "TARGET_INFO_SESSION_START_TIME", [(UTC_START_NS, started, started)])
    ranks = list(enumerate(zip(made.global_pids.tolist(), made.pids, strict=True)))
    launcher = 40_990
    processes = [(VIRTUAL_MACHINE | launcher << 24, launcher, "torchrun")]
    _rows(db, "PROCESSES", processes + [(g, pid, "python3") for _, (g, pid) in ranks])
    _rows(
        db,
        "ThreadNames",
        [
            (name, 10, tid)
            for tids in made.global_tids.tolist()
            for name, tid in zip(thread_names, tids, strict=True)
        ],
    )
    _rows(db, "TARGET_INFO_GPU", [_gpu(device) for device, _ in ranks])
    _rows(
        db,
        "TARGET_INFO_CUDA_CONTEXT_INFO",
        [(7, 0, 1, pid, device, 1, None, None) for device, (_, pid) in ranks],
    )
    _rows(
        db,
        "TARGET_INFO_CUDA_STREAM",
        [
            (stream, 0, 1, pid, 1, 0, 2)
            for _, (_, pid) in ranks
            for stream in (job.COMMUNICATION_STREAM, job.SIDE_STREAM)
        ],
    )
    # Domains are made before the capture starts, hence the times before zero.
    db.executemany(
        INSERT_DOMAIN,
        [
            (-120_000_000_000 + 1_000_003 * device, "NCCL", int(made.global_tids[device, 0]), 1)
            for device, _ in ranks
        ],
    )


def _gpu(device: int) -> tuple[object, ...]:
    memory = (52_428_800, 85_044_297_728, 3_352_320_000_000, 1_980_000_000)
    limits = (65_536, 4, 65_536, 49_152, 232_448, 233_472, 65_536, 32, 3, 64, 32, 1_024)
    sizes = (1_024, 1_024, 64, 2_147_483_647, 65_535, 65_535, 9, 0, 9, 0)
    bus = f"0000:{0x1B + 0x10 * device:02x}:00.0"
    uuid = f"{device:08x}-0000-4000-8000-000000000000"
    head = (VIRTUAL_MACHINE, device, "NVIDIA H100 80GB HBM3", bus, 1, *memory, 132, device, uuid)
    return (*head, 0, "GH100", device, "", "", 161, 0, *limits, *sizes)


def write_tail(db: sqlite3.Connection, duration: int) -> None:
    """The tables that come last. EXPORT_TIME is the last row: it says the export is whole."""
    _rows(db, "ANALYSIS_DETAILS", [(VIRTUAL_MACHINE, duration, 0, duration)])
    captured = (
        ("DEVICE_ID", "Local (CLI)"),
        ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
        ("CAPTURE_EVENT_TYPE", "Cuda"),
        ("DEVICE_DISPLAY_NAME", "node-0"),
        ("PROCESS_0:COMMAND", "torchrun"),
        ("PROCESS_0:ARGUMENT_0", "train.py"),
        ("PROCESS_0:COLLECT_NVTX_TRACE", "true"),
        ("PROCESS_0:COLLECT_CUDA_TRACE", "true"),
        ("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
        ("RUN_DURATION_MS", str(duration // 1_000_000)),
    )
    exported = (
        ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
        ("EXPORT_PRODUCT_VERSION", "2023.4.4.54"),
        ("EXPORT_PRODUCT_DATE", "2023.4"),
        ("EXPORT_SCHEMA_VERSION", "3.7.2"),
        ("EXPORT_SCHEMA_VERSION_MAJOR", "3"),
        ("EXPORT_SCHEMA_VERSION_MINOR", "7"),
        ("EXPORT_SCHEMA_VERSION_MICRO", "2"),
        ("EXPORT_PLATFORM", "linux-desktop"),
        ("EXPORT_ARCH", "x64"),
        ("EXPORT_PARAM_LAZY", "true"),
        ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
        ("EXPORT_CONFIG_TIME_SHIFT", "0"),
        ("EXPORT_TIME", "60.00 sec"),
    )
    _rows(db, "META_DATA_CAPTURE", captured)
    _rows(db, "META_DATA_EXPORT", exported)


def _rows(db: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    places = ", ".join("?" * len(rows[0]))
    db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def generate(out: Path, kernels: int, devices: int, seed: int) -> None:
    """Write the export to `out`, which appears only when it is whole."""
    rng = np.random.default_rng(seed)
    made = Job(kernels, devices, rng)
    part = out.with_name(out.name + ".part")
    part.unlink(missing_ok=True)
    db = sqlite3.connect(part, isolation_level=None)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
        db.execute(f"PRAGMA {setting}")
    db.executescript(Path(__file__).with_name("nsys_2023_4.sql").read_text())
    db.execute("BEGIN")
    write_head(db, made)
    per_iteration = devices * int((made.plan.work.kind == job.KERNEL).sum())
    total = made.iterations * per_iteration
    step = max(1, SLAB_KERNELS // per_iteration)
    base = FIRST_START_NS
    for first in range(0, made.iterations, step):
        count = min(step, made.iterations - first)
        times = job.run(made.plan, count, devices, rng)
        write_slab(db, made, times, first, base)
        base += times.end
        done = (first + count) * per_iteration
        if sys.stderr.isatty():
            print(f"\r{done:,} of {total:,} kernels", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    write_tail(db, base)
    db.execute("COMMIT")
    db.close()
    os.replace(part, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT.sqlite")
    parser.add_argument("--kernels", type=lambda text: int(float(text)), default=5_000_000)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--force", action="store_true", help="replace OUT.sqlite if it exists")
    args = parser.parse_args()
    if args.out.exists() and not args.force:
        parser.error(f"{args.out} exists; --force replaces it")
    if args.devices < 1 or args.kernels < 100 * args.devices:
        parser.error("at least one device, and 100 kernels for each")
    began = time.monotonic()
    generate(args.out, args.kernels, args.devices, args.seed)
    size = args.out.stat().st_size / 1e6
    print(f"{args.out.name}: {size:,.0f} MB in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
