"""Rows in, rows out: the tables are filled by hand, then a view over them is asked."""

from collections.abc import Iterator

import duckdb
import pytest
from rows import Trace


@pytest.fixture
def trace(empty_connection: duckdb.DuckDBPyConnection) -> Iterator[Trace]:
    """Empty tables; whatever a test inserts or overrides is undone after it."""
    empty_connection.begin()
    yield Trace(empty_connection)
    empty_connection.rollback()
