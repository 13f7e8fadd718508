from rows import Trace


def fleet(trace: Trace, slow: dict[int, float], count: int = 40, **more: float) -> None:
    for gpu in range(count):
        trace.rounds(
            sm_clock_hz=[slow.get(gpu, 1.9e9)], gpu_util_share=1, device_id=gpu % 8,
            host=f"h{gpu // 8}", gpu_id=f"gpu:{gpu % 8}", **more,
        )  # fmt: skip


def test_two_of_forty_that_a_mean_hides(trace: Trace) -> None:
    fleet(trace, {9: 1.2e9, 33: 1.0e9})
    row = trace.only("FROM fleet_minority WHERE measure = 'own_clock_hz'")
    assert (row["minority_count"], row["gpu_count"], row["direction"]) == (2, 40, "low")
    assert row["gpus"] == "h4 GPU 1, h1 GPU 1"
    assert (row["fleet_median"], row["minority_median"]) == (1.9e9, 1.1e9)
    assert row["fleet_mean"] > 1.85e9
    assert (row["host_count"], row["extreme_value"]) == (2, 1.0e9)


def test_equal_gpus_have_no_minority(trace: Trace) -> None:
    fleet(trace, {})
    assert trace.ask("FROM fleet_minority") == []


def test_small_differences_are_none(trace: Trace) -> None:
    fleet(trace, {3: 1.85e9})
    assert trace.ask("FROM fleet_minority") == []


def test_of_two_gpus_none_is_odd(trace: Trace) -> None:
    fleet(trace, {1: 1.0e9}, count=2)
    assert trace.ask("FROM fleet_minority") == []


def test_products_are_compared_apart(trace: Trace) -> None:
    fleet(trace, {0: 1.2e9, 1: 1.2e9, 2: 1.2e9}, count=8)
    for gpu in range(3):
        trace.insert("device", gpu_id=f"gpu:{gpu}", name="another product")
    assert trace.ask("FROM fleet_minority") == []
