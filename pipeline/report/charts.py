"""The look that charts share. Colours are CSS variables, so a chart follows the page's theme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from pipeline import units

if TYPE_CHECKING:
    import polars as pl

    from pipeline.report.section import Spec

ROW_HEIGHT = 20
# Colours stand for the same thing in every chart.
COMPUTE, OVERLAP, COMMUNICATION, MEMORY, IDLE = (
    f"var(--{name})" for name in ("compute", "overlap", "communication", "memory", "idle")
)
RANGE, ACCENT = "var(--range)", "var(--accent)"

# Passed to every chart of a page.
CONFIG: Spec = {
    "background": "transparent",
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelLimit": 340,
        "titlePadding": 8,
    },
    "axisY": {"domain": False, "ticks": False, "labelPadding": 8},
    "legend": {
        "orient": "top",
        "labelColor": "var(--text)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "symbolSize": 90,
        "symbolStrokeWidth": 0,
        "columnPadding": 16,
        "labelLimit": 400,
    },
    "title": {"color": "var(--text)", "anchor": "start", "fontSize": 12},
}

# SI prefixes by d3 from seconds; "u" as everywhere else.
_SECONDS = "replace(format(datum.value, '~s'), 'µ', 'u') + 's'"


def spec(chart: alt.Chart | alt.LayerChart | alt.FacetChart, height: int) -> Spec:
    """The chart's JSON, as wide as its place, without the theme."""
    made: Spec = chart.properties(width="container", height=height).to_dict()
    made.pop("config", None)
    return made


def compact(frame: pl.DataFrame) -> alt.InlineData:
    """The frame as CSV inside the chart's JSON: a third of the size of objects."""
    return alt.InlineData(values=frame.write_csv(), format=alt.CsvDataFormat(type="csv"))


def rows(frame: pl.DataFrame, field: str, **options: Any) -> alt.Y:
    """One row per value of ``field``, in the order of the frame."""
    order = frame.get_column(field).unique(maintain_order=True).to_list()
    return alt.Y(f"{field}:N", sort=order, title=None, **options)


def seconds_axis(title: str, **options: Any) -> alt.Axis:
    return alt.Axis(title=title, labelExpr=_SECONDS, **options)


def share_axis(title: str, **options: Any) -> alt.Axis:
    return alt.Axis(**{"title": title, "format": ".0%", "tickCount": 10, **options})


def shown(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with texts ``<column>_text`` of its numbers, for tooltips and labels."""
    import polars as pl

    texts = [
        pl.Series(f"{name}_text", [units.show(name, value) for value in frame.get_column(name)])
        for name in columns
    ]
    return frame.with_columns(texts)
