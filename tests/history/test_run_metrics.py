"""Which columns of a metric view become numbers of a run, and how."""

from dataclasses import replace

import pytest

from pipeline import catalog
from pipeline.history.run_metrics import Metric, every_metric, metric_name, metrics_of

QUERY = catalog.Query(
    name="link_speed_seen",
    layer="metrics",
    doc="Made up.",
    grain="one row per (run_id, host, rank, kind, source_id)",
    better="higher",
    hint="",
    columns=tuple(
        catalog.Column(name, "")
        for name in ("run_id", "kind", "bytes_per_s", "total_ns", "link_count")
    ),
    sql="",
)


def test_without_a_value_line_the_units_decide() -> None:
    (metric,) = metrics_of(QUERY)
    assert (metric.column, metric.better, metric.keys) == ("bytes_per_s", "higher", ("kind",))
    assert metric.unit == "bytes_per_s"


def test_the_header_may_say_columns_directions_and_keys() -> None:
    told = replace(QUERY, values="bytes_per_s, total_ns lower", keys="kind", samples="link_count")
    assert [(m.column, m.better, m.samples) for m in metrics_of(told)] == [
        ("bytes_per_s", "higher", "link_count"),
        ("total_ns", "lower", "link_count"),
    ]


def test_rows_without_a_direction_do_not_count() -> None:
    told = replace(QUERY, where="kind <> 'average'")
    assert metrics_of(told)[0].conditions == ("kind <> 'average'",)
    excluding = replace(told, columns=(*QUERY.columns, catalog.Column("exclusion", "")))
    assert metrics_of(excluding)[0].conditions == ("exclusion IS NULL", "kind <> 'average'")


def test_a_view_without_a_direction_is_left_out() -> None:
    assert metrics_of(replace(QUERY, better="")) == []


def test_only_a_view_of_steps_has_a_95th_percentile() -> None:
    assert not metrics_of(QUERY)[0].has_steps
    stepped = replace(QUERY, grain="one row per (run_id, rank, step)")
    assert metrics_of(stepped)[0].has_steps


@pytest.mark.parametrize("metric", every_metric(), ids=lambda m: f"{m.view}.{m.column}")
def test_every_column_that_a_header_names_exists(metric: Metric) -> None:
    columns = {column.name for column in catalog.queries()[metric.view].columns}
    assert {metric.column, *metric.keys} <= columns
    assert not metric.samples or metric.samples in columns
    assert metric.better in ("lower", "higher")


def test_how_a_number_is_called() -> None:
    assert metric_name("step_time", "step_ns", "median", "") == "step_time.step_ns"
    assert metric_name("step_time", "step_ns", "p95", "a=b") == "step_time.step_ns p95 [a=b]"


def test_a_run_is_not_compared_by_what_it_is_measured_against() -> None:
    """A reference, a peak or the quality of a fit is no number of the run."""
    odd = [m for m in every_metric() if m.column.startswith(("reference_", "peak_flops", "resid"))]
    assert odd == []
    assert "collective_baseline" not in {m.view for m in every_metric()}


def test_what_tells_numbers_apart_means_the_same_in_every_run() -> None:
    """Numbers of rows in a file, of benchmarks in a log, differ from night to night."""
    keys = {key for metric in every_metric() for key in metric.keys}
    assert not keys & {"subject_id", "benchmark_id", "sweep", "is_primary"}
