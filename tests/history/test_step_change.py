"""What changed where a level changed, which is not always last night."""

from pipeline.history.common_cause import common_causes
from pipeline.history.compare import Judgement
from pipeline.history.judged import About, Judged, Told
from pipeline.history.regress import _case
from pipeline.history.series import Run, Series
from pipeline.history.step_change import _sides, find_suspects

STEP = ("step_time", "step_ns", "median", "")


def run(day: int, nccl: str, driver: str, gpus: str = "8") -> Run:
    suspects = {"versions.nccl": (nccl,), "versions.driver": (driver,)}
    return Run(f"r{day}", day, "", "s", {"hardware.gpu_count": gpus}, suspects, {})


def told(judgement: Judgement, count: int = 6) -> Told:
    history = tuple((f"r{day}", 1.0) for day in range(count))
    since = None if judgement.since is None else f"r{judgement.since}"
    return Told(STEP, About("ns", "lower"), judgement, history, since)


def judged(name: str = "s", word: str = "lasting step") -> Judged:
    """Slower since night 3, when NCCL was new; the driver is new tonight."""
    runs = [run(d, "2.27" if d < 3 else "2.28", "570" if d < 5 else "580") for d in range(6)]
    one = Judged(Series(name, runs, ""), runs[-1], runs[:-1], verdict="regressed")
    one.suspects = {"versions.driver": ("570", "580")}
    since = 0 if word == "drift" else 3
    one.told = [told(Judgement("regressed", word, since=since, change_share=0.05))]
    return one


def test_suspect_is_what_changed_where_the_level_did() -> None:
    one = judged()
    find_suspects([one])
    assert one.suspects == {"versions.nccl": ("2.27", "2.28")}


def test_a_drift_has_no_such_night() -> None:
    one = judged(word="drift")
    find_suspects([one])
    assert one.suspects == {"versions.driver": ("570", "580")}


def test_an_upgrade_is_the_common_cause_nights_later_too() -> None:
    series = [judged("a"), judged("b")]
    find_suspects(series)
    (cause,) = common_causes([_case(one) for one in series])
    assert (cause.key, cause.value, cause.series) == ("versions.nccl", "2.28", ("a", "b"))


def test_a_change_is_made_of_the_levels_beside_it() -> None:
    # Runs 0 and 1 are of an older level, 3 and 6 are single spikes.
    j = Judgement("regressed", "lasting step", since=5, starts=(2, 5), spikes=(3, 6))
    assert _sides(told(j, count=8), 5) == (["r2", "r4"], ["r5", "r7"])
