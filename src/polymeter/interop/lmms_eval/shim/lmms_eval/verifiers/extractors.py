"""Stand-in for ``lmms_eval.verifiers.extractors``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.api.reasoning import strip_reasoning_tags
from polymeter.interop.lmms_eval.shim.lmms_eval.tasks._task_utils.mcq_extract import extract_mcq_answer
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.base import Extractor

_THINKING = (("<think>", "</think>"), ("<thinking>", "</thinking>"))
_SPECIAL_TOKENS = ("</s>", "<|endoftext|>", "<|end_of_sentence|>", "<|im_end|>", "[/INST]")


class StripReasoningExtractor(Extractor):
    """The answer without its reasoning.

    Args:
        tag_pairs: What reasoning stands between.
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
        group: Which group.
        fallback: What an answer without a match becomes.
        flags: Of ``re``.
    """

    def __init__(self, pattern: str, group: int = 1, fallback: str = "", flags: int = 0) -> None:
        self.regex = re.compile(pattern, flags)
        self.group = group if group <= self.regex.groups else 0
        self.fallback = fallback

    def extract(self, text: str, **kwargs: Any) -> str:
        found = self.regex.search(text)
        return (found.group(self.group) or "").strip() if found else self.fallback


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
    r"""What stands in ``\boxed{}``, else the last number.

    Args:
        fallback: What an answer without a number becomes.
    """

    def __init__(self, fallback: str = "") -> None:
        self.fallback = fallback

    def extract(self, text: str, **kwargs: Any) -> str:
        boxed = re.search(r"\\boxed\{([^}]+)\}", text)
        if boxed:
            return boxed.group(1).strip()
        numbers = re.findall(r"-?\d+(?:,\d{3})*(?:\.\d+)?", text)
        return numbers[-1].replace(",", "") if numbers else self.fallback


class StripExtractor(Extractor):
    """The answer without special tokens and surrounding blanks."""

    def extract(self, text: str, **kwargs: Any) -> str:
        for token in _SPECIAL_TOKENS:
            text = text.replace(token, "")
        return text.strip()
