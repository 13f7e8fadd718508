from rows import Trace
from test_step_time_part import step


def test_parts_are_summed_by_class(trace: Trace) -> None:
    step(trace, 0, ("gemm_a", 0, 40), ("gemm_b", 40, 80), ("relu", 80, 100))
    step(trace, 1, ("gemm_a", 100, 160), ("gemm_b", 160, 180), ("relu", 180, 200))
    rows = trace.ask("SELECT part, class, mean_ns, step_share FROM step_time_part_summary")
    assert rows == [("compute", "gemm", 80, 0.8), ("compute", "elementwise", 20, 0.2)]
