"""Rows of ``gpu_utilisation`` in, a finding out."""

from rows import Trace

SQL = "SELECT severity, detail, value FROM low_gpu_use"


def use(trace: Trace, *means: float, **more: object) -> None:
    for gpu, mean in enumerate(means):
        row = {"metric": "gpu_util_share", "is_primary": True, "mean_value": mean, **more}
        trace.given("gpu_utilisation", host="n", gpu_id=str(gpu), source_id="a", **row)


def test_most_gpus_stand_idle(trace: Trace) -> None:
    use(trace, 0.3, 0.4, 0.9)
    assert trace.ask(SQL) == [("warning", "2 of 3 GPUs", 0.4)]
    ((view, evidence),) = trace.ask("SELECT evidence_view, evidence FROM low_gpu_use")
    assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 3


def test_one_idle_gpu_is_another_finding(trace: Trace) -> None:
    use(trace, 0.3, 0.8, 0.9)
    assert trace.ask(SQL) == []


def test_what_does_not_count(trace: Trace) -> None:
    use(trace, 0.3, reason="less than 80 % of the time is covered")
    use(trace, 0.3, is_primary=False)
    use(trace, 0.3, metric="sm_active_share")
    assert trace.ask(SQL) == []
