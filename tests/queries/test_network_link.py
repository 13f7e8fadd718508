import pytest
from rows import Trace

RATES = {
    "InfiniBand NDR": 50e9, "NDR": 50e9, "InfiniBand NDR400": 50e9, "HDR InfiniBand": 25e9,
    "InfiniBand HDR100": 12.5e9, "IB EDR": 12.5e9, "XDR": 100e9, "RoCE, 400 Gb/s": 50e9,
    "100GbE": 12.5e9, "RoCE v2 400G": 50e9, "EFA": None, "InfiniBand": None,
}  # fmt: skip


@pytest.mark.parametrize(("described", "rate"), RATES.items())
def test_a_link_by_its_name(trace: Trace, described: str, rate: float | None) -> None:
    trace.description("hardware.interconnect", described)
    row = trace.only("FROM network_link")
    assert row["nic_bytes_per_s"] == rate
    if row["name"] is None:
        assert row["reason"] == f"link_speed has no link called '{described}'"


def test_the_adapters_of_a_host(trace: Trace) -> None:
    trace.description("hardware.interconnect", "NDR")
    assert trace.only("FROM network_link")["reason"] == "run.toml does not say hardware.nic_count"
    trace.description("hardware.nic_count", "8", value_number=8)
    row = trace.only("FROM network_link")
    assert (row["nic_bytes_per_s"], row["nic_count"], row["reason"]) == (50e9, 8, None)
