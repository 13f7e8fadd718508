"""The charts' common hand: colours by meaning, size, and the step from Altair to Vega-Lite.

Colours of text and grid are set when the page is opened, by its light or dark scheme; the
colours here read on both.
"""

from __future__ import annotations

from typing import Any

import altair as alt

COMPUTE = "#4f86e8"
EXPOSED_COMMUNICATION = "#e8663d"
EXPOSED_MEMORY = "#d9a520"
IDLE = "#9aa3ad"
HIDDEN = "#8f7ae5"

# In the order in which they are stacked.
SPLIT = {
    "compute": COMPUTE,
    "exposed communication": EXPOSED_COMMUNICATION,
    "exposed memory": EXPOSED_MEMORY,
    "idle": IDLE,
}
CLASSES = {
    "communication": EXPOSED_COMMUNICATION,
    "gemm": COMPUTE,
    "attention": HIDDEN,
    "normalisation": "#3fa7a0",
    "elementwise": "#7fb069",
    "reduction": "#b5a642",
    "memory": EXPOSED_MEMORY,
    "optimizer": "#c76da2",
    "other": IDLE,
}

ROW_HEIGHT = 22


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite of a chart, as wide as the page; the data lie in it."""
    spec: dict[str, Any] = chart.to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec.pop("config", None)  # the page's own, by its colour scheme
    return spec


def share_axis(title: str | None) -> alt.Axis:
    return alt.Axis(format=".0%", title=title)
