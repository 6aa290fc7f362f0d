"""Differences of answers themselves, apart from their scores: the probabilities of choices, and the length of texts.

They show the effect of quantisation or fine-tuning first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.stats import Partition, mean_interval, mean_spread, paired_difference
from polymeter.stats.intervals import Interval, ends_of
from polymeter.store.reading.outcomes import SampleOutcome


@dataclass(frozen=True, slots=True)
class LengthDrift:
    """The change of the mean length of an answer from the first run to the second.

    Attributes:
        unit: ``characters`` or ``tokens``.
        n: The number of pairs.
        first: The mean length in the first run.
        second: The mean length in the second run.
        difference: The second minus the first.
        interval: Its 95 % interval.
        p_value: The p-value of the paired t-test.
    """

    unit: str
    n: int
    first: float
    second: float
    difference: float
    interval: Interval | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class ChoiceDivergence:
    """The distance between the probabilities of choices.

    Attributes:
        n: The number of pairs with log-probabilities for equally many choices.
        bits: The mean Jensen-Shannon divergence in bits: 0 for equal probabilities, 1 if the possible choices of the
            two runs do not overlap (Lin 1991).
        interval: Its 95 % interval.
        n_changed: The number of pairs with another most probable choice.
    """

    n: int
    bits: float
    interval: Interval | None
    n_changed: int


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """The answers of two runs to one task.

    Attributes:
        task: The task.
        lengths: The drift of their length, in each known unit.
        choices: The divergence of probabilities, if there are any.
    """

    task: str
    lengths: tuple[LengthDrift, ...]
    choices: ChoiceDivergence | None

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "task": self.task,
            "lengths": [
                {
                    "unit": drift.unit,
                    "n": drift.n,
                    "first": drift.first,
                    "second": drift.second,
                    "difference": drift.difference,
                    "interval": ends_of(drift.interval),
                    "p_value": drift.p_value,
                }
                for drift in self.lengths
            ],
            "choices": None
            if self.choices is None
            else {
                "n": self.choices.n,
                "divergence_bits": self.choices.bits,
                "interval": ends_of(self.choices.interval),
                "n_changed": self.choices.n_changed,
            },
        }


def compare_answers(first: ComparedRun, second: ComparedRun, task: str) -> AnswerComparison | None:
    """Compare the answers of two runs to the samples that both have. Return ``None`` if there is nothing to compare."""
    by_id = {outcome.id: outcome for outcome in second.outcomes(task)}
    pairs = [(outcome, by_id[outcome.id]) for outcome in first.outcomes(task) if outcome.id in by_id]
    lengths = tuple(drift for unit in ("characters", "tokens") if (drift := _drift(pairs, unit)) is not None)
    choices = _divergence(pairs)
    return AnswerComparison(task, lengths, choices) if lengths or choices else None


def divergences(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the Jensen-Shannon divergence in bits of each pair of distributions, from log-probabilities.

    Each row holds the choices of one sample. Its probabilities are scaled to add up to one.

    Args:
        first: Natural logarithms, shape ``(n, k)``.
        second: The same for the other model.
    """
    from scipy.special import rel_entr, softmax

    p, q = softmax(first, axis=1), softmax(second, axis=1)
    middle = (p + q) / 2
    bits: NDArray[np.float64] = (rel_entr(p, middle).sum(axis=1) + rel_entr(q, middle).sum(axis=1)) / 2 / np.log(2)
    return np.clip(bits, 0.0, 1.0)


def _drift(pairs: Sequence[tuple[SampleOutcome, SampleOutcome]], unit: str) -> LengthDrift | None:
    both = [(one, two) for one, two in pairs if _length(one, unit) is not None and _length(two, unit) is not None]
    a, b = ([float(_length(pair[side], unit) or 0) for pair in both] for side in (0, 1))
    if not both or not (any(a) or any(b)):
        return None
    found = paired_difference(b, a, clusters=_clusters(both))
    return LengthDrift(
        unit,
        found.n,
        sum(a) / len(a),
        sum(b) / len(b),
        float(found.difference or 0.0),
        found.interval,
        found.p_value,
    )


def _length(outcome: SampleOutcome, unit: str) -> float | None:
    """Return the length of a sample's answers. The tokens of choices that it scored are not part of an answer."""
    return outcome.characters if unit == "characters" or outcome.characters is None else outcome.tokens


def _divergence(pairs: Sequence[tuple[SampleOutcome, SampleOutcome]]) -> ChoiceDivergence | None:
    by_size: dict[int, list[tuple[tuple[float, ...], tuple[float, ...]]]] = {}
    both: dict[int, list[tuple[SampleOutcome, SampleOutcome]]] = {}
    for one, two in pairs:
        a, b = one.logprobs, two.logprobs
        if a and b and len(a) == len(b) > 1 and np.isfinite(a).all() and np.isfinite(b).all():
            by_size.setdefault(len(a), []).append((a, b))
            both.setdefault(len(a), []).append((one, two))
    if not by_size:
        return None
    found, n_changed = [], 0
    for listed in by_size.values():
        first, second = (np.array([pair[side] for pair in listed]) for side in (0, 1))
        found.append(divergences(first, second))
        n_changed += int((first.argmax(axis=1) != second.argmax(axis=1)).sum())
    bits = np.concatenate(found)
    labels = _clusters([pair for own in both.values() for pair in own])
    spread = mean_spread(bits, None if labels is None else Partition.of(labels), (0.0, 1.0))
    return ChoiceDivergence(int(bits.size), float(bits.mean()), mean_interval(spread).interval, n_changed)


def _clusters(pairs: Sequence[tuple[SampleOutcome, SampleOutcome]]) -> list[str | None] | None:
    labels = [one.cluster for one, _ in pairs]
    return labels if any(label is not None for label in labels) else None
