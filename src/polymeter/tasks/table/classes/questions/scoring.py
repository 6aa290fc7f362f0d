"""Comparing open answers with the references, and reading answers that are yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from polymeter.judge import LLMJudge
from polymeter.judge.reply import shown
from polymeter.metrics import as_written
from polymeter.metrics.text import anls, exact_match, text_compared
from polymeter.metrics.vqa import EvalAIAnswerProcessor, normalised_answer, relaxed_match, vqa_accuracy, vqa_match
from polymeter.reading import yes_no
from polymeter.reading.text import compared, open_answer, with_single_spaces
from polymeter.tasks.table.classes.multiple_choice.reading import OptionRead, ask_judge

EXACT, VQA_EQUAL, ACCURACY, RELAXED, VQA, ANLS, JUDGED = (
    "exact_match",
    "vqa_match",
    "accuracy",
    "relaxed_accuracy",
    "vqa_accuracy",
    "anls",
    "judge_acc",
)
YES, NO = "Yes", "No"
ANNOTATORS = 10
_NOTHING = "none"
"""It is 0 to the VQA challenge, and may be another answer."""
_WORDS: Final = {True: YES, False: NO, None: None}
_CHOICES: Final = {"A": YES, "B": NO}
_BY_NAME = {
    "TextVQA": VQA,
    "ChartQA": RELAXED,
    "OCRVQA": ACCURACY,
    "GQA": ACCURACY,
    "DocVQA": ANLS,
    "InfoVQA": ANLS,
}


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
        ``exact_match`` (see ``reading.text.open_answer``), ``vqa_match`` (after the VQA challenge's normalisation) and
        ``anls`` against the nearest reference; with ten references or more ``vqa_accuracy``; and ``relaxed_accuracy``
        or ``accuracy`` (equal except for case) if that is wanted.
    """
    one = [answer.strip()]
    read = open_answer(answer)
    values = {
        EXACT: float(any(open_answer(reference) == read for reference in references)),
        VQA_EQUAL: vqa_match(references, one),
    }
    if len(references) >= ANNOTATORS or wanted == VQA:
        values[VQA] = vqa_accuracy(references, one)
    if wanted == RELAXED:
        values[RELAXED] = relaxed_match(list(map(compared, references)), [compared(answer)])
    if wanted == ACCURACY:
        values[ACCURACY] = exact_match(references, one, ignore_case=True)
    # Lengths are those of texts with single spaces, as in VLMEvalKit.
    spaced = [with_single_spaces(reference) for reference in references]
    values[ANLS] = anls(spaced, [with_single_spaces(answer)]) if one[0] else 0.0
    return values


def compared_parts(answer: str) -> dict[str, str]:
    """The form in which metrics of ``by_rules`` compare an answer, for those that are equality."""
    folded = text_compared(answer.strip(), ignore_case=True)
    return {EXACT: open_answer(answer), VQA_EQUAL: normalised_answer(answer.strip()), ACCURACY: folded}


def by_published_rules(references: Sequence[str], answer: str, wanted: str = EXACT) -> dict[str, float]:
    """The same metrics as VLMEvalKit computes them: ``exact_match`` is ``vqa_match``, and texts are compared as they
    are written.
    """
    one = [answer.strip()]
    is_equal = vqa_match(references, one)
    values = {EXACT: is_equal, VQA_EQUAL: is_equal}
    if len(references) >= ANNOTATORS or wanted == VQA:
        values[VQA] = vqa_accuracy(references, one)
    if wanted == RELAXED:
        values[RELAXED] = relaxed_match(references, one)
    if wanted == ACCURACY:
        stripped = [reference.strip() for reference in references]
        values[ACCURACY] = as_written.exact_match(stripped, one, ignore_case=True)
    folded = [with_single_spaces(reference).lower() for reference in references]
    values[ANLS] = as_written.anls(folded, [with_single_spaces(answer).lower()]) if one[0] else 0.0
    return values


def needs_no_judge(references: Sequence[str], answer: str) -> bool:
    """Return whether an answer is right beyond doubt: it equals a reference, or differs from one in articles, number
    words and contractions alone. Equality by the VQA challenge's rule is no proof where signs or symbols differ (``5``,
    ``-5``), or nothing is left of the answer.
    """
    normalise = EvalAIAnswerProcessor()
    read, normalised = open_answer(answer), normalise(answer)

    def is_same(reference: str) -> bool:
        expected = open_answer(reference)
        if expected == read:
            return True
        is_alike = bool(normalised) and normalise(reference) == normalised and _NOTHING not in {read, expected}
        return is_alike and _signs(expected) == _signs(read)

    return any(map(is_same, references))


def _signs(text: str) -> list[str]:
    return [one for one in text if not (one.isalnum() or one.isspace() or one == "'")]


def by_judge(references: Sequence[str], answer: str, question: str, *, is_right: bool) -> float:
    """1 if the answer means the same as a reference: one that is right beyond doubt does, any other is graded by the
    judge.

    Raises:
        UnscoredError: if the request to the judge failed, or it gave no verdict.
    """
    if is_right or not shown(answer).strip():
        return float(is_right)
    judge = LLMJudge()
    return judge.get_score(judge(judge.build_prompt(answer, " or ".join(dict.fromkeys(references)), question)))


def is_yes_or_no(text: str) -> bool:
    """Return whether a reference is yes or no, in any case."""
    return text.strip().lower() in {YES.lower(), NO.lower()}


def infer_yes_or_no(answer: str) -> str | None:
    """``Yes`` or ``No``, whichever of the two words is in an answer; ``None`` for both and for neither.

    The rule of VLMEvalKit's ``YOrN_Extraction``: punctuation is removed as in the VQA challenge.
    """
    words = EvalAIAnswerProcessor().process_punctuation(answer.lower()).split()
    has_yes, has_no = YES.lower() in words, NO.lower() in words
    return None if has_yes == has_no else YES if has_yes else NO


def read_yes_or_no(
    answer: str, question: str, *, is_judged: bool, rules: Literal["own", "published"] = "own"
) -> OptionRead:
    """Read one answer by the rules, else by the judge. The option of the reading is ``Yes``, ``No`` or ``None``.

    Args:
        answer: The answer.
        question: The question, for the judge.
        is_judged: Whether to ask the judge if the rules find nothing.
        rules: Whose rules find the word: those of ``reading.yes_no``, or VLMEvalKit's.

    Raises:
        UnscoredError: if the request to the judge failed, or it gave no verdict.
    """
    word = infer_yes_or_no(answer) if rules == "published" else _WORDS[yes_no.read_yes_or_no(answer)]
    if word is not None:
        return OptionRead(word, "rules")
    if not is_judged or not shown(answer).strip():
        return OptionRead(None, "none")
    letter = ask_judge(answer, _CHOICES, question)
    return OptionRead(_CHOICES[letter] if letter else None, "judge")
