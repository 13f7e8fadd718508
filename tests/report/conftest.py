"""Pages of the sample jobs, made once for every test that opens them, and the browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Tab
from pages import RUNS, SAMPLES

from pipeline.ingest import ingest
from pipeline.report import write_report
from pipeline.store import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store.create(tmp_path_factory.mktemp("pages") / "store")
    ingest([SAMPLES / run for run in RUNS], store, jobs=1)
    return store


@pytest.fixture(scope="session")
def output(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_report(store, None, folder)
    return folder


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    tab = Tab(tmp_path_factory.mktemp("browser"))
    yield tab
    tab.close()
