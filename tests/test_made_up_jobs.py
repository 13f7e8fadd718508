"""Jobs made for one question each, from a sample's description with a few things changed: who
is late, and what it costs, against the same job played without that. All have one host whose
clock is wrong by 50 ms and drifts."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline import catalog
from pipeline.ingest import ingest
from pipeline.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "sample_traces"))

import make
from description import Job, Operation, load
from simulation import simulate

Change = Callable[[Operation], list[Operation]]
HEALTHY = load("ddp_healthy")
ASKED_OF_LAUNCHES = ("step_time", "kernel_gap_cause", "launch_summary", "nvtx_summary")
VIEWS = ("collective", "straggler", "what_if", "rank_difference")


def only(ranks: str, op: Operation, **settings: str) -> Operation:
    return replace(op, settings={**op.settings, "ranks": ranks, **settings})


def host(us: int, **settings: str) -> Operation:
    return Operation("host", (str(us),), settings)


def changed(part: str, change: Change, steps: int = 8) -> Job:
    """The healthy job with every operation of one part replaced by what ``change`` makes of it."""
    parts = dict(HEALTHY.programs["train"])
    parts[part] = [new for op in parts[part] for new in change(op)]
    return replace(HEALTHY, programs={"train": parts}, steps=steps)


def before_the_copy(*late: Operation) -> Change:
    """Lateness in the loading of data, which ends where the batch is copied."""

    def change(op: Operation) -> list[Operation]:
        return [op, *late] if op.verb == "host" and op.words == ("40",) else [op]

    return change


def ended(job: Job) -> int:
    return max(recording.end for recording in simulate(job))


@dataclass
class Made:
    """A job's truth, what it lost, and a connection to what was stored of it."""

    truth: dict[str, Any]
    lost_ns: int
    connection: duckdb.DuckDBPyConnection

    def without(self, table: str) -> None:
        """As if the capture had not recorded this."""
        self.connection.execute(f"CREATE TEMP TABLE {table} AS FROM {table} LIMIT 0")
        for name in [n for n in catalog.queries() if n in catalog.used_repeatedly(VIEWS)]:
            sql = catalog.queries()[name].sql
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()


Maker = Callable[..., Made]


def stored(
    job: Job, folder: Path, error_us: float = 50_000.0, drift_ppm: float = 20.0
) -> tuple[dict[str, Any], Store]:
    """A job's truth, and the store of its files, with these clocks of its second host."""
    clock = {"clock_error_us": error_us, "clock_drift_ppm": drift_ppm}
    hosts = {**job.hosts, "node-b": {**job.hosts["node-b"], **clock}}
    job = replace(job, name="job", hosts=hosts, gpu_metrics={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make.lzma, "compress", lambda content, preset: content)
        truth = make.make(job, folder / "job")
    for file in (folder / "job").glob("*.xz"):
        file.rename(file.with_suffix(""))
    store = Store.create(folder / "store")
    assert ingest([folder / "job"], store, run="job", jobs=1).count("stored") == len(job.files)
    return truth, store


@pytest.fixture
def made(tmp_path: Path) -> Maker:
    def write(
        job: Job, error_us: float = 50_000.0, drift_ppm: float = 20.0, also: Sequence[str] = ()
    ) -> Made:
        truth, store = stored(job, tmp_path, error_us, drift_ppm)
        lost_ns = ended(job) - ended(replace(HEALTHY, steps=job.steps))
        return Made(truth, lost_ns, store.connect(asked=(*VIEWS, *also)))

    return write


def assert_collectives_are_true(job: Made, within_ns: int = 1_500) -> None:
    """Ranks leave up to 900 ns after one another; the rest is the clocks' drift."""
    found = job.rows(
        "SELECT instance, rank, wait_ns, transfer_ns, tail_ns, dur_ns FROM collective"
        " ORDER BY instance, rank"
    )
    truth = [
        (number, rank["rank"], rank["wait_ns"], rank["transfer_ns"])
        for number, collective in enumerate(job.truth["collectives"], 1)
        for rank in collective["ranks"]
    ]
    assert len(found) == len(truth)
    for row, true in zip(found, truth, strict=True):
        assert row[:2] == true[:2]
        assert sum(row[2:5]) == row[5]
        assert row[2:4] == pytest.approx(true[2:], abs=within_ns)


def verdicts(job: Made) -> list[tuple[Any, ...]]:
    return job.rows("SELECT rank, verdict FROM straggler")


ORDINARY = [(rank, "ordinary") for rank in range(4)]


@pytest.mark.parametrize(
    ("error_us", "drift_ppm"), [(50_000.0, 20.0), (-50_000.0, -20.0), (50_000.0, 0.0)]
)
def test_nobody_is_late_whatever_the_clock(made: Maker, error_us: float, drift_ppm: float) -> None:
    job = made(replace(HEALTHY, steps=8), error_us, drift_ppm)
    assert_collectives_are_true(job)
    assert verdicts(job) == ORDINARY
    ((saved_share,),) = job.rows(
        "SELECT saved_share FROM what_if WHERE scenario = 'no rank waits for another'"
    )
    assert saved_share < 0.005


def test_two_ranks_late_in_turn(made: Maker) -> None:
    late = host(3000, ranks="1", steps="2,4,6"), host(3000, ranks="2", steps="3,5")
    job = made(changed("step", before_the_copy(*late)))
    assert_collectives_are_true(job)
    assert [rank for rank, verdict in verdicts(job) if verdict == "straggler"] == [1, 2]
    rows = job.rows("SELECT critical_count >= steps, reason FROM straggler, (SELECT 2 AS steps)"
                    " WHERE verdict = 'straggler'")  # fmt: skip
    assert all(enough and why.startswith("idle: data_loading") for enough, why in rows)
    ((lost_ns,),) = job.rows("SELECT sum(lost_ns) FROM straggler")
    assert lost_ns == pytest.approx(job.lost_ns, rel=0.005)


def test_a_rank_with_slow_kernels(made: Maker) -> None:
    def slow(op: Operation) -> list[Operation]:
        if op.verb != "launch" or op.words[0] != "gemm":
            return [op]
        longer = replace(op, words=(op.words[0], str(float(op.words[1]) * 1.4)))
        return [only("0,1,2", op), only("3", longer)]

    job = made(changed("layer_forward", slow))
    assert_collectives_are_true(job)
    assert verdicts(job) == [*ORDINARY[:3], (3, "straggler")]
    ((why, lost_ns),) = job.rows("SELECT reason, lost_ns FROM straggler WHERE rank = 3")
    assert why.startswith("slower_kernels: ")
    assert lost_ns == pytest.approx(job.lost_ns, rel=0.02)


def test_a_rank_with_more_kernels(made: Maker) -> None:
    def more(op: Operation) -> list[Operation]:
        is_gelu = op.verb == "launch" and op.words[0] == "gelu"
        return [op, *[only("0", op)] * 5] if is_gelu else [op]

    job = made(changed("layer_forward", more))
    assert_collectives_are_true(job)
    assert verdicts(job) == [(0, "straggler"), *ORDINARY[1:]]
    ((why, lost_ns),) = job.rows("SELECT reason, lost_ns FROM straggler WHERE rank = 0")
    assert why.startswith("more_kernels: ")
    assert lost_ns == pytest.approx(job.lost_ns, rel=0.02)


def test_a_rank_with_twice_the_idle_time_that_is_not_late(made: Maker) -> None:
    # What rank 1 does not compute in both layers it idles between them.
    def lighter(op: Operation) -> list[Operation]:
        is_left_out = op.verb == "launch" and op.words in (("attention", "141"), ("gemm", "152"))
        return [only("0,2,3", op)] if is_left_out else [op]

    job = changed("layer_forward", lighter)
    parts = dict(job.programs["train"])
    parts["pause"] = [*parts["pause"][:5], host(2 * (141 + 152), ranks="1"), *parts["pause"][5:]]
    job = made(replace(job, programs={"train": parts}), also=("step_time",))
    assert_collectives_are_true(job)
    idle = dict(job.rows("SELECT rank, avg(idle_ns) FROM step_time GROUP BY rank"))
    assert idle[1] > 1.8 * idle[0]
    assert verdicts(job) == ORDINARY


def test_a_capture_that_begins_later(made: Maker) -> None:
    late = host(3000, ranks="2", steps="3,4,5,6,7")
    job = changed("step", before_the_copy(late))
    made_job = made(job)
    # The first two steps of rank 0 were not captured.
    connection = made_job.connection
    ((begin,),) = connection.execute(
        "SELECT host_start_ns FROM device_step JOIN traced_device USING (device_key)"
        " WHERE rank = 0 AND step = 2"
    ).fetchall()
    source = "(SELECT source_id FROM process WHERE rank = 0)"
    for table in ("kernel", "memory_copy", "memory_set", "api_call", "nvtx_range"):
        connection.execute(f"CREATE TEMP TABLE kept AS FROM {table}")
        connection.execute(f"CREATE TEMP TABLE {table} AS FROM kept"
                           f" WHERE source_id <> {source} OR start_ns >= {begin}")  # fmt: skip
        connection.execute("DROP TABLE kept")
    for name in [n for n in catalog.queries() if n in catalog.used_repeatedly(VIEWS)]:
        sql = catalog.queries()[name].sql
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")
    rows = connection.execute(
        "SELECT step, min(rank_count), any_value(reason) FROM collective GROUP BY step ORDER BY 1"
    ).fetchall()
    assert [row[:2] for row in rows] == [(0, 3), (1, 3), *[(step, 4) for step in range(2, 8)]]
    assert [rank for rank, verdict in verdicts(made_job) if verdict == "straggler"] == [2]


def test_a_late_rank_without_ranges(made: Maker) -> None:
    job = made(changed("step", before_the_copy(host(3000, ranks="2", steps="3,4,6"))))
    job.without("nvtx_range")
    assert job.rows("SELECT DISTINCT origin FROM device_step") == [("kernel period",)]
    assert [rank for rank, verdict in verdicts(job) if verdict == "straggler"] == [2]
    ((lost_ns, count),) = job.rows("SELECT lost_ns, critical_count FROM straggler WHERE rank = 2")
    assert (lost_ns, count >= 3) == (pytest.approx(job.lost_ns, rel=0.05), True)


@pytest.mark.parametrize(
    "call",
    [
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cudaLaunchCooperativeKernel_v9000",
        "cudaLaunchKernel_ptsz_v7000",
        "cudaLaunchKernelExC_v11060",
    ],
)
def test_whatever_call_launches_a_kernel(made: Maker, sample_store: Path, call: str) -> None:
    kernels = {name: {**kernel, "call": call} for name, kernel in HEALTHY.kernels.items()}
    plain = {**HEALTHY.hosts["node-b"]}
    also = (*ASKED_OF_LAUNCHES, "api_summary")
    job = made(replace(HEALTHY, kernels=kernels), plain["clock_error_us"], 0.0, also)
    usual = Store.open(sample_store).connect(runs=["ddp_healthy"], asked=ASKED_OF_LAUNCHES)
    for columns in (
        "rank, step, begin_ns, step_ns, compute_ns, idle_ns, origin FROM step_time",
        "rank, step, cause, total_ns FROM kernel_gap_cause",
        "* EXCLUDE (run_id, source_id) FROM launch_summary",
        "rank, name, projected_ns, any_thread_projected_ns FROM nvtx_summary",
    ):
        sql = f"SELECT {columns} ORDER BY ALL"
        rows = job.rows(sql)
        assert rows
        assert rows == usual.execute(sql).fetchall()
    assert job.rows(f"SELECT count(*) > 0 FROM api_summary WHERE name = '{call.split('_v')[0]}'"
                    " OR name = '" + call + "'") == [(True,)]  # fmt: skip
