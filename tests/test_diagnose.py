"""Rows of walls and findings in, a verdict out."""

from typing import Any

from pipeline.diagnose import Diagnosis, as_record, judge, savings
from pipeline.diagnosis_text import as_text

Row = dict[str, Any]
SCALE = {"gpu_count": 4, "gpu_hours": 0.1, "price_per_gpu_hour": 2.0, "currency": "EUR"}


def wall(name: str, cost_share: float | None = 0.0, **more: Any) -> Row:
    limit = 0.25 if name == "communication" else 0.1
    bound_share = more.get("bound_share")
    row = {
        "run_id": "run",
        "wall": name,
        "subject": None,
        "cost_ns": None if cost_share is None else cost_share * 1e9,
        "cost_share": cost_share,
        "bound_share": bound_share,
        "basis": "step",
        "is_wall": cost_share is not None and cost_share >= limit,
        "before_ns": 1e9 if cost_share else None,
        "after_ns": 1e9 * (1 - cost_share) if cost_share else None,
        "gpu_count": 4,
        "gpu_hours_per_day": None if cost_share is None else cost_share * 96,
        "price_per_day": None if cost_share is None else cost_share * 192,
        "currency": "EUR",
        "is_evident": False,
        "is_open": cost_share is None and (bound_share is None or bound_share >= limit),
        "evidence_view": "what_if",
        "evidence": None,
        "reason": None,
        "need": None,
        "collect": None,
        "collect_remark": None,
    }
    return row | more


def finding(severity: str, statement: str = "It is slow.", **more: Any) -> Row:
    row = {
        "run_id": "run",
        "finding": "slow",
        "severity": severity,
        "statement": statement,
        "subject": "rank 2",
        "detail": None,
        "value": 0.3,
        "threshold": 0.1,
        "unit": "share",
        "cost_share": 0.3,
        "hint": "Make it fast.",
    }
    return row | more


def verdict(*rows: Row, doubts: tuple[str, ...] = ()) -> Diagnosis:
    walls = [row for row in rows if "is_wall" in row]
    return judge("run", walls, [row for row in rows if "is_wall" not in row], SCALE, doubts)


def test_the_dearest_wall_is_the_verdict() -> None:
    found = verdict(wall("launch", 0.12), wall("waiting", 0.236, subject="rank 2"), wall("input"))
    assert (found.kind, found.confidence) == ("wall", "sure")
    assert found.verdict == (
        "waiting (rank 2) costs 23.6 % of the step; then launch costs 12.0 % of the step"
    )


def test_communication_below_its_own_limit_is_no_wall() -> None:
    found = verdict(wall("communication", 0.2))
    assert found.kind == "no wall found"
    assert found.verdict.endswith("the largest cost is communication, 20.0 % of the step")


def test_slow_hardware_comes_before_dearer_walls() -> None:
    found = verdict(wall("waiting", 0.4), wall("power", 0.15))
    assert [row["wall"] for row in found.walls] == ["power", "waiting"]


def test_a_fault_outranks_every_wall() -> None:
    found = verdict(wall("waiting", 0.4), finding("fault", "The link to the switch is faulty."))
    assert found.kind == "fault"
    assert found.verdict.startswith(
        "faulty hardware: the link to the switch is faulty (rank 2); waiting costs 40.0 %"
    )


def test_a_warning_is_no_verdict() -> None:
    assert verdict(wall("waiting", 0.04), finding("warning")).kind == "no wall found"


UNKNOWN = {
    "reason": "only one rank is present",
    "need": "nsys",
    "collect": "nsys profile ...",
    "collect_remark": "On every rank.",
}


def test_what_could_hide_a_wall_leaves_the_verdict_open() -> None:
    found = verdict(wall("waiting", None, bound_share=0.3, **UNKNOWN), wall("input", 0.01))
    assert (found.kind, found.confidence) == ("cannot tell", "none")
    assert found.verdict == "cannot tell: only one rank is present (waiting)"
    assert as_text(found).endswith("  nsys: On every rank.\n    nsys profile ...")


def test_an_unknown_that_cannot_be_large_leaves_nothing_open() -> None:
    found = verdict(wall("waiting", None, bound_share=0.03, **UNKNOWN))
    assert found.kind == "no wall found"


def test_one_reason_is_said_once() -> None:
    unknown = wall("waiting", None, **UNKNOWN), wall("input", None, **UNKNOWN)
    assert verdict(*unknown).verdict == "cannot tell: only one rank is present (waiting, input)"


def test_a_wall_that_is_evident_needs_no_cost() -> None:
    row = wall("power", None, bound_share=0.15, is_wall=True, is_open=False, subject="GPU 3")
    assert verdict(row).verdict == (
        "power (GPU 3) at a cost that is not known, at most 15.0 % of the step"
    )


def test_a_wall_found_beside_an_unknown_one_is_only_likely() -> None:
    found = verdict(wall("launch", 0.3), wall("waiting", None, **UNKNOWN))
    assert (found.kind, found.confidence) == ("wall", "likely")
    assert verdict(wall("launch", 0.3), doubts=("3 of 4 ranks are present",)).confidence == "likely"


def test_the_text_says_what_is_saved() -> None:
    text = as_text(verdict(wall("launch", 0.25), finding("wall", detail="cudaMalloc")), 80)
    assert "without it: step 1 s -> 750 ms, 24 GPU-hours a day on 4 GPUs, 48 EUR a day" in text
    assert "wall    It is slow (rank 2): 30.0 %, limit 10.0 %; cudaMalloc" in text
    assert "-> Make it fast." in text
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_is_saved_where_nothing_costs() -> None:
    text = as_text(verdict(wall("launch")))
    assert text.startswith("run: no wall found\n  confidence: sure\n\n")
    assert "without it" not in text


def test_the_record_is_in_base_units() -> None:
    record = as_record(verdict(wall("launch", 0.25)))
    assert (record["kind"], record["walls"][0]["cost_share"]) == ("wall", 0.25)


def test_an_abbreviation_keeps_its_letters() -> None:
    found = verdict(finding("fault", "GPUs slow down together."))
    assert found.verdict.startswith("faulty hardware: GPUs slow down together")


def test_a_long_reason_is_wrapped_not_cut() -> None:
    reason = "one rank is present and the others were not captured, nor does a log tell of them"
    rows = wall("communication", 0.3), wall("waiting", None, bound_share=0.5, reason=reason)
    for width in (60, 100):
        text = as_text(verdict(*rows), width)
        assert max(map(len, text.splitlines())) <= width
        assert f"at most 50.0 %; {reason}" in " ".join(text.split())


def test_only_what_is_asked_is_painted() -> None:
    found = verdict(wall("launch", 0.25), finding("warning"))
    plain = as_text(found)
    painted = as_text(found, paint=lambda kind, text: f"<{kind}>{text}</>" if kind else text)
    assert "\n* launch" in plain and "\n<wall>* launch" in painted
    assert "<warning>warning</>" in painted


def test_the_text_says_how_many_findings_there_are() -> None:
    text = as_text(verdict(wall("launch", 0.3), *(finding("info", f"It {n}.") for n in range(11))))
    assert "first 8 of 11; all: tracelake query finding --run run" in text


def test_savings_are_left_out_where_they_are_not_known() -> None:
    assert savings(verdict(wall("launch"))) == {}
    told = ("before_ns", "after_ns", "gpu_count", "gpu_hours_per_day", "price_per_day")
    row = wall("launch", 0.25, basis="span", **dict.fromkeys(told))
    found = judge("run", [row], [], {}, ())
    assert savings(found) == {"wall": "launch"}
