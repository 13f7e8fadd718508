import pytest
from rows import Trace


def test_how_a_counter_was_distributed(trace: Trace) -> None:
    for ts_ns, value in enumerate((0.1, 0.5, 0.3)):
        trace.insert(
            "gpu_sample",
            host="node",
            gpu_id="gpu X",
            device_id=0,
            ts_ns=ts_ns * 100,
            metric="sm_active_share",
            value=value,
        )
    assert trace.only("FROM gpu_sample_summary") == {
        "run_id": "run",
        "host": "node",
        "gpu_id": "gpu X",
        "device_id": 0,
        "metric": "sm_active_share",
        "sample_count": 3,
        "mean_value": pytest.approx(0.3),
        "min_value": 0.1,
        "median_value": 0.3,
        "p95_value": pytest.approx(0.48),  # nine tenths of the way from 0.3 to 0.5
        "max_value": 0.5,
        "first_ns": 0,
        "last_ns": 200,
        "source_id": "a",
    }


def test_gpus_metrics_and_files_are_apart(trace: Trace) -> None:
    for source_id, gpu_id, metric in (("a", "X", "m"), ("a", "X", "n"), ("a", "Y", "m")):
        trace.insert(
            "gpu_sample", source_id=source_id, gpu_id=gpu_id, metric=metric, ts_ns=0, value=1
        )
    trace.insert("gpu_sample", source_id="b", gpu_id="X", metric="m", ts_ns=0, value=1)
    assert trace.ask("SELECT gpu_id, source_id, metric FROM gpu_sample_summary") == [
        ("X", "a", "m"),
        ("X", "a", "n"),
        ("X", "b", "m"),
        ("Y", "a", "m"),
    ]
