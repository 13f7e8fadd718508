"""The JSON of perftest (--out_json): one test, with the results of one message size.

It does not say its unit. Bandwidth is size times message rate, so the rate tells which of the
two units it is: they are a factor of 119 apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from pipeline.readers.json_text import documents
from pipeline.readers.perftest_banner import Banners
from pipeline.readers.perftest_table import Row
from pipeline.readers.text import Skipped

BEGIN = re.compile(r'^[ \t]*\{\s*"test_info"\s*:', re.MULTILINE)

_TITLE = re.compile(r"_?Test$")
_LATENCIES = {
    "t_min": "latency_min_ns",
    "t_max": "latency_max_ns",
    "t_typical": "latency_typical_ns",
    "t_avg": "latency_avg_ns",
    "t_stdev": "latency_stdev_ns",
    "percentile_99": "latency_p99_ns",
    "percentile_99_9": "latency_p999_ns",
}
_UNITS = (1 << 20, 125_000_000)
_OPTIONS = {
    "Device": "Device",
    "Number_of_qps": "Number of qps",
    "Connection_type": "Connection type",
    "TX_depth": "TX depth",
    "Mtu": "Mtu",
    "Link_type": "Link type",
}


def json_rows(text: str, first_line: int, first_table: int, skipped: Skipped) -> Iterator[Row]:
    """One row per document in a text that begins at ``first_line`` of its file."""
    table = first_table
    for document in documents(text, BEGIN):
        line = first_line + document.line - 1
        content = document.content
        info = content.get("test_info") if isinstance(content, dict) else None
        results = content.get("results") if isinstance(content, dict) else None
        if not isinstance(info, dict) or not isinstance(results, dict):
            skipped.add("JSON that is cut short or damaged", line, "")
            continue
        row = _row(results, line, skipped)
        if row is not None:
            yield {**_told(info), **row, "table_number": table, "line": line}
            table += 1


def _told(info: Mapping[str, Any]) -> dict[str, object]:
    """The options of the test, by the very words of the banner."""
    banners = Banners()
    title = Banners.title_in(_title(info.get("test")))
    if title:
        banners.begin(title)
    for name, option in _OPTIONS.items():
        if isinstance(info.get(name), str | int):
            banners.line(f" {option} : {info[name]}")
    told = banners.told()
    device = info.get("cuda_device")
    if isinstance(device, int) and 0 <= device < 1 << 31:
        told["cuda_device_id"] = device
    return told


def _title(test: object) -> str:
    """``RDMA_Write_BW_Test`` as the banner's ``RDMA_Write BW Test``."""
    words = re.sub(r"^(Send|RDMA_Write|RDMA_Read|Atomic)_", r"\1 ", str(test or ""))
    head, _, rest = words.partition(" ")
    return f"{head} {rest.replace('_', ' ')}"


def _row(results: Mapping[str, Any], line: int, skipped: Skipped) -> Row | None:
    size = _integer(results.get("MsgSize"))
    if size is None:
        skipped.add("JSON without a message size", line, "")
        return None
    row: Row = {
        "size_bytes": size,
        "iteration_count": _integer(results.get("n_iterations")),
        "service_level": _integer(results.get("sl")),
        "cpu_busy_share": _scaled(results.get("CPU_util"), Decimal("0.01")),
    }
    if "t_avg" in results:
        row["kind"] = "latency"
        row |= {column: _scaled(results.get(key), 1000) for key, column in _LATENCIES.items()}
        row["message_rate_per_s"] = _scaled(results.get("tps_average"), 1)
        return row
    row["kind"] = "bandwidth"
    row["message_rate_per_s"] = rate = _scaled(results.get("MsgRate"), 1_000_000)
    unit = _unit(size, rate, _scaled(results.get("BW_average"), 1))
    if unit is None:
        skipped.add("JSON whose bandwidth has no unit that its message rate bears out", line, "")
        return None
    row["bandwidth_bytes_per_s"] = _scaled(results.get("BW_average"), unit)
    # 0: not measured.
    row["peak_bandwidth_bytes_per_s"] = _scaled(results.get("BW_peak"), unit) or None
    return row


def _unit(size: int, rate: float | None, average: float | None) -> int | None:
    if not rate or not average:
        return None
    return next((unit for unit in _UNITS if 0.4 < average * unit / (size * rate) < 2.5), None)


def _integer(value: object) -> int | None:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and 0 <= value < 1 << 31 else None  # type: ignore[operator,return-value]


def _scaled(value: object, scale: int | Decimal) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not 0 <= value < 1e15:
        return None
    return float(Decimal(repr(value)) * scale)
