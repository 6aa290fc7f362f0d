"""Stand-in for ``lmms_eval.verifiers.base``."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from polymeter.judge.verdict import the_only

_WORDS = {
    "correct": True,
    "yes": True,
    "true": True,
    "1": True,
    "incorrect": False,
    "not_attempted": False,
    "no": False,
    "false": False,
    "0": False,
}
_VERDICT = re.compile(rf"(?<![\w.])(?:(not)\s+)?({'|'.join(_WORDS)})(?![\w]|\.\d)", re.IGNORECASE)


@dataclass
class VerifyResult:
    """Whether an answer is right: a score from 0 to 1, what the judge said, and notes."""

    score: float
    is_correct: bool
    raw_output: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class Verifier(ABC):
    """Says whether a prediction is right."""

    @abstractmethod
    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult: ...

    def __call__(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        return self.verify(question, prediction, ground_truth, **kwargs)


class Extractor(ABC):
    """Makes of a raw answer what is to be verified."""

    @abstractmethod
    def extract(self, text: str, **kwargs: Any) -> str: ...

    def __call__(self, text: str, **kwargs: Any) -> str:
        return self.extract(text, **kwargs)


def parse_binary_response(text: str) -> bool:
    """A judge's verdict: CORRECT or INCORRECT (also NOT_ATTEMPTED), yes or no, true or false, 1 or 0.

    Raises:
        UnscoredError: The text shows no verdict, or both. (lmms-eval takes the first for a no.)
    """
    found = {_WORDS[word.lower()] is not bool(negated) for negated, word in _VERDICT.findall(text)}
    return the_only(found, text, "a verdict")
