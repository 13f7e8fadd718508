"""A made-up data-parallel training job: what its processes call and what its devices run.

One iteration is planned once (`plan`): which kernels and copies are launched in which order,
by which thread, inside which NVTX range. Every iteration of every device then runs that plan
with random durations (`run`), where the times follow from one another as on a real machine:

- a host thread calls one API after the other, and sometimes stalls;
- a stream runs its work in launch order, and none before its launch call;
- a collective starts on each device when that device gets there and ends on all together,
  so the device that comes last makes the others wait;
- the optimizer starts after the last collective, the next iteration after every device.

All times are integer nanoseconds. Arrays have the axes (iteration, device, item).
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAIN_STREAM, SIDE_STREAM, COMMUNICATION_STREAM = 7, 21, 16
KERNEL, COPY, SET = 0, 1, 2
MAIN_THREAD, AUTOGRAD_THREAD = 0, 1
NO_SYNC, WAIT_EVENT, STREAM_SYNC = 0, 1, 2
RUNTIME, DRIVER = 0, 1

LAYERS = 96
COLLECTIVES = (
    "ncclDevKernel_AllGather_RING_LL",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
    "ncclDevKernel_SendRecv",
    "ncclDevKernel_Broadcast_RING_LL",
)
COLLECTIVE_SHARE = (0.40, 0.35, 0.15, 0.08, 0.02)
COLLECTIVE_MEDIAN_NS = (80_000, 110_000, 60_000, 40_000, 15_000)
COLLECTIVE_CALLS = (
    "ncclAllGather",
    "ncclReduceScatter",
    "ncclAllReduce",
    "ncclSend",
    "ncclBroadcast",
)
FORWARD_OPS = (
    "aten::linear",
    "aten::addmm",
    "aten::copy_",
    "aten::to",
    "aten::add_",
    "aten::mul",
    "aten::transpose",
    "FlashAttnFunc",
    "aten::native_layer_norm",
)
BACKWARD_OPS = tuple(
    f"autograd::engine::evaluate_function: {name}"
    for name in (
        "AddmmBackward0",
        "MulBackward0",
        "FlashAttnFuncBackward",
        "NativeLayerNormBackward0",
        "ToCopyBackward0",
        "torch::autograd::AccumulateGrad",
    )
)
OPTIMIZER_OPS = ("Optimizer.step#AdamW.step", "aten::_foreach_add_", "aten::_foreach_lerp_")

# name, event class, median duration, how often it is one of the calls between two launches
CALLS = (
    ("cudaLaunchKernel_v7000", RUNTIME, 5_200, 0.0),
    ("cuLaunchKernel", DRIVER, 4_600, 0.0),
    ("cudaLaunchKernelExC_v11060", RUNTIME, 6_800, 0.0),
    ("cudaMemcpyAsync_v3020", RUNTIME, 6_100, 0.0),
    ("cudaMemsetAsync_v3020", RUNTIME, 4_900, 0.0),
    ("cudaStreamSynchronize_v3020", RUNTIME, 3_000, 0.0),
    ("cudaEventRecord_v3020", RUNTIME, 1_300, 0.12),
    ("cudaStreamWaitEvent_v3020", RUNTIME, 900, 0.0),
    ("cudaStreamIsCapturing_v10000", RUNTIME, 550, 0.40),
    ("cudaEventQuery_v3020", RUNTIME, 700, 0.14),
    ("cudaStreamGetCaptureInfo_v2_v11030", RUNTIME, 600, 0.12),
    ("cudaEventCreateWithFlags_v3020", RUNTIME, 1_000, 0.08),
    ("cudaEventDestroy_v3020", RUNTIME, 800, 0.08),
    ("cuCtxSetCurrent", DRIVER, 450, 0.06),
)
CALL = {name.split("_v")[0]: index for index, (name, *_) in enumerate(CALLS)}


@dataclass(frozen=True)
class KernelName:
    demangled: str
    short: str
    mangled: str


def kernel_names(count: int) -> list[KernelName]:
    """`count` distinct compute kernels, their names as long as real ones."""
    names = []
    for i in range(count):
        a, b = 64 + 8 * (i % 24), 32 + 8 * (i // 24)
        family = i % 6
        if family == 0:
            text = (
                f"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{a}x{b}x64_"
                f"warpgroupsize2x1x1_bias_execute_segment_k_off_kernel__5x_cublas_{i}"
            )
            names.append(KernelName(text, text, text))
            continue
        if family == 1:
            text = f"triton_poi_fused__to_copy_add_mul_native_layer_norm_silu_{i}"
            names.append(KernelName(text, text, text))
            continue
        short = (
            "vectorized_elementwise_kernel",
            "flash_fwd_kernel",
            "ln_fwd_kernel",
            "multi_tensor_apply_kernel",
        )[family - 2]
        demangled = (
            f"void at::native::vectorized_elementwise_kernel<(int){a}, "
            "at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char *, "
            f"(int){b}>>(int, T2, T3)",
            f"void flash_fwd_kernel<Flash_fwd_kernel_traits<(int){a}, (int){b}, (int)64, "
            "(int)4, (bool)0, (bool)0, cutlass::bfloat16_t, Flash_kernel_traits<"
            f"(int){a}, (int){b}, (int)64, (int)4, cutlass::bfloat16_t>>, (bool)0, (bool)1, "
            "(bool)0, (bool)0, (bool)1, (bool)1, (bool)0>(Flash_fwd_params)",
            "void layer_norm::ln_fwd_kernel<layer_norm::Kernel_traits<__nv_bfloat16, "
            f"__nv_bfloat16, float, __nv_bfloat16, float, unsigned int, (unsigned int){a * 16}, "
            f"(unsigned int)1, (unsigned int)4, (unsigned int)1, (unsigned int){b}>>"
            "(layer_norm::FwdParams)",
            "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
            f"TensorListMetadata<(int){1 + i % 5}>, at::native::<unnamed>::AdamFunctor<float, "
            f"(int){a}>, float, float, (int){b}>(T1, T2, T3...)",
        )[family - 2]
        mangled = (
            f"_ZN2at6native{len(short)}{short}ILi{a}ELi{b}ENS_6detail5ArrayIPcLi3EEEEEviT0_{i}"
        )
        names.append(KernelName(demangled, short, mangled))
    return names


def collective_names() -> list[KernelName]:
    return [
        KernelName(
            f"{name}(ncclDevComm *, unsigned long, ncclWork *)",
            name,
            f"_Z{len(name)}{name}P11ncclDevCommmP8ncclWork",
        )
        for name in COLLECTIVES
    ]


@dataclass(frozen=True)
class Work:
    """What the device runs in one iteration, in launch order."""

    kind: Ints  # KERNEL, COPY or SET
    stream: Ints
    name: Ints  # index of the kernel's name; -1 for copies and sets
    median_ns: Floats
    bytes: Ints  # of copies and sets
    call: Ints  # index of the API call that launches it
    main: Ints  # indices of what runs on the main stream, in order
    side: Ints
    side_after: Ints  # position in `main` after whose end each of `side` may start
    communication: Ints
    communication_after: Ints
    optimizer: int  # position in `main` of the first that waits for all collectives


@dataclass(frozen=True)
class Calls:
    """What the host calls in one iteration, in order."""

    name: Ints  # index in CALLS
    thread: Ints
    median_ns: Floats
    sync: Ints
    correlation: Ints  # offset of the correlation id in the iteration
    correlations: int  # correlation ids an iteration takes


@dataclass(frozen=True)
class Ranges:
    """NVTX ranges of one iteration, outer before inner; they span whole API calls."""

    first: Ints
    last: Ints
    depth: Ints
    thread: Ints
    text: tuple[str, ...]
    is_numbered: NDArray[np.bool_]  # the text carries a sequence number, so it is not registered
    domain: Ints


@dataclass(frozen=True)
class Plan:
    names: tuple[KernelName, ...]
    name_median_ns: Floats
    work: Work
    calls: Calls
    ranges: Ranges


def plan(kernels: int, rng: Generator) -> Plan:
    """One iteration of `kernels` kernels per device."""
    collectives = max(1, round(kernels * 0.05))
    sides = max(1, round(kernels * 0.10))
    mains = kernels - collectives - sides
    names = [*kernel_names(400), *collective_names()]
    medians = np.exp(rng.normal(np.log(10_000), 0.8, 400))
    medians = np.concatenate([medians, np.array(COLLECTIVE_MEDIAN_NS, float)])
    work, phase = _plan_work(mains, sides, collectives, kernels, medians, rng)
    calls, call_of_work = _plan_calls(work, phase, 3 * kernels, rng)
    work = replace(work, call=call_of_work)
    ranges = _plan_ranges(work, calls, phase, round(0.6 * kernels), rng)
    return Plan(tuple(names), medians, work, calls, ranges)


def _plan_work(
    mains: int, sides: int, collectives: int, kernels: int, medians: Floats, rng: Generator
) -> tuple[Work, Ints]:
    copies, sets = round(kernels * 0.1), round(kernels * 0.02)
    main_kind = np.repeat([KERNEL, COPY, SET], [mains, copies, sets])
    rng.shuffle(main_kind)
    slots = len(main_kind)
    optimizer = int(slots * 0.9)
    side_after = np.sort(rng.integers(0, optimizer, sides))
    communication_after = np.sort(rng.integers(0, optimizer, collectives))

    after = np.concatenate([np.arange(slots), side_after, communication_after])
    lane = np.repeat([MAIN_STREAM, SIDE_STREAM, COMMUNICATION_STREAM], [slots, sides, collectives])
    order = np.lexsort((np.arange(len(after)), after))
    stream = lane[order]
    kind = np.concatenate([main_kind, np.full(sides + collectives, KERNEL)])[order]

    compute = (kind == KERNEL) & (stream != COMMUNICATION_STREAM)
    zipf = 1 / np.arange(1, 401) ** 1.1
    drawn = rng.choice(400, mains + sides, p=zipf / zipf.sum())
    every_name_once = min(400, len(drawn))
    drawn[:every_name_once] = np.arange(every_name_once)
    rng.shuffle(drawn)
    name = np.full(len(order), -1)
    name[compute] = drawn
    is_collective = stream == COMMUNICATION_STREAM
    name[is_collective] = 400 + rng.choice(len(COLLECTIVES), collectives, p=COLLECTIVE_SHARE)

    size = np.where(kind == KERNEL, 0, np.exp(rng.normal(11, 2.5, len(order)))).astype(np.int64)
    median = np.where(kind == KERNEL, medians[name], 1_300 + size / 20)
    phase = np.digitize(after[order], [slots // 3, optimizer])  # forward, backward, optimizer
    return (
        Work(
            kind=kind,
            stream=stream,
            name=name,
            median_ns=median,
            bytes=np.where(kind == KERNEL, 0, size + 4),
            call=np.empty(0, np.int64),
            main=np.flatnonzero(stream == MAIN_STREAM),
            side=np.flatnonzero(stream == SIDE_STREAM),
            side_after=side_after,
            communication=np.flatnonzero(is_collective),
            communication_after=communication_after,
            optimizer=optimizer,
        ),
        phase,
    )


def _plan_calls(work: Work, phase: Ints, count: int, rng: Generator) -> tuple[Calls, Ints]:
    launches = len(work.kind)
    collectives = len(work.communication)
    others = count - launches - 4 * collectives - 1  # 4 around a collective, 1 closing sync
    fillers = np.bincount(rng.integers(0, launches, others), minlength=launches)
    share = np.array([weight for *_, weight in CALLS])
    filler_names = iter(rng.choice(len(CALLS), others, p=share / share.sum()).tolist())

    name: list[int] = []
    owner: list[int] = []  # the work a call belongs to
    launch_call = []
    around = CALL["cudaEventRecord"], CALL["cudaStreamWaitEvent"]
    for index in range(launches):
        is_collective = work.stream[index] == COMMUNICATION_STREAM
        calls = [next(filler_names) for _ in range(fillers[index])]
        calls += around if is_collective else ()
        launch_call.append(len(name) + len(calls))
        calls.append(_launch_call(work, index))
        calls += around if is_collective else ()
        name += calls
        owner += [index] * len(calls)
    name.append(CALL["cudaStreamSynchronize"])
    owner.append(launches - 1)

    names = np.array(name)
    sync = np.zeros(count, np.int64)
    sync[names == CALL["cudaStreamWaitEvent"]] = WAIT_EVENT
    sync[names == CALL["cudaStreamSynchronize"]] = STREAM_SYNC
    # Real ids skip some values: calls that nsys leaves out take one too.
    correlation = np.cumsum(rng.integers(1, 4, count))
    return (
        Calls(
            name=names,
            thread=np.where(phase[owner] == 1, AUTOGRAD_THREAD, MAIN_THREAD),
            median_ns=np.array([median for _, _, median, _ in CALLS], float)[names],
            sync=sync,
            correlation=correlation,
            correlations=int(correlation[-1]) + 1,
        ),
        np.array(launch_call),
    )


def _launch_call(work: Work, index: int) -> int:
    if work.kind[index] == COPY:
        return CALL["cudaMemcpyAsync"]
    if work.kind[index] == SET:
        return CALL["cudaMemsetAsync"]
    if work.stream[index] == COMMUNICATION_STREAM:
        return CALL["cudaLaunchKernelExC"]
    return CALL["cuLaunchKernel" if work.name[index] % 6 == 1 else "cudaLaunchKernel"]  # Triton


def _plan_ranges(work: Work, calls: Calls, phase: Ints, count: int, rng: Generator) -> Ranges:
    launches = len(work.kind)
    last_call = len(calls.name) - 1
    first_of = np.concatenate([[0], work.call[:-1] + 1])
    is_collective = work.stream == COMMUNICATION_STREAM
    first_of[1:][is_collective[:-1]] += 2  # the two calls after a collective belong to it
    end_of = np.concatenate([first_of[1:] - 1, [last_call]])

    rows: list[tuple[int, int, int, int, str, bool, int]] = []

    def add(first: int, last: int, depth: int, thread: int, text: str, numbered: bool) -> None:
        rows.append((int(first_of[first]), int(end_of[last - 1]), depth, thread, text, numbered, 0))

    add(0, launches, 0, MAIN_THREAD, "iteration", True)
    end_of[-1] -= 1  # only the iteration spans the closing sync
    layers = min(LAYERS, max(3, count // 4))
    ops = max(0, count - 4 - layers - len(work.communication))
    edges = np.searchsorted(phase, [0, 1, 2, 3])
    for number, (title, texts) in enumerate(
        (("forward", FORWARD_OPS), ("backward", BACKWARD_OPS), ("optimizer", OPTIMIZER_OPS))
    ):
        low, high = int(edges[number]), int(edges[number + 1])
        if low == high:
            continue
        thread = AUTOGRAD_THREAD if number == 1 else MAIN_THREAD
        add(low, high, 1, MAIN_THREAD, title, False)
        layer_edges = _split(low, high, max(1, round(layers * (high - low) / launches)))
        op_edges = _split(low, high, max(1, round(ops * (high - low) / launches)), rng)
        for layer, (start, stop) in enumerate(pairwise(layer_edges)):
            add(start, stop, 2, thread, f"layer_{layer}", False)
            inner = [start, *(edge for edge in op_edges if start < edge < stop), stop]
            for a, b in pairwise(inner):
                add(a, b, 3, thread, texts[int(rng.integers(len(texts)))], number < 2)
    for index in work.communication:
        call = int(work.call[index])
        text = COLLECTIVE_CALLS[int(work.name[index]) - 400]
        rows.append((call - 2, call + 2, 4, int(calls.thread[call]), text, False, 1))

    first, last, depth, thread_, text_, numbered_, domain = zip(*rows, strict=True)
    return Ranges(
        first=np.array(first),
        last=np.array(last),
        depth=np.array(depth),
        thread=np.array(thread_),
        text=text_,
        is_numbered=np.array(numbered_),
        domain=np.array(domain),
    )


def _split(low: int, high: int, parts: int, rng: Generator | None = None) -> list[int]:
    """Edges that cut low..high into about `parts`, evenly or at random places."""
    if rng is None:
        edges = np.linspace(low, high, min(parts, high - low) + 1).astype(int)
        return [int(edge) for edge in edges]
    inner = rng.choice(np.arange(low, high), min(parts, high - low) - 1, replace=False)
    return sorted({low, high, *(int(edge) for edge in inner)})


@dataclass(frozen=True)
class Times:
    """When everything of some iterations happened, relative to the start of the first."""

    call_start: Ints
    call_end: Ints
    work_start: Ints
    work_end: Ints
    work_name: Ints
    range_start: Ints
    range_end: Ints
    end: int  # when the iteration after these may start


def run(plan: Plan, iterations: int, devices: int, rng: Generator) -> Times:
    """Run the plan: every iteration starts when the slowest device has ended the one before."""
    work, calls = plan.work, plan.calls
    shape = (iterations, devices)
    # One device in eight is a little slower: the others wait for it in every collective.
    slow = 1 + 0.04 * (np.arange(devices) % 8 == 3)[None, :, None]

    call_ns = _spread(calls.median_ns, 0.35, (*shape, len(calls.name)), rng)
    pause = 300 + _spread(900, 0.5, call_ns.shape, rng)
    stalls = rng.random(call_ns.shape, np.float32) < 1 / 5_000
    pause[stalls] += rng.integers(100_000, 2_000_000, int(stalls.sum()))
    pause[..., 0] += rng.integers(1_000, 300_000, shape)  # the ranks are never quite together
    call_start = np.cumsum(pause + call_ns, axis=-1) - call_ns

    name = np.broadcast_to(work.name, (*shape, len(work.name))).copy()
    median = np.broadcast_to(work.median_ns, name.shape).copy()
    other = (rng.random(name.shape, np.float32) < 0.03) & (name >= 0) & (name < 400)
    name[other] = rng.integers(0, 400, int(other.sum()))
    median[other] = plan.name_median_ns[name[other]]
    work_ns = np.maximum(900, _spread(median * slow, 0.08, name.shape, rng))
    gap = _spread(1_000, 0.35, name.shape, rng)
    launched = call_start[..., work.call] + (0.7 * call_ns[..., work.call]).astype(np.int64)
    ready = launched + _spread(2_500, 0.4, name.shape, rng)
    work_start = _run_devices(work, ready, gap, work_ns, rng)
    work_end = work_start + work_ns

    call_end = call_start + call_ns
    done = work_end.max(axis=-1) + 4_000
    call_end[..., -1] = np.maximum(call_end[..., -1], done)

    length = call_end[..., -1].max(axis=-1) + _spread(400_000, 0.6, (iterations,), rng)
    base = np.cumsum(length) - length
    range_start, range_end = _place_ranges(plan.ranges, call_start, call_end, pause)
    shift = base[:, None, None]
    return Times(
        call_start=call_start + shift,
        call_end=call_end + shift,
        work_start=work_start + shift,
        work_end=work_end + shift,
        work_name=name,
        range_start=range_start + shift,
        range_end=range_end + shift,
        end=int(length.sum()),
    )


def _spread(median: float | Floats, sigma: float, shape: tuple[int, ...], rng: Generator) -> Ints:
    noise = np.exp(sigma * rng.standard_normal(shape, np.float32))
    spread: Ints = (noise * median).astype(np.int64)
    return spread


def _queue(ready: Ints, gap: Ints, length: Ints, free: Ints) -> Ints:
    """Start of each item of an in-order queue: start[k] = max(ready[k], end[k-1] + gap[k])."""
    unblocked = np.cumsum(gap + length, axis=-1) - length
    blocked = np.maximum(ready - unblocked, free[..., None])
    starts: Ints = unblocked + np.maximum.accumulate(blocked, axis=-1)
    return starts


def _run_devices(work: Work, ready: Ints, gap: Ints, work_ns: Ints, rng: Generator) -> Ints:
    """Start of all work. Lengthens the collectives in `work_ns` by their wait for other devices."""
    start = np.empty_like(ready)
    free = np.zeros(ready.shape[:2], np.int64)

    early, late = work.main[: work.optimizer], work.main[work.optimizer :]
    start[..., early] = _queue(ready[..., early], gap[..., early], work_ns[..., early], free)
    main_end = start[..., early] + work_ns[..., early]

    side = work.side
    dependency = np.maximum(ready[..., side], main_end[..., work.side_after] + 1_200)
    start[..., side] = _queue(dependency, gap[..., side], work_ns[..., side], free)

    communicated = free
    for item, after in zip(work.communication, work.communication_after, strict=True):
        arrived = np.maximum(communicated + gap[..., item], ready[..., item])
        arrived = np.maximum(arrived, main_end[..., after] + 1_200)
        transfer = work_ns[:, :1, item]  # all devices share it
        left = arrived.max(axis=1, keepdims=True) + transfer
        communicated = left + rng.integers(0, 1_500, left.shape[:1] + arrived.shape[1:])
        start[..., item] = arrived
        work_ns[..., item] = communicated - arrived

    free = np.maximum(main_end[..., -1], communicated)
    start[..., late] = _queue(ready[..., late], gap[..., late], work_ns[..., late], free)
    return start


def _place_ranges(
    ranges: Ranges, call_start: Ints, call_end: Ints, pause: Ints
) -> tuple[Ints, Ints]:
    """Ranges open and close in the pauses between calls, inner ones inside outer ones."""
    before = pause[..., ranges.first] * (0.8 - 0.15 * ranges.depth)
    following = np.concatenate([pause[..., 1:], np.full_like(pause[..., :1], 2_000)], axis=-1)
    after = following[..., ranges.last] * (0.18 - 0.03 * ranges.depth)
    start: Ints = call_start[..., ranges.first] - before.astype(np.int64)
    end: Ints = call_end[..., ranges.last] + after.astype(np.int64)
    return start, end
