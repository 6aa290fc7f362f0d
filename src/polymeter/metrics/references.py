"""Comparison of predictions with references: the rule that ``acc`` and ``exact_match`` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.reading.text import compared


def share_equal(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    """Return 1 if a single prediction equals any reference, else 0; for several, the share that equal their own
    reference.

    Both texts are read first (``reading.text.compared``). Values of different types differ: the reference ``7`` does
    not equal the answer ``"7"``.

    Raises:
        ScoreError: if the references are missing, or several predictions do not have one each.
    """
    if len(predictions) == 1 and references:
        answer = predictions[0]
        for reference in references:
            if _equal(reference, answer):
                return 1.0
        return 0.0
    if not references or len(references) != len(predictions):
        raise no_pairing(references, predictions)
    return sum(map(_equal, references, predictions)) / len(predictions)


def one_prediction(references: Sequence[Any], predictions: Sequence[Any]) -> Any:
    """Return the prediction of a sample.

    Raises:
        ScoreError: if a sample does not have exactly one, or has no reference.
    """
    if len(predictions) != 1 or not references:
        raise no_pairing(references, predictions)
    return predictions[0]


def no_pairing(references: Sequence[Any], predictions: Sequence[Any]) -> ScoreError:
    """Return the error for numbers of references and predictions that do not match."""
    return ScoreError(
        f"{len(references)} references and {len(predictions)} predictions cannot be compared.",
        hint="Give one prediction and at least one reference.",
    )


def _equal(reference: Any, answer: Any) -> bool:
    if isinstance(reference, str) and isinstance(answer, str):
        return reference == answer or compared(reference) == compared(answer)
    return bool(reference == answer)
