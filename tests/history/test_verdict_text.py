"""Verdicts as text: nothing is cut silently, and no name in a trace is markup."""

import dataclasses
import json
from xml.etree import ElementTree

import pytest

from pipeline.history.common_cause import Cause
from pipeline.history.compare import VERDICTS, Judgement, Rule, Verdict
from pipeline.history.judged import About, Judged, Night, Told
from pipeline.history.series import Run, Series
from pipeline.history.verdict_record import as_json, as_junit
from pipeline.history.verdict_text import as_markdown, as_table, worst_first
from pipeline.history.verdict_words import MEANINGS, meanings
from pipeline.report import night_page

HOSTILE = "<script>alert(1)</script>\"'|`a`\n| x |\t\x1b[31m\u202e\ufffe\uffff" + "L" * 300


def told(name: str, verdict: Verdict, share: float, metric: str = "busbw_bytes_per_s") -> Told:
    judgement = Judgement(verdict, "one night", "", 1.0 + share, 1.0, 9, 0.01, share, share)
    return Told(("v", metric, "median", name), About(None, "higher"), judgement)


def night(name: str, numbers: list[Told], causes: tuple[Cause, ...] = ()) -> Night:
    run = Run(name, 0, "", name, {}, {}, {})
    one = Judged(Series(name, [run], ""), run, [], numbers, "regressed")
    one.suspects = {"versions.nccl": (name, "2")}
    one.missing_nights, one.left_out = ["2026-03-04"], {name: "incomplete"}
    return Night(Rule(), [one], list(causes), 1)


@pytest.fixture
def hostile() -> Night:
    return night(HOSTILE, [told(HOSTILE, "regressed", -0.2), told("k", "missing", 0.0)])


def test_a_hostile_name_does_not_break_a_line(hostile: Night) -> None:
    lines = as_table(hostile).split("\n")
    assert all(line.isprintable() for line in lines)
    assert "\\n| x |\\t\\x1b[31m\\u202e\\ufffe" in lines[2]
    assert len([line for line in as_markdown(hostile).split("\n") if line[:1] == "|"]) == 3


def test_a_hostile_name_is_well_formed_in_junit_and_json(hostile: Night) -> None:
    root = ElementTree.fromstring(as_junit(hostile, ["regressed"]))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("2", "1", "1")
    assert root[0].get("name", "").startswith("<script>")
    assert json.loads(as_json(hostile))["series"][0]["series"] == HOSTILE


def test_a_hostile_name_is_no_markup_on_the_page(hostile: Night) -> None:
    page = night_page.page(hostile, "history.html", has_pages=False)
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_what_a_terminal_does_not_show_is_counted() -> None:
    numbers = [told(f"{i}", "regressed", -i / 100) for i in range(1, 9)]
    numbers += [told("a", "missing", 0.0), told("b", "unchanged", 0.0)]
    assert "not shown: 1 unchanged, 1 missing;" in as_table(night("s", numbers))


def test_of_one_cause_the_worst_numbers_are_shown() -> None:
    numbers = [told(f"{i}", "regressed", -i / 100) for i in range(1, 9)]
    cause = Cause(1, "regressed", "host", "node-a", ("s",), 0, False, 8)
    text = as_table(night("s", numbers, (cause,)))
    assert [f"[{i}]" in text for i in range(1, 9)] == [False] * 5 + [True] * 3
    assert "not shown: 5 regressed;" in text


def test_the_worst_number_comes_first() -> None:
    numbers = [told("a", "unchanged", -0.5), told("b", "regressed", -0.1)]
    numbers += [told("c", "regressed", -0.2)]
    assert [t.metric[3] for t in worst_first(numbers)] == ["c", "b", "a"]


def test_a_series_without_steps_is_told_by_its_worst_number_in_markdown() -> None:
    numbers = [told("a", "unchanged", 0.0), told("b", "regressed", -0.2)]
    text = as_markdown(night("s", numbers))
    assert "1 regressed, 1 unchanged; worst: v.busbw" in text and "-20.0 %" in text
    assert "nights without a run: 2026-03-04" in text
    assert "1 earlier runs left out" in text


def test_every_verdict_is_explained_and_every_word_that_a_night_uses() -> None:
    assert MEANINGS.keys() >= set(VERDICTS)
    of_night = night("s", [told("a", "inconclusive", 0.0)])
    assert [word for word, _ in meanings(of_night)] == ["regressed", "inconclusive", "one night"]
    page = night_page.page(of_night, "history.html")
    assert "<dt>one night</dt>" in page and "<dt>drift</dt>" not in page


def test_no_word_is_without_a_meaning() -> None:
    """The words are written where verdicts are made."""
    import inspect
    import re

    from pipeline.history import compare, level_change, pair

    source = "".join(inspect.getsource(module) for module in (compare, level_change, pair))
    words = set(re.findall(r'word="([a-z ]+)"', source))
    words |= {"one night", "lasting step", "drift", "beyond both modes"}
    assert len(words) > 10 and words <= MEANINGS.keys()


def test_a_missing_series_has_no_run() -> None:
    of_night = night("s", [])
    one = dataclasses.replace(of_night.judged[0], run=None, verdict="missing", reason="why")
    assert "missing: s: no run" in as_table(Night(Rule(), [one], [], 1))
