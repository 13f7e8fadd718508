"""What is kept and what can be asked, read from the headers of the SQL files."""

import pyarrow as pa
import pytest

from pipeline import catalog


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
