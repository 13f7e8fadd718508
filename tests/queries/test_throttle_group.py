from rows import Trace

ROWS = "SELECT scope, gpu_count, host_count, rack, power_domain FROM throttle_group"


def brake(trace: Trace, host: str | None, *gpus: int, mask: int = 128) -> None:
    for gpu in gpus:
        trace.rounds(clock_event_reasons=[0, mask, 0], host=host, gpu_id=f"gpu:{gpu}")


def test_one_gpu(trace: Trace) -> None:
    brake(trace, "a", 0)
    assert trace.ask(ROWS) == [("device", 1, 1, None, None)]


def test_one_host(trace: Trace) -> None:
    brake(trace, "a", 0, 1)
    assert trace.ask(ROWS) == [("host", 2, 1, None, None)]


def test_several_hosts_have_a_place_in_common(trace: Trace) -> None:
    trace.file("a", capture_start_utc_ns=0)
    for host in ("a", "b"):
        trace.insert("host_placement", host=host, rack="r", power_domain="p")
        brake(trace, host, 0)
        brake(trace, host, 1, mask=64)
    assert sorted(trace.ask(ROWS)) == [
        ("power domain", 2, 2, "r", "p"),
        ("rack", 2, 2, "r", "p"),
    ]


def test_without_hosts_the_file_is_the_place(trace: Trace) -> None:
    brake(trace, None, 0, 1)
    assert trace.ask(ROWS) == [("source", 2, 0, None, None)]


def test_without_a_host_the_uuid_says_which_gpu(trace: Trace) -> None:
    for number in (1, 2):
        uuid = f"0000000{number}-0000-0000-0000-000000000000"
        masks = [0, 128 if number == 2 else 0, 0]
        where = {"host": None, "source_id": f"{number}.csv", "gpu_id": uuid, "device_id": 5}
        trace.rounds(clock_event_reasons=masks, **where)
    assert trace.ask("SELECT gpus FROM throttle_group") == [
        ("GPU 5 00000002-0000-0000-0000-000000000000",)
    ]
