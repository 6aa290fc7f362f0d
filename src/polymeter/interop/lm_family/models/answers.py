"""Checks of the values that a model's method returned: a list with an answer for each request, and each answer."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.request import ChoiceLogprob

_ONE_EACH = "Return one answer for each request, in their order."


def as_list(returned: Any, method: str, hint: str = _ONE_EACH) -> list[Any]:
    """Return the value that a method returned as a list.

    Args:
        returned: The value.
        method: The method, as messages name it.
        hint: What to do if it is not a list.

    Raises:
        ModelError: if it is not a list.
    """
    if returned is None or isinstance(returned, (str, dict)) or not hasattr(returned, "__iter__"):
        raise ModelError(f"{method} gave {named(returned)} in place of a list.", hint=hint)
    return list(returned)


def check_count(answers: Sized, n_requests: int, method: str) -> None:
    """Refuse too few or too many answers: none of them could be assigned to its request.

    Raises:
        ModelError: if there is not one for each request.
    """
    if len(answers) != n_requests:
        raise ModelError(f"{method} gave {len(answers)} answers to {n_requests} requests.", hint=_ONE_EACH)


def logprob_of(answer: Any, giver: str, *, is_loss: bool = False) -> ChoiceLogprob:
    """Return a pair of numbers, which may be tensors. The number of tokens is unknown: 0.

    Args:
        answer: What was returned for one continuation.
        giver: Who returned it, as messages name it.
        is_loss: Whether the number is a loss and not a log-probability.

    Raises:
        ModelError: if it is not a pair.
    """
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        raise ModelError(
            f"{giver} gave {named(answer)} in place of (log-probability, is_greedy).",
            hint="loglikelihood returns such a pair for each request.",
        )
    value, is_greedy = float(answer[0]), bool(answer[1])
    return ChoiceLogprob(-value if is_loss else value, is_greedy, 0)


def named(value: Any) -> str:
    """A value by its type, for messages."""
    return "nothing" if value is None else f"a {type(value).__name__}"
