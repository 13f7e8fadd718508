"""JSON reports of nccl-tests: what ``-J`` writes in, rows out."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_read import Read
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import nccl_tests
from pipeline.readers.record import Head
from pipeline.store import Store

ASKED = ("collective_benchmark", "collective_benchmark_run", "ingest_issue")

SECRET = "AWS_SECRET_ACCESS_KEY=hunter2"


def half(time: float, speed: float, **more: Any) -> dict[str, Any]:
    return {"time": time, "alg_bw": speed, "bus_bw": speed, "nwrong": 0.0, **more}


def report(**more: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "start_time": "2026-07-01 10:20:30",
        "args": ["/home/someone/build/all_reduce_perf", "-b", "1M", "-J", "/secret/place.json"],
        "env": [SECRET, "NCCL_DEBUG=INFO"],
        "nccl_version": 22907,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": 1048576,
            "maximum_bytes": 8388608,
            "step_factor": 8,
            "warmup_iters": 1,
            "iterations": 20,
            "aggregated_iterations": 1,
            "validation": 1,
            "graph": 0,
            "blocking_collectives": "false",
            "per_iter_timing": "true",
            "parallel_init": "false",
            "devices": [
                {
                    "rank": rank,
                    "group": 0,
                    "pid": 70 + rank,
                    "hostname": f"node-{rank}",
                    "device": 0,
                    "device_hex": "0000:07:00",
                    "device_info": "NVIDIA H100 80GB HBM3",
                }
                for rank in (0, 1)
            ],
        },
        "results": [
            {
                "size": 1048576,
                "count": 262144,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": half(52.4288, 20.0),
                "out_of_place_per_iter": {
                    "min_us": 50.0, "max_us": 60.0, "p99_us": 59.5, "cv_pct": 1.5,
                },
                "in_place": half(50.0, 20.97152, nwrong=None),
                "actual_iterations": 20,
                "experiment_name": "all_reduce",
            },
            {
                "size": 8388608,
                "count": 2097152,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": None,
                "in_place": half(200.0, 41.94304),
            },
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 27.638187, "okay": "unchecked"},
        "errors": [""],
        "end_time": "2026-07-01 10:21:00",
        **more,
    }  # fmt: skip


def of(tmp_path: Path, content: dict[str, Any] | str) -> Read:
    text = content if isinstance(content, str) else json.dumps(content).replace("/", "\\/")
    path = tmp_path / "report.json"
    path.write_text(text)
    assert nccl_tests.recognise(Head(text.encode()))
    return Read(path)


COLUMNS = ("size_bytes", "is_in_place", "time_ns", "algbw_bytes_per_s", "wrong_count")
EXPECTED = [
    (1048576, False, 52429, 20e9, 0),
    (1048576, True, 50000, 20.97152e9, None),
    (8388608, True, 200000, 41.94304e9, 0),
]


def test_a_report(tmp_path: Path) -> None:
    read = of(tmp_path, report())
    assert read.values(*COLUMNS) == EXPECTED
    row, (test,) = read.rows[0], read.tests
    assert {
        "op": "all_reduce", "test": "all_reduce_perf", "nranks": 2, "nnodes": 2, "gpus": 2,
        "iteration_min_ns": 50000, "iteration_max_ns": 60000, "iteration_p99_ns": 59500,
        "iteration_cv_share": 0.015, "is_consistent": True, "line": None, "root": None,
    }.items() <= row.items()  # fmt: skip
    assert {
        "status": "complete", "nccl_version": "2.29.7", "has_iteration_report": True,
        "is_blocking": False, "step_factor": 8, "is_out_of_bounds_ok": True,
        "is_average_ok": None, "start_local_ns": 1782901230_000000000,
        "end_local_ns": 1782901260_000000000,
    }.items() <= test.items()  # fmt: skip
    assert [d["host"] for d in read.devices] == ["node-0", "node-1"]
    assert (read.facts.status, read.facts.schema_version) == ("complete", "2")
    assert read.facts.capture_start_local_ns == 1782901230_000000000


def test_each_process_lists_its_first_gpu_only(tmp_path: Path) -> None:
    content = report()
    content["config"]["ngpus"] = 8
    content["config"]["devices"][1]["rank"] = 8
    read = of(tmp_path, content)
    (test,) = read.tests
    assert (test["nranks"], test["nnodes"], test["gpus"]) == (16, 2, None)


def test_times_of_the_host_and_no_numbers(tmp_path: Path) -> None:
    content = report()
    content["results"][0]["out_of_place"] = {
        "cpu_time": 99.0, "alg_bw": "nan", "bus_bw": 20.0, "nwrong": None,
    }  # fmt: skip
    row = of(tmp_path, content).rows[0]
    assert (row["time_ns"], row["is_time_host"], row["algbw_bytes_per_s"]) == (99000, True, None)


def test_numbers_beyond_any_bound(tmp_path: Path) -> None:
    content = report(out_of_bounds={"count": 1 << 70, "okay": "true"}, version=1 << 70)
    content["config"].update(nthreads=1 << 40, iterations=1 << 40, graph=-1)
    content["config"]["devices"][0].update(group=1 << 40, rank=1 << 40)
    content["results"][0]["out_of_place"].update(time=1e300, nwrong=1e300)
    content["results"][1]["size"] = 1 << 70
    read = of(tmp_path, content)
    assert read.values(*COLUMNS) == [(1048576, False, None, 20e9, None), EXPECTED[1]]


def test_wrong_results(tmp_path: Path) -> None:
    content = report(out_of_bounds={"count": 3, "okay": "false"})
    content["results"][0]["out_of_place"]["nwrong"] = 12.0
    read = of(tmp_path, content)
    assert (read.rows[0]["wrong_count"], read.tests[0]["is_out_of_bounds_ok"]) == (12, False)


def test_the_last_error_of_nccl_is_told(tmp_path: Path) -> None:
    read = of(tmp_path, report(errors=["socketProgress: Connection closed by remote peer"]))
    assert read.issues == ["NCCL's last error: 'socketProgress: Connection closed by remote peer'"]
    assert read.tests[0]["status"] == "complete"


def test_a_test_that_died_leaves_an_unfinished_report(tmp_path: Path) -> None:
    text = json.dumps(report())
    read = of(tmp_path, text[: text.index('"size": 8388608') + 30])
    assert read.values(*COLUMNS) == EXPECTED[:2]
    assert (read.tests[0]["status"], read.facts.status) == ("incomplete", "incomplete")


def test_nothing_of_the_environment_is_stored(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "report.json").write_text(json.dumps(report()))
    store = Store.create(tmp_path / "store")
    (outcome,) = ingest([tmp_path / "job"], store, jobs=1).outcomes
    assert outcome.kind == "stored"
    connection = store.connect(asked=ASKED)
    for table in ("collective_benchmark", "collective_benchmark_run", "ingest_issue"):
        text = str(connection.execute(f"SELECT * FROM {table}").fetchall())
        assert "hunter2" not in text and "secret" not in text and "someone" not in text


def test_other_json_is_not_taken() -> None:
    for text in ("{}", '{"version": 1}', '{"traceEvents": []}', '[{"version": 2}]'):
        assert not nccl_tests.recognise(Head(text.encode()))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_cut_or_damaged_report_gives_no_other_values(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "report.json"
    text = json.dumps(report())
    cut = data.draw(st.integers(text.index("nccl_version"), len(text)))
    path.write_text(text[:cut])
    assert set(Read(path).values(*COLUMNS)) <= set(EXPECTED)
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 20))):
        raw[data.draw(st.integers(100, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    Read(path)
