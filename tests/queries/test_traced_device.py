from rows import Trace


def test_a_device_takes_host_and_rank_from_its_process(trace: Trace) -> None:
    trace.process(1, rank=3, host="node-b")
    trace.device(1, device_id=2, gpu_id="gpu X", name="H100")
    rows = trace.ask("SELECT host, rank, process, device_id, gpu_id, gpu_name FROM traced_device")
    assert rows == [("node-b", 3, 1, 2, "gpu X", "H100")]


def test_a_gpu_that_no_process_used_is_left_out(trace: Trace) -> None:
    trace.insert("device", process=None, gpu_id="gpu X")
    assert trace.ask("FROM traced_device") == []


def test_a_process_that_is_not_recorded_has_no_rank(trace: Trace) -> None:
    trace.insert("device", process=1, device_id=0, gpu_id="gpu X")
    assert trace.ask("SELECT host, rank FROM traced_device") == [(None, None)]


def test_processes_share_a_gpu_key_and_files_do_not(trace: Trace) -> None:
    trace.device(1, gpu_id="shared", source_id="a")
    trace.device(2, gpu_id="shared", source_id="a")
    trace.device(2, gpu_id="shared", source_id="b")
    assert trace.ask("SELECT source_id, process, device_key, gpu_key FROM traced_device") == [
        ("a", 1, 1, 1),
        ("a", 2, 2, 1),
        ("b", 2, 3, 2),
    ]
