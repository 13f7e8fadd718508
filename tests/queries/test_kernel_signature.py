import pytest
from rows import Trace


def signatures(trace: Trace, *names: str) -> list[str]:
    for number, name in enumerate(names):
        trace.profile({}, name, kernel_id=number)
    return [text for (text,) in trace.ask("SELECT DISTINCT signature FROM kernel_signature")]


@pytest.mark.parametrize(
    "names",
    [
        ("void mul<int=32>(float*, int)", "void mul<(int)32>(float *, int)", "mul<32>(float*,int)"),
        ("void f<4096u, 2ul>(T *)", "void f<4096, 2>(T*)"),
        ("void f<true, (bool)0>(int)", "void f<(bool)1, false>(int)"),
        ("void a::(anonymous namespace)::f(int)", "void a::<unnamed>::f(int)"),
        ("void f<g<h<4> > >()", "void f<g<h<(int)4>>>()"),
        ("f<-1>(int)", "f<(long)-1>(int)"),
    ],
)
def test_one_kernel_by_several_tools(trace: Trace, names: tuple[str, ...]) -> None:
    assert len(signatures(trace, *names)) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("f<4>(int)", "f<8>(int)"),
        ("f<4>(int)", "f<4>(long)"),
        ("a::f(int)", "b::f(int)"),
        ("f<true>()", "f<false>()"),
    ],
)
def test_kernels_that_differ_stay_apart(trace: Trace, names: tuple[str, ...]) -> None:
    assert len(signatures(trace, *names)) == 2


@pytest.mark.parametrize(
    ("name", "qualified", "bare"),
    [
        ("void at::native::add<4, A<B<C>>>(int, A<B>)", "at::native::add", "add"),
        ("enable_if<!T7, void>::type kernel<int, float>(T1)", "kernel", "kernel"),
        ("void a::(anonymous namespace)::f<1>(int)", "a::anonymous::f", "f"),
        ("triton_red_fused_0", "triton_red_fused_0", "triton_red_fused_0"),
        ('void evil<"</script><b>&amp;">::kernel(int, T2)', "evil::kernel", "kernel"),
        ("<>", "<>", "<>"),
        ("", "", ""),
    ],
)
def test_names_without_arguments(trace: Trace, name: str, qualified: str, bare: str) -> None:
    trace.profile({}, name)
    assert trace.ask("SELECT qualified_name, base_name FROM kernel_signature") == [
        (qualified, bare)
    ]


def test_a_name_of_both_tools_is_one_row(trace: Trace) -> None:
    trace.kernel(0, 1, "gemm")
    trace.kernel(0, 1, "gemm", source_id="b")
    trace.profile({}, "gemm")
    assert trace.ask("SELECT name FROM kernel_signature") == [("gemm",)]
