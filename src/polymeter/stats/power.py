"""Power of a comparison of two models: the samples that it needs, and the difference that it can show.

All formulas are for the paired, two-sided z-test of a difference in means (Miller 2024, *Adding Error Bars to Evals*).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

ALPHA = 0.05
POWER = 0.8
STD = 0.5
"""The standard deviation of a 0/1 score that succeeds half the time: the largest of any score between 0 and 1."""
CORRELATION = 0.5
_WHOLE = 1e-6


def difference_variance(std_a: float = STD, std_b: float = STD, correlation: float = CORRELATION) -> float:
    """Compute the variance of the difference between two models' scores of one sample: ``σ_a² + σ_b² - 2 ρ σ_a σ_b``.

    Raises:
        ValueError: if the correlation lies outside -1 to 1, or a deviation is negative.
    """
    if not -1 <= correlation <= 1:
        raise ValueError(f"The correlation must be between -1 and 1, not {correlation}.")
    if min(std_a, std_b) < 0:
        raise ValueError("A standard deviation cannot be negative.")
    return std_a**2 + std_b**2 - 2 * correlation * std_a * std_b


def needed_samples(
    effect: float,
    *,
    std_a: float = STD,
    std_b: float = STD,
    correlation: float = CORRELATION,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """Compute the smallest number of samples that shows a difference of ``effect`` with the given power.

    It is ``(z_{1-α/2} + z_power)² σ_d² / effect²``, rounded up.

    Args:
        effect: The difference in the unit of the scores.
        std_a: Standard deviation of one model's scores.
        std_b: Standard deviation of the other's.
        correlation: The correlation between the two models' scores of one sample.
        alpha: The probability of finding a difference between equal models.
        power: The probability of finding a real difference.

    Raises:
        ValueError: if the effect is zero, which would need infinitely many samples, or an argument is out of range.
    """
    if effect == 0:
        raise ValueError("No number of samples can show a difference of zero.")
    spread = difference_variance(std_a, std_b, correlation)
    return max(1, math.ceil(_factor(alpha, power) ** 2 * spread / effect**2))


def detectable_effect(
    n: int,
    *,
    std_a: float = STD,
    std_b: float = STD,
    correlation: float = CORRELATION,
    alpha: float = ALPHA,
    power: float = POWER,
) -> float:
    """Compute the smallest difference that ``n`` samples show with the given power:
    ``(z_{1-α/2} + z_power) σ_d / sqrt(n)``.

    Raises:
        ValueError: if ``n`` is not positive, or an argument is out of range.
    """
    if n < 1:
        raise ValueError("At least one sample is needed to show a difference.")
    return _factor(alpha, power) * math.sqrt(difference_variance(std_a, std_b, correlation) / n)


def achieved_power(
    effect: float,
    n: int,
    *,
    std_a: float = STD,
    std_b: float = STD,
    correlation: float = CORRELATION,
    alpha: float = ALPHA,
) -> float:
    """Compute the probability that ``n`` samples show a difference of ``effect``, including the far tail.

    Raises:
        ValueError: if ``n`` is not positive, or an argument is out of range.
    """
    if n < 1:
        raise ValueError("At least one sample is needed to show a difference.")
    stderr = math.sqrt(difference_variance(std_a, std_b, correlation) / n)
    if stderr == 0:
        return 1.0 if effect else alpha
    normal = NormalDist()
    critical, shift = normal.inv_cdf(1 - alpha / 2), abs(effect) / stderr
    return normal.cdf(shift - critical) + normal.cdf(-shift - critical)


def _factor(alpha: float, power: float) -> float:
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError("alpha and power must be between 0 and 1.")
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


@dataclass(frozen=True, slots=True)
class RepeatedVariance:
    """The parts of the variance of samples' values, if each is the mean of several answers.

    Attributes:
        repeats: The number of answers to each sample.
        within: The variance of a single answer around the mean of infinitely many answers to its sample.
        between: The variance of this mean among samples.
    """

    repeats: int
    within: float
    between: float

    def at(self, repeats: float) -> float:
        """Return the variance of a sample's value with another number of answers; with infinitely many, that of
        samples.
        """
        return self.between + self.within / repeats


def repeated_variance(values: Sequence[float], repeats: int) -> RepeatedVariance | None:
    """Estimate the variance within and between samples, from the shares of right answers to each.

    A share ``p`` of ``r`` right or wrong answers gives the unbiased variance ``p (1 - p) r / (r - 1)`` (Miller 2024,
    section 3.1: the law of total variance).

    Args:
        values: Each sample's share of right answers, shape ``(n,)``.
        repeats: The number of answers behind each share.

    Returns:
        The variances; ``None`` if the values do not show them: there is a single answer, the values are not shares of
        so many answers, or none lies strictly between 0 and 1, as if only one answer of each had counted.
    """
    if repeats < 2 or len(values) < 2:
        return None
    counts = [value * repeats for value in values]
    if not all(
        0 <= value <= 1 and abs(count - round(count)) < _WHOLE for value, count in zip(values, counts, strict=True)
    ):
        return None
    if not any(0 < round(count) < repeats for count in counts):
        return None
    mean = math.fsum(values) / len(values)
    total = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    within = math.fsum(value * (1 - value) for value in values) / len(values) * repeats / (repeats - 1)
    return RepeatedVariance(repeats, within, max(total - within / repeats, 0.0))
