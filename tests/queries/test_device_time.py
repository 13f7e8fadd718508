from rows import Trace


def test_unions_and_sums(trace: Trace) -> None:
    trace.kernel(0, 10, "gemm")
    trace.kernel(5, 20, "gemm", stream_id=8)
    trace.kernel(15, 40, "nccl", stream_id=20)
    trace.graph(30, 50)
    trace.copy(45, 60)
    assert trace.only("SELECT * EXCLUDE device_key FROM device_time") == {
        "start_ns": 0,
        "end_ns": 60,
        "busy_ns": 60,
        "kernel_busy_ns": 40,
        "graph_ns": 20,
        "executing_ns": 50,
        "compute_ns": 40,
        "communication_ns": 25,
        "kernel_sum_ns": 50,
        "nccl_sum_ns": 25,
        "kernel_count": 3,
        "nccl_count": 1,
    }


def test_communication_alone(trace: Trace) -> None:
    trace.kernel(10, 20, "nccl")
    trace.kernel(15, 30, "nccl", stream_id=8)
    assert trace.ask("SELECT compute_ns, communication_ns, nccl_sum_ns FROM device_time") == [
        (0, 20, 25)
    ]
