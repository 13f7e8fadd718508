"""What a changed step time is made of: the parts of both mean steps, difference by difference.

Pure: parts in, differences out. The differences sum to the change of the mean step, to the
nanosecond. Kernels that a new library renamed are matched by class and shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

# (part, class, name), as in step_time_part.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Part:
    """One part of a mean step of a run."""

    mean_ns: float
    launches_per_step: float | None = None
    shape: str = ""


@dataclass(frozen=True)
class Difference:
    """A part in both mean steps. ``name`` is the kernel now, ``old_name`` what it was called
    before where that differs; ``word`` says whether it appeared, vanished or was renamed."""

    part: str
    class_: str
    name: str
    base_ns: int
    run_ns: int
    word: str = ""
    old_name: str = ""

    @property
    def change_ns(self) -> int:
        return self.run_ns - self.base_ns


@dataclass(frozen=True)
class Attribution:
    """Both mean steps, and their differences by size; ``change_ns`` is exactly their sum."""

    base_ns: int
    run_ns: int
    differences: tuple[Difference, ...]

    @property
    def change_ns(self) -> int:
        return self.run_ns - self.base_ns

    def by_class(self) -> list[tuple[str, str, int]]:
        """The change by part and class, largest first."""
        total: dict[tuple[str, str], int] = {}
        for one in self.differences:
            key = (one.part, one.class_)
            total[key] = total.get(key, 0) + one.change_ns
        ordered = sorted(total.items(), key=lambda item: (-abs(item[1]), item[0]))
        return [(part, class_, change) for (part, class_), change in ordered]


def mean_of(runs: Sequence[Mapping[Key, Part]]) -> dict[Key, Part]:
    """The parts of the mean run: a part that a run does not have is 0 there."""
    runs = _comparable(runs)
    merged: dict[Key, Part] = {}
    for key in sorted({key for run in runs for key in run}):
        found = [run[key] for run in runs if key in run]
        rates = [part.launches_per_step for part in found if part.launches_per_step is not None]
        merged[key] = Part(
            sum(part.mean_ns for part in found) / len(runs),
            sum(rates) / len(rates) if rates else None,
            found[-1].shape,
        )
    return merged


def _comparable(runs: Sequence[Mapping[Key, Part]]) -> list[dict[Key, Part]]:
    """Where one run's communication cannot be split into wait and transfer, no run's is."""
    whole: Key = ("exposed_communication", "", "")
    if not any(whole in run for run in runs):
        return [dict(run) for run in runs]
    merged = []
    for run in runs:
        split = ("exposed_wait", "exposed_transfer", "exposed_communication")
        rest = {key: part for key, part in run.items() if key[0] not in split}
        rest[whole] = Part(sum(part.mean_ns for key, part in run.items() if key[0] in split))
        merged.append(rest)
    return merged


def attribute(base: Mapping[Key, Part], run: Mapping[Key, Part]) -> Attribution:
    """Every difference between two mean steps."""
    base, run = _comparable([base, run])
    renamed = _renamed(base, run)
    lines: list[tuple[str, str, str, float, float, str, str]] = []
    for key in sorted(base.keys() | run.keys()):
        if key in renamed.values():
            continue  # told under its new name
        old = renamed.get(key, key)
        before = base[old].mean_ns if old in base else 0.0
        after = run[key].mean_ns if key in run else 0.0
        word, old_name = "", ""
        if old != key:
            word, old_name = "renamed", old[2]
        elif key not in base:
            word = "new"
        elif key not in run:
            word = "gone"
        lines.append((*key, before, after, word, old_name))
    before_ns = _whole([line[3] for line in lines])
    after_ns = _whole([line[4] for line in lines])
    differences = [
        Difference(line[0], line[1], line[2], one, two, line[5], line[6])
        for line, one, two in zip(lines, before_ns, after_ns, strict=True)
    ]
    differences.sort(key=lambda d: (-abs(d.change_ns), d.part, d.class_, d.name))
    return Attribution(sum(before_ns), sum(after_ns), tuple(differences))


def _whole(values: Sequence[float]) -> list[int]:
    """Whole numbers that sum to the rounded sum: what is cut off goes where most was."""
    floors = [int(value // 1) for value in values]
    short = round(sum(values)) - sum(floors)
    order = sorted(range(len(values)), key=lambda i: (-(values[i] - floors[i]), i))
    for place in order[:short]:
        floors[place] += 1
    return floors


def _renamed(base: Mapping[Key, Part], run: Mapping[Key, Part]) -> dict[Key, Key]:
    """New name -> old name of kernels that vanished and appeared with the same class and shape,
    else the same class and number of launches, where only one of each fits."""
    gone = [key for key in sorted(base) if key not in run and key[0] == "compute" and key[2]]
    new = [key for key in sorted(run) if key not in base and key[0] == "compute" and key[2]]
    matched: dict[Key, Key] = {}
    for tell in (_by_shape_and_count, _by_shape, _by_count):
        old_by, new_by = _grouped(gone, base, tell), _grouped(new, run, tell)
        for how in sorted(old_by.keys() & new_by.keys()):
            if len(old_by[how]) == len(new_by[how]) == 1:
                matched[new_by[how][0]] = old_by[how][0]
        gone = [key for key in gone if key not in matched.values()]
        new = [key for key in new if key not in matched]
    return matched


def _grouped(
    keys: Iterable[Key],
    parts: Mapping[Key, Part],
    tell: Callable[[str, Part], tuple[str, ...] | None],
) -> dict[tuple[str, ...], list[Key]]:
    groups: dict[tuple[str, ...], list[Key]] = {}
    for key in keys:
        how = tell(key[1], parts[key])
        if how is not None:
            groups.setdefault(how, []).append(key)
    return groups


def _by_shape_and_count(class_: str, part: Part) -> tuple[str, ...] | None:
    if not part.shape or part.launches_per_step is None:
        return None
    return (class_, part.shape, f"{part.launches_per_step:.3g}")


def _by_shape(class_: str, part: Part) -> tuple[str, ...] | None:
    return (class_, part.shape) if part.shape else None


def _by_count(class_: str, part: Part) -> tuple[str, ...] | None:
    if part.launches_per_step is None:
        return None
    return (class_, f"{part.launches_per_step:.3g}")
