"""Fixtures that several folders of tests share: the ingested samples and the golden texts."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds every sample job; not to be written to."""
    folder = tmp_path_factory.mktemp("samples") / "store"
    summary = ingest([ROOT / "sample_traces"], Store.create(folder), jobs=1)
    kept = ("*.sqlite.xz", "*.txt", "*.log", "*.csv", "*.prom", "*.out", "run.toml")
    files = [file for kind in kept for file in (ROOT / "sample_traces").glob(f"*/{kind}")]
    assert summary.count("stored") == len(files)
    return folder


@pytest.fixture(scope="session")
def empty_connection(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """DuckDB with the reference tables, the macros, every table (empty) and every view."""
    return Store.create(tmp_path_factory.mktemp("empty")).connect()


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with tests/golden/<name>; TRACELAKE_REFRESH_GOLDEN=1 rewrites the file."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if os.environ.get("TRACELAKE_REFRESH_GOLDEN") == "1":
            file.write_text(text, encoding="utf-8")
        expected = file.read_text(encoding="utf-8") if file.exists() else ""
        if text != expected:
            lines = expected.splitlines(), text.splitlines()
            diff = "\n".join(difflib.unified_diff(*lines, f"golden/{name}", "now", lineterm=""))
            pytest.fail(f"{diff}\n\nif meant: TRACELAKE_REFRESH_GOLDEN=1 pytest", pytrace=False)

    return compare
