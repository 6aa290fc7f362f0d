"""Answers that are yes or no."""

from __future__ import annotations

from typing import Final

from polymeter.formats.table.classes.multiple_choice.reading import Reading, ask_judge
from polymeter.metrics.vqa import EvalAIAnswerProcessor

YES, NO = "Yes", "No"
_CHOICES: Final = {"A": YES, "B": NO}


def is_yes_or_no(text: str) -> bool:
    """Whether a gold answer is yes or no, in any case."""
    return text.strip().lower() in {YES.lower(), NO.lower()}


def infer_yes_or_no(answer: str) -> str | None:
    """``Yes`` or ``No``, whichever of the two words stands in an answer; ``None`` for both and for neither.

    The rule of VLMEvalKit's ``YOrN_Extraction``: punctuation is taken out as the VQA challenge does.
    """
    words = EvalAIAnswerProcessor().process_punctuation(answer.lower()).split()
    has_yes, has_no = YES.lower() in words, NO.lower() in words
    return None if has_yes == has_no else YES if has_yes else NO


def read_yes_or_no(answer: str, question: str, *, is_judged: bool) -> Reading:
    """Read one answer by the rule, else by the judge. The option of the reading is ``Yes``, ``No`` or ``None``.

    Raises:
        UnscoredError: The judge could not be asked, or gave no verdict.
    """
    found = infer_yes_or_no(answer)
    if found is not None:
        return Reading(found, "rules")
    if not is_judged or not answer.strip():
        return Reading(None, "none")
    letter = ask_judge(answer, _CHOICES, question)
    return Reading(_CHOICES[letter] if letter else None, "judge")
