from typing import Any

from rows import Trace

S = 10**9


def errors(trace: Trace, columns: str) -> list[tuple[Any, ...]]:
    return trace.ask(f"SELECT {columns} FROM hardware_error")


def test_an_xid_with_its_meaning(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=100 * S)
    trace.rounds(xid=[0, 0, 79, 79], host="node", device_id=4)
    trace.rounds(xid=[0, 0, 0, 45], host="node", device_id=5, gpu_id="gpu Y")
    columns = "device_id, error, severity, role, first_utc_ns, occurrences, is_at_start"
    assert errors(trace, columns) == [
        (4, "XID 79: GPU has fallen off the bus", "critical", "root", 102 * S, 1, False),
        (5, "XID 45: Preemptive cleanup", "warning", "consequence", 103 * S, 1, False),
    ]


def test_an_xid_that_nobody_knows(trace: Trace) -> None:
    trace.rounds(xid=[0, 999])
    assert errors(trace, "error, role, detail") == [("XID 999", None, "not in the list of XIDs")]


def test_zeros_and_missing_values_are_no_errors(trace: Trace) -> None:
    # DCGM before 4.5.3 reads 0 where there is no data, later versions N/A.
    trace.rounds(xid=[0, 0, 0], nvlink_error=0, clock_event_power_brake_ns=0)
    trace.rounds(power_w=[1, 1], gpu_id="gpu Y")
    assert errors(trace, "error") == []


def test_old_errors_are_not_of_this_run(trace: Trace) -> None:
    trace.rounds(ecc_dbe_agg_count=[7, 7], row_remap_correctable_count=2)
    assert errors(trace, "error") == []


def test_a_double_bit_error(trace: Trace) -> None:
    trace.rounds(ecc_dbe_vol_count=[0, 1, 1])
    columns = "error, severity, is_over, occurrences, first_ns"
    assert errors(trace, columns) == [("uncorrected ECC errors", "critical", True, 1, S)]


def test_replays_of_pcie_by_the_minute(trace: Trace) -> None:
    minute = 60 * S
    trace.rounds(minute, pcie_replay_count=[0, 8, 16, 24], gpu_id="A")
    trace.rounds(minute, pcie_replay_count=[0, 0, 9, 9], gpu_id="B")
    columns = "gpu_id, is_over, occurrences, peak_window_count"
    assert errors(trace, columns) == [("A", False, 24, 8), ("B", True, 9, 9)]


def test_growth_between_samples_far_apart_is_spread(trace: Trace) -> None:
    trace.rounds(600 * S, pcie_replay_count=[0, 20])
    assert errors(trace, "is_over, occurrences, peak_window_count") == [(False, 20, 2)]


def test_a_link_of_nvlink(trace: Trace) -> None:
    for ts_ns, value in ((0, 0), (S, 3)):
        more = {"entity": "link", "entity_id": "5"}
        trace.sample("nvlink_recovery_error_count", value, ts_ns, **more)
    columns = "entity, entity_id, error, severity, is_over"
    assert errors(trace, columns) == [("link", "5", "NVLink recoveries", "error", True)]


def test_crc_errors_must_be_many(trace: Trace) -> None:
    trace.rounds(30 * S, nvlink_crc_flit_error_count=[0, 5_000], gpu_id="A")
    trace.rounds(30 * S, nvlink_crc_flit_error_count=[0, 7_000], gpu_id="B")
    assert errors(trace, "gpu_id, is_over") == [("A", False), ("B", True)]


def test_repairs_that_are_due(trace: Trace) -> None:
    trace.rounds(row_remap_pending=[0, 1], row_remap_failure=[0, 0])
    assert errors(trace, "error, severity, is_at_start") == [
        ("row remapping pending", "warning", False)
    ]


def test_a_degraded_link_under_load(trace: Trace) -> None:
    trace.rounds(pcie_link_gen=[2] * 4, max_pcie_link_gen=5, gpu_util_share=1)
    assert errors(trace, "error, detail") == [
        (
            "PCIe generation below its best under load",
            "generation 2 of 5 in 4 of 4 samples under load",
        )
    ]


def test_a_missing_link_of_nvlink(trace: Trace) -> None:
    for gpu, count in ((0, 18), (1, 17)):
        for number in range(count):
            row = {"origin": "nvlink", "kind": "nvlink", "status": "active", "product": "H100"}
            trace.insert(
                "link", source=f"GPU{gpu}", gpu_id=f"u{gpu}", link_number=number,
                table_number=0, **row,
            )  # fmt: skip
    assert errors(trace, "gpu_id, error, occurrences, detail") == [
        ("u1", "NVLinks missing", 1, "17 of 18 links are active")
    ]
