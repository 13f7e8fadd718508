"""dcgm-exporter's text: a few lines in, samples and devices out."""

import random
from pathlib import Path

import pytest
from gpu_rows import kept, read_file, read_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.ingest import ingest
from pipeline.readers import prometheus_text
from pipeline.readers.prometheus_labels import parse_labels
from pipeline.readers.record import Head, Hints
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces"
REAL = sorted(TRACES.glob("dcgm/*prom*.txt"))
SECOND = 10**9


def sample(name: str, value: object, gpu: int = 0, **labels: str) -> str:
    """A line of the exporter for GPU ``gpu`` of host h; None leaves a label out."""
    told = {"gpu": str(gpu), "UUID": f"GPU-{gpu}f", "Hostname": "h", **labels}
    text = ",".join(f'{label}="{text}"' for label, text in told.items() if text)
    return f"DCGM_FI_{name}{{{text}}} {value}\n"


UTIL, CLOCK = "DEV_GPU_UTIL", "DEV_SM_CLOCK"


def test_a_scrape(tmp_path: Path) -> None:
    text = (
        "# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).\n"
        "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-604ac76c",pci_bus_id="00000000:1B:00.0",'
        'device="nvidia0",modelName="NVIDIA H100",Hostname="node-1",'
        'DCGM_FI_DRIVER_VERSION="550.54.15"} 1980\n'
        'DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0", UUID="GPU-604ac76c"} 0.250000\n'
    )
    result = read_text(prometheus_text, tmp_path, text)
    columns = ("host", "gpu_id", "device_id", "entity", "ts_ns", "tick", "metric", "value")
    assert result.brief(*columns) == [
        ("node-1", "604ac76c", 0, "gpu", None, 0, "sm_clock_hz", 1.98e9),
        (None, "604ac76c", 0, "gpu", None, 0, "gr_engine_active_share", 0.25),
    ]
    (device,) = result.devices
    assert (device["name"], device["uuid"], device["bus_id"]) == (
        "NVIDIA H100", "604ac76c", "0000:1b:00.0",
    )  # fmt: skip
    assert result.recording.facts.tool_version == "550.54.15"


def test_scrapes_one_after_the_other_are_rounds(tmp_path: Path) -> None:
    scrape = sample(UTIL, 10) + sample(UTIL, 11, gpu=1)
    result = read_text(prometheus_text, tmp_path, scrape * 2, Hints(sample_interval_ns=SECOND))
    assert result.brief("gpu_id", "tick", "ts_ns", "value") == [
        ("0f", 0, 0, 0.1), ("1f", 0, 0, 0.11), ("0f", 1, SECOND, 0.1), ("1f", 1, SECOND, 0.11),
    ]  # fmt: skip


@pytest.mark.parametrize("prefix", ["node-1: ", "[pod/node-1/main] ", "node-1  | "])
def test_samples_behind_a_launchers_prefix(tmp_path: Path, prefix: str) -> None:
    scrape = '# HELP DCGM_FI_DEV_GPU_UTIL x\nDCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-0f"} 10\n'
    text = "".join(f"{prefix}{line}\n" for line in (scrape * 2).splitlines())
    assert prometheus_text.recognise(Head(text.encode()))
    result = read_text(prometheus_text, tmp_path, text)
    assert result.brief("host", "gpu_id", "tick", "value") == [
        ("node-1", "0f", 0, 0.1), ("node-1", "0f", 1, 0.1),
    ]  # fmt: skip
    assert result.problems == []


def test_pssh_says_whose_samples_follow(tmp_path: Path) -> None:
    text = "".join(
        f'[{at}] 10:11:12 [SUCCESS] n{at}\nDCGM_FI_DEV_GPU_UTIL{{gpu="0"}} 1{at}\n' for at in (1, 2)
    )
    result = read_text(prometheus_text, tmp_path, text)
    assert result.brief("host", "tick", "value") == [("n1", 0, 0.11), ("n2", 0, 0.12)]
    assert result.problems == []


def test_a_gpu_may_be_missing_from_a_scrape(tmp_path: Path) -> None:
    declared = "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
    both = declared + sample(UTIL, 10) + sample(UTIL, 11, gpu=1)
    text = both + declared + sample(UTIL, 11, gpu=1) + both
    result = read_text(prometheus_text, tmp_path, text)
    assert [(gpu, at) for gpu, at, _ in result.series("gpu_util_share")] == [
        ("0f", 0), ("1f", 0), ("1f", 1), ("0f", 2), ("1f", 2),
    ]  # fmt: skip


def test_hosts_in_turn_have_rounds_of_their_own(tmp_path: Path) -> None:
    text = "".join(
        "# HELP DCGM_FI_DEV_GPU_UTIL x\n" + sample(UTIL, 10, gpu=gpu, Hostname=host)
        for _ in range(3)
        for gpu, host in enumerate(("a", "b"))
    )
    result = read_text(prometheus_text, tmp_path, text)
    assert result.brief("host", "tick") == [
        ("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2),
    ]  # fmt: skip


def test_times_are_utc(tmp_path: Path) -> None:
    text = sample(UTIL, "10 1718000000123") + sample(UTIL, "12 1718000015123")
    result = read_text(prometheus_text, tmp_path, text)
    assert result.brief("ts_ns", "tick") == [(0, None), (15 * SECOND, None)]
    assert result.recording.facts.capture_start_utc_ns == 1_718_000_000_123_000_000
    # OpenMetrics has seconds.
    text = sample(UTIL, "10 1718000000.5")
    facts = read_text(prometheus_text, tmp_path, text).recording.facts
    assert facts.capture_start_utc_ns == 1_718_000_000_500_000_000


def test_a_time_that_none_can_be_is_damage(tmp_path: Path) -> None:
    text = sample(UTIL, 10) + sample(UTIL, "10 12345") + sample(UTIL, "10 99999999999999")
    result = read_text(prometheus_text, tmp_path, text)
    assert len(result.samples) == 1 and result.recording.issues[0].row_count == 2


def test_blanks_glitches_and_nan_are_no_values(tmp_path: Path) -> None:
    text = (
        sample("DEV_MEMORY_TEMP", 9223372036854775794)
        + sample("PROF_SM_ACTIVE", "140737488355328.000000")
        + sample(UTIL, 4294967295)
        + sample(UTIL, "NaN", gpu=1)
        + sample("DEV_FB_USED", "+Inf")
        + sample(CLOCK, 1980)
    )
    result = read_text(prometheus_text, tmp_path, text)
    assert result.brief("metric", "value") == [("sm_clock_hz", 1.98e9)]
    assert sum(issue.row_count or 0 for issue in result.recording.issues) == 5


def test_mig_instances_are_not_the_gpu(tmp_path: Path) -> None:
    name = "PROF_GR_ENGINE_ACTIVE"
    text = (
        sample(name, 0.5)
        + sample(name, 0.9, GPU_I_ID="3", GPU_I_PROFILE="1g.10gb")
        + sample(name, 0.1, GPU_I_ID="4", GPU_I_PROFILE="1g.10gb")
    )
    assert read_text(prometheus_text, tmp_path, text).brief("entity", "entity_id", "value") == [
        ("gpu", None, 0.5), ("gpu_instance", "3", 0.9), ("gpu_instance", "4", 0.1),
    ]  # fmt: skip


def test_what_is_the_gpu_s_own_is_not_one_of_each_mig_instance(tmp_path: Path) -> None:
    parts = [{"GPU_I_ID": which, "GPU_I_PROFILE": "3g.40gb"} for which in ("1", "2")]
    text = "".join(
        sample("DEV_POWER_USAGE", "400 1718000000000", **part)
        + sample("DEV_FB_USED", "10 1718000000000", **part)
        for part in parts
    )
    assert read_text(prometheus_text, tmp_path, text).brief("entity", "entity_id", "metric") == [
        ("gpu", None, "power_w"),
        ("gpu_instance", "1", "fb_used_bytes"), ("gpu_instance", "2", "fb_used_bytes"),
    ]  # fmt: skip


def test_links_are_not_the_gpu(tmp_path: Path) -> None:
    text = sample("PROF_NVLINK_L3_TX_BYTES", 5000) + sample("PROF_NVLINK_TX_BYTES", 90000)
    assert read_text(prometheus_text, tmp_path, text).brief("entity", "entity_id", "metric") == [
        ("link", "3", "nvlink_tx_bytes_per_s"), ("gpu", None, "nvlink_tx_bytes_per_s"),
    ]  # fmt: skip


def test_old_and_new_names_are_one_series(tmp_path: Path) -> None:
    old = sample("DEV_POWER_USAGE", "500 1718000000000")
    new = sample("DEV_BOARD_POWER_WATTS", "510 1718000001000", Hostname="", hostname="h")
    result = read_text(prometheus_text, tmp_path, old + new)
    assert result.brief("host", "metric", "value") == [("h", "power_w", 500), ("h", "power_w", 510)]


def test_error_codes_drivers_and_pods_do_not_split_a_series(tmp_path: Path) -> None:
    text = "".join(
        sample("DEV_XID_ERRORS", f"{xid} {1718000000000 + 1000 * at}", **labels)
        for at, (xid, labels) in enumerate(
            [
                (0, {"err_code": "0", "err_msg": "No Error", "pod": "a"}),
                (79, {"err_code": "79", "err_msg": 'GPU has fallen off the bus, \\"really\\"'}),
                (79, {"DCGM_FI_DRIVER_VERSION": "570.1", "exported_pod": "b"}),
            ]
        )
    )
    result = read_text(prometheus_text, tmp_path, text)
    assert result.series("xid") == [("0f", 0, 0), ("0f", SECOND, 79), ("0f", 2 * SECOND, 79)]
    assert result.problems == []


def test_a_gpu_listed_twice_counts_once(tmp_path: Path) -> None:
    text = sample(UTIL, 10, pod="a") + sample(UTIL, 10, pod="b") + sample(UTIL, 12, pod="c")
    result = read_text(prometheus_text, tmp_path, text)
    assert result.series("gpu_util_share") == [("0f", 0, 0.1)]
    (issue,) = result.recording.issues
    assert issue.row_count == 2 and "1 with another value" in issue.problem


def test_windows_of_xids_are_series_per_xid(tmp_path: Path) -> None:
    text = "".join(
        f'DCGM_EXP_XID_ERRORS_COUNT{{gpu="0",window_size_in_ms="300000",xid="{xid}"}} 2\n'
        for xid in (31, 79)
    )
    assert read_text(prometheus_text, tmp_path, text).brief("metric", "value") == [
        ("xid_31_window_count", 2), ("xid_79_window_count", 2),
    ]  # fmt: skip


def test_rates_declared_counters_keep_their_unit(tmp_path: Path) -> None:
    text = "# TYPE DCGM_FI_PROF_PCIE_TX_BYTES counter\n" + sample("PROF_PCIE_TX_BYTES", 52000)
    assert read_text(prometheus_text, tmp_path, text).brief("metric", "value") == [
        ("pcie_tx_bytes_per_s", 52000)
    ]


def test_what_is_not_of_one_gpu_is_counted(tmp_path: Path) -> None:
    text = (
        sample(UTIL, 10)
        + 'node_cpu_seconds_total{cpu="0",mode="idle"} 12.5\nup 1\n'
        + 'DCGM_FI_DEV_CPU_UTIL_TOTAL{cpu="0",Hostname="h"} 0.5\n'
    )
    result = read_text(prometheus_text, tmp_path, text)
    assert len(result.samples) == 1
    assert [(issue.severity, issue.row_count) for issue in result.recording.issues] == [
        ("note", 2), ("note", 1),
    ]  # fmt: skip


def test_an_unknown_field_keeps_its_own_name(tmp_path: Path) -> None:
    result = read_text(prometheus_text, tmp_path, sample("DEV_BRAND_NEW", 3))
    assert result.brief("metric", "value") == [("dcgm_fi_dev_brand_new", 3)]
    assert result.problems == [
        "metrics kept under their own names, in units not known: DCGM_FI_DEV_BRAND_NEW"
    ]


def test_damaged_lines_are_told(tmp_path: Path) -> None:
    good = sample(UTIL, 10)
    text = good + good[:40] + "\n" + sample(UTIL, "1_0", gpu=1) + sample(UTIL, "1 2 3") + good
    result = read_text(prometheus_text, tmp_path, text)
    # The scrape between lost its number, not its place.
    assert result.series("gpu_util_share") == [("0f", 0, 0.1), ("0f", 2, 0.1)]
    places = {issue.place: issue.row_count for issue in result.recording.issues}
    assert places == {"line 2": 2, "line 4": 1}


def test_a_last_line_without_its_end_is_left_out(tmp_path: Path) -> None:
    text = sample(UTIL, 10) + sample(UTIL, 100, gpu=1)
    result = read_text(prometheus_text, tmp_path, text[:-2])
    assert result.series("gpu_util_share") == [("0f", 0, 0.1)]
    assert result.recording.facts.status == "incomplete"


def test_labels() -> None:
    assert parse_labels('a="1", b="x,y}" , c="q\\"\\\\\\n",') == {
        "a": "1", "b": "x,y}", "c": 'q"\\\n',
    }  # fmt: skip
    assert parse_labels("") == {}
    for damaged in ('a="1', 'a=1"', 'a="1"b="2"', '="1"', 'a="1",,', '"a"'):
        assert parse_labels(damaged) is None, damaged


def test_many_blocks_are_read_as_one(tmp_path: Path) -> None:
    scrapes, gpus = 9000, 8
    text = "".join(
        sample(UTIL, (scrape + gpu) % 101, gpu, namespace="n" * 60)
        for scrape in range(scrapes)
        for gpu in range(gpus)
    )
    assert len(text) > 8 << 20
    result = read_text(prometheus_text, tmp_path, text)
    expected = [
        (f"{gpu}f", scrape, (scrape + gpu) % 101 / 100)
        for scrape in range(scrapes)
        for gpu in range(gpus)
    ]
    assert result.series("gpu_util_share") == expected


def test_it_is_ingested(tmp_path: Path) -> None:
    file = tmp_path / "metrics.prom"
    file.write_text(sample(UTIL, 10) + sample(CLOCK, 1980))
    store = Store.create(tmp_path / "store")
    ingest([file], store, jobs=1)
    query = "SELECT host, gpu_id, metric, value FROM gpu_sample ORDER BY metric"
    assert store.connect(asked=["gpu_sample"]).execute(query).fetchall() == [
        ("h", "0f", "gpu_util_share", 0.1), ("h", "0f", "sm_clock_hz", 1.98e9),
    ]  # fmt: skip


def test_what_is_no_sample_of_a_gpu_is_not_recognised() -> None:
    assert prometheus_text.recognise(Head(("noise\n" + sample(UTIL, 10)).encode()))
    for other in (
        'node_cpu_seconds_total{cpu="0"} 1\n',
        "DCGM_FI_DEV_GPU_UTIL, gauge, GPU utilization (in %).\n",
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization\n",
        'rate(DCGM_FI_DEV_GPU_UTIL{gpu="0"}[5m])\n',
    ):
        assert not prometheus_text.recognise(Head(other.encode())), other


FUZZED = (sample(UTIL, 10) + sample(CLOCK, "1980 1718000000123") + sample(UTIL, 99, 1)).encode()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.data())
def test_damage_never_makes_a_value(tmp_path: Path, seed: int, data: st.DataObject) -> None:
    clean = kept(prometheus_text, tmp_path, FUZZED)
    assert clean is not None
    cut = FUZZED[: data.draw(st.integers(0, len(FUZZED)))]
    assert (kept(prometheus_text, tmp_path, cut) or set()) <= clean
    lines = FUZZED.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    assert (kept(prometheus_text, tmp_path, b"".join(lines)) or set()) <= clean
    flipped = bytearray(FUZZED)
    flipped[data.draw(st.integers(0, len(FUZZED) - 1))] = data.draw(st.integers(0, 255))
    kept(prometheus_text, tmp_path, bytes(flipped))
    prometheus_text.recognise(Head(bytes(flipped)))


def test_a_dict_that_slurm_job_exporter_printed_is_refused_by_name() -> None:
    text = "{'GPU-6e19195c': {'name': 'NVIDIA H100',\n 'power_usage': 69.437,\n"
    refused = prometheus_text.why_not(Head(text.encode()), [])
    assert refused and "slurm-job-exporter" in refused.problem
    assert prometheus_text.why_not(Head(b"{'loss': 1.5}\n"), []) is None


def _one(value: str) -> str:
    return f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-1",Hostname="a"}} {value}\n'


@pytest.mark.parametrize(
    "junk",
    [
        "<html><head><title>502 Bad Gateway</title></head>\n<body>\n</body></html>\n",
        "upstream is not there\ntry again\nlater\n",
        '\0CGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 5\n' * 3,
    ],
)
@pytest.mark.parametrize("after", ["", _one("42")])
def test_a_line_among_the_samples_that_is_none_is_told(
    tmp_path: Path, junk: str, after: str
) -> None:
    result = read_text(prometheus_text, tmp_path, _one("41") + junk + after)
    assert len(result.samples) == 1 + bool(after)
    (issue,) = result.recording.issues
    assert (issue.severity, issue.place, issue.row_count) == ("warning", "line 2", 3)


def test_metrics_of_other_exporters_and_logs_around_are_no_damage(tmp_path: Path) -> None:
    other = 'node_load1 0.5\ngo_info{version="1"} 1\n# a remark\n# EOF\n\n'
    log = "step 1, loss 2.5\n# gpu   pwr\n# Idx     W\n    0    12\nbye\n"
    result = read_text(prometheus_text, tmp_path, "hello\n" + _one("41") + other + log)
    assert len(result.samples) == 1
    assert [(issue.severity, issue.row_count) for issue in result.recording.issues] == [("note", 2)]


def test_damaged_samples_alone_are_refused_with_the_first(tmp_path: Path) -> None:
    assert prometheus_text.recognise(Head(_one("x41").encode()))
    refusal = read_text(prometheus_text, tmp_path, "hello\n" + _one("x41") * 3).recording.refusal
    assert refusal and "line 2: a sample that cannot be read: 'DCGM_FI_DEV" in refusal.problem


def test_samples_without_a_value_are_no_damage(tmp_path: Path) -> None:
    for value in ("NaN", "9223372036854775794"):
        result = read_text(prometheus_text, tmp_path, _one(value))
        assert (result.samples, result.recording.refusal) == ([], None)


@pytest.mark.real_traces
@pytest.mark.skipif(not REAL, reason="the published files are not there")
class TestRealFiles:
    def test_four_v100(self) -> None:
        result = read_file(prometheus_text, TRACES / "dcgm/iss_dcgmexporter250_v100_prom.txt")
        assert result.series("power_limit_w") == [
            ("a9079f15-493e-6c1c-c78c-73ec2b840cba", 0, 300),
            ("bd94f0f5-8c2f-bc95-74ad-5f99fdc33d01", 0, 300),
        ]
        assert len(result.series("pcie_replay_count")) == 4
        assert len(result.samples) == 7 and {row["host"] for row in result.samples} == {"r6i3n0"}

    def test_a_readme_with_two_scrapes_and_blanks(self) -> None:
        result = read_file(prometheus_text, TRACES / "dcgm/prom_exporter_readme_sentinel.txt")
        gpu = "604ac76c-d9cf-fef3-62e9-d92044ab6e52"
        assert result.series("sm_clock_hz") == [(gpu, 0, 139e6), (gpu, 1, 139e6)]
        assert result.series("memory_clock_hz") == [(gpu, 0, 405e6), (gpu, 1, 405e6)]
        assert len(result.samples) == 4
        assert [issue.row_count for issue in result.recording.issues] == [2]


def test_another_formats_block_below_the_samples_is_no_damage(tmp_path: Path) -> None:
    other = "$ nvidia-smi dmon\n# gpu   pwr\n# Idx     W\n    0    12\nbye\n"
    result = read_text(prometheus_text, tmp_path, _one("41") + other + _one("42"))
    assert (len(result.samples), result.problems) == (2, [])
    result = read_text(prometheus_text, tmp_path, "\n" + _one("41") + "\n" + _one("42") + "junk\n")
    assert result.problems == ["a line among the samples that is none: 'junk'"]
