import pytest
from rows import Trace

SMS = "device__attribute_multiprocessor_count"


def gpu(trace: Trace) -> tuple[object, ...]:
    (row,) = trace.ask("SELECT gpu, gpu_name, origin FROM profiled_gpu")
    return row


def named(trace: Trace, name: str, **more: object) -> None:
    trace.profile({}, **more)
    trace.metric("device__attribute_display_name", None, text=name)


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM5 80 GB"),
        ("NVIDIA H100 PCIe", "H100 PCIe 80 GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM4 40 GB"),
        ("NVIDIA H100", None),
        ("NVIDIA GeForce RTX 3070", None),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
    ],
)
def test_a_name_is_a_product_or_unknown(trace: Trace, name: str, product: str | None) -> None:
    named(trace, name)
    assert gpu(trace) == (product, name, "profile")


def test_part_of_a_gpu_is_not_the_product(trace: Trace) -> None:
    named(trace, "NVIDIA A100-SXM4-40GB")
    trace.metric(SMS, 14.0)
    assert gpu(trace)[0] is None


def test_another_compute_capability_is_not_the_product(trace: Trace) -> None:
    named(trace, "NVIDIA A100-SXM4-40GB", compute_capability="9.0")
    assert gpu(trace)[0] is None


def test_the_session_page_says_it_where_the_profile_does_not(trace: Trace) -> None:
    trace.profile({})
    trace.insert("profiler_session", source_id="session", gpu_name="NVIDIA B200")
    assert gpu(trace) == ("B200", "NVIDIA B200", "session page")
    trace.insert("profiler_session", source_id="second", gpu_name="NVIDIA GB200")
    assert gpu(trace) == (None, None, None)


def test_the_run_says_it_last(trace: Trace) -> None:
    trace.profile({})
    trace.description("hardware.gpu", "NVIDIA B200")
    assert gpu(trace) == ("B200", "NVIDIA B200", "run_fact")


def test_capability_and_sms(trace: Trace) -> None:
    major, minor = (f"device__attribute_compute_capability_{name}" for name in ("major", "minor"))
    trace.profile({major: 8.0, minor: 6.0, SMS: 46.0})
    trace.profile({"launch__sm_count": 148.0}, kernel_id=1, compute_capability="10.0")
    named(trace, "NVIDIA A100-SXM4-40GB", source_id="a")
    rows = trace.ask("SELECT compute_capability, sm_count FROM profiled_gpu ORDER BY kernel_id, 1")
    assert rows[0] == (8.6, 46) and rows[-1] == (10.0, 148)
