"""This run beside the runs before it, as far as it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report.section import Section, Source, table

if TYPE_CHECKING:
    import duckdb

VIEWS = ("metric_verdict",)

# What changed comes first, the largest change of each kind before the others.
SQL = """SELECT
    verdict, concat_ws(' ', view_name, metric, statistic, nullif(key, '')) AS number,
    change_share, value, baseline, baseline_run_count, noise, p_value, since_run_id, word,
    reason, suspects, series
FROM metric_verdict
ORDER BY
    list_position(['regressed', 'improved', 'missing', 'inconclusive'], verdict) NULLS LAST,
    abs(change_share) DESC NULLS LAST, view_name, metric, statistic, key"""


def section(connection: duckdb.DuckDBPyConnection) -> Section:
    title, explanation = (
        "History",
        "Each number of this run against the level of the runs of its series before it. The "
        "noise between runs is measured; the histories of the series are on their own page.",
    )
    verdicts = table(
        connection, "history", Source("metric_verdict", SQL), "Numbers beside earlier runs"
    )
    if verdicts is None:
        return Section(
            "history",
            title,
            explanation,
            empty="This run was not judged beside earlier ones; capture the same job again, ingest "
            "its runs and run 'tracelake regress'.",
        )
    return Section("history", title, explanation, tables=(verdicts,))
