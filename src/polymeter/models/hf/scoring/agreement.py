"""Comparisons of a faster computation with a slower one: if their results agree, the model is used with the faster one.

Logits can be minus infinity, and two of them agree. NaN agrees with nothing, not even itself: otherwise it would hide
every difference behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.request import ChoiceLogprob

if TYPE_CHECKING:
    import torch

_HALF_TOLERANCE: Final = 0.2
"""The difference of log-probabilities in half precision that the order of additions alone can cause."""
_EXACT = ("float32", "float64")


def scores_agree(
    given: Sequence[ChoiceLogprob], expected: Sequence[ChoiceLogprob], dtype: Any, *, per_token: float
) -> bool:
    """Return whether log-probabilities of continuations agree.

    Args:
        given: One way's scores.
        expected: The other's.
        dtype: What the network computes in.
        per_token: Maximum difference for each scored token in single precision.
    """
    tolerance = _tolerance(dtype, per_token)
    return all(
        one.logprob == other.logprob or abs(one.logprob - other.logprob) <= tolerance * max(1, one.n_tokens)
        for one, other in zip(given, expected, strict=True)
    )


def distributions_agree(logits: torch.Tensor, expected: torch.Tensor, dtype: Any, *, on_average: float) -> bool:
    """Return whether logits stand for the same distributions.

    Args:
        logits: One way's, shape ``(rows, vocabulary)``.
        expected: The other's.
        dtype: What the network computes in.
        on_average: Maximum mean difference of log-probabilities in single precision.
    """
    import torch

    ours, theirs = logits.float().log_softmax(-1), expected.float().log_softmax(-1)
    apart = torch.where(ours == theirs, 0.0, (ours - theirs).abs())
    return float(apart.mean()) <= _tolerance(dtype, on_average)


def _tolerance(dtype: Any, exact: float) -> float:
    return exact if str(dtype).removeprefix("torch.") in _EXACT else _HALF_TOLERANCE
