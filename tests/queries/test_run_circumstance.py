from rows import Trace

FILE = {"path": "a", "size_bytes": 1, "row_count": 1, "status": "complete"}


def told(trace: Trace, kind: str) -> list[tuple[str, str]]:
    sql = f"SELECT key, value_text FROM run_circumstance WHERE kind = '{kind}'"
    return [(key, value) for key, value in trace.ask(sql)]


def test_what_must_agree_is_told_from_what_may_differ(trace: Trace) -> None:
    trace.insert("source_file", **FILE)
    trace.description("hardware.gpu", "H100")
    trace.description("training.global_batch_size", "16")
    trace.description("training.precision", "bf16")
    trace.description("versions.nccl", "2.27.5")
    trace.description("run.series", "nightly")
    assert told(trace, "condition") == [
        ("hardware.gpu", "H100"),
        ("training.global_batch_size", "16"),
    ]
    assert told(trace, "suspect") == [
        ("training.precision", "bf16"),
        ("versions.nccl", "2.27.5"),
    ]
    assert ("run.series", "nightly") in told(trace, "state")


def test_every_host_is_a_suspect(trace: Trace) -> None:
    trace.insert("source_file", **FILE, host="node-b")
    trace.process(rank=0, host="node-a")
    trace.process(2, rank=1, host="node-b")
    assert told(trace, "suspect") == [("host", "node-a"), ("host", "node-b")]


def test_a_capture_without_kernels_says_so(trace: Trace) -> None:
    trace.insert("source_file", **FILE, format="nsys-sqlite")
    state = dict(told(trace, "state"))
    assert (state["capture_count"], state["kernel_count"]) == ("1", "0")
    assert "step_count" not in state


def test_ranks_and_steps_are_counted(trace: Trace) -> None:
    trace.insert("source_file", **FILE)
    trace.process(rank=3)
    for step in range(3):
        trace.range(100 * step, 100 * step + 50, f"step {step}")
        trace.launch((100 * step + 1, 100 * step + 2), (100 * step + 10, 100 * step + 60))
    state = dict(told(trace, "state"))
    assert (state["rank_count"], state["step_count"], state["kernel_count"]) == ("1", "3", "3")
