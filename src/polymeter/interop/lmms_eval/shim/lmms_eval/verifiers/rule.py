"""Stand-in for ``lmms_eval.verifiers.rule``: verifiers that ask nobody.

Those that compare texts are unsure of a mismatch; those that parse are unsure only of what they cannot parse.
"""

from __future__ import annotations

import math
import re
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.base import Verifier, VerifyResult


class ExactMatchVerifier(Verifier):
    """Equality, by default without case and surrounding blanks."""

    def __init__(self, ignore_case: bool = True, strip: bool = True) -> None:
        self.ignore_case, self.strip = ignore_case, strip

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        found, wanted = self._normalize(prediction), self._normalize(ground_truth)
        return _result(found == wanted, f"exact_match: {found!r} vs {wanted!r}", confident=found == wanted)

    def _normalize(self, text: str) -> str:
        text = text.strip() if self.strip else text
        return text.lower() if self.ignore_case else text


class ContainsVerifier(Verifier):
    """Whether the truth occurs in the prediction."""

    def __init__(self, ignore_case: bool = True) -> None:
        self.ignore_case = ignore_case

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        found, wanted = (prediction.lower(), ground_truth.lower()) if self.ignore_case else (prediction, ground_truth)
        return _result(wanted in found, f"contains: {wanted!r}", confident=wanted in found)


class MCQMatchVerifier(Verifier):
    """Equality of letters, however they are bracketed."""

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        found, wanted = (text.strip().upper().strip("(). ") for text in (prediction, ground_truth))
        return _result(found == wanted, f"mcq_match: {found!r} vs {wanted!r}")


class NumericToleranceVerifier(Verifier):
    """Closeness of numbers: of the whole text as one, else of the last number in it."""

    def __init__(self, rel_tol: float = 1e-3, abs_tol: float = 1e-6) -> None:
        self.rel_tol, self.abs_tol = rel_tol, abs_tol

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        found, wanted = _number(prediction), _number(ground_truth)
        if found is None or wanted is None:
            return _result(False, f"numeric: cannot parse {prediction!r} or {ground_truth!r}", confident=False)
        is_close = math.isclose(found, wanted, rel_tol=self.rel_tol, abs_tol=self.abs_tol)
        return _result(is_close, f"numeric: {found} vs {wanted}")


def _number(text: str) -> float | None:
    text = text.strip().replace(",", "").replace("%", "")
    try:
        return float(text)
    except ValueError:
        numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
        return float(numbers[-1]) if numbers else None


def _result(is_correct: bool, raw_output: str, **metadata: Any) -> VerifyResult:
    return VerifyResult(float(is_correct), is_correct, raw_output, metadata)
