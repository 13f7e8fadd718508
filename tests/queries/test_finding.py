"""Findings of one kind each in, all of them in order out."""

import re

import pytest
from rows import Trace

from pipeline import catalog, units

KINDS = [
    query
    for query in catalog.queries().values()
    if query.layer == "findings" and query.name != "finding"
]


@pytest.mark.parametrize("query", KINDS, ids=lambda query: query.name)
def test_every_kind_gives_the_same_columns(query: catalog.Query) -> None:
    assert tuple(column.name for column in query.columns) == catalog.FINDING_COLUMNS


@pytest.mark.parametrize("query", KINDS, ids=lambda query: query.name)
def test_a_value_has_a_unit_for_people(query: catalog.Query) -> None:
    (unit,) = re.findall(r"(?:'([\w ]+)'|NULL::VARCHAR) AS unit", query.sql)
    assert not unit or units.quantity(unit, 1.0) != units.count(1.0)


@pytest.fixture
def no_finding(trace: Trace) -> Trace:
    """Views that find nothing, without the pains of looking."""
    for query in KINDS:
        trace.stand_in(query.name)
    trace.stand_in("run_scale")
    return trace


def test_every_kind_is_in_it(no_finding: Trace) -> None:
    trace = no_finding
    for query in KINDS:
        trace.given(query.name, severity="info", subject="x", evidence_view="wall")
    rows = trace.ask("SELECT finding, statement, hint FROM finding")
    assert rows == sorted((q.name, q.doc, q.hint) for q in KINDS)


def test_the_gravest_comes_first_and_has_its_price(no_finding: Trace) -> None:
    trace = no_finding
    trace.given("run_scale", gpu_count=8, gpu_hours=2.0, price_per_gpu_hour=3.0)
    trace.given("late_rank", severity="warning", cost_share=0.5)
    trace.given("input_stall", severity="wall", cost_share=0.25)
    sql = "SELECT finding, gpu_hours, gpu_hours_per_day, price_per_day FROM finding"
    assert trace.ask(sql) == [
        ("input_stall", 0.5, 48.0, 144.0),
        ("late_rank", 1.0, 96.0, 288.0),
    ]


def test_without_a_price_there_is_no_cost(no_finding: Trace) -> None:
    trace = no_finding
    trace.given("late_rank", severity="warning", cost_share=0.5)
    assert trace.ask("SELECT gpu_hours, price_per_day FROM finding") == [(None, None)]
