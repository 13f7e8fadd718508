from rows import Trace

ROWS = "SELECT gpu_id, device_id, link_count, best_count FROM missing_nvlink"


def links(trace: Trace, gpu: str, *states: str, product: str = "H100") -> None:
    for number, status in enumerate(states):
        row = {"origin": "nvlink", "kind": "nvlink", "status": status, "link_number": number}
        row |= {"source": f"GPU{gpu}", "gpu_id": f"u{gpu}", "product": product}
        trace.insert("link", table_number=0, **row)


def test_one_link_less_than_the_others(trace: Trace) -> None:
    links(trace, "0", "active", "active")
    links(trace, "1", "active", "inactive")
    links(trace, "2", "active")
    assert sorted(trace.ask(ROWS)) == [("u1", 1, 1, 2), ("u2", 2, 1, 2)]


def test_products_differ(trace: Trace) -> None:
    links(trace, "0", "active", "active")
    links(trace, "1", "active", product="A100")
    assert trace.ask(ROWS) == []


def test_what_is_not_told_is_not_missing(trace: Trace) -> None:
    links(trace, "0", "active", "active")
    links(trace, "1", "mig")
    assert trace.ask(ROWS) == []
