import pytest
from rows import Trace


def domain(trace: Trace, process: int, domain_id: int, name: str) -> None:
    trace.insert("nvtx_domain", process=process, domain_id=domain_id, name=name)


def test_a_domain_has_a_name_a_number_or_is_the_default(trace: Trace) -> None:
    domain(trace, 1, 5, "NCCL")
    trace.range(0, domain_id=5)
    trace.range(1, domain_id=6)
    trace.range(2, domain_id=0)
    trace.range(3, domain_id=None)
    assert trace.ask("SELECT domain FROM named_nvtx_range ORDER BY start_ns") == [
        ("NCCL",),
        ("domain 6",),
        (None,),
        (None,),
    ]


def test_the_same_number_is_another_domain_in_another_process(trace: Trace) -> None:
    domain(trace, 1, 5, "NCCL")
    domain(trace, 2, 5, "DALI")
    trace.range(0, process=1, domain_id=5)
    trace.range(1, process=2, domain_id=5)
    assert trace.ask("SELECT process, domain FROM named_nvtx_range ORDER BY process") == [
        (1, "NCCL"),
        (2, "DALI"),
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("aten::mm, seq = 12", "aten::mm"),
        ("aten::mm, seq = 12, op_id = 34, sizes = [[4, 4], []]", "aten::mm"),
        ("aten::mm, op_id = 34", "aten::mm"),
        ("forward", "forward"),
        ("epoch 1, step 2", "epoch 1, step 2"),
        (None, None),
    ],
)
def test_what_pytorch_adds_to_a_name_is_cut_off(
    trace: Trace, text: str | None, name: str | None
) -> None:
    trace.range(name=text)
    assert trace.ask("SELECT name, text FROM named_nvtx_range") == [(name, text)]
