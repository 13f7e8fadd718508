"""Logs of nccl-tests (2.18) from a description such as jobs/slow_link.nccl_tests_logs.toml."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from simulation import Draw

# Factor of busbw over algbw, and the operation and the share of the elements that rows print.
_TESTS = {
    "all_reduce": (lambda n: 2 * (n - 1) / n, "sum", lambda n: 1),
    "all_gather": (lambda n: (n - 1) / n, "none", lambda n: n),
}
_ELEMENT_BYTES = 4
# all_gather rounds each rank's share down to so many bytes.
_SHARE_BYTES = 16


def _fixed(value: float, width: int) -> str:
    """A number in the tool's way: the more digits before the point, the fewer after it."""
    digits = len(str(int(value))) if value >= 1 else 0
    decimals = 2 if digits < width - 2 else 1 if digits < width - 1 else 0
    return f"{value:{width}.{decimals}f}"


def _sizes(sizes: dict[str, int], shares: int) -> Iterator[int]:
    """The sizes of a sweep; small ones are rounded down, to nothing if need be."""
    size = sizes["min"]
    while size <= sizes["max"]:
        if shares == 1:
            yield size
        else:
            yield size // shares // _SHARE_BYTES * _SHARE_BYTES * shares
        size *= sizes["factor"]


def _preamble(job: dict[str, Any], log: dict[str, Any], test: str) -> Iterator[str]:
    code, sizes = job["nccl_version_code"], log["sizes"]
    yield f"# nccl-tests version {job['version']} nccl-headers={code} nccl-library={code}"
    yield f"# Collective test starting: {test}_perf"
    yield (
        f"# nThread 1 nGpus 1 minBytes {sizes['min']} maxBytes {sizes['max']}"
        f" step: {sizes['factor']}(factor) warmup iters: {job['warmup']}"
        f" iters: {job['iterations']} agg iters: 1 validation: 1 graph: 0"
    )
    yield "#"
    yield "# Using devices"
    for rank, (host, gpu) in enumerate(_places(job, log)):
        pid = 41000 + rank
        bus = f"0000:{0x1B + gpu * 0x28:02x}:00"
        yield (
            f"#  Rank {rank:2} Group  0 Pid {pid:6} on {host:>10} device {gpu:2} [{bus}]"
            f" {job['gpu']}"
        )
    yield "#"
    half = f"{'time':>7}  {'algbw':>6}  {'busbw':>6}  {'#wrong':>6}"
    unit = f"{'(us)':>7}  {'(GB/s)':>6}  {'(GB/s)':>6}  {'':6}"
    blank = f"# {'':10}  {'':12}  {'':8}  {'':6}  {'':6}  "
    yield f"{blank}         out-of-place                       in-place          "
    yield f"# {'size':>10}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}  {half}  {half} "
    yield f"# {'(B)':>10}  {'(elements)':>12}  {'':8}  {'':6}  {'':6}  {unit}  {unit} "


def _places(job: dict[str, Any], log: dict[str, Any]) -> list[tuple[str, int]]:
    return [(host, gpu) for host in log["hosts"] for gpu in range(job["gpus_per_host"])]


def _rows(
    job: dict[str, Any], log: dict[str, Any], test: str, draw: Draw
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The lines of a table, each with what it says in base units."""
    factor_of, redop, shares_of = _TESTS[test]
    ranks = len(_places(job, log))
    for size in _sizes(log["sizes"], shares_of(ranks)):
        count = size // _ELEMENT_BYTES // shares_of(ranks)
        line = f"{size:12}  {count:12}  {'float':>8}  {redop:>6}  {-1:6}"
        halves = []
        for is_in_place in (False, True):
            wire_us = size * factor_of(ranks) / log["busbw_gb_per_s"] / 1000
            late = 1 + job["spread"] * draw.below(1000) / 1000
            time = job["latency_us"] * late + wire_us
            cells = [
                _fixed(time, 7),
                _fixed(size / time / 1000, 6),
                _fixed(size / time / 1000 * factor_of(ranks), 6),
            ]
            line += f"  {cells[0]}  {cells[1]}  {cells[2]}  {0:6}"
            time_us, algbw, busbw = (Decimal(cell.strip()) for cell in cells)
            halves.append(
                {
                    "size_bytes": size,
                    "is_in_place": is_in_place,
                    "time_ns": int(time_us * 1000),
                    "algbw_bytes_per_s": float(algbw * 10**9),
                    "busbw_bytes_per_s": float(busbw * 10**9),
                }
            )
        yield line, halves


def _test(
    job: dict[str, Any], log: dict[str, Any], test: str, draw: Draw
) -> tuple[list[str], dict[str, Any]]:
    lines, rows = list(_preamble(job, log, test)), []
    for line, halves in _rows(job, log, test, draw):
        lines.append(line)
        rows += halves
    mean = sum(row["busbw_bytes_per_s"] for row in rows) / len(rows) / 1e9
    lines += [
        "# Out of bounds values : 0 OK",
        f"# Avg bus bandwidth    : {mean:g} ",
        "#",
        f"# Collective test concluded: {test}_perf",
        "#",
        "",
    ]
    ranks = len(_places(job, log))
    truth = {"op": test, "nranks": ranks, "nnodes": len(log["hosts"]), "gpus": ranks, "rows": rows}
    return lines, truth


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes every log of a description to ``folder``; returns what they contain.

    The truth has for each file its hosts, the speed that its slowest link allows, and its tests
    with all their rows in base units.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {}
    for number, log in enumerate(description["logs"]):
        draw, tests, lines = Draw(number + 1), [], []
        for test in log["tests"]:
            own, truth = _test(description, log, test, draw)
            lines += own
            tests.append(truth)
        prefix = log.get("prefix", "")
        text = "".join(f"{prefix}{line}\n" for line in lines)
        (folder / log["name"]).write_text(text, encoding="utf-8")
        files[log["name"]] = {
            "hosts": log["hosts"],
            "wire_busbw_bytes_per_s": log["busbw_gb_per_s"] * 1e9,
            "tests": tests,
        }
    return {"title": description["title"], "files": files}
