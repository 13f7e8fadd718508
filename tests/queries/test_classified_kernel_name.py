import pytest
from rows import Trace


def classified(trace: Trace, name: str) -> tuple[str, str | None]:
    trace.kernel(name=name)
    row = trace.only("SELECT class, operation FROM classified_kernel_name")
    return row["class"], row["operation"]


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        (
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "all_reduce",
        ),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", "all_gather"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "reduce_scatter"),
        ("ncclDevKernel_AlltoAll", "all_to_all"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclDevKernel_Broadcast_RING_LL", "broadcast"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"),
        ("ncclDevKernel_Generic_4", None),
        ("NCCL_ALL_IN_CAPITALS", None),
        ("void vllm::cross_device_reduce_1stage<bf16, 8>(RankData*)", "all_reduce"),
        ("two_shot_all_reduce_kernel_inplace<float>", "all_reduce"),
        ("multimem_all_reduce_kernel<float>", "all_reduce"),
        ("void deep_ep::intranode::dispatch<8, 768>(int4*)", "all_to_all"),
        ("void deep_ep::internode::combine<true>(int4*)", "all_to_all"),
        ("userbuffers_fp16_sum_inplace_gpu_rr_rs", "all_reduce"),
        ("nvshmemi_put_kernel", None),
    ],
)
def test_communication(trace: Trace, name: str, operation: str | None) -> None:
    assert classified(trace, name) == ("communication", operation)


@pytest.mark.parametrize(
    ("name", "class_"),
    [
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "gemm"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_f16f16", "gemm"),
        ("void flash::flash_fwd_kernel<Flash_fwd_traits<128, 64>>(Flash_fwd_params)", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80", "attention"),
        ("void layer_norm::ln_fwd_kernel<Traits>(Params)", "normalisation"),
        ("void at::native::vectorized_elementwise_kernel<4, Add>(int)", "elementwise"),
        ("triton_poi_fused_gelu_0", "elementwise"),
        ("triton_red_fused_sum_1", "reduction"),
        ("void at::native::reduce_kernel<512, 1, ReduceOp<float>>(ReduceOp)", "reduction"),
        ("void at::native::CatArrayBatchedCopy<float>(float*)", "memory"),
        ("void at::native::indexSelectLargeIndex_kernel", "memory"),
        ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>", "optimizer"),
        ("saxpy(int, float, float const*, float*)", "other"),
    ],
)
def test_everything_else(trace: Trace, name: str, class_: str) -> None:
    assert classified(trace, name) == (class_, None)


def test_the_first_rule_that_matches_decides(trace: Trace) -> None:
    # flash (30) before softmax (77), norm of a gradient (43) before any multi_tensor_apply (44)
    assert classified(trace, "flash_fwd_softmax") == ("attention", None)
    trace.kernel(name="multi_tensor_apply_kernel<L2NormFunctor>")
    rows = trace.ask("SELECT class FROM classified_kernel_name WHERE name LIKE 'multi%'")
    assert rows == [("reduction",)]


def test_a_name_in_two_files_is_one(trace: Trace) -> None:
    trace.kernel(name="gemm", source_id="a")
    trace.kernel(name="gemm", source_id="b")
    assert trace.ask("SELECT name, short_name FROM classified_kernel_name") == [("gemm", "gemm")]


def test_an_underscore_of_a_pattern_is_itself(trace: Trace) -> None:
    name = "void elementwise_kernel<128, gpu_kernel_impl<neg_kernel(Iter&)::{lambda()#1}>>(int)"
    assert classified(trace, name) == ("elementwise", None)
