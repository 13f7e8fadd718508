"""Which runs are compared with which, and what of a run is missing."""

from pipeline.history.series import (
    differences,
    into_series,
    missing_nights,
    runs_of,
    shortcoming,
    suspects,
    usual,
)

DAY_NS = 86_400_000_000_000


def rows(run: str, **told: str) -> list[tuple[str, str, str, str]]:
    """Rows of run_condition: gpu, batch and so on are conditions, nccl and host suspects."""
    kinds = {
        "gpu": ("condition", "hardware.gpu"),
        "gpus": ("condition", "hardware.gpu_count"),
        "batch": ("condition", "training.global_batch_size"),
        "model": ("condition", "model.name"),
        "nccl": ("suspect", "versions.nccl"),
        "host": ("suspect", "host"),
        "series": ("state", "run.series"),
        "start": ("state", "run.start"),
    }
    return [(run, *kinds.get(key, ("state", key)), value) for key, value in told.items()]


def names(*groups: list[tuple[str, str, str, str]]) -> dict[str, list[str]]:
    runs = runs_of([row for group in groups for row in group])
    return {one.name: [run.run_id for run in one.runs] for one in into_series(runs.values())}


def test_a_series_is_what_run_toml_says() -> None:
    assert names(rows("a", series="x", gpu="H100"), rows("b", series="x", gpu="A100")) == {
        "x": ["a", "b"]
    }


def test_else_runs_that_agree_are_one() -> None:
    h100 = {"gpu": "H100", "gpus": "8", "model": "llama"}
    found = names(
        rows("a", **h100, batch="16"),
        rows("b", **h100),  # does not say its batch
        rows("c", **h100, batch="16.0"),
        rows("d", **{**h100, "gpu": "A100"}, batch="16"),
    )
    assert found == {
        "A100, gpus 8, batch 16, llama": ["d"],
        "H100, gpus 8, batch 16, llama": ["a", "b", "c"],
    }


def test_a_run_that_may_belong_to_two_series_is_one_of_its_own() -> None:
    found = names(
        rows("a", gpu="H100", batch="16"), rows("b", gpu="H100", batch="32"), rows("c", gpu="H100")
    )
    assert sorted(found.values()) == [["a"], ["b"], ["c"]]


def test_runs_of_which_nothing_is_known_go_by_their_names() -> None:
    found = names(
        rows("bench-2026-03-01", rank_count="0"), rows("bench-2026-03-02", rank_count="0")
    )
    assert found == {"runs called bench*": ["bench-2026-03-01", "bench-2026-03-02"]}


def test_runs_are_ordered_by_time_not_by_name() -> None:
    early = rows("z", series="x", start="2026-03-01T00:00:00Z")
    late = rows("a", series="x", start_utc_ns=str(1_780_000_000 * 10**9))
    assert names(late, early) == {"x": ["z", "a"]}


def test_run_10_comes_after_run_9() -> None:
    found = names(rows("night9", series="x"), rows("night10", series="x"))
    assert found == {"x": ["night9", "night10"]}


def test_a_run_without_a_time_among_others_is_set_aside() -> None:
    runs = runs_of(rows("a", series="x", start="2026-03-01T00:00:00Z") + rows("b", series="x"))
    (one,) = into_series(runs.values())
    assert [run.run_id for run in one.misplaced] == ["b"]


def test_what_is_unknown_does_not_differ() -> None:
    runs = runs_of(
        rows("a", gpu="H100", nccl="2.27", host="n1") + rows("b", gpu="A100", nccl="2.28")
    )
    assert differences(runs["a"], runs["b"]) == {"hardware.gpu": ("H100", "A100")}
    assert suspects(runs["a"], runs["b"]) == {"versions.nccl": ("2.27", "2.28")}


def test_what_a_run_lacks() -> None:
    whole = {"capture_count": "4", "kernel_count": "9", "step_count": "5", "rank_count": "4"}
    told = {
        "whole": whole,
        "empty": {**whole, "kernel_count": "0"},
        "stepless": {**whole, "step_count": "0"},
        "cold": {**whole, "step_count": "1", "warm_up_step_count": "2"},
        "few ranks": {**whole, "rank_count": "3"},
        "damaged": {**whole, "refused_count": "1"},
        "log only": {"capture_count": "0", "rank_count": "4", "logged_step_count": "9"},
    }
    runs = runs_of([row for run, state in told.items() for row in rows(run, **state)])
    usually = usual([runs["whole"]])
    assert {run: shortcoming(runs[run], usually) for run in told} == {
        "whole": "",
        "empty": "a capture without kernels",
        "stepless": "a capture without steps",
        "cold": "cold start: 2 of 3 steps are warm-up",
        "few ranks": "3 of 4 ranks",
        "damaged": "1 of its files refused",
        "log only": "no capture, which other runs of the series have",
    }


def test_one_rank_of_eight_is_enough_where_it_always_is_one() -> None:
    state = {"capture_count": "1", "kernel_count": "9", "step_count": "5", "rank_count": "1"}
    runs = runs_of(rows("a", **state, **{"parallelism.world_size": "8"}))
    assert shortcoming(runs["a"], usual([runs["a"]])) == ""


def test_a_missing_night_is_named() -> None:
    days = (1, 2, 3, 5, 6)
    told = [rows(f"n{day}", series="x", start=f"2026-03-0{day}T22:00:00Z") for day in days]
    runs = runs_of([row for group in told for row in group])
    assert missing_nights(list(runs.values())) == ["2026-03-04"]
