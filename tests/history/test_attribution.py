"""Parts of two mean steps: differences sum to the change, renamed kernels are found."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.history.attribution import Key, Part, attribute, mean_of

GEMM: Key = ("compute", "gemm", "gemm_v1")
WAIT: Key = ("exposed_wait", "", "")
TRANSFER: Key = ("exposed_transfer", "", "")


def test_differences_sum_to_the_change() -> None:
    found = attribute({GEMM: Part(90.0), WAIT: Part(10.0)}, {GEMM: Part(112.0), WAIT: Part(9.0)})
    assert (found.base_ns, found.run_ns, found.change_ns) == (100, 121, 21)
    assert [(d.part, d.change_ns) for d in found.differences] == [
        ("compute", 22),
        ("exposed_wait", -1),
    ]


keys = st.tuples(
    st.sampled_from(["compute", "idle", "exposed_wait", "exposed_communication"]),
    st.sampled_from(["", "gemm"]),
    st.sampled_from(["", "a", "b", "c"]),
)
parts = st.dictionaries(keys, st.builds(Part, st.floats(0, 1e9), st.none() | st.floats(0, 9)))


@given(parts, parts)
def test_they_do_whatever_the_parts(base: dict[Key, Part], run: dict[Key, Part]) -> None:
    found = attribute(base, run)
    assert sum(d.change_ns for d in found.differences) == found.change_ns
    whole = round(sum(p.mean_ns for p in run.values())) - round(
        sum(p.mean_ns for p in base.values())
    )
    assert abs(found.change_ns - whole) <= 1
    assert attribute(base, base).change_ns == 0


def test_a_kernel_of_the_same_shape_was_renamed() -> None:
    new: Key = ("compute", "gemm", "gemm_v2")
    base = {GEMM: Part(90.0, 4.0, "8.1.1/256.1.1")}
    found = attribute(base, {new: Part(100.0, 4.0, "8.1.1/256.1.1")})
    (one,) = found.differences
    assert (one.word, one.old_name, one.name, one.change_ns) == (
        "renamed",
        "gemm_v1",
        "gemm_v2",
        10,
    )


def test_a_kernel_of_another_class_appeared() -> None:
    new: Key = ("compute", "attention", "flash")
    found = attribute({GEMM: Part(90.0, 4.0, "8/256")}, {new: Part(80.0, 4.0, "8/256")})
    assert {(d.name, d.word, d.change_ns) for d in found.differences} == {
        ("gemm_v1", "gone", -90),
        ("flash", "new", 80),
    }


def test_two_kernels_that_fit_are_not_guessed_between() -> None:
    base = {GEMM: Part(50.0, 4.0, "8/256"), ("compute", "gemm", "gemm_w"): Part(40.0, 4.0, "8/256")}
    found = attribute(base, {("compute", "gemm", "new"): Part(100.0, 4.0, "8/256")})
    assert {d.word for d in found.differences} == {"gone", "new"}


def test_waiting_that_moves_between_ranks_is_no_change() -> None:
    # step_time_part is over all ranks: 30 ns of rank 0 and 0 of rank 1 are the mean 15 either way.
    assert attribute({WAIT: Part(15.0)}, {WAIT: Part(15.0)}).differences[0].change_ns == 0


def test_where_one_run_cannot_split_communication_neither_is() -> None:
    whole: Key = ("exposed_communication", "", "")
    found = attribute({WAIT: Part(10.0), TRANSFER: Part(20.0)}, {whole: Part(33.0)})
    assert [(d.part, d.change_ns) for d in found.differences] == [("exposed_communication", 3)]


def test_the_mean_of_runs() -> None:
    mean = mean_of([{GEMM: Part(10.0)}, {GEMM: Part(20.0), WAIT: Part(4.0)}])
    assert {key: part.mean_ns for key, part in mean.items()} == {GEMM: 15.0, WAIT: 2.0}
