"""GPU metric samples of a simulated device: what share of each period kernels covered."""

from dataclasses import dataclass
from typing import Any

from description import Job, us
from simulation import Activity, Draw


@dataclass(frozen=True)
class Sample:
    """One metric at one moment, on the file's clock."""

    at: int
    metric: str
    value: int


def _covered(works: list[Activity], start: int, end: int) -> float:
    """Share of [start, end) with any work in it, looked at every microsecond."""
    moments = range(start, end, 1000)
    return sum(any(w.start <= at < w.end for w in works) for at in moments) / len(moments)


def sample(job: Job, works: list[Activity], until: int) -> list[Sample]:
    """All samples from just before the capture begins to its end."""
    settings = job.gpu_metrics
    if not settings:
        return []
    kernels = [work for work in works if work.kind in ("kernel", "graph")]
    draw, samples = Draw(settings["period_us"]), []
    previous, at = -us(settings["period_us"]), -37928
    while at < until:
        share = _covered(kernels, previous, at) if at > previous else 0.0
        for metric in settings["metrics"]:
            spread = draw.below(metric["spread"] + 1)
            if "clock_hz" in metric:
                value = metric["clock_hz"] - spread * 1000
            else:
                value = min(100, metric["idle"] + round(share * metric["busy"]) + spread)
            samples.append(Sample(at, metric["name"], value))
        previous, at = at, at + us(settings["period_us"]) + draw.below(700)
    return samples


def samples_truth(samples: list[Sample]) -> dict[str, Any]:
    """Per metric: how many, the first few, mean, least and most."""
    found: dict[str, Any] = {}
    for name in sorted({one.metric for one in samples}):
        own = [one for one in samples if one.metric == name]
        values = [one.value for one in own]
        found[name] = {
            "count": len(values),
            "sum": sum(values),
            "mean": sum(values) / len(values),
            "min": min(values),
            "max": max(values),
            "first": [[one.at, one.value] for one in own[:3]],
        }
    return found
