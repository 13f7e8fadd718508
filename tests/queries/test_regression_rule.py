from dataclasses import fields

from rows import Trace

from pipeline.history.compare import Rule


def test_every_part_of_the_rule_is_a_threshold(trace: Trace) -> None:
    row = trace.only("FROM regression_rule")
    assert {field.name for field in fields(Rule)} <= set(row)
    assert Rule(**{field.name: row[field.name] for field in fields(Rule)}) == Rule()


def test_a_threshold_that_is_overridden_counts(trace: Trace) -> None:
    trace.threshold("regression_night_share", 0.05)
    assert trace.only("FROM regression_rule")["night_share"] == 0.05
