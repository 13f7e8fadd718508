"""Pipelines of four stages on two hosts, one of whose clocks is wrong by 50 ms and drifts: what
their bubble is, against what the stages' own clocks say."""

import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "sample_traces"))

from description import Communicator, Job, load, parse
from simulation import Recording, simulate
from test_made_up_jobs import stored

STAGES = 4
EXCHANGE = {"name": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}


def exchange(rank: int, peer: int, call: str, stream: str) -> str:
    return f"""
record {stream}_ready ranks={rank}
wait {stream}_ready on={stream} ranks={rank}
range {call} domain=NCCL ranks={rank}
collective exchange 20 op=send_recv bytes=8388608 group=pipe peer={peer} on={stream} ranks={rank}
end ranks={rank}
"""


def received(rank: int, peer: int) -> str:
    got = f"record got on=tensor ranks={rank}\nwait got ranks={rank}\n"
    return exchange(rank, peer, "ncclRecv", "tensor") + got


def microbatches(rank: int, count: int, kernel_us: float) -> str:
    """All forward, then all backward, which takes twice as long."""
    text = ""
    for _ in range(count):
        text += received(rank, rank - 1) if rank else ""
        text += f"launch gemm {kernel_us} ranks={rank}\n"
        text += exchange(rank, rank + 1, "ncclSend", "data") if rank < STAGES - 1 else ""
    for _ in range(count):
        text += received(rank, rank + 1) if rank < STAGES - 1 else ""
        text += f"launch gemm {2 * kernel_us} ranks={rank}\n"
        text += exchange(rank, rank - 1, "ncclSend", "data") if rank else ""
    return text


def pipeline(count: int, kernels_us: tuple[float, ...], payloads: bool) -> Job:
    job = load("tp_dp_groups")
    work = "".join(microbatches(rank, count, us) for rank, us in enumerate(kernels_us))
    step = "range 'iteration {step}'\n" + work + "launch adam 64\nsync compute\nsync data\nend\n"
    programs = {"train": {"before": parse("communicator pipe 600"), "step": parse(step)}}
    files = job.files if payloads else [replace(file, payloads="") for file in job.files]
    kernels = {**job.kernels, "exchange": {**job.kernels["all_reduce"], **EXCHANGE}}
    pipe = [Communicator("pipe", "d1f3a90c55e0417b", tuple(range(STAGES)))]
    return replace(
        job, programs=programs, files=files, kernels=kernels, communicators=pipe, steps=6
    )


def union_ns(intervals: list[tuple[int, int]]) -> int:
    total, covered = 0, min((start for start, _ in intervals), default=0)
    for start, end in sorted(intervals):
        total += max(0, end - max(start, covered))
        covered = max(covered, end)
    return total


def true_bubble_ns(recordings: list[Recording], rank: int, step: int) -> int:
    """Waiting for the other stage with no compute beside it."""
    own, waits = recordings[rank], []
    for at, entry in enumerate(own.entries):
        number = [e.communicator for e in own.entries[:at]].count(entry.communicator)
        assert entry.communicator
        (peer,) = set(entry.communicator.ranks) - {rank}
        same = [e for e in recordings[peer].entries if e.communicator == entry.communicator]
        if entry.step == step and same[number].start > entry.start:
            waits.append((entry.start, same[number].start))
    compute = [(w.start, w.end) for w in own.activities if w.kernel not in ("", "exchange")]
    return union_ns(waits + compute) - union_ns(compute)


def bubbles(job: Job, folder: Path) -> list[tuple[int, int, int | None, str | None]]:
    connection: duckdb.DuckDBPyConnection = stored(job, folder)[1].connect(
        asked=["pipeline_bubble"]
    )
    sql = "SELECT rank, step, bubble_ns, peer FROM pipeline_bubble ORDER BY ALL"
    return connection.execute(sql).fetchall()


@pytest.mark.parametrize("kernels_us", [(200, 200, 200, 200), (200, 320, 200, 200)])
def test_the_bubble_is_what_stages_wait_for_each_other(
    tmp_path: Path, kernels_us: tuple[float, ...]
) -> None:
    job = pipeline(4, kernels_us, payloads=True)
    recordings = simulate(job)
    for rank, step, bubble_ns, peer in bubbles(job, tmp_path):
        assert bubble_ns == pytest.approx(true_bubble_ns(recordings, rank, step), rel=0.02)
        assert peer in (f"rank {rank - 1}", f"rank {rank + 1}")


def test_without_payloads_a_bubble_is_right_or_unknown(tmp_path: Path) -> None:
    job = pipeline(4, (200, 200, 200, 200), payloads=False)
    recordings = simulate(job)
    for rank, step, bubble_ns, _ in bubbles(job, tmp_path):
        if bubble_ns is not None:
            assert bubble_ns == pytest.approx(true_bubble_ns(recordings, rank, step), rel=0.02)
