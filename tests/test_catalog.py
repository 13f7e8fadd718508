"""What is kept and what can be asked, read from the headers of the SQL files."""

import pyarrow as pa
import pytest

from pipeline import catalog


def test_the_list_of_findings_speaks_of_no_single_one() -> None:
    docs = {column.name: column.doc for column in catalog.queries()["finding"].columns}
    assert docs["value"] == "How bad it is; see the finding's own view."
    assert docs["subject"].startswith("Rank, device, host, link or log")


def test_a_query_is_read_with_its_header() -> None:
    query = catalog.queries()["kernel_gap_summary"]
    assert query.layer == "metrics"
    assert query.doc == (
        "Idle time of each physical GPU between its activities: how much, how often, how long."
    )
    assert query.grain == "one row per (run_id, host, gpu_id, source_id)"
    assert query.better == "lower"
    assert query.columns[0] == catalog.Column("run_id", "Run.")


def test_a_description_may_go_on_in_the_next_line() -> None:
    columns = {column.name: column.doc for column in catalog.queries()["named_nvtx_range"].columns}
    assert "of PyTorch" not in columns["name"]
    assert columns["name"].startswith("Text given by the program, without")
    assert columns["name"].endswith("makes every range's text another one.")


def test_a_view_comes_after_those_it_reads() -> None:
    names = list(catalog.queries())
    assert names.index("traced_device") < names.index("activity") < names.index("device_time")
    assert names.index("device_time") < names.index("nccl_time_share")


def test_views_that_read_each_other_are_refused() -> None:
    one, other = (
        catalog.Query(name, "metrics", "", "", "", "", (), f"FROM {reads}")
        for name, reads in (("one", "other"), ("other", "one"))
    )
    with pytest.raises(ValueError, match=r"circle: \['one', 'other'\]"):
        catalog._in_order([one, other])


def test_what_a_statement_names() -> None:
    sql = "SELECT * FROM kernel_gap JOIN Kernel USING (run_id) JOIN (FROM KERNEL_GAP) JOIN no_view"
    assert catalog.named_in(sql) == ["kernel_gap", "kernel", "kernel_gap"]
    assert catalog.named_in("FROM kernel_gap_summary -- _kernel_gap, kernel_gaps") == [
        "kernel_gap_summary"
    ]


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> None:
    """name <- what it reads; ``s`` is staged, ``t...`` of the timeline, ``m...`` are metrics."""
    read = {
        "s": ("a_table",),
        "t": ("s",),
        "t_twice": ("t", "t"),
        "m": ("t",),
        "m_other": ("t",),
        "m_of_s": ("s", "s"),
        "m_deep": ("t_twice", "m_of_s"),
    }
    layer = {"s": "staging", "t": "timeline", "m": "metrics"}
    found = {
        name: catalog.Query(
            name, layer[name[0]], "", "", "", "", (), " JOIN ".join(("FROM x", *others))
        )
        for name, others in read.items()
    }
    monkeypatch.setattr(catalog, "queries", lambda: found)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ([], set()),
        (["a_table", "unknown"], set()),
        (["t"], set()),
        (["t", "t"], {"t"}),  # by one statement, in two places
        (["m"], set()),
        (["m", "m_other"], {"t"}),  # on two ways
        (["m", "t"], {"t"}),
        (["t_twice"], {"t"}),  # by one view, twice
        (["m_deep"], {"t"}),
        (["m_deep", "t_twice"], {"t", "t_twice"}),
        (["m_of_s", "s"], set()),  # what is staged streams through
    ],
)
def test_what_is_come_to_more_than_once(views: None, asked: list[str], kept: set[str]) -> None:
    assert catalog.used_repeatedly(asked) == kept


def test_what_is_asked_brings_what_it_reads(views: None) -> None:
    always = catalog.reached([])
    assert always == {"threshold"}  # which the macros read
    read = {"m_other", "t", "s", "a_table", "x"}
    assert catalog.reached(["m_other", "unknown"]) == {*always, *read, "unknown"}
    assert catalog.reached(None) >= {"m_deep", "kernel", "threshold"}


def test_comments_and_texts_name_no_view(views: None, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT 'FROM t' -- FROM t\nFROM t"
    query = catalog.Query("m", "metrics", "", "", "", "", (), sql)
    found = {**catalog.queries(), "m": query}
    monkeypatch.setattr(catalog, "queries", lambda: found)
    assert catalog.used_repeatedly(["m"]) == set()


def test_the_gaps_of_all_views_are_computed_once() -> None:
    kept = catalog.used_repeatedly(["kernel_gap", "kernel_gap_part", "kernel_gap_cause"])
    assert {"device_gap", "gap_part"} <= kept
    assert not {"kernel_gap", "activity", "launched_activity"} & kept


def test_a_table_is_read_with_its_columns() -> None:
    table = catalog.tables()["kernel"]
    assert table.doc == "Kernel executions."
    assert table.columns[2] == catalog.Column(
        "start_ns", "ns since the capture began; may be slightly negative.", "BIGINT", True
    )


def test_arrow_schemas_come_from_the_ddl_and_lack_what_the_path_says() -> None:
    schema = catalog.arrow_schemas()["gpu_sample"]
    assert schema.field("value").type == pa.float64()
    assert schema.field("ts_ns").type == pa.int64()
    assert schema.field("device_id").type == pa.int32()
    assert schema.field("metric").type == pa.string()
    assert not set(catalog.PARTITION_KEYS) & set(schema.names)
    assert set(catalog.arrow_schemas()) == set(catalog.tables())


def test_required_columns() -> None:
    assert catalog.required_columns("kernel") == (
        "start_ns",
        "end_ns",
        "process",
        "device_id",
        "name_id",
    )
    assert catalog.required_columns("setting") == ("name", "value")


def test_references_and_macros_are_found() -> None:
    assert {"gpu_metric", "kernel_class", "threshold"} <= set(catalog.reference())
    assert all("CREATE MACRO" in text for text in catalog.macros())


def test_a_missing_folder_is_an_error_of_the_installation() -> None:
    with pytest.raises(FileNotFoundError, match="lacks its nowhere/ folder"):
        catalog.root("nowhere")
