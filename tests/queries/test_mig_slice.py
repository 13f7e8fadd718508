"""Devices and samples of GPUs in MIG mode in, findings out."""

from rows import Trace

SQL = "SELECT severity, subject, detail, value FROM mig_slice ORDER BY subject"
SLICE = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"


def test_a_job_on_one_slice(trace: Trace) -> None:
    trace.device(name=SLICE, sm_count=33)
    assert trace.ask(SQL) == [("info", SLICE, "1 traced; 33 of 132 SMs each", 0.25)]


def test_a_job_on_several_slices_has_no_nvlink_between_them(trace: Trace) -> None:
    trace.device(1, name=SLICE, sm_count=33)
    trace.device(2, name=SLICE, sm_count=33)
    assert trace.ask(SQL) == [("warning", SLICE, "2 traced; 33 of 132 SMs each", 0.25)]


def test_a_slice_of_a_gpu_without_a_data_sheet(trace: Trace) -> None:
    trace.device(name="Unheard MIG 1g.1gb", sm_count=8)
    trace.device(2, name="O'Hara MIG 1g.1gb")
    assert trace.ask(SQL) == [
        ("info", "O'Hara MIG 1g.1gb", "1 traced", None),
        ("info", "Unheard MIG 1g.1gb", "1 traced; 8 SMs each", None),
    ]
    for view, evidence in trace.ask("SELECT evidence_view, evidence FROM mig_slice"):
        assert len(trace.ask(f"FROM {view} WHERE {evidence}")) == 1


def test_a_whole_gpu(trace: Trace) -> None:
    trace.device(name="NVIDIA H100 80GB HBM3", sm_count=132)
    trace.sample("mig_mode", 0)
    assert trace.ask(SQL) == []


def test_a_slice_that_no_process_used(trace: Trace) -> None:
    trace.insert("device", gpu_id="g", name=SLICE, device_id=0)
    assert trace.ask(SQL) == []


def test_telemetry_says_that_mig_is_on(trace: Trace) -> None:
    for gpu in ("g0", "g1"):
        trace.rounds(mig_mode=[1, 1], gpu_id=gpu)
    trace.rounds(mig_mode=[0, 0], gpu_id="g2")
    ((severity, subject, detail, value),) = trace.ask(SQL)
    assert (severity, subject, value) == ("info", "MIG mode", None)
    assert detail.startswith("on for 2 sampled GPUs")
