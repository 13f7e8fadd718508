from collections.abc import Callable
from typing import Any

import pytest
from rows import Trace

PARTS = "SELECT start_ns, end_ns, cause, responsible FROM gap_part ORDER BY start_ns"


@pytest.fixture
def gap(trace: Trace) -> Callable[..., None]:
    """A kernel that ends at 1000 and one that starts at 2000, launched by a call of thread 1
    in [1900, 1950) unless said otherwise; every idle interval is a gap."""
    trace.threshold("kernel_gap_ns", 0)

    def make(call: tuple[int, int] = (1_900, 1_950), **more: Any) -> None:
        trace.kernel(0, 1_000, "before")
        trace.launch(call, (2_000, 2_100), "after", **more)

    return make


Gap = Callable[..., None]


# -- launched in time, or late -------------------------------------------------------------


def test_the_columns(trace: Trace, gap: Gap) -> None:
    gap((500, 510))
    assert trace.ask("FROM gap_part") == [
        (1, 1, 1_000, 2_000, 1_000, 2_000, "dependency", "before")
    ]


def test_launched_late(trace: Trace, gap: Gap) -> None:
    gap((1_900, 1_950))
    assert trace.ask(PARTS) == [
        (1_000, 1_900, "other_host", None),
        (1_900, 1_950, "launch_call", "cudaLaunchKernel"),
        (1_950, 2_000, "dependency", "before"),
    ]


def test_a_launch_call_that_began_before_the_gap(trace: Trace, gap: Gap) -> None:
    gap((900, 1_300))
    assert trace.ask(PARTS) == [
        (1_000, 1_300, "launch_call", "cudaLaunchKernel"),
        (1_300, 2_000, "dependency", "before"),
    ]


def test_a_launch_call_that_returns_as_the_gap_begins(trace: Trace, gap: Gap) -> None:
    gap((900, 1_000))
    assert trace.ask(PARTS) == [(1_000, 2_000, "dependency", "before")]


def test_a_launch_call_that_returns_after_the_gap(trace: Trace, gap: Gap) -> None:
    gap((1_800, 2_500))
    assert trace.ask(PARTS) == [
        (1_000, 1_800, "other_host", None),
        (1_800, 2_000, "launch_call", "cudaLaunchKernel"),
    ]


def test_a_launch_call_that_is_the_whole_gap(trace: Trace, gap: Gap) -> None:
    gap((1_000, 2_000))
    assert trace.ask(PARTS) == [(1_000, 2_000, "launch_call", "cudaLaunchKernel")]


def test_without_a_launch_call_nothing_is_known(trace: Trace, gap: Gap) -> None:
    trace.kernel(0, 1_000, "before")
    trace.kernel(2_000, 2_100, "after", correlation_id=5)
    trace.call(1_100, 1_200, correlation_id=6)
    assert trace.ask(PARTS) == [(1_000, 2_000, "unknown", "no launch call on record")]


def test_without_a_correlation_nothing_is_known_either(trace: Trace, gap: Gap) -> None:
    trace.kernel(0, 1_000, "before")
    trace.kernel(2_000, 2_100, "after")
    assert trace.ask(PARTS) == [(1_000, 2_000, "unknown", "no launch call on record")]


@pytest.mark.parametrize(
    ("make", "responsible"),
    [("kernel", "gemm"), ("copy", "HtoD"), ("set", "memory_set"), ("graph", "graph_launch")],
)
def test_what_a_dependency_waited_for_is_named(
    trace: Trace, gap: Gap, make: str, responsible: str
) -> None:
    getattr(trace, make)(0, 1_000)
    trace.launch((500, 510), (2_000, 2_100))
    assert trace.ask(PARTS) == [(1_000, 2_000, "dependency", responsible)]


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel",
        "cudaLaunchKernel_ptsz",
        "cudaLaunchKernelExC_v11060",
        "cudaLaunchCooperativeKernel",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuLaunchCooperativeKernel",
        "cudaGraphLaunch_v10000",
        "cuGraphLaunch",
        "cudaMemcpyAsync",
    ],
)
def test_whatever_call_launched_the_work_is_the_launch_call(
    trace: Trace, gap: Gap, name: str
) -> None:
    gap((1_000, 1_400), call_name=name)
    assert trace.ask(PARTS)[0] == (1_000, 1_400, "launch_call", name)


def test_a_graph_that_is_launched_late(trace: Trace, gap: Gap) -> None:
    gap((1_900, 1_950), make=trace.graph, call_name="cudaGraphLaunch")
    assert trace.ask(PARTS)[1] == (1_900, 1_950, "launch_call", "cudaGraphLaunch")


def test_between_the_nodes_of_a_graph_is_a_dependency(trace: Trace, gap: Gap) -> None:
    trace.call(0, 10, "cudaGraphLaunch", correlation_id=1)
    for start_ns in (100, 300):
        trace.kernel(start_ns, start_ns + 50, "node", correlation_id=1)
    assert trace.ask(PARTS) == [(150, 300, "dependency", "node")]


def test_the_runtime_s_call_around_the_driver_s_launch_is_the_launch_call(
    trace: Trace, gap: Gap
) -> None:
    gap((1_910, 1_940), call_name="cuLaunchKernel")
    trace.call(1_900, 1_950, "cudaLaunchKernel", correlation_id=5)
    assert trace.ask(PARTS) == [
        (1_000, 1_900, "other_host", None),
        (1_900, 1_940, "launch_call", "cudaLaunchKernel"),
        (1_940, 2_000, "dependency", "before"),
    ]


def test_of_two_calls_with_the_work_s_correlation_the_earlier_counts(
    trace: Trace, gap: Gap
) -> None:
    gap((1_900, 1_950), call_name="cudaLaunchKernel", correlation_id=5)
    trace.call(1_910, 1_960, "cuLaunchKernel", correlation_id=5)
    assert trace.ask(PARTS)[1:] == [
        (1_900, 1_950, "launch_call", "cudaLaunchKernel"),
        (1_950, 2_000, "dependency", "before"),
    ]


# -- what the launching thread did ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("cudaDeviceSynchronize", "synchronize"),
        ("cudaStreamSynchronize_ptsz", "synchronize"),
        ("cudaEventSynchronize", "synchronize"),
        ("cuCtxSynchronize", "synchronize"),
        ("cudaEventQuery", "synchronize"),
        ("cuStreamQuery", "synchronize"),
        ("cudaMalloc", "memory_management"),
        ("cudaMallocAsync", "memory_management"),
        ("cudaMallocHost", "memory_management"),
        ("cuMemAlloc_v2", "memory_management"),
        ("cuMemAllocHost_v2", "memory_management"),
        ("cuMemAddressReserve", "memory_management"),
        ("cuMemCreate", "memory_management"),
        ("cuMemMap", "memory_management"),
        ("cuMemUnmap", "memory_management"),
        ("cuMemRelease", "memory_management"),
        ("cuMemSetAccess", "memory_management"),
        ("cudaFree", "memory_management"),
        ("cudaFreeHost", "memory_management"),
        ("cuMemFree_v2", "memory_management"),
        ("cudaHostAlloc", "memory_management"),
        ("cudaHostRegister", "memory_management"),
        ("cuMemHostUnregister", "memory_management"),
        ("cudaMemcpyAsync", "other_host"),  # it did not make the host wait
        ("cudaLaunchKernel", "other_host"),  # of something else
        ("cudaEventRecord", "other_host"),
        ("cudaStreamWaitEvent", "other_host"),
        ("cuModuleLoadData", "other_host"),
        ("cudaMemsetAsync", "other_host"),
    ],
)
def test_calls(trace: Trace, gap: Gap, name: str, cause: str) -> None:
    gap()
    trace.call(1_200, 1_300, name, correlation_id=5)
    assert trace.ask(PARTS)[:3] == [
        (1_000, 1_200, "other_host", None),
        (1_200, 1_300, cause, name),
        (1_300, 1_900, "other_host", None),
    ]


def test_a_copy_that_was_over_before_its_call_returned_blocks(trace: Trace, gap: Gap) -> None:
    gap()
    # On another GPU, for on this one it would end the gap.
    trace.launch((1_200, 1_300), (1_250, 1_300), make=trace.copy, call_name="cudaMemcpyAsync")
    trace.connection.execute("UPDATE memory_copy SET device_id = 1")
    trace.device(device_id=1)
    assert trace.ask(PARTS)[1] == (1_200, 1_300, "blocking_copy", "cudaMemcpyAsync")


def test_a_copy_that_goes_on_after_its_call_does_not_block(trace: Trace, gap: Gap) -> None:
    gap()
    trace.launch((1_200, 1_300), (1_250, 1_301), make=trace.copy, call_name="cudaMemcpyAsync")
    trace.connection.execute("UPDATE memory_copy SET device_id = 1")
    trace.device(device_id=1)
    assert trace.ask(PARTS)[1] == (1_200, 1_300, "other_host", "cudaMemcpyAsync")


def test_the_end_of_a_blocking_copy_s_call(trace: Trace, gap: Gap) -> None:
    # The device has finished the copy, the call has not returned.
    trace.launch((100, 1_400), (900, 1_000), make=trace.copy, call_name="cudaMemcpy")
    trace.launch((1_500, 1_600), (2_000, 2_100))
    assert trace.ask(PARTS) == [
        (1_000, 1_400, "blocking_copy", "cudaMemcpy"),
        (1_400, 1_500, "other_host", None),
        (1_500, 1_600, "launch_call", "cudaLaunchKernel"),
        (1_600, 2_000, "dependency", "HtoD"),
    ]


def test_calls_that_reach_over_the_begin_of_the_gap(trace: Trace, gap: Gap) -> None:
    gap()
    trace.call(100, 1_200, "cudaStreamSynchronize")
    assert trace.ask(PARTS)[:2] == [
        (1_000, 1_200, "synchronize", "cudaStreamSynchronize"),
        (1_200, 1_900, "other_host", None),
    ]


def test_a_call_that_ends_as_the_gap_begins_or_begins_after_the_launch_does_not_matter(
    trace: Trace, gap: Gap
) -> None:
    gap()
    trace.call(100, 1_000, "cudaStreamSynchronize")
    trace.call(1_950, 2_500, "cudaStreamSynchronize")
    assert [cause for _, _, cause, _ in trace.ask(PARTS)] == [
        "other_host",
        "launch_call",
        "dependency",
    ]


def test_of_calls_inside_each_other_only_the_outer_one_counts(trace: Trace, gap: Gap) -> None:
    gap()
    trace.call(1_100, 1_400, "cudaFree")
    trace.call(1_100, 1_200, "cuCtxSynchronize")  # begins with it
    trace.call(1_250, 1_300, "cuMemFree_v2")
    trace.call(1_350, 1_400, "cuStreamSynchronize")  # ends with it
    assert trace.ask(PARTS)[:3] == [
        (1_000, 1_100, "other_host", None),
        (1_100, 1_400, "memory_management", "cudaFree"),
        (1_400, 1_900, "other_host", None),
    ]


def test_an_outer_call_that_began_before_the_gap_covers_the_inner_ones(
    trace: Trace, gap: Gap
) -> None:
    gap()
    trace.call(500, 1_400, "cudaFree")
    trace.call(1_100, 1_200, "cuCtxSynchronize")
    assert trace.ask(PARTS)[0] == (1_000, 1_400, "memory_management", "cudaFree")


def test_of_calls_that_cross_the_later_one_counts_from_the_end_of_the_earlier(
    trace: Trace, gap: Gap
) -> None:
    gap((1_900, 2_200))
    trace.call(1_100, 1_400, "cudaFree")
    trace.call(1_200, 1_500, "cudaStreamSynchronize")
    trace.call(1_950, 2_300, "cudaStreamSynchronize")  # nothing of it is left in the gap
    assert trace.ask(PARTS)[1:] == [
        (1_100, 1_400, "memory_management", "cudaFree"),
        (1_400, 1_500, "synchronize", "cudaStreamSynchronize"),
        (1_500, 1_900, "other_host", None),
        (1_900, 2_000, "launch_call", "cudaLaunchKernel"),
    ]


def test_calls_right_after_each_other_leave_nothing_between(trace: Trace, gap: Gap) -> None:
    gap()
    trace.call(1_000, 1_500, "cudaMalloc")
    trace.call(1_500, 1_500, "cudaEventRecord")  # took no time
    trace.call(1_500, 1_900, "cudaStreamSynchronize")
    assert trace.ask(PARTS) == [
        (1_000, 1_500, "memory_management", "cudaMalloc"),
        (1_500, 1_900, "synchronize", "cudaStreamSynchronize"),
        (1_900, 1_950, "launch_call", "cudaLaunchKernel"),
        (1_950, 2_000, "dependency", "before"),
    ]


def test_other_threads_and_processes_do_not_matter(trace: Trace, gap: Gap) -> None:
    gap()
    trace.call(1_100, 1_200, "cudaMalloc", thread=2)
    trace.call(1_100, 1_200, "cudaMalloc", process=2)
    trace.range(1_100, 1_200, "dataloader", thread=2)
    trace.range(1_100, 1_200, "dataloader", process=2)
    trace.overhead(1_100, 1_200, thread=2)
    assert trace.ask(PARTS)[0] == (1_000, 1_900, "other_host", None)


def test_a_gap_of_many_milliseconds(trace: Trace, gap: Gap) -> None:
    ms = 1_000_000
    trace.kernel(0, ms, "before")
    trace.launch((50 * ms, 51 * ms), (60 * ms, 61 * ms))
    trace.call(ms // 2, 20 * ms, "cudaStreamSynchronize")
    trace.call(20 * ms, 20 * ms + 5, "cudaMalloc")
    trace.call(49 * ms, 50 * ms, "cudaEventRecord")
    trace.range(22 * ms, 43 * ms, "dataloader")
    assert trace.ask(PARTS) == [
        (ms, 20 * ms, "synchronize", "cudaStreamSynchronize"),
        (20 * ms, 20 * ms + 5, "memory_management", "cudaMalloc"),
        (20 * ms + 5, 22 * ms, "other_host", None),
        (22 * ms, 43 * ms, "data_loading", "dataloader"),
        (43 * ms, 49 * ms, "other_host", None),
        (49 * ms, 50 * ms, "other_host", "cudaEventRecord"),
        (50 * ms, 51 * ms, "launch_call", "cudaLaunchKernel"),
        (51 * ms, 60 * ms, "dependency", "before"),
    ]


def test_negative_times(trace: Trace, gap: Gap) -> None:
    ms = 1_000_000
    trace.kernel(-9 * ms, -8 * ms, "before")
    trace.call(-7 * ms, -6 * ms, "cudaMalloc")
    trace.call(-ms // 2, ms // 2, "cudaStreamSynchronize")
    trace.launch((ms, 2 * ms), (2 * ms, 3 * ms))
    assert trace.ask(PARTS) == [
        (-8 * ms, -7 * ms, "other_host", None),
        (-7 * ms, -6 * ms, "memory_management", "cudaMalloc"),
        (-6 * ms, -ms // 2, "other_host", None),
        (-ms // 2, ms // 2, "synchronize", "cudaStreamSynchronize"),
        (ms // 2, ms, "other_host", None),
        (ms, 2 * ms, "launch_call", "cudaLaunchKernel"),
    ]


# -- ranges and the profiler ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("dataloader", "data_loading"),
        ("DataLoader 3", "data_loading"),
        ("data_loading", "data_loading"),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "data_loading"),
        ("[pl][profile][_TrainingEpochLoop].train_dataloader_next", "data_loading"),
        ("get_batch", "data_loading"),
        ("next batch", "data_loading"),
        ("fetch_batch", "data_loading"),
        ("load_batch", "data_loading"),
        ("read data", "data_loading"),
        ("[DALI][Executor] Run", "data_loading"),
        ("nvidia.dali", "data_loading"),
        ("gc.collect", "garbage_collection"),
        ("GarbageCollector", "garbage_collection"),
        ("Python GC", "garbage_collection"),
        ("checkpoint", "checkpoint"),
        ("save_checkpoint 400", "checkpoint"),
        ("torch.save", "checkpoint"),
        ("dist_checkpointing", "checkpoint"),
        ("validation", "evaluation"),
        ("run_validation_epoch", "evaluation"),
        ("Trainer.validate", "evaluation"),
        ("evaluate", "evaluation"),
        ("Evaluator", "evaluation"),
        ("evaluate_and_print_results", "evaluation"),
        ("eval", "evaluation"),
        ("test_step", "evaluation"),
        ("forward", None),
        ("CheckpointFunction", None),  # activation checkpointing
        ("blocks.3._checkpoint_wrapped_module", None),
        ("autograd::engine::evaluate_function: MmBackward0", None),
        ("aten::_validate_sparse_coo_tensor_args", None),
        ("modality encoder", None),
        ("target_batch", None),
        ("thread data", None),
        ("retrieval", None),
        ("evaporate", None),
    ],
)
def test_ranges(trace: Trace, gap: Gap, name: str, cause: str | None) -> None:
    gap((1_300, 1_350))
    trace.range(1_100, 1_200, name)
    assert trace.ask(PARTS)[: 3 if cause else 1] == (
        [
            (1_000, 1_100, "other_host", None),
            (1_100, 1_200, cause, name),
            (1_200, 1_300, "other_host", None),
        ]
        if cause
        else [(1_000, 1_300, "other_host", None)]
    )


def test_a_call_counts_before_the_range_around_it(trace: Trace, gap: Gap) -> None:
    gap()
    trace.range(1_100, 1_800, "dataloader")
    trace.call(1_300, 1_400, "cudaHostAlloc")
    trace.call(1_500, 1_600, "cudaEventRecord")
    assert trace.ask(PARTS)[:6] == [
        (1_000, 1_100, "other_host", None),
        (1_100, 1_300, "data_loading", "dataloader"),
        (1_300, 1_400, "memory_management", "cudaHostAlloc"),
        (1_400, 1_500, "data_loading", "dataloader"),
        (1_500, 1_600, "other_host", "cudaEventRecord"),
        (1_600, 1_800, "data_loading", "dataloader"),
    ]


def test_of_ranges_in_each_other_the_innermost_counts(trace: Trace, gap: Gap) -> None:
    gap((1_800, 2_000))
    trace.range(500, 1_700, "evaluate")
    trace.range(1_200, 1_600, "dataloader")
    trace.range(1_200, 1_300, "gc.collect")  # begins with it
    trace.range(1_500, 1_600, "load_batch")  # ends with it
    assert trace.ask(PARTS)[:6] == [
        (1_000, 1_200, "evaluation", "evaluate"),
        (1_200, 1_300, "garbage_collection", "gc.collect"),
        (1_300, 1_500, "data_loading", "dataloader"),
        (1_500, 1_600, "data_loading", "load_batch"),
        (1_600, 1_700, "evaluation", "evaluate"),
        (1_700, 1_800, "other_host", None),
    ]


def test_a_range_that_says_nothing_hides_none_that_does(trace: Trace, gap: Gap) -> None:
    gap((1_900, 2_000))
    trace.range(1_000, 1_900, "dataloader")
    trace.range(1_200, 1_300, "augment")
    assert trace.ask(PARTS)[0] == (1_000, 1_900, "data_loading", "dataloader")


def test_open_ranges_and_marks_do_not_matter(trace: Trace, gap: Gap) -> None:
    gap()
    trace.range(1_100, None, "dataloader")
    trace.range(1_100, None, "gc.collect", kind="mark")
    assert trace.ask(PARTS)[0] == (1_000, 1_900, "other_host", None)


def test_the_profiler_counts_before_everything_else(trace: Trace, gap: Gap) -> None:
    gap((1_800, 2_000))
    trace.call(1_200, 1_400, "cudaMalloc")
    trace.range(1_500, 1_700, "dataloader")
    trace.overhead(1_300, 1_600)
    assert trace.ask(PARTS) == [
        (1_000, 1_200, "other_host", None),
        (1_200, 1_300, "memory_management", "cudaMalloc"),
        (1_300, 1_400, "profiler", "Buffer flush"),
        (1_400, 1_500, "profiler", "Buffer flush"),
        (1_500, 1_600, "profiler", "Buffer flush"),
        (1_600, 1_700, "data_loading", "dataloader"),
        (1_700, 1_800, "other_host", None),
        (1_800, 2_000, "launch_call", "cudaLaunchKernel"),
    ]


def test_an_overhead_without_a_name_takes_none_from_what_it_hides(trace: Trace, gap: Gap) -> None:
    gap((1_900, 2_000))
    trace.range(1_000, 1_200, "dataloader")
    trace.overhead(1_100, 1_200, name=None)
    trace.overhead(1_950, 2_000, name=None)
    assert trace.ask(PARTS) == [
        (1_000, 1_100, "data_loading", "dataloader"),
        (1_100, 1_200, "profiler", None),
        (1_200, 1_900, "other_host", None),
        (1_900, 1_950, "launch_call", "cudaLaunchKernel"),
        (1_950, 2_000, "profiler", None),
    ]


def test_once_launched_the_profiler_does_not_matter(trace: Trace, gap: Gap) -> None:
    gap((500, 510))
    trace.overhead(1_100, 1_200)
    assert trace.ask(PARTS) == [(1_000, 2_000, "dependency", "before")]


# -- clocks --------------------------------------------------------------------------------


def test_with_clocks_that_disagree_no_time_is_split(trace: Trace, gap: Gap) -> None:
    gap((2_123, 2_130))
    trace.call(1_100, 1_200, "cudaMalloc")
    assert trace.ask(PARTS) == [
        (1_000, 2_000, "unknown", "clocks of CPU and GPU disagree by 123 ns")
    ]


def test_a_gpu_s_clock_that_is_ahead_splits_no_time_either(trace: Trace, gap: Gap) -> None:
    trace.threshold("clock_late_ns", 10)
    gap((1_500, 1_510))
    trace.call(1_600, 1_977, "cudaDeviceSynchronize", correlation_id=9)  # back before its end
    assert trace.ask(PARTS) == [
        (1_000, 2_000, "unknown", "clocks of CPU and GPU disagree by 123 ns")
    ]


def test_clocks_of_one_process_do_not_spoil_the_other_s(trace: Trace, gap: Gap) -> None:
    gap((2_123, 2_130), process=1)
    trace.kernel(0, 1_000, "before", process=2)
    trace.launch((500, 510), (2_000, 2_100), process=2)
    assert trace.ask("SELECT device_key, cause FROM gap_part ORDER BY ALL") == [
        (1, "unknown"),
        (2, "dependency"),
    ]


def test_one_launch_call_after_the_start_is_forgiven(trace: Trace, gap: Gap) -> None:
    trace.threshold("clock_early_share", 0.5)
    gap((2_010, 2_020))
    trace.launch((2_050, 2_060), (2_100, 2_200))
    trace.call(1_100, 1_200, "cudaMalloc")
    assert trace.ask(PARTS) == [
        (1_000, 1_100, "other_host", None),
        (1_100, 1_200, "memory_management", "cudaMalloc"),
        (1_200, 2_000, "other_host", None),
    ]


# -- several gaps, devices, processes, files -----------------------------------------------


def test_the_parts_of_each_gap(trace: Trace, gap: Gap) -> None:
    gap()
    trace.launch((2_050, 2_060), (2_200, 2_300))
    trace.launch((2_070, 2_400), (2_500, 2_600), "last")
    assert trace.ask(
        "SELECT gap_start_ns, gap_end_ns, start_ns, end_ns, cause FROM gap_part ORDER BY start_ns"
    )[3:] == [
        (2_100, 2_200, 2_100, 2_200, "dependency"),
        (2_300, 2_500, 2_300, 2_400, "launch_call"),
        (2_300, 2_500, 2_400, 2_500, "dependency"),
    ]


def test_one_call_over_two_gaps(trace: Trace, gap: Gap) -> None:
    # While the thread waits, another thread's kernel runs between the gaps.
    gap()
    trace.call(500, 1_800, "cudaStreamSynchronize")
    trace.launch((600, 610), (1_300, 1_400), "other", thread=2)
    assert trace.ask(PARTS)[:3] == [
        (1_000, 1_300, "dependency", "before"),
        (1_400, 1_800, "synchronize", "cudaStreamSynchronize"),
        (1_800, 1_900, "other_host", None),
    ]


def test_only_gaps_from_the_threshold_on_are_split(trace: Trace, gap: Gap) -> None:
    gap()
    trace.threshold("kernel_gap_ns", 1_000)
    assert len(trace.ask(PARTS)) == 3
    trace.threshold("kernel_gap_ns", 1_001)
    assert trace.ask(PARTS) == []


def test_on_a_shared_gpu_the_process_whose_work_ends_the_gap_is_asked(
    trace: Trace, gap: Gap
) -> None:
    trace.device(1, gpu_id="shared")
    trace.device(2, gpu_id="shared")
    gap((1_900, 1_950), process=2)
    trace.call(1_100, 1_200, "cudaMalloc", process=1)
    trace.call(1_300, 1_400, "cudaFree", process=2)
    assert trace.ask("SELECT gpu_key, device_key, start_ns, cause FROM gap_part ORDER BY ALL") == [
        (1, 2, 1_000, "other_host"),
        (1, 2, 1_300, "memory_management"),
        (1, 2, 1_400, "other_host"),
        (1, 2, 1_900, "launch_call"),
        (1, 2, 1_950, "dependency"),
    ]


def test_the_same_numbers_in_another_process_or_file_are_other_calls(
    trace: Trace, gap: Gap
) -> None:
    gap((500, 510), correlation_id=5)
    trace.call(1_900, 1_950, correlation_id=5, process=2)
    trace.call(1_900, 1_950, correlation_id=5, source_id="b")
    assert trace.ask(PARTS) == [(1_000, 2_000, "dependency", "before")]
