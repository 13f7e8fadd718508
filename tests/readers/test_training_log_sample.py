"""The logs of the described jobs: what was written is what is read, to the last digit."""

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pipeline.ingest import ingest
from pipeline.store import Store

ASKED = ("training_step", "source_file", "job_argument")

SAMPLES = Path(__file__).parents[2] / "sample_traces"
DESCRIPTIONS = sorted((SAMPLES / "jobs").glob("*.training_logs.toml"))


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("training_logs", SAMPLES / "training_logs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    truth: dict[str, Any] = module.write(description, folder)
    return truth


@pytest.fixture(params=DESCRIPTIONS, ids=lambda path: path.name)
def described(request: pytest.FixtureRequest) -> dict[str, Any]:
    return tomllib.loads(request.param.read_text(encoding="utf-8"))


def test_what_was_written_is_read(described: dict[str, Any], tmp_path: Path) -> None:
    truth = write(described, tmp_path / "job")
    store = Store.create(tmp_path / "store")
    outcomes = ingest([tmp_path / "job"], store, jobs=1).outcomes
    assert [(o.name, o.kind, o.issues) for o in outcomes] == [
        ("megatron.log", "stored", ()),
        ("torchtitan.log", "stored", ()),
    ]
    connection = store.connect(asked=ASKED)
    for name, told in truth["files"].items():
        columns = list(told["steps"][0])
        sql = f"""
            SELECT {", ".join(columns)} FROM training_step JOIN source_file USING (source_id)
            WHERE path = ? ORDER BY line"""
        rows = connection.execute(sql, [name]).fetchall()
        assert rows == [tuple(step.values()) for step in told["steps"]]
        sql = "SELECT capture_start_local_ns, capture_start_utc_ns FROM source_file WHERE path = ?"
        assert connection.execute(sql, [name]).fetchall() == [
            (told["capture_start_local_ns"], None)
        ]
    arguments = connection.execute("SELECT name, value FROM job_argument ORDER BY name").fetchall()
    assert dict(arguments) == truth["files"]["megatron.log"]["arguments"]


def test_the_fall_is_seen(tmp_path: Path) -> None:
    (path,) = (path for path in DESCRIPTIONS if path.name.startswith("throttled_gpu"))
    truth = write(tomllib.loads(path.read_text(encoding="utf-8")), tmp_path / "job")
    store = Store.create(tmp_path / "store")
    ingest([tmp_path / "job"], store, jobs=1)
    slow = truth["slow_steps"]
    (ratio,) = store.connect(asked=ASKED).execute(
        "SELECT median(step_ns) FILTER (step > 1 AND step NOT IN (SELECT unnest(?)))"
        " / median(step_ns) FILTER (step IN (SELECT unnest(?))) FROM training_step",
        [slow, slow],
    ).fetchall()[0]  # fmt: skip
    assert ratio == pytest.approx(truth["kept_rate"], abs=1e-4)
    rates = store.connect(asked=ASKED).execute(
        "SELECT tokens_per_s_per_gpu FROM training_step WHERE step IN (20, 30)"
        " AND framework = 'torchtitan' ORDER BY step"
    )
    assert rates.fetchall() == [(8192.0,), (4915.0,)]
