"""The sample history, judged: a step, a drift, noise, a missing night, an upgrade; and how the
commands say it."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from pipeline.cli import main
from pipeline.errors import UserError
from pipeline.history import run_metrics
from pipeline.history.judged import Judged, Night
from pipeline.history.nightly import only_one
from pipeline.history.regress import regress
from pipeline.history.series import NIGHT_NS
from pipeline.ingest import ingest
from pipeline.store import Store

ROOT = Path(__file__).parents[2]
HISTORY = ROOT / "sample_history"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The sample history, ingested; runs may get verdicts, nothing else."""
    made = Store.create(tmp_path_factory.mktemp("history") / "store")
    summary = ingest([HISTORY], made, jobs=1)
    assert summary.count("refused") == 0 and len(summary.runs) == 95
    return made


@pytest.fixture(scope="module")
def night(store: Store) -> Night:
    return regress(store)


def judged(night: Night, series: str) -> Judged:
    return next(one for one in night.judged if one.series.name == series)


def call(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


# -- what is found -------------------------------------------------------------------------


def test_each_job_is_called_what_it_is(night: Night) -> None:
    heads = {one.series.name: one.headline for one in night.judged}
    told = {name: (h.judgement.verdict, h.judgement.word) for name, h in heads.items() if h}
    assert told == {
        "dense": ("regressed", "lasting step"),
        "drifting": ("regressed", "drift"),
        "noisy": ("inconclusive", "noisy"),
        "steady": ("unchanged", ""),
    }


def test_a_capture_of_fixed_length_does_not_hide_slower_steps(night: Night, store: Store) -> None:
    """16.68 -> 18.95 ms: fewer steps fit, and the GPU is busy for less time in total."""
    one = judged(night, "dense")
    told = tomllib.loads((ROOT / "sample_traces/nights.toml").read_text(encoding="utf-8"))["dense"]
    assert one.headline is not None and one.headline.since_run == "dense_2026-03-20"
    before = told["gemm_us"] + told["other_us"]
    after = told["step"]["gemm_us"] + told["other_us"]
    assert one.headline.judgement.change_share == pytest.approx(after / before - 1, abs=0.004)
    runs = ["dense_2026-03-19", "dense_2026-03-20"]
    busy = store.connect(runs=runs).sql("SELECT busy_ns FROM nccl_time_share").fetchall()
    assert busy[1] < busy[0]


def test_the_change_is_attributed_to_the_renamed_kernel(night: Night) -> None:
    one = judged(night, "dense")
    assert one.attribution is not None
    first = one.attribution.differences[0]
    assert (first.part, first.class_, first.word) == ("compute", "gemm", "renamed")
    assert first.old_name == "sm90_xmma_gemm_bf16_tn"
    total = sum(d.change_ns for d in one.attribution.differences)
    assert total == one.attribution.change_ns
    assert first.change_ns > 0.9 * total
    assert one.suspects["versions.nccl"] == ("2.27.5", "2.28.3")


def test_a_missing_night_is_missing(night: Night) -> None:
    assert judged(night, "steady").missing_nights == ["2026-03-13"]


def test_counts_add_up(night: Night) -> None:
    numbers = sum(len(one.told) or 1 for one in night.judged)
    assert sum(night.counts().values()) == numbers


def test_the_night_of_the_step_is_called_the_same_night(store: Store) -> None:
    one = judged(regress(store, only_run="dense_2026-03-20"), "dense")
    assert one.headline is not None
    assert (one.headline.judgement.verdict, one.headline.judgement.word) == (
        "regressed",
        "one night",
    )
    before = judged(regress(store, only_run="dense_2026-03-19"), "dense")
    assert before.verdict != "regressed"


def test_the_first_night_has_no_baseline(store: Store) -> None:
    one = judged(regress(store, only_run="steady_2026-03-02"), "steady")
    assert one.verdict == "no baseline"


def test_an_unknown_run_or_series_or_date_is_said(store: Store) -> None:
    with pytest.raises(UserError, match="not in the store"):
        regress(store, only_run="nothing")
    with pytest.raises(UserError, match="no such series"):
        regress(store, only_series=["nothing"])
    with pytest.raises(UserError, match="of 4 the nearest are steady"):
        regress(store, only_series=["stedy"])
    with pytest.raises(UserError, match="no date"):
        regress(store, since="yesterday")


def test_a_threshold_that_numbers_were_made_with_cannot_be_set_afterwards(store: Store) -> None:
    with pytest.raises(UserError, match="only regression_"):
        regress(store, thresholds={"kernel_gap_ns": 1.0})
    assert regress(store, thresholds={"regression_night_share": 0.9}).rule.night_share == 0.9


# -- runs that cannot be judged ------------------------------------------------------------


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    """Eight nights of the steady job, to be changed."""
    for folder in sorted(HISTORY.glob("steady_*"))[:8]:
        shutil.copytree(folder, tmp_path / "nights" / folder.name)
    return tmp_path / "nights"


def last(nights: Path) -> Path:
    return max(nights.iterdir())


def told_of(nights: Path) -> Judged:
    store = Store.create(nights.parent / "store")
    ingest([nights], store, jobs=1)
    return judged(regress(store), "steady")


def test_a_run_on_other_gpus_is_not_comparable(nights: Path) -> None:
    file = last(nights) / "run.toml"
    text = file.read_text(encoding="utf-8").replace("H100 80GB HBM3", "A100-SXM4-80GB")
    file.write_text(text, encoding="utf-8")
    one = told_of(nights)
    assert one.verdict == "not comparable"
    assert "hardware.gpu NVIDIA H100 80GB HBM3 -> NVIDIA A100-SXM4-80GB" in one.reason


def test_a_capture_without_kernels_is_no_improvement(nights: Path) -> None:
    shutil.copy(ROOT / "sample_traces/cpu_only/rank0.sqlite.xz", last(nights))
    one = told_of(nights)
    assert (one.verdict, one.reason) == ("inconclusive", "incomplete: a capture without kernels")
    assert one.told == []


def test_a_host_whose_jobs_are_all_slower_is_one_cause(tmp_path: Path) -> None:
    """Three jobs on node-a lose a tenth in one night, one on node-b does not."""
    folders = sorted(HISTORY.glob("steady_*"))[:9]
    for job, host in (("a", "node-a"), ("b", "node-a"), ("c", "node-a"), ("d", "node-b")):
        for number, folder in enumerate(folders):
            made = tmp_path / "nights" / folder.name.replace("steady", job)
            shutil.copytree(folder, made)
            told = (made / "run.toml").read_text(encoding="utf-8").replace('"steady"', f'"{job}"')
            (made / "run.toml").write_text(
                f"{told}\n[hosts.{host}]\nrack = 'r1'\n", encoding="utf-8"
            )
            if number == 8 and host == "node-a":
                log = (made / "megatron.log").read_text(encoding="utf-8")
                log = re.sub(
                    r"(iteration \(ms\): )([\d.]+)",
                    lambda found: f"{found[1]}{float(found[2]) * 1.1:.1f}",
                    log,
                )
                (made / "megatron.log").write_text(log, encoding="utf-8")
    store = Store.create(tmp_path / "store")
    ingest([tmp_path / "nights"], store, jobs=1)
    found = regress(store)
    assert {one.series.name: one.verdict for one in found.judged} == {
        **dict.fromkeys("abc", "regressed"),
        "d": "unchanged",
    }
    (cause,) = found.causes
    assert (cause.key, cause.value, cause.series) == ("host", "node-a", ("a", "b", "c"))
    assert cause.is_contrasted


# -- numbers are made once -----------------------------------------------------------------


def test_numbers_are_made_once_and_again_when_files_change(nights: Path) -> None:
    store = Store.create(nights.parent / "store")
    ingest([nights], store, jobs=1)
    assert run_metrics.derive(store) == 8
    assert run_metrics.derive(store) == 0
    log = last(nights) / "megatron.log"
    log.write_text(log.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    store = Store.open(store.root)
    ingest([nights], store, jobs=1)
    assert run_metrics.derive(store) == 1
    rows = store.bare(["run_metric"]).execute(
        "SELECT count(*), count(DISTINCT (run_id, view_name, metric, statistic, key)) "
        "FROM run_metric"
    )
    (counts,) = rows.fetchall()
    assert counts[0] == counts[1] > 0


# -- commands ------------------------------------------------------------------------------


def test_regress_as_json_is_the_same_every_time(store: Store) -> None:
    one, two = (call("regress", "--store", store.root, "--format", "json") for _ in range(2))
    assert one.exit_code == 1 and one.stdout == two.stdout
    record = json.loads(one.stdout)
    assert record["verdict_total"] == sum(record["counts"].values())
    assert record["series"][0]["verdict"] == "regressed"


def test_regress_can_be_kept_from_failing(store: Store) -> None:
    words = ("regress", "--store", store.root, "--series", "steady")
    assert call(*words).exit_code == 0
    assert call("regress", "--store", store.root, "--fail-on", "none").exit_code == 0
    assert call(*words, "--fail-on", "unchanged").exit_code == 1


def test_regress_stores_its_verdicts(store: Store) -> None:
    call("regress", "--store", store.root)
    sql = "SELECT DISTINCT series FROM throughput_regression ORDER BY ALL"
    assert store.connect(asked=["throughput_regression"]).sql(sql).fetchall() == [
        ("dense",),
        ("drifting",),
    ]


def test_regress_as_junit(store: Store) -> None:
    root = ElementTree.fromstring(
        call("regress", "--store", store.root, "--format", "junit").stdout
    )
    failures = {
        case.get("classname") for case in root.iter("testcase") if case.find("failure") is not None
    }
    assert failures == {"dense_2026-03-25", "drifting_2026-03-25"}


def test_regress_writes_a_page_and_histories(store: Store, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "tonight.html"
    call("regress", "--store", store.root, "--output", page)
    assert "versions.nccl: 2.27.5 -&gt; 2.28.3" in page.read_text(encoding="utf-8")
    history = (page.parent / "tonight.history.html").read_text(encoding="utf-8")
    assert "<svg" in history and "2026-03-13" in history


def test_the_detector_checks_itself(store: Store) -> None:
    told = call("regress", "--store", store.root, "--series", "steady", "--self-check")
    assert told.exit_code == 0, told.output
    assert "steps put in" in told.stdout


def test_comparing_two_runs(store: Store) -> None:
    words = ("compare", "dense_2026-03-10", "dense_2026-03-22", "--store", store.root)
    told = call(*words)
    assert told.exit_code == 1
    assert "renamed from sm90_xmma_gemm_bf16_tn" in told.stdout
    assert json.loads(call(*words, "--format", "json").stdout)["verdict"] == "regressed"


def test_a_run_beside_itself_has_not_changed(store: Store) -> None:
    told = call("compare", "dense_2026-03-10", "dense_2026-03-10", "--store", store.root)
    assert told.exit_code == 0 and "regressed" not in told.stdout


def test_two_runs_of_a_series_too_short_for_its_noise_are_compared(nights: Path) -> None:
    store = nights.parent / "two"
    ingest(sorted(nights.iterdir())[:2], Store.create(store), jobs=1)
    told = call("compare", "steady_2026-03-02", "steady_2026-03-03", "--store", store)
    assert told.exit_code == 0, told.output


def test_runs_of_different_jobs_are_not_compared(store: Store) -> None:
    told = call("compare", "dense_2026-03-10", "noisy_2026-03-10", "--store", store.root)
    assert told.exit_code == 2
    assert told.stdout.startswith("not comparable")
    assert "model.name dense-8b -> noisy-8b" in told.stdout


def test_nightly_may_be_started_again(nights: Path) -> None:
    words = ("nightly", nights, "--store", nights.parent / "s", "--output", nights.parent / "out")
    first = call(*words)
    assert first.exit_code == 0, first.output
    pages = {f.name: f.read_bytes() for f in (nights.parent / "out").iterdir()}
    assert {"summary.json", "summary.md", "night.html", "history.html"} <= pages.keys()
    again = call(*words)
    assert again.stdout == first.stdout
    assert {f.name: f.read_bytes() for f in (nights.parent / "out").iterdir()} == pages


def test_of_two_nightlies_the_second_refuses(nights: Path) -> None:
    with only_one(nights.parent / "out"):
        told = call(
            *("nightly", nights, "--store", nights.parent / "s"),
            *("--output", nights.parent / "out"),
        )
    assert told.exit_code == 2 and "another nightly is at work" in told.stderr
    assert "name another --output" in told.stderr


def test_two_nightlies_of_one_store_refuse_too(nights: Path) -> None:
    store = Store.create(nights.parent / "s")
    with only_one(store.root / ".nightly"):
        told = call(*("nightly", nights, "--store", store.root, "--output", nights.parent / "out"))
    assert told.exit_code == 2 and "name another --store" in told.stderr


def test_a_series_that_stops_is_missing(nights: Path) -> None:
    for folder in sorted(HISTORY.glob("drifting_*"))[:12]:
        shutil.copytree(folder, nights / folder.name)
    store = Store.create(nights.parent / "store")
    ingest([nights], store, jobs=1)
    gone = [one for one in regress(store).judged if one.run is None]
    assert [(one.series.name, one.verdict) for one in gone] == [("steady", "missing")]
    assert NIGHT_NS == 24 * 3600 * 10**9


def test_the_sample_history_is_what_its_description_makes(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "sample_traces/nights.py"), "--output", str(tmp_path)]
    subprocess.run(command, check=True)
    made = {f.relative_to(tmp_path) for f in tmp_path.rglob("*") if f.is_file()}
    assert made == {f.relative_to(HISTORY) for f in HISTORY.rglob("*") if f.is_file()}
    for name in made:
        if name.suffix != ".xz":
            assert (tmp_path / name).read_bytes() == (HISTORY / name).read_bytes(), name
