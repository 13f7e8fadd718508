"""Measure tracelake beside what it is compared with, on exports of Nsight Systems.

    python benchmarks/run.py EXPORT.sqlite... [--rounds 3] [--slow-rounds 1]
                             [--only NAME]... [--results benchmarks/RESULTS.md]

Everything runs as its own process, in rounds: round 1 of all, then round 2 of all. What else
the machine does then hits all alike, and the ratios stay fair. README.md says what is what.
"""

import argparse
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import quote

from measure import Measurement, measure
from results import VIEWS, Export, Row, page, together

HERE = Path(__file__).resolve().parent
TABLES = (
    "StringIds",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "NVTX_EVENTS",
)
TRACELAKE = (sys.executable, "-m", "pipeline")
# Reports of `nsys stats`, under the names of newer and of older versions.
NSYS_REPORTS = (("cuda_gpu_kern_sum", "gpukernsum"), ("cuda_api_sum", "cudaapisum"))


@dataclass(frozen=True)
class Bench:
    """One export and the places its subjects may use."""

    export: Path
    scratch: Path

    @property
    def store(self) -> Path:
        return self.scratch / "store"

    def tables(self) -> list[str]:
        with _open(self.export) as db:
            found = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        return [table for table in TABLES if table in found]


@dataclass(frozen=True)
class Subject:
    """Something to measure."""

    name: str
    what: str
    command: Callable[[Bench], Sequence[str | Path]] | None
    reason: str = ""  # why there is no command
    is_slow: bool = False
    needs_store: bool = False


def subjects(scratch: Path) -> list[Subject]:
    """All there is to measure, the way it is measured in one round."""
    return [
        Subject("cat", "`cat`: reading the file", cat_command),
        Subject("ingest", "`tracelake ingest`", ingest_command),
        *(
            Subject(view, f"`tracelake query {view}`", _query(view), needs_store=True)
            for view in VIEWS
        ),
        Subject("report", "`tracelake report`", report_command, needs_store=True),
        c_stepping(scratch),
        Subject(
            "python_sqlite3",
            "Python sqlite3, `fetchmany` of all columns",
            lambda bench: [sys.executable, HERE / "fetch_rows.py", bench.export, *bench.tables()],
            is_slow=True,
        ),
        Subject(
            "python_parquet",
            "Python sqlite3, `fetchmany` to Arrow to Parquet",
            python_parquet_command,
            is_slow=True,
        ),
        *nsys_stats(),
    ]


def cat_command(bench: Bench) -> Sequence[str | Path]:
    return ["sh", "-c", 'exec cat "$0" > /dev/null', bench.export]


def ingest_command(bench: Bench) -> Sequence[str | Path]:
    """Into a fresh store each time: what an earlier round left is removed first."""
    shutil.rmtree(bench.store, ignore_errors=True)
    return [*TRACELAKE, "ingest", bench.export, "--store", bench.store]


def report_command(bench: Bench) -> Sequence[str | Path]:
    output = bench.scratch / "report"
    shutil.rmtree(output, ignore_errors=True)
    return [*TRACELAKE, "report", "--store", bench.store, "--output", output]


def python_parquet_command(bench: Bench) -> Sequence[str | Path]:
    folder = bench.scratch / "parquet"
    shutil.rmtree(folder, ignore_errors=True)
    script = HERE / "fetch_rows.py"
    return [sys.executable, script, "--parquet", folder, bench.export, *bench.tables()]


def _query(view: str) -> Callable[[Bench], Sequence[str | Path]]:
    return lambda bench: [*TRACELAKE, "query", view, "--store", bench.store, "--format", "json"]


def c_stepping(scratch: Path) -> Subject:
    """The floor of readers that go through SQLite, compiled here and now."""
    name, what = "c_stepping", "SQLite C API, stepping all columns"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return Subject(name, what, None, "no C compiler (Debian: gcc, libsqlite3-dev)")
    program = scratch / "step"
    command = [compiler, "-O2", "-o", str(program), str(HERE / "step.c"), "-lsqlite3"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        why = (made.stderr.strip().splitlines() or ["no message"])[0]
        return Subject(name, what, None, f"does not compile (Debian: libsqlite3-dev): {why}")
    return Subject(name, what, lambda bench: [program, bench.export, *bench.tables()])


def nsys_stats() -> list[Subject]:
    """The reports of the installed `nsys stats`, whatever its version calls them."""
    nsys = shutil.which("nsys")
    known = ""
    if nsys:
        asked = [nsys, "stats", "--help-reports"]
        helped = subprocess.run(asked, capture_output=True, text=True, check=False)
        known = helped.stdout + helped.stderr
    words = set(known.replace("[", " ").split())
    made = []
    for names in NSYS_REPORTS:
        report = next((name for name in names if name in words), None)
        label = f"`nsys stats` {report or names[0]}"
        if nsys is None or report is None:
            why = "this nsys has no such report" if nsys else "nsys is not installed"
            made.append(Subject(f"nsys_{names[0]}", label, None, why))
        else:
            made.append(Subject(f"nsys_{names[0]}", label, _nsys(nsys, report), is_slow=True))
    return made


def _nsys(nsys: str, report: str) -> Callable[[Bench], Sequence[str | Path]]:
    return lambda bench: [
        *(nsys, "stats", "--report", report, "--format", "csv", "--output", "-"),
        bench.export,
    ]


def measure_export(
    bench: Bench, chosen: Sequence[Subject], rounds: int, slow_rounds: int
) -> Export:
    """Measure the subjects on one export, round by round."""
    _warm(bench.export)
    done: dict[str, list[Measurement]] = {subject.name: [] for subject in chosen}
    reasons = {subject.name: subject.reason for subject in chosen if subject.command is None}
    store_bytes = 0
    for number in range(max(rounds, slow_rounds)):
        for subject in chosen:
            limit = slow_rounds if subject.is_slow else rounds
            if subject.command is None or subject.name in reasons or number >= limit:
                continue
            if subject.needs_store and (why := _no_store(bench, reasons)):
                reasons[subject.name] = why
                continue
            _say(f"{bench.export.name}: round {number + 1}, {subject.name}")
            measured = measure(subject.command(bench), cwd=HERE.parent)
            if measured.exit_code:
                reasons[subject.name] = failure(measured)
                continue
            done[subject.name].append(measured)
            if subject.name == "ingest":
                store_bytes = sum(p.stat().st_size for p in bench.store.rglob("*") if p.is_file())
    rows = []
    for subject in chosen:
        reason = reasons.get(subject.name, "")
        measured_rounds = () if reason else tuple(done[subject.name])
        if not measured_rounds and not reason:
            reason = "no rounds were asked for"
        rows.append(Row(subject.name, subject.what, measured_rounds, reason))
    size = bench.export.stat().st_size
    return Export(bench.export.name, size, _kernels(bench.export), store_bytes, _with_sum(rows))


def _no_store(bench: Bench, reasons: Mapping[str, str]) -> str:
    """Make the store if no measured ingest has; say why there is none."""
    if "ingest" not in reasons and not bench.store.exists():
        made = measure(ingest_command(bench), cwd=HERE.parent)
        return f"no store, ingest ended with {failure(made)}" if made.exit_code else ""
    return "no store, ingest failed" if "ingest" in reasons else ""


def failure(measured: Measurement) -> str:
    said = (measured.stderr or measured.stdout).splitlines() or ["no message"]
    return f"exit code {measured.exit_code}: {said[-1]}"


def _with_sum(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, with the three views together after the last of them."""
    views = [row for row in rows if row.name in VIEWS]
    if len(views) < len(VIEWS):
        return tuple(rows)
    after = rows.index(views[-1]) + 1
    return (*rows[:after], together(views, "views", "the three views together"), *rows[after:])


def _warm(path: Path) -> None:
    """Read the file once, so that no round finds it colder than another."""
    with path.open("rb") as file, open(os.devnull, "wb") as nowhere:
        shutil.copyfileobj(file, nowhere, 1 << 20)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)


def _kernels(path: Path) -> int:
    try:
        with _open(path) as db:
            last = db.execute("SELECT max(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
    except sqlite3.OperationalError:
        return 0  # nothing ran on a device: there is no such table
    return int(last or 0)


def machine() -> dict[str, str]:
    """Where and with what the numbers were taken."""
    cpu = _first_value(Path("/proc/cpuinfo"), "model name")
    memory_kib = int(_first_value(Path("/proc/meminfo"), "MemTotal").split()[0])
    kernel = platform.release().partition("-")[0]
    facts = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": str(len(os.sched_getaffinity(0))),
        "CPU": cpu,
        "memory": f"{memory_kib / 2**20:.1f} GiB",
        "system": f"{platform.freedesktop_os_release()['PRETTY_NAME']}, Linux {kernel}",
        "Python": platform.python_version(),
        "SQLite of Python": sqlite3.sqlite_version,
    }
    for package in ("tracelake", "duckdb", "pyarrow", "numpy", "polars"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    if nsys := shutil.which("nsys"):
        told = subprocess.run([nsys, "--version"], capture_output=True, text=True, check=False)
        facts["nsys"] = told.stdout.strip().removeprefix("NVIDIA Nsight Systems version ")
    return facts


def _first_value(path: Path, name: str) -> str:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "0 unknown"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=str(__doc__).split("\n")[0],
        epilog="example: python benchmarks/run.py m05.sqlite m5.sqlite --only ingest --only cat",
    )
    parser.add_argument("exports", type=Path, nargs="+", metavar="EXPORT.sqlite")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of everything (3)")
    parser.add_argument("--slow-rounds", type=int, default=1, help="rounds of slow peers (1)")
    parser.add_argument("--only", action="append", metavar="NAME", help="measure only this")
    parser.add_argument(
        "--results", type=Path, help="file to write (benchmarks/RESULTS.md; none with --only)"
    )
    parser.add_argument("--scratch", type=Path, help="folder for stores (the system's)")
    args = parser.parse_args()
    for export in args.exports:
        if not export.is_file():
            parser.error(f"{export} is not a file; benchmarks/generate.py makes one")
    with tempfile.TemporaryDirectory(dir=args.scratch, prefix="tracelake-bench-") as folder:
        scratch = Path(folder)
        every = subjects(scratch)
        names = [subject.name for subject in every]
        if unknown := sorted(set(args.only or ()) - set(names)):
            parser.error(f"no {', '.join(unknown)}; there is {', '.join(names)}")
        chosen = [subject for subject in every if not args.only or subject.name in args.only]
        measured = []
        for number, export in enumerate(args.exports):
            place = scratch / str(number)
            place.mkdir()
            bench = Bench(export.resolve(), place)
            measured.append(measure_export(bench, chosen, args.rounds, args.slow_rounds))
            shutil.rmtree(place)
    text = page(machine(), measured)
    print(text)
    results = args.results or (None if args.only else HERE / "RESULTS.md")
    if results:
        results.write_text(text)


if __name__ == "__main__":
    main()
