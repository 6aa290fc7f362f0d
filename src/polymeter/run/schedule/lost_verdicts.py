"""Verdicts that the scoring of a sample went without, each with the reason.

A verdict is lost in one of three ways, and each way has its own key, because a question that is asked again and
answered takes back its own failure and no other loss.

They are noted where the judge is asked, and the engine alone decides what follows: a sample that lost a verdict is
unscored, even if the task's code swallows the error and makes a number of nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AbsentRole:
    """No model could be asked in this role."""

    role: str


@dataclass(frozen=True, slots=True)
class FailedQuestion:
    """The question with this fingerprint has no answer."""

    fingerprint: str


@dataclass(frozen=True, slots=True)
class UnusableAnswer:
    """The answer to the question of this number was not a verdict. Of an answer that several threads may have asked
    for, the number is that of all questions.
    """

    call: int


LostVerdict = AbsentRole | FailedQuestion | UnusableAnswer


def first_loss(lost: Mapping[LostVerdict, str]) -> LostVerdict:
    """The loss that is reported of several. A judge that could not be asked comes before one that gave no verdict,
    which may follow from it.
    """
    return min(lost, key=lambda loss: isinstance(loss, UnusableAnswer))
