"""Numbers as people read them."""

import math

import pytest

from pipeline import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 us"),
        (1_500, "1.50 us"),
        (12_345, "12.3 us"),
        (123_456_789, "123 ms"),
        (2_000_000_000, "2 s"),
        (3_600_000_000_000, "3600 s"),
        (-1_500, "-1.50 us"),
        (0.5, "0.50 ns"),
    ],
)
def test_time(ns: float, text: str) -> None:
    assert units.time(ns) == text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("dur_ns", 1_500, "1.50 us"),
        ("start_utc_ns", 1_668_125_677_000_000_000, "2022-11-11 00:14:37 UTC"),
        ("bytes", 83_886_080, "83.9 MB"),
        ("min_bytes", 4, "4 B"),
        ("bytes_per_s", 2.1e10, "21 GB/s"),
        ("memory_bandwidth_bytes_per_s", 3.35e12, "3.35 TB/s"),
        ("overlap_share", 0.1234, "12.3 %"),
        ("idle_share", 0.0, "0.0 %"),
        ("value", 0.002, "0.002"),
        ("value", 0.00005, "5e-05"),
        ("clock_hz", 1.41e9, "1.41 GHz"),
        ("peak_flops_per_s", 989.4e12, "989 TFLOP/s"),
        ("model_flops_per_s_per_gpu", 4.2e14, "420 TFLOP/s"),
        ("kernel_count", 22_564, "22 564"),
        ("process", 41_001, "41001"),
        ("correlation_id", 123_456, "123456"),
        ("rank", 0, "0"),
        ("is_compute", True, "yes"),
        ("is_compute", False, "no"),
        ("name", "gemm", "gemm"),
        ("rank", None, "–"),
        ("mean_power_w", 1_200, "1.20 kW"),
        ("energy_j", 3.6e6, "3.60 MJ"),
        ("max_temperature_celsius", 88, "88 C"),
        ("peak_window_ratio", 1.3, "1.30x"),
        ("reason", "late by 2500 ns", "late by 2.50 us"),
        ("name", "late by 2500 ns", "late by 2500 ns"),
        ("dur_ns", None, "–"),
        ("overlap_share", math.nan, "–"),
    ],
)
def test_the_end_of_a_columns_name_is_its_unit(column: str, value: object, text: str) -> None:
    assert units.show(column, value) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("255755 ns per step, of all 442486 ns", "256 us per step, of all 442 us"),
        ("104857600 bytes at 1410000000 Hz", "105 MB at 1.41 GHz"),
        ("v2 ns, 1.5 ns, x3 bytes, 4 nsys", "v2 ns, 1.5 ns, x3 bytes, 4 nsys"),
    ],
)
def test_base_units_in_a_sentence(text: str, told: str) -> None:
    assert units.prose(text) == told


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("share", 0.5, "50.0 %"),
        ("bytes_per_s", 2e9, "2 GB/s"),
        ("celsius", 88.0, "88 C"),
        ("ratio", 1.3, "1.30x"),
        ("ns", 1500, "1.50 us"),
        ("GPU", 1, "1 GPU"),
        ("wrong value", 0.0, "0 wrong values"),
        ("occurrence", 12_000, "12 000 occurrences"),
        ("GPU", None, "–"),
        ("", 3, "3"),
    ],
)
def test_a_quantity_says_what_is_counted(unit: str, value: float | None, text: str) -> None:
    assert units.quantity(unit, value) == text


def test_a_table_has_numbers_to_the_right_and_text_to_the_left() -> None:
    rows = [("gemm", 1_500, None), ("softmax", 20, 7)]
    assert units.table(["name", "dur_ns", "rank"], rows).splitlines() == [
        "name      dur_ns  rank",
        "-------  -------  ----",
        "gemm     1.50 us     –",
        "softmax    20 ns     7",
    ]


def test_a_table_without_rows_has_its_columns() -> None:
    assert units.table(["name", "dur_ns"], []).splitlines() == ["name  dur_ns", "----  ------"]


def test_a_table_fits_its_width() -> None:
    columns, rows = ("rank", "name", "dur_ns"), [(0, "a" * 40, 1500), (1, "b", 2)]
    assert units.table(columns, rows, 80).splitlines()[2] == f"   0  {'a' * 25}…  1.50 us"
    assert units.table(columns, rows, 36).split("\n") == [
        f"#  rank  {'name':<24}".rstrip(),
        f"-  ----  {'-' * 24}",
        f"1     0  {'a' * 23}…",
        "2     1  b",
        "",
        "#   dur_ns",
        "-  -------",
        "1  1.50 us",
        "2     2 ns",
    ]
    assert "a" * 40 in units.table(columns, rows)
