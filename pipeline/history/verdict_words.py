"""What the words of verdicts mean, for those who meet one for the first time."""

from __future__ import annotations

from pipeline.history.judged import Night

MEANINGS: dict[str, str] = {
    # verdicts
    "regressed": "worse than before, beyond the noise between runs",
    "improved": "better than before, beyond the noise between runs",
    "unchanged": "no change that matters and that noise does not explain",
    "inconclusive": "cannot be told; the word beside it says why",
    "not comparable": "the runs before it had other GPUs, another layout, batch, sequence length "
    "or model",
    "no baseline": "too few runs before it have this number",
    "missing": "most runs before it have this number, or a run was due, and there is none",
    # kinds of change
    "one night": "the newest run alone stands out of the last ones",
    "lasting step": "the level of the series changed, and stayed so",
    "drift": "the level changes a little every run",
    "beyond both modes": "off both levels between which the series goes to and fro",
    "two runs": "two runs differ by more than the noise",
    # kinds of doubt
    "noisy": "equal runs differ so much that this change says nothing",
    "bimodal": "runs go to and fro between two levels, and this one is on one of them",
    "too short": "too few runs, or samples in the run, to measure the noise",
    "single spike": "single runs before were as far off and came back",
    "unconfirmed": "far off, but noise with heavy tails shows single such runs: the next one tells",
    "within noise": "a difference that noise explains, as many numbers as are looked at",
    "below the floor": "a difference too small to matter",
    "incomplete": "ranks, steps or kernels of a run are missing",
}


def meanings(night: Night) -> list[tuple[str, str]]:
    """Verdicts and words that a night uses, with what they mean."""
    used = {one.verdict for one in night.judged}
    for one in night.judged:
        used |= {word for t in one.told for word in (t.judgement.verdict, t.judgement.word)}
    return [(word, meaning) for word, meaning in MEANINGS.items() if word in used]
