import pytest
from rows import Trace


def test_how_a_counter_was_distributed(trace: Trace) -> None:
    for ts_ns, value in enumerate((0.1, 0.5, 0.3)):
        trace.sample("sm_active_share", value, ts_ns * 100, device_id=0)
    assert trace.only("FROM gpu_sample_summary") == {
        "run_id": "run",
        "host": "node",
        "gpu_id": "gpu X",
        "device_id": 0,
        "entity": "gpu",
        "entity_id": None,
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


def test_gpus_their_parts_metrics_and_files_are_apart(trace: Trace) -> None:
    trace.sample("m", 1, gpu_id="X")
    trace.sample("n", 1, gpu_id="X")
    trace.sample("m", 1, gpu_id="Y")
    trace.sample("m", 1, gpu_id="X", entity="gpu_instance", entity_id="3")
    trace.sample("m", 1, gpu_id="X", source_id="b")
    assert trace.ask("SELECT gpu_id, entity_id, source_id, metric FROM gpu_sample_summary") == [
        ("X", None, "a", "m"),
        ("X", None, "a", "n"),
        ("X", "3", "a", "m"),
        ("X", None, "b", "m"),
        ("Y", None, "a", "m"),
    ]
