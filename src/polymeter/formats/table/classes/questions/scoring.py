"""Comparing open answers with the references, and reading answers that are yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from polymeter.formats.table.classes.multiple_choice.reading import Reading, ask_judge
from polymeter.judge import LLMJudge
from polymeter.metrics.text import anls, exact_match
from polymeter.metrics.vqa import EvalAIAnswerProcessor, normalised_match, relaxed_match, vqa_accuracy

EXACT, ACCURACY, RELAXED, VQA, ANLS, JUDGED = (
    "exact_match",
    "accuracy",
    "relaxed_accuracy",
    "vqa_accuracy",
    "anls",
    "judge_acc",
)
YES, NO = "Yes", "No"
ANNOTATORS = 10
_CHOICES: Final = {"A": YES, "B": NO}
_BY_NAME = {
    "TextVQA": VQA,
    "ChartQA": RELAXED,
    "OCRVQA": ACCURACY,
    "GQA": ACCURACY,
    "DocVQA": ANLS,
    "InfoVQA": ANLS,
}


@cache
def main_metric(dataset: str) -> str:
    """The metric by which the field reports a dataset, chosen by its name as in VLMEvalKit; else ``exact_match``."""
    return next((metric for part, metric in _BY_NAME.items() if part in dataset), EXACT)


def by_rules(references: Sequence[str], answer: str, wanted: str = EXACT) -> dict[str, float]:
    """The metrics that need no judge.

    Args:
        references: The right answers.
        answer: The model's answer.
        wanted: The metric by which the dataset is reported.

    Returns:
        ``exact_match`` (after the VQA challenge's normalisation) and ``anls`` against the nearest reference; with ten
        references or more ``vqa_accuracy``; and ``relaxed_accuracy`` or ``accuracy`` (equal except for case) if that
        is wanted.
    """
    one = [answer.strip()]
    values = {EXACT: normalised_match(references, one)}
    if len(references) >= ANNOTATORS or wanted == VQA:
        values[VQA] = vqa_accuracy(references, one)
    if wanted == RELAXED:
        values[RELAXED] = relaxed_match(references, one)
    if wanted == ACCURACY:
        values[ACCURACY] = exact_match([reference.strip() for reference in references], one, ignore_case=True)
    # Lengths are those of the folded texts, as in VLMEvalKit.
    values[ANLS] = anls([_folded(reference) for reference in references], [_folded(answer)]) if answer.strip() else 0.0
    return values


def by_judge(references: Sequence[str], answer: str, question: str, *, is_exact: bool) -> float:
    """1 if the answer means the same as a reference: an exact match does, any other answer is graded by the judge.

    Raises:
        UnscoredError: if the request to the judge failed, or it gave no verdict.
    """
    if is_exact or not answer.strip():
        return float(is_exact)
    judge = LLMJudge()
    return judge.get_score(judge(judge.build_prompt(answer, " or ".join(dict.fromkeys(references)), question)))


def is_yes_or_no(text: str) -> bool:
    """Whether a reference is yes or no, in any case."""
    return text.strip().lower() in {YES.lower(), NO.lower()}


def infer_yes_or_no(answer: str) -> str | None:
    """``Yes`` or ``No``, whichever of the two words is in an answer; ``None`` for both and for neither.

    The rule of VLMEvalKit's ``YOrN_Extraction``: punctuation is removed as in the VQA challenge.
    """
    words = EvalAIAnswerProcessor().process_punctuation(answer.lower()).split()
    has_yes, has_no = YES.lower() in words, NO.lower() in words
    return None if has_yes == has_no else YES if has_yes else NO


def read_yes_or_no(answer: str, question: str, *, is_judged: bool) -> Reading:
    """Read one answer by the rule, else by the judge. The option of the reading is ``Yes``, ``No`` or ``None``.

    Raises:
        UnscoredError: if the request to the judge failed, or it gave no verdict.
    """
    word = infer_yes_or_no(answer)
    if word is not None:
        return Reading(word, "rules")
    if not is_judged or not answer.strip():
        return Reading(None, "none")
    letter = ask_judge(answer, _CHOICES, question)
    return Reading(_CHOICES[letter] if letter else None, "judge")


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
