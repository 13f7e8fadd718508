"""The shared vocabulary: names of every tool and version, non-values, rows."""

import csv
from pathlib import Path

import numpy as np
import pytest

from pipeline import catalog
from pipeline.readers import telemetry
from pipeline.readers.telemetry import (
    NO_TIME,
    Coded,
    Metric,
    by_dcgm_id,
    by_dcgm_short,
    by_exporter_name,
    by_smi_dmon,
    by_smi_query,
    clean,
    sample_batch,
)

FORMATS = Path(__file__).parents[3] / "shared" / "docs" / "formats"


def test_one_metric_by_all_its_names() -> None:
    found = by_dcgm_short("SMCLK")
    assert (found.name, found.kind, found.scale) == ("sm_clock_hz", "gauge", 1e6)
    assert by_dcgm_id(100) == by_exporter_name("DCGM_FI_DEV_SM_CLOCK") == found
    assert by_smi_query("clocks.current.sm [MHz]") == by_smi_query("clocks.sm") == found
    assert by_smi_dmon("pclk") == found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"),
        ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"),
        ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"),
        ("DCGM_FI_DEV_NVLINK_BANDWIDTH_L3", "DCGM_FI_DEV_NVLINK_THROUGHPUT_L3"),
        ("DCGM_FI_PROF_NVDEC7_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_7_RATIO"),
        ("DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER", "DCGM_FI_DEV_NVLINK_EFFECTIVE_BER_RAW"),
        (
            "DCGM_FI_DEV_NVLINK_PPCNT_PLR_XMIT_RETRY_EVENTS",
            "DCGM_FI_DEV_NVLINK_PPCNT_PLR_TX_RETRY_EVENT_TOTAL",
        ),
    ],
)
def test_macros_before_and_since_4_6_are_one(old: str, new: str) -> None:
    assert by_exporter_name(old) == by_exporter_name(new)
    assert by_exporter_name(old).is_known


@pytest.mark.skipif(not FORMATS.exists(), reason="the field tables are not there")
@pytest.mark.real_traces
def test_no_alias_of_4_6_is_missed() -> None:
    with (FORMATS / "dcgm_46_alias_map.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            old = by_exporter_name(row["old_macro"])
            new = by_exporter_name(row["new_macro_4.6.0"])
            assert old == new or not (old.is_known or new.is_known), row


@pytest.mark.skipif(not FORMATS.exists(), reason="the field tables are not there")
@pytest.mark.real_traces
def test_short_names_of_dmon_are_dcgms_own() -> None:
    known: dict[str, set[str]] = {}
    with (FORMATS / "dcgm_field_table.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            history = (row["short_name_history"] or "").split(";")
            for name in [row["short_name"], *(h.partition(":")[2].strip() for h in history)]:
                known.setdefault(name or "", set()).add(row["id"])
    for name, metric in telemetry.names("dcgm_short_name").items():
        assert name.replace("#", "0") in known, name
        if "#" not in name and by_dcgm_id(int(min(known[name]))).is_known:
            assert by_dcgm_id(int(min(known[name]))) == metric, name


def test_throttle_reasons_are_event_reasons() -> None:
    found = by_smi_query("clocks_throttle_reasons.active")
    assert found == by_smi_query("clocks_event_reasons.active") == by_dcgm_short("DVCCTR")
    assert found.kind == "mask"


def test_a_field_of_one_link() -> None:
    found = by_dcgm_short("NFEL12")
    assert (found.name, found.link) == ("nvlink_crc_flit_error_count", 12)
    assert by_dcgm_short("NFELT") == Metric(found.name, found.kind, found.scale, found.least)
    assert by_exporter_name("DCGM_FI_PROF_NVLINK_L0_TX_BYTES").link == 0


def test_ids_that_were_used_twice_tell_nothing() -> None:
    assert not by_dcgm_id(825).is_known  # an NVSwitch's counter in 2.x, a link's rate in 4.x
    assert by_dcgm_short("NVLTXB0").name == "nvlink_tx_nvml_bytes_per_s"
    assert by_dcgm_short("CLKPWRCAPNS") == by_dcgm_short("CLKPCNS")


def test_the_counter_of_dcgm_exporter_that_is_a_rate() -> None:
    found = by_exporter_name("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL")
    # DCGM divides KiB by 1000 and calls the result MB.
    assert (found.kind, found.scale) == ("rate", 1024 * 1000)


def test_an_unknown_field_keeps_its_own_name() -> None:
    assert by_dcgm_short("VMUSG") == Metric("dcgm_vmusg", "", is_known=False)
    assert by_exporter_name("DCGM_FI_DEV_NEW_THING").name == "dcgm_fi_dev_new_thing"
    assert by_smi_query("power_smoothing.window_multiplier [ms]").name == (
        "nvidia_smi_power_smoothing_window_multiplier"
    )


@pytest.mark.parametrize(
    "blank",
    [
        *(2147483632, 2147483635, 9223372036854775792, 9223372036854775794),
        *(9.223372036854775807e18, 9223372036854776000.0, 140737488355328.0),
        *(140737488355330.0, 1.40737488355328e16, 9.223372036854775807e20),
    ],
)
@pytest.mark.parametrize("field", ["FBUSD", "TOTEC", "SMACT", "VMUSG"])
def test_blank_values_of_dcgm_are_none(blank: float, field: str) -> None:
    values, reasons = clean(by_dcgm_short(field), np.array([blank, 0.5]))
    assert np.isnan(values[0]) and values[1] == 0.5 * by_dcgm_short(field).scale
    assert reasons == {telemetry.BLANK: 1}


def test_large_counters_are_no_blanks() -> None:
    # 46 hours in ns are beyond DCGM's blank for floats, a busy PCIe beyond that for 32 bits.
    values, reasons = clean(by_dcgm_short("PVIOL"), np.array([165_600e9, 2147483647]))
    assert values.tolist() == [165_600e9, 2147483647] and not reasons


@pytest.mark.parametrize(
    ("metric", "raw"),
    [
        (by_dcgm_short("GPUTL"), 4294967295),
        (by_dcgm_short("GPUTL"), 1980),
        (by_smi_dmon("rxpci"), 2016001),
        (by_smi_dmon("txpci"), 1861316),
        (by_dcgm_short("TMPTR"), 2000),
        (by_dcgm_short("TOTEC"), -1),
    ],
)
def test_glitches_are_none(metric: Metric, raw: float) -> None:
    values, reasons = clean(metric, np.array([raw, 1.0], np.float64))
    assert np.isnan(values[0]) and not np.isnan(values[1])
    assert [text.split()[0] for text in reasons] == [metric.name] and sum(reasons.values()) == 1


def test_what_is_just_full_is_no_glitch() -> None:
    values, reasons = clean(by_dcgm_short("GPUTL"), np.array([100.0, 0.0]))
    assert values.tolist() == [1.0, 0.0] and not reasons


def test_rows_without_a_value_are_left_out() -> None:
    batch = sample_batch(
        None,
        Coded(np.array([0, 1, 0], np.int32), ["gpu:0", "gpu:1"]),
        np.array([0, -1, 0]),
        "gpu",
        None,
        np.array([5, 6, NO_TIME]),
        None,
        "power_w",
        np.array([300.0, np.nan, 310.0]),
    )
    assert batch.schema.names == catalog.arrow_schemas()["gpu_sample"].names
    assert [(row["gpu_id"], row["ts_ns"], row["value"]) for row in batch.to_pylist()] == [
        ("gpu:0", 5, 300.0),
        ("gpu:0", None, 310.0),
    ]
