"""Links of a topology in, pairs of GPUs out."""

from rows import Trace


def test_pairs_of_gpus_alone_are_counted(trace: Trace) -> None:
    for source, destination, kind in (
        ("GPU0", "GPU1", "nvlink"),
        ("GPU1", "GPU0", "nvlink"),
        ("GPU0", "GPU2", "sys"),
        ("GPU0", "NIC0", "pix"),
    ):
        row = {"source": source, "destination": destination, "kind": kind}
        trace.insert("link", host="n", origin="topo", table_number=0, **row)
    own = {"origin": "nvlink", "source": "GPU0", "kind": "nvlink", "table_number": 0}
    trace.insert("link", host="n", **own)
    assert trace.ask("SELECT host, kind, pair_count FROM gpu_pair ORDER BY kind") == [
        ("n", "nvlink", 2),
        ("n", "sys", 1),
    ]
