"""``vlmeval.utils.matching_util``: which option an answer names, by the rules of VLMEvalKit's present tree.

They are those of ULMEvalKit, and one more: where these find no option, the letter after "answer is" counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from polymeter.tasks.table.classes.multiple_choice import extract
from polymeter.tasks.table.classes.multiple_choice.extract import Inferred, can_infer_sequence, can_infer_text

__all__ = [
    "can_infer",
    "can_infer_lego",
    "can_infer_option",
    "can_infer_sequence",
    "can_infer_text",
    "detect_repetition",
]


def can_infer_option(answer: str, choices: Mapping[str, Any]) -> Inferred:
    """The option whose letter an answer names.

    Args:
        answer: The answer.
        choices: The options; only their letters matter.

    Returns:
        The letter; ``Z`` for an answer that declines to choose; ``False`` if the rules find nothing.
    """
    return extract.can_infer_option(answer, choices) or extract.announced_option(answer, choices)


def can_infer(answer: Any, choices: Mapping[str, Any]) -> Inferred:
    """The option that an answer names by its letter, else by its text."""
    return can_infer_option(str(answer), choices) or can_infer_text(str(answer), choices)


def can_infer_lego(answer: Any, question_type: str, choices: Mapping[str, Any]) -> Inferred:
    """For the LEGO puzzles: an order if the question's type is ``sort``, else an option's letter; else by text."""
    text = str(answer)
    by_letter = can_infer_sequence(text, choices) if question_type == "sort" else can_infer_option(text, choices)
    return by_letter or can_infer_text(text, choices)


def detect_repetition(
    text: str, seg_len: int = 100, min_matches: int = 20, interval_kinds: int = 3, interval_threshold: float = 0.8
) -> tuple[bool, list[re.Match[str]] | None]:
    """Check if a text ends in one passage over and over.

    Args:
        text: The text.
        seg_len: The number of characters at its end that are looked for in its second half.
        min_matches: How often they must be there.
        interval_kinds: How many different distances between them count.
        interval_threshold: More than this share of all distances must be the most frequent ones.

    Returns:
        True if it does, and where the passage was found; ``None`` for a short text.
    """
    whole = text.strip()
    if len(whole) < seg_len * min_matches:
        return False, None
    found = list(re.finditer(re.escape(whole[-seg_len:]), whole[len(whole) // 2 :]))
    if len(found) < min_matches:
        return False, found
    distances = Counter(later.start() - earlier.start() for earlier, later in pairwise(found))
    n_usual = sum(count for _, count in distances.most_common(interval_kinds))
    return n_usual / max(distances.total(), 1) > interval_threshold, found
