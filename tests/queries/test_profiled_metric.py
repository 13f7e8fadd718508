from rows import Trace

DRAM = "dram__bytes.sum.per_second"
CHART = "GPU Speed Of Light Hierarchical Roofline Chart (Tensor Core)"


def value(trace: Trace, metric: str) -> object:
    ((found,),) = trace.ask(f"SELECT metric['{metric}'] FROM profiled_metric")
    return found


def test_a_value_of_each_metric(trace: Trace) -> None:
    trace.profile({DRAM: 5.0, "gpu__time_duration.sum": 7.0, "smsp__warps_eligible.sum": 1.0})
    assert trace.ask("SELECT map_keys(metric) FROM profiled_metric") == [
        ([DRAM, "gpu__time_duration.sum"],)
    ]
    assert value(trace, DRAM) == 5


def test_the_raw_name_counts_before_labels_that_round(trace: Trace) -> None:
    trace.profile({})
    trace.metric(DRAM, 1.2e12, section="Memory Workload Analysis", label="Memory Throughput")
    trace.metric(DRAM, 1.198e12, section="Command line profiler metrics")
    assert value(trace, DRAM) == 1.198e12


def test_what_has_no_number_is_not_there(trace: Trace) -> None:
    trace.profile({DRAM: None, "lts__t_bytes.sum": float("nan"), "l1tex__t_bytes.sum": 1.0})
    assert trace.ask("SELECT map_keys(metric) FROM profiled_metric") == [(["l1tex__t_bytes.sum"],)]


def test_tensor_operations_of_the_details_page_are_named_by_their_chart(trace: Trace) -> None:
    trace.profile({})
    which = "(Op:utcqmma Src:fp4,fp6 Dst:fp16 Sparsity:off)"
    label, item = "Tensor Operations Per Cycle", f"DRAM Achieved Value {which}"
    trace.metric(None, 3.0, section=CHART, body_item=item, label=label)
    label, item = "Theoretical Tensor Operations", f"L2 Cache Roofline {which}"
    trace.metric(None, 8.0, section=CHART, body_item=item, label=label)
    stem = "sm__ops_path_tensor_op_utcqmma_src_fp4_fp6_dst_fp16_sparsity_off.sum"
    assert value(trace, f"{stem}.per_cycle_elapsed") == 3
    assert value(trace, f"{stem}.peak_sustained") == 8


def test_the_name_of_the_gpu(trace: Trace) -> None:
    trace.profile({})
    trace.metric("device__attribute_display_name", None, text="NVIDIA B200")
    trace.profile({DRAM: 1.0}, kernel_id=1)
    rows = trace.ask("SELECT kernel_id, gpu_name FROM profiled_metric ORDER BY kernel_id")
    assert rows == [(0, "NVIDIA B200"), (1, None)]


def test_files_and_runs_are_apart(trace: Trace) -> None:
    trace.profile({DRAM: 1.0})
    trace.profile({DRAM: 2.0}, source_id="other")
    trace.profile({DRAM: 3.0}, run_id="other")
    rows = trace.ask(f"SELECT run_id, source_id, metric['{DRAM}'] FROM profiled_metric ORDER BY 3")
    assert rows == [("run", "ncu", 1), ("run", "other", 2), ("other", "ncu", 3)]
