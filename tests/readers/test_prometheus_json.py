"""Prometheus' answers: a few series in, samples and devices out."""

import json
from pathlib import Path
from typing import Any

import pytest
from gpu_rows import kept, read_file, read_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import prometheus_json
from pipeline.readers.record import Head, Refused
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces"
MOCK = TRACES / "dcgm/prom_matrix_nan_inf_mock.json"
SECOND = 10**9
START = 1_718_000_000

Pairs = list[tuple[float, str]]


def series(values: Pairs, name: str = "GPU_UTIL", gpu: int = 0, **labels: str) -> dict[str, Any]:
    told = {"gpu": str(gpu), "UUID": f"GPU-{gpu}f", "Hostname": "h", **labels}
    metric = {"__name__": f"DCGM_FI_DEV_{name}", **told}
    return {"metric": {k: v for k, v in metric.items() if v}, "values": values}


def answer(*results: Any, kind: str = "matrix") -> str:
    data = {"resultType": kind, "result": list(results)}
    return json.dumps({"status": "success", "data": data})


def test_a_range(tmp_path: Path) -> None:
    text = answer(
        series([(START + 0.123, "10"), (START + 15.123, "12.5")]),
        series([(START + 15.123, "20")], gpu=1, modelName="NVIDIA L40S"),
    )
    result = read_text(prometheus_json, tmp_path, text)
    assert result.brief("host", "gpu_id", "device_id", "ts_ns", "tick", "metric", "value") == [
        ("h", "0f", 0, 0, None, "gpu_util_share", 0.1),
        ("h", "0f", 0, 15 * SECOND, None, "gpu_util_share", 0.125),
        ("h", "1f", 1, 15 * SECOND, None, "gpu_util_share", 0.2),
    ]
    facts = result.recording.facts
    assert facts.capture_start_utc_ns == START * SECOND + 123_000_000
    assert (facts.host, facts.status) == ("h", "complete")
    assert [device["name"] for device in result.devices] == [None, "NVIDIA L40S"]
    assert result.problems == []


def test_an_instant(tmp_path: Path) -> None:
    one = series([])
    one["value"] = [START, "10"]
    del one["values"]
    result = read_text(prometheus_json, tmp_path, answer(one, kind="vector"))
    assert result.brief("ts_ns", "value") == [(0, 0.1)]


def test_a_gap_stays_a_gap_and_nan_is_no_value(tmp_path: Path) -> None:
    pairs = [(START, "10"), (START + 15, "NaN"), (START + 90, "+Inf"), (START + 105, "11")]
    result = read_text(prometheus_json, tmp_path, answer(series(pairs)))
    assert result.series("gpu_util_share") == [("0f", 0, 0.1), ("0f", 105 * SECOND, 0.11)]
    assert [(issue.problem, issue.row_count) for issue in result.recording.issues] == [
        ("samples left out: NaN or Inf", 2)
    ]


def test_one_gpu_under_two_jobs_counts_once(tmp_path: Path) -> None:
    first = series([(START, "10"), (START + 15, "11")], job="dcgm")
    second = series([(START, "10"), (START + 15, "11"), (START + 30, "12")], job="gpu", Hostname="")
    result = read_text(prometheus_json, tmp_path, answer(first, second))
    assert [value for *_, value in result.series("gpu_util_share")] == [0.1, 0.11, 0.12]
    (issue,) = result.recording.issues
    assert issue.row_count == 2 and "more than once" in issue.problem


def test_a_series_split_by_a_label_or_a_new_name_is_one(tmp_path: Path) -> None:
    text = answer(
        series([(START, "0")], "XID_ERRORS", err_code="0"),
        series([(START + 15, "79")], "XID_ERRORS", err_code="79"),
        series([(START, "500")], "POWER_USAGE"),
        series([(START + 15, "510")], "BOARD_POWER_WATTS"),
    )
    result = read_text(prometheus_json, tmp_path, text)
    assert result.series("xid") == [("0f", 0, 0), ("0f", 15 * SECOND, 79)]
    assert [value for *_, value in result.series("power_w")] == [500, 510]
    assert result.problems == []


def test_mig_instances_are_not_the_gpu(tmp_path: Path) -> None:
    text = answer(series([(START, "1")]), series([(START, "2")], GPU_I_ID="7"))
    result = read_text(prometheus_json, tmp_path, text)
    assert result.brief("entity", "entity_id") == [("gpu", None), ("gpu_instance", "7")]


def test_clocks_of_mig_instances_are_the_gpu_s_and_one(tmp_path: Path) -> None:
    values = [(START, "1200"), (START + 15, "1980")]
    several = [series(values, "SM_CLOCK", GPU_I_ID=which) for which in ("7", "8")]
    result = read_text(prometheus_json, tmp_path, answer(*several))
    assert result.brief("entity", "entity_id", "value") == [
        ("gpu", None, 1.2e9),
        ("gpu", None, 1.98e9),
    ]


def test_aggregates_are_left_out_with_a_reason(tmp_path: Path) -> None:
    nameless = series([(START, "1"), (START + 15, "2")])
    del nameless["metric"]["__name__"]
    text = answer(
        {"metric": {}, "values": [[START, "1"]]},
        nameless,
        {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "Hostname": "h"}, "values": [[START, "1"]]},
        {"metric": {"__name__": "up", "gpu": "0"}, "values": [[START, "1"]]},
        series([(START, "10")]),
    )
    result = read_text(prometheus_json, tmp_path, text)
    assert len(result.samples) == 1
    assert sorted((issue.row_count, issue.severity) for issue in result.recording.issues) == [
        (1, "note"), (1, "note"), (3, "note"),
    ]  # fmt: skip


def test_only_aggregates_are_refused(tmp_path: Path) -> None:
    text = answer({"metric": {}, "values": [[START, "1"]]})
    refusal = read_text(prometheus_json, tmp_path, text).recording.refusal
    assert refusal and "sums and rates" in refusal.way_out
    refusal = read_text(
        prometheus_json, tmp_path, answer(series([(START, "1980")]))
    ).recording.refusal
    assert refusal and "cannot be outside" in refusal.problem
    text = answer(START, "1", kind="scalar")
    assert read_text(prometheus_json, tmp_path, text).recording.refusal


def test_an_error_is_refused_with_its_message(tmp_path: Path) -> None:
    text = '{"status":"error","errorType":"bad_data","error":"parse error: unexpected \\"}\\""}'
    assert prometheus_json.recognise(Head(text.encode()))
    with pytest.raises(Refused) as refused:
        read_text(prometheus_json, tmp_path, text)
    assert refused.value.problem == (
        'Prometheus answered with an error: parse error: unexpected "}"'
    )
    # A label of that name is no error.
    one = series([(START, "10")], status="error", error="x")
    assert len(read_text(prometheus_json, tmp_path, answer(one)).samples) == 1


def test_answers_one_after_another(tmp_path: Path) -> None:
    text = "\n".join(
        answer(series([(START + 15 * at, str(at))], job=job)) for at in range(200) for job in "ab"
    )
    result = read_text(prometheus_json, tmp_path, text)
    values = [value for *_, value in result.series("gpu_util_share")]
    assert values == pytest.approx([at / 100 for at in range(101)])  # above 1 is no share
    assert max(issue.row_count or 0 for issue in result.recording.issues) == 200


def test_a_torn_answer_gives_its_whole_series(tmp_path: Path) -> None:
    text = answer(*(series([(START, "10"), (START + 15, "11")], gpu=gpu) for gpu in range(5)))
    result = read_text(prometheus_json, tmp_path, text[:-80])
    assert len(result.samples) == 8
    assert result.recording.facts.status == "incomplete"
    (problem,) = result.problems
    assert problem.startswith("the JSON is cut short or damaged at character ")
    assert problem.endswith(", in or after series 4")


@pytest.mark.parametrize("count", [3, 300])  # decoded, and as columns
def test_whole_samples_before_a_cut_are_kept(tmp_path: Path, count: int) -> None:
    text = answer(series([(START + 15 * n, "10") for n in range(count)]))
    for end, expected in ((-4, count), (-5, count), (-6, count - 1), (-15, count - 1)):
        result = read_text(prometheus_json, tmp_path, text[:end])
        assert len(result.samples) == expected, text[:end][-30:]
        assert result.recording.facts.status == "incomplete"
    result = read_text(prometheus_json, tmp_path, text[: text.index("10")])
    refusal = result.recording.refusal
    assert refusal and "cut short or damaged at character" in refusal.problem
    assert refusal.way_out == "fetch it again"


@pytest.mark.parametrize("count", [3, 300])
def test_damage_in_one_series_leaves_those_around_it(tmp_path: Path, count: int) -> None:
    values = [(START + 15 * n, f"{n % 9}.5") for n in range(count)]
    text = answer(*(series(values, gpu=gpu) for gpu in range(3)))
    places = [at for at in range(len(text)) if text.startswith('"1.5"', at)]
    at = places[len(places) // 2]
    result = read_text(prometheus_json, tmp_path, text[:at] + "\0" + text[at + 1 :])
    assert len(result.series("gpu_util_share")) > 2 * count
    assert len({row["gpu_id"] for row in result.samples}) == 3
    assert result.recording.facts.status == "incomplete"


def test_an_answer_without_series_says_so(tmp_path: Path) -> None:
    refusal = read_text(prometheus_json, tmp_path, answer()).recording.refusal
    assert refusal and refusal.problem == "Prometheus' answer holds no series"


def test_brackets_without_end_are_damage(tmp_path: Path) -> None:
    for opening in ("[", '{"a":', "[\n "):
        text = answer(series([(START, "10")]))[:-3] + "," + opening * 100_000
        result = read_text(prometheus_json, tmp_path, text)
        assert result.recording.facts.status == "incomplete"


def test_odd_samples_are_told(tmp_path: Path) -> None:
    odd: Any = [[START, 10], ["x", "1"], [START], None, [START, "1_0"], [True, "1"], [START, "x"]]
    odd += [[-1, "1"], [1e300, "1"]]
    result = read_text(prometheus_json, tmp_path, answer(series([*odd, (START, "10")])))
    assert result.brief("value") == [(0.1,)]
    assert result.recording.issues[0].row_count == len(odd)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    content = answer(series([(START, "10")])).encode(encoding)
    assert prometheus_json.recognise(Head(content))
    assert read_text(prometheus_json, tmp_path, content).brief("value") == [(0.1,)]


def test_other_json_is_not_recognised() -> None:
    for other in (
        '{"status":"success"}', '{"resultType":"matrix"}', '[{"status":"success"}]',
        '{"nvbandwidth":{"testcases":[{"status":"Passed"}]}}', "{'status': 'success'}",
    ):  # fmt: skip
        assert not prometheus_json.recognise(Head(other.encode())), other


def test_it_is_ingested(tmp_path: Path) -> None:
    file = tmp_path / "range.json"
    file.write_text(answer(series([(START, "10"), (START + 15, "12")])))
    store = Store.create(tmp_path / "store")
    ingest([file], store, jobs=1)
    query = "SELECT count(*), max(ts_ns) FROM gpu_sample"
    assert store.connect(asked=["gpu_sample"]).execute(query).fetchall() == [(2, 15 * SECOND)]


FUZZED = answer(
    series([(START, "10"), (START + 15, "11")]), series([(START, "7")], "GPU_TEMP", gpu=1)
).encode()


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_never_makes_a_value(tmp_path: Path, data: st.DataObject) -> None:
    clean = kept(prometheus_json, tmp_path, FUZZED)
    assert clean is not None
    cut = FUZZED[: data.draw(st.integers(0, len(FUZZED)))]
    assert (kept(prometheus_json, tmp_path, cut) or set()) <= clean
    flipped = bytearray(FUZZED)
    flipped[data.draw(st.integers(0, len(FUZZED) - 1))] = data.draw(st.integers(0, 255))
    kept(prometheus_json, tmp_path, bytes(flipped))
    prometheus_json.recognise(Head(bytes(flipped)))


@pytest.mark.real_traces
@pytest.mark.skipif(not MOCK.exists(), reason="the published files are not there")
def test_a_matrix_with_nan_and_inf() -> None:
    result = read_file(prometheus_json, MOCK)
    assert result.brief("gpu_id", "metric", "value") == [("old-device", "fb_used_bytes", 2 << 20)]
    assert [issue.row_count for issue in result.recording.issues] == [2]


def test_other_output_below_an_answer_is_no_damage(tmp_path: Path) -> None:
    text = answer(series([(START, "10")])) + "\n# gpu   pwr\n# Idx     W\n    0    12\n"
    result = read_text(prometheus_json, tmp_path, text)
    assert (len(result.samples), result.problems) == (1, [])
    assert result.recording.facts.status == "complete"
