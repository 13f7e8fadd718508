"""Jobs made with one wall each, against the same job without it: the verdict names the wall, and
its cost is what the simulation lost to it."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import diagnose
from pipeline.diagnose import Diagnosis
from pipeline.diagnosis_text import as_text
from pipeline.ingest import ingest
from pipeline.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "sample_traces"))

import make
from description import Job, Operation, load
from simulation import simulate

STEPS = 5
Change = Callable[[Operation], list[Operation]]


def with_words(verb: str, old: str, new: str) -> Change:
    """Operations ``verb`` that take ``old`` microseconds take ``new``."""

    def change(op: Operation) -> list[Operation]:
        words = tuple(new if op.verb == verb and word == old else word for word in op.words)
        return [replace(op, words=words)]

    return change


def changed(job: Job, part: str, change: Change) -> Job:
    parts = dict(job.programs["train"])
    parts[part] = [new for op in parts[part] for new in change(op)]
    return replace(job, programs={"train": parts})


# It loads its data ahead and hides its communication.
TUNED = replace(load("ddp_healthy"), steps=STEPS, gpu_metrics={})
LOADING, COPYING = ("step", "host", "40"), ("step", "copy", "170")
HOST, REDUCING = ("pause", "host", "84"), ("bucket", "collective", "300")


def slower(place: tuple[str, str, str], new: str, job: Job = TUNED) -> Job:
    part, verb, old = place
    return changed(job, part, with_words(verb, old, new))


def late(rank: str, us: str, job: Job = TUNED) -> Job:
    """One rank loads its data slowly."""

    def change(op: Operation) -> list[Operation]:
        is_loading = op.verb == "host" and op.words == ("40",)
        return [op, Operation("host", (us,), {"ranks": rank})] if is_loading else [op]

    return changed(job, "step", change)


def lost_share(job: Job) -> float:
    """Share of the job's time by which it ends later than the tuned one."""
    (end, tuned_end) = (max(recording.end for recording in simulate(one)) for one in (job, TUNED))
    begin = min(float(process.program_begins_us) for process in job.processes) * 1_000
    return (end - tuned_end) / (end - begin)


Diagnoser = Callable[..., Diagnosis]


@pytest.fixture
def of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Diagnoser:
    monkeypatch.setattr(make.lzma, "compress", lambda content, preset: content)

    def diagnosis(job: Job, keep: str = "*") -> Diagnosis:
        make.make(replace(job, name="job"), tmp_path / "job")
        kept = set((tmp_path / "job").glob(f"{keep}.sqlite.xz"))
        for file in (tmp_path / "job").glob("*.xz"):
            if file in kept:
                file.rename(file.with_suffix(""))
            else:
                file.unlink()
        store = Store.create(tmp_path / "store")
        ingest([tmp_path / "job"], store, run="job", jobs=1)
        return diagnose.diagnose(store.connect(asked=diagnose.VIEWS), "job")

    return diagnosis


def cost_of(diagnosis: Diagnosis, wall: str) -> float | None:
    (cost,) = [row["cost_share"] for row in diagnosis.all_walls if row["wall"] == wall]
    return cost if cost is None else float(cost)


def test_the_healthy_sample_has_no_wall(sample_store: Path) -> None:
    asked = Store.open(sample_store).connect(runs=["ddp_healthy"], asked=diagnose.VIEWS)
    found = diagnose.diagnose(asked, "ddp_healthy")
    assert (found.kind, found.confidence) == ("no wall found", "sure"), found.verdict
    assert [row["finding"] for row in found.findings if row["severity"] != "info"] == []


def test_a_healthy_job_has_no_wall(of: Diagnoser) -> None:
    found = of(TUNED)
    assert (found.kind, found.confidence) == ("no wall found", "sure"), found.verdict
    assert [row["finding"] for row in found.findings if row["severity"] != "info"] == []


@pytest.mark.parametrize(
    ("wall", "job"),
    [
        ("input", slower(LOADING, "3000")),
        ("launch", slower(HOST, "2500")),
        ("communication", slower(REDUCING, "2600")),
        ("memory copies", slower(COPYING, "3000")),
        ("waiting", late("2", "3000")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_wall_is_named_with_its_cost(of: Diagnoser, wall: str, job: Job) -> None:
    found = of(job)
    assert found.kind == "wall"
    assert [row["wall"] for row in found.walls] == [wall], found.verdict
    # The tuned job has a little of everything; 5 % of the step is the bound for both together.
    assert cost_of(found, wall) == pytest.approx(lost_share(job), abs=0.05)


def test_two_walls_are_both_named(of: Diagnoser) -> None:
    found = of(slower(LOADING, "3000", slower(REDUCING, "3600")))
    assert {row["wall"] for row in found.walls} == {"input", "communication"}


def test_copies_and_a_late_rank_are_both_named(of: Diagnoser) -> None:
    found = of(late("2", "3000", slower(COPYING, "3000")))
    assert {row["wall"] for row in found.walls} == {"memory copies", "waiting"}


def test_a_job_that_only_copies_is_not_idle(of: Diagnoser) -> None:
    job = slower(COPYING, "300000")
    found = of(job)
    assert [row["wall"] for row in found.walls] == ["memory copies"], found.verdict
    assert found.verdict.startswith("memory copies cost 98")
    assert cost_of(found, "memory copies") == pytest.approx(lost_share(job), abs=0.05)
    assert cost_of(found, "launch") == pytest.approx(0.0, abs=0.01)


def test_one_rank_alone_cannot_tell_waiting_from_transfer(of: Diagnoser) -> None:
    found = of(late("2", "3000"), keep="rank0")
    assert found.kind == "cannot tell"
    assert "nsys on every rank" in {row["need"] for row in found.missing}
    assert "nsys profile" in as_text(found)
