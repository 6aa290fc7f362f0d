"""``lmms_eval.verifiers``: extractors clean an answer, verifiers without a judge decide whether it is right.

Verifiers that compare texts are not confident about a mismatch; those that parse are not confident about what they
cannot parse, and only about that.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.filters import strip_reasoning_tags
from polymeter.metrics.bounded import bounded
from polymeter.metrics.option_letters import extract_mcq_answer
from polymeter.metrics.patterns import applied, group_of_first


@dataclass
class VerifyResult:
    """The judgement of an answer: true if it is right, a score from 0 to 1, the judge's text, and metadata."""

    score: float
    is_correct: bool
    raw_output: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class Verifier(ABC):
    """Decides whether a prediction is right."""

    @abstractmethod
    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult: ...

    def __call__(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        return self.verify(question, prediction, ground_truth, **kwargs)


class Extractor(ABC):
    """Extracts from a raw answer the part to verify."""

    @abstractmethod
    def extract(self, text: str, **kwargs: Any) -> str: ...

    def __call__(self, text: str, **kwargs: Any) -> str:
        return self.extract(text, **kwargs)


_THINKING = (("<think>", "</think>"), ("<thinking>", "</thinking>"))
_SPECIAL_TOKENS = ("</s>", "<|endoftext|>", "<|end_of_sentence|>", "<|im_end|>", "[/INST]")


class StripReasoningExtractor(Extractor):
    """The answer without its reasoning.

    Args:
        tag_pairs: The tags around reasoning.
    """

    def __init__(self, tag_pairs: Sequence[Sequence[str]] | None = None) -> None:
        self.tag_pairs = tag_pairs or _THINKING

    def extract(self, text: str, **kwargs: Any) -> str:
        if not isinstance(text, str):
            return "" if text is None else str(text)
        return strip_reasoning_tags(text, self.tag_pairs)


class RegexExtractor(Extractor):
    """A group of a pattern's first match; the whole match if there is no such group.

    Args:
        pattern: The pattern.
        group: The group's number.
        fallback: The result for an answer without a match.
        flags: Flags of ``re``.
    """

    def __init__(self, pattern: str, group: int = 1, fallback: str = "", flags: int = 0) -> None:
        self.regex = re.compile(pattern, flags)
        self.group = group if group <= self.regex.groups else 0
        self.fallback = fallback

    def extract(self, text: str, **kwargs: Any) -> str:
        found = applied(group_of_first, self.regex, text, self.group)
        return self.fallback if found is None else found.strip()


class MCQExtractor(Extractor):
    """The letter of a choice.

    Args:
        choices: The letters that count.
    """

    def __init__(self, choices: Sequence[str] | None = None) -> None:
        self.choices = choices

    def extract(self, text: str, **kwargs: Any) -> str:
        return extract_mcq_answer(text, kwargs.get("choices", self.choices))


class NumberExtractor(Extractor):
    r"""The text in ``\boxed{}``, else the last number.

    Args:
        fallback: The result for an answer without a number.
    """

    def __init__(self, fallback: str = "") -> None:
        self.fallback = fallback

    def extract(self, text: str, **kwargs: Any) -> str:
        return _boxed_or_last_number(text) or self.fallback


@bounded
def _boxed_or_last_number(text: str) -> str:
    boxed = re.search(r"\\boxed\{([^}]+)\}", text)
    if boxed:
        return boxed.group(1).strip()
    numbers = re.findall(r"-?\d+(?:,\d{3})*(?:\.\d+)?", text)
    return numbers[-1].replace(",", "") if numbers else ""


class StripExtractor(Extractor):
    """The answer without special tokens and surrounding white space."""

    def extract(self, text: str, **kwargs: Any) -> str:
        for token in _SPECIAL_TOKENS:
            text = text.replace(token, "")
        return text.strip()


class ExactMatchVerifier(Verifier):
    """Equality, by default ignoring case and surrounding white space."""

    def __init__(self, ignore_case: bool = True, strip: bool = True) -> None:
        self.ignore_case, self.strip = ignore_case, strip

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        answer, reference = self._normalize(prediction), self._normalize(ground_truth)
        is_equal = answer == reference
        return _result(is_equal, f"exact_match: {answer!r} vs {reference!r}", confident=is_equal)

    def _normalize(self, text: str) -> str:
        text = text.strip() if self.strip else text
        return text.lower() if self.ignore_case else text


class ContainsVerifier(Verifier):
    """An answer is right if the prediction contains the reference."""

    def __init__(self, ignore_case: bool = True) -> None:
        self.ignore_case = ignore_case

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        texts = (prediction, ground_truth)
        answer, reference = [text.lower() for text in texts] if self.ignore_case else texts
        return _result(reference in answer, f"contains: {reference!r}", confident=reference in answer)


class MCQMatchVerifier(Verifier):
    """Equality of letters, however they are bracketed; confident if the answer is a letter."""

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        answer, reference = (text.strip().upper().strip("(). ") for text in (prediction, ground_truth))
        is_letter = re.fullmatch("[A-Z]", answer) is not None
        return _result(answer == reference, f"mcq_match: {answer!r} vs {reference!r}", confident=is_letter)


class NumericToleranceVerifier(Verifier):
    """Closeness of numbers: of the whole text as one, else of the last number in it; confident if there are two."""

    def __init__(self, rel_tol: float = 1e-3, abs_tol: float = 1e-6) -> None:
        self.rel_tol, self.abs_tol = rel_tol, abs_tol

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        answer, reference = _number(prediction), _number(ground_truth)
        if answer is None or reference is None:
            return _result(False, f"numeric: cannot parse {prediction!r} or {ground_truth!r}", confident=False)
        is_close = math.isclose(answer, reference, rel_tol=self.rel_tol, abs_tol=self.abs_tol)
        return _result(is_close, f"numeric: {answer} vs {reference}", confident=True)


def _number(text: str) -> float | None:
    text = text.strip().replace(",", "").replace("%", "")
    try:
        return float(text)
    except ValueError:
        numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
        return float(numbers[-1]) if numbers else None


def _result(is_correct: bool, raw_output: str, *, confident: bool) -> VerifyResult:
    return VerifyResult(float(is_correct), is_correct, raw_output, {"confident": confident})
