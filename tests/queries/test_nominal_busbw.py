from bandwidth_rows import benchmark
from rows import Trace

SQL = "SELECT operation, bytes_per_s / 1e9, reason FROM nominal_busbw"


def network(trace: Trace) -> None:
    trace.description("hardware.interconnect", "NDR")
    trace.description("hardware.nic_count", "4", value_number=4)


def test_nvlink_per_direction_within_a_host(trace: Trace) -> None:
    benchmark(trace, "log", {1024: 40})
    assert trace.ask(SQL) == [("all_reduce", 450, None)]


def test_all_adapters_of_a_host_between_hosts(trace: Trace) -> None:
    network(trace)
    benchmark(trace, "x", {1024: 40}, hosts=["a", "b"])
    benchmark(trace, "y", {1024: 40}, hosts=["a", "b"], op="alltoall")
    # Of 4 ranks, 2 are on the other host: 3 / 2 of the 100 GB/s that each has.
    assert trace.ask(SQL) == [("all_reduce", 200, None), ("all_to_all", 150, None)]


def test_what_is_not_known_says_why(trace: Trace) -> None:
    benchmark(trace, "x", {1024: 40}, hosts=["a", "b"])
    benchmark(trace, "y", {1024: 40}, gpu="NVIDIA H100", op="reduce")
    benchmark(trace, "z", {1024: 40}, gpu="NVIDIA H100 PCIe", op="broadcast")
    benchmark(trace, "w", {1024: 40}, hosts=[], op="all_gather", nranks=8)
    assert trace.ask(SQL) == [
        ("all_gather", None, "it is not told how many hosts took part"),
        ("all_reduce", None, "run.toml does not say hardware.interconnect"),
        ("broadcast", None, "between cards of this form factor the link is not known"),
        ("reduce", None, "the GPU model is not known"),
    ]
