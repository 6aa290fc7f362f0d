"""``vlmeval.utils.matching_util``: which option an answer names, by the rules of VLMEvalKit's present tree.

They are those of ULMEvalKit, and one more: where these find no option, the letter after "answer is" counts. At parity
with ULMEvalKit the older rules hold, which are also those of ``ms-vlmeval`` 0.0.20.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polymeter.core.guest_context import guest_context
from polymeter.tasks.table.classes.multiple_choice import extract
from polymeter.tasks.table.classes.multiple_choice.extract import Inferred, can_infer_sequence, can_infer_text

__all__ = ["can_infer", "can_infer_lego", "can_infer_option", "can_infer_sequence", "can_infer_text"]

_FAILED = "Failed to obtain answer via API"
_ANNOUNCED = re.compile(r"answer\s+is\s+\**([A-D])", re.IGNORECASE)
"""As in the kit: of A to D alone, in any case, and whatever follows, so that "the answer is a dog" names A."""


def can_infer_option(answer: str, choices: Mapping[str, Any]) -> Inferred:
    """The option whose letter an answer names.

    Args:
        answer: The answer.
        choices: The options; only their letters matter.

    Returns:
        The letter; ``Z`` for an answer that declines to choose; ``False`` if the rules find nothing.
    """
    letter = extract.can_infer_option(answer, choices)
    if letter or _FAILED in answer or guest_context().parity.on("older-choice-rule"):
        return letter
    announced = _ANNOUNCED.search(answer)
    return announced[1].upper() if announced and announced[1].upper() in choices else False


def can_infer(answer: Any, choices: Mapping[str, Any]) -> Inferred:
    """The option that an answer names by its letter, else by its text."""
    return can_infer_option(str(answer), choices) or can_infer_text(str(answer), choices)


def can_infer_lego(answer: Any, question_type: str, choices: Mapping[str, Any]) -> Inferred:
    """For the LEGO puzzles: an order if the question's type is ``sort``, else an option's letter; else by text."""
    text = str(answer)
    by_letter = can_infer_sequence(text, choices) if question_type == "sort" else can_infer_option(text, choices)
    return by_letter or can_infer_text(text, choices)
