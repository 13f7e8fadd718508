from typing import Any

from rows import Trace


def file(trace: Trace, source_id: str, status: str = "complete", **more: Any) -> None:
    row = {"source_id": source_id, "path": source_id, "size_bytes": 1, "row_count": 10, **more}
    trace.insert("source_file", status=status, **row)


def issue(trace: Trace, severity: str) -> None:
    trace.insert("ingest_issue", severity=severity, place="a", problem="p", way_out="")


def test_what_was_ingested_and_how_complete_it_is(trace: Trace) -> None:
    file(trace, "a", capture_start_utc_ns=2_000)
    file(trace, "b", "incomplete", capture_start_utc_ns=1_000)
    file(trace, "c", "refused", row_count=0)
    for source_id, rank in (("a", 0), ("b", 1)):
        trace.process(1, rank=rank, host=f"node-{source_id}", source_id=source_id)
        trace.device(1, gpu_id=f"gpu {source_id}", source_id=source_id)
        trace.insert("run", source_id=source_id, world_size=4)
    for severity in ("error", "warning", "warning", "note"):
        issue(trace, severity)
    assert trace.only("FROM run_summary") == {
        "run_id": "run",
        "start_utc_ns": 1_000,
        "source_count": 2,
        "refused_count": 1,
        "incomplete_count": 1,
        "host_count": 2,
        "rank_count": 2,
        "world_size": 4,
        "device_count": 2,
        "warning_count": 2,
        "row_count": 20,
    }


def test_a_run_of_which_nothing_is_known(trace: Trace) -> None:
    file(trace, "a", "refused", row_count=0)
    row = trace.only("FROM run_summary")
    assert (row["source_count"], row["refused_count"]) == (0, 1)
    assert (row["host_count"], row["rank_count"], row["device_count"]) == (0, 0, 0)
    assert (row["start_utc_ns"], row["world_size"]) == (None, None)


def test_a_gpu_that_two_files_of_a_host_show_is_one(trace: Trace) -> None:
    for source_id in ("a", "b"):
        file(trace, source_id)
        trace.device(1, gpu_id="same", source_id=source_id)
    assert trace.ask("SELECT device_count FROM run_summary") == [(1,)]


def test_without_hosts_the_gpus_of_two_files_are_two(trace: Trace) -> None:
    for source_id in ("a", "b"):
        file(trace, source_id)
        trace.process(1, host=None, source_id=source_id)
        trace.device(1, gpu_id="0000:03:00.0", source_id=source_id)
    assert trace.ask("SELECT device_count FROM run_summary") == [(2,)]


def test_each_run_has_a_row(trace: Trace) -> None:
    file(trace, "a", run_id="second")
    file(trace, "a", run_id="first")
    assert trace.ask("SELECT run_id, source_count FROM run_summary") == [
        ("first", 1),
        ("second", 1),
    ]
