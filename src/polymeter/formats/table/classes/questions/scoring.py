"""How an open answer is held against the gold ones."""

from __future__ import annotations

from collections.abc import Sequence

from polymeter.judge import LLMJudge
from polymeter.metrics.text import anls, exact_match
from polymeter.metrics.vqa import normalised_match, relaxed_match, vqa_accuracy

EXACT, ACCURACY, RELAXED, VQA, ANLS, JUDGED = (
    "exact_match",
    "accuracy",
    "relaxed_accuracy",
    "vqa_accuracy",
    "anls",
    "judge_acc",
)
ANNOTATORS = 10
_BY_NAME = {
    "TextVQA": VQA,
    "ChartQA": RELAXED,
    "OCRVQA": ACCURACY,
    "GQA": ACCURACY,
    "DocVQA": ANLS,
    "InfoVQA": ANLS,
}


def main_metric(dataset: str) -> str:
    """The metric by which the field reports a dataset, told by its name as VLMEvalKit does; else ``exact_match``."""
    return next((metric for part, metric in _BY_NAME.items() if part in dataset), EXACT)


def by_rules(golds: Sequence[str], answer: str, wanted: str = EXACT) -> dict[str, float]:
    """Everything that needs no judge.

    Args:
        golds: The answers that are right.
        answer: The model's.
        wanted: The metric by which the dataset is reported.

    Returns:
        ``exact_match`` (after the VQA challenge's normalisation) and ``anls`` against the nearest gold; with ten golds
        or more ``vqa_accuracy``; and ``relaxed_accuracy`` or ``accuracy`` (equal but for case) where that is wanted.
    """
    one = [answer.strip()]
    values = {EXACT: normalised_match(golds, one)}
    if len(golds) >= ANNOTATORS or wanted == VQA:
        values[VQA] = vqa_accuracy(golds, one)
    if wanted == RELAXED:
        values[RELAXED] = relaxed_match(golds, one)
    if wanted == ACCURACY:
        values[ACCURACY] = exact_match([gold.strip() for gold in golds], one, ignore_case=True)
    # Lengths are those of the folded texts, as in VLMEvalKit.
    values[ANLS] = anls([_folded(gold) for gold in golds], [_folded(answer)]) if answer.strip() else 0.0
    return values


def by_judge(golds: Sequence[str], answer: str, question: str, *, is_exact: bool) -> float:
    """1 where the answer means the same as a gold: an exact match does, anything else is graded by the judge.

    Raises:
        UnscoredError: The judge could not be asked, or gave no verdict.
    """
    if is_exact or not answer.strip():
        return float(is_exact)
    judge = LLMJudge()
    return judge.get_score(judge(judge.build_prompt(answer, " or ".join(dict.fromkeys(golds)), question)))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
