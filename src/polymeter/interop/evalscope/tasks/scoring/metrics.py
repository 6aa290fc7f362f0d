"""Scores of one sample and numbers from many, under the names that adapters import, and those that they list in
``metric_list``.

Where a published number depends on an odd rule, the rule is EvalScope's: ``exact_match`` takes text only, ``pass_at_k``
is not an unbiased estimate. What is computed lies in ``polymeter.metrics``; here are the names and the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import guest_context
from polymeter.core.names.installing import pip_install, python_command
from polymeter.metrics import maths
from polymeter.metrics.image_text import SCORERS, image_scorer
from polymeter.metrics.overlap import Rouge, bleu_of_order, distinct_rouge, rouge, segmented
from polymeter.metrics.words import is_chinese

_BLEU_ORDERS = (1, 2, 3, 4)
_ROUGE_PARTS = ("recall", "precision", "f1")
_MOST_TRIES = 16


def exact_match(gold: str, pred: str) -> int:
    """1 where both texts are the same but for white space around them, else 0; an empty prediction is never right."""
    return int(bool(pred) and gold.strip() == pred.strip())


def mean(arr: Sequence[Any]) -> float:
    """The plain mean; 0 of nothing. Where the first item is a list, all items are, and they are flattened first."""
    if not arr:
        return 0.0
    flat = [item for items in arr for item in items] if isinstance(arr[0], list) else arr
    return float(sum(flat) / len(flat))


def weighted_mean(items: Sequence[tuple[float, float]]) -> float:
    """``Σ a / Σ b`` over pairs ``(a, b)``.

    Raises:
        ValueError: if there are no pairs.
    """
    if not items:
        raise ValueError("There is no weighted mean of no pairs.")
    values, weights = zip(*items, strict=True)
    return float(sum(values) / sum(weights))


def pass_at_k(arr: Sequence[Any], k: int = 1) -> float:
    """The share of samples of which one of the first k answers is right.

    This is not an unbiased estimate from more than k answers: ``calculate_pass_at_k`` is.

    Args:
        arr: For each sample the list of its answers' scores; or one score for each sample, of which the mean is taken.
        k: How many answers count.
    """
    if not arr:
        return 0.0
    if not isinstance(arr[0], list):
        return mean(arr)
    return sum(1.0 if any(tries[:k]) else 0.0 for tries in arr) / len(arr)


def calculate_pass_at_k(num_samples: int | Sequence[int], num_correct: Sequence[int], k: int = 1) -> Any:
    """The unbiased estimate of pass@k for each problem: ``1 - C(n-c, k) / C(n, k)`` (Chen et al. 2021), as a product.

    Args:
        num_samples: Answers to each problem, or to every problem.
        num_correct: Of them right, for each problem.
        k: How many answers one may give.

    Returns:
        A NumPy array, one value for each problem.

    Raises:
        ValueError: if the two sequences differ in length.
    """
    import numpy as np

    counts = [num_samples] * len(num_correct) if isinstance(num_samples, int) else list(num_samples)
    return np.array([pass_at_k_of(int(n), int(c), k) for n, c in zip(counts, num_correct, strict=True)])


def pass_at_k_of(n: int, c: int, k: int) -> float:
    """pass@k of one problem with c right answers of n."""
    return 1.0 if n - c < k else float(1.0 - prod(1.0 - k / i for i in range(n - c + 1, n + 1)))


def simple_f1_score(scores: tuple[Sequence[float], Sequence[float]]) -> float:
    """The harmonic mean of the means of two lists; an empty list has the mean 0."""
    first, second = (sum(part) / len(part) if len(part) else 0.0 for part in scores)
    return float(2 * first * second / (first + second)) if first or second else 0.0


def micro_mean(items: Sequence[Any]) -> float:
    """The mean of ``.score`` weighted by ``.num``, over those that have a score; 0 where nothing was counted.

    A score of NaN is none: it is left out and not zero. Where no item has one, neither has the mean.
    """
    return _mean_of_scores(items, [item.num for item in items])


def macro_mean(items: Sequence[Any]) -> float:
    """The plain mean of ``.score`` over those that have one, 0 of nothing; NaN is treated as ``micro_mean`` does."""
    return _mean_of_scores(items, [1] * len(items))


def bleu_ngram_one_sample(predict: str, reference: str) -> dict[str, float]:
    """BLEU of each n-gram order alone, not accumulated: ``bleu-1`` to ``bleu-4``."""
    predicted, expected = _words(predict), _words(reference)
    return {f"bleu-{n}": bleu_of_order(expected, predicted, n) for n in _BLEU_ORDERS}


def extract_answer(pred_str: str, use_last_number: bool = True) -> str:
    """The final answer in a model's text; see ``polymeter.metrics.maths``."""
    return maths.extract_answer(pred_str, use_last_number, repeats_last_scale=guest_context().parity.on("number-words"))


def strip_answer_string(string: object) -> str:
    """An answer in normalised form; see ``polymeter.metrics.maths``."""
    return maths.strip_answer_string(string, repeats_last_scale=guest_context().parity.on("number-words"))


def math_equal(
    prediction: str | None,
    reference: str | None,
    include_percentage: bool = True,
    is_close: bool = True,
    timeout: bool = False,
) -> bool:
    """Return whether an answer equals the reference; see ``polymeter.metrics.maths``."""
    latex_first = guest_context().parity.on("latex-first")
    return maths.math_equal(prediction, reference, include_percentage, is_close, timeout, latex_first)


def compute_rouge_score_one_sample(predict: Sequence[str], reference: Sequence[str]) -> dict[str, float]:
    """ROUGE-1, -2 and -L of words separated by white space: ``rouge-1-r``, ``rouge-1-p``, ``rouge-1-f``, …. With parity
    recall and precision are exchanged, as there.

    Args:
        predict: Predictions; of several the last counts.
        reference: As many references.
    """
    scores: dict[str, float] = {}
    letters = "prf" if guest_context().parity.on("rouge-parts") else "rpf"
    for answer, expected in zip(predict, reference, strict=False):
        for kind, value in rouge(expected.split(), answer.split()).items():
            scores.update(_rouge_parts(f"rouge-{kind}", value, letters))
    return scores


def compute_rouge_score_one_sample_zh(predict: Sequence[str], reference: Sequence[str]) -> dict[str, float]:
    """ROUGE-1, -2 and -L of distinct n-grams, Chinese cut into words: ``Rouge-1-R``, ``Rouge-1-P``, ``Rouge-1-F``, ….

    An empty prediction scores 0 throughout; with parity it has no scores, as there.

    Args:
        predict: Predictions; of several the last counts.
        reference: As many references.

    Raises:
        PlanError: if a text is Chinese and ``jieba`` is not installed.
    """
    scores: dict[str, float] = {}
    for answer, expected in zip(predict, reference, strict=False):
        if not (answer.strip() and expected.strip()) and guest_context().parity.on("rouge-empty"):
            continue
        for kind, value in distinct_rouge(expected, answer).items():
            scores.update(_rouge_parts(f"Rouge-{kind.upper()}", value, "RPF"))
    return scores


def compute_rouge_score(predict_l: Sequence[Any], reference_l: Sequence[Any]) -> dict[str, float]:
    """The mean of ``compute_rouge_score_one_sample`` over samples, in percent; zeros of nothing.

    Args:
        predict_l: For each sample its list of predictions.
        reference_l: For each sample its list of references.

    Raises:
        ValueError: if the lists differ in length.
    """
    rows = [compute_rouge_score_one_sample(p, r) for p, r in zip(predict_l, reference_l, strict=True)]
    names = [f"rouge-{kind}-{part}" for kind in ("1", "2", "l") for part in "rpf"]
    return {name: 100 * mean([row[name] for row in rows]) for name in names}


@dataclass
class Metric:
    """An aggregation by name: the scores of a subset's samples in, one number out. The nine image scorers are the
    exception: their ``object`` makes a scorer, which an adapter calls in ``match``.

    Attributes:
        name: Under which benchmarks list it.
        object: From a list of scores to a number; for an image scorer, a maker of one.
    """

    name: str = "default_metric"
    object: Callable[..., Any] = mean


class MetricRegistry:
    """Metrics by the names that benchmarks list. Adapters may add theirs; the last one of a name counts."""

    def __init__(self) -> None:
        self.metrics: dict[str, Metric] = {}

    def register(self, metric: Metric) -> None:
        """Add a metric under its name."""
        self.metrics[metric.name] = metric

    def get(self, name: str) -> Metric:
        """The metric of that name.

        Raises:
            PlanError: if there is none; the nearest ones are named.
        """
        metric = self.metrics.get(name)
        if metric is None:
            hint = did_you_mean(name, self.metrics) or f"Known: {', '.join(self.metrics)}."
            raise PlanError(f"There is no metric {name!r}.", where="metric_list", hint=hint)
        return metric

    def list_metrics(self) -> list[str]:
        """All names, in the order in which they were added."""
        return list(self.metrics)


def _built_in() -> MetricRegistry:
    registry = MetricRegistry()
    for name in ("AverageAccuracy", "AverageBLEU", "AverageRouge", "AveragePass@1"):
        registry.register(Metric(name, mean))
    for name in ("WeightedAverageAccuracy", "WeightedAverageBLEU"):
        registry.register(Metric(name, weighted_mean))
    for k in range(1, _MOST_TRIES + 1):
        registry.register(Metric(f"Pass@{k}", partial(pass_at_k, k=k)))
    for name in SCORERS:
        registry.register(Metric(name, partial(image_scorer, name)))
    return registry


def _words(text: str) -> list[str]:
    """The words of a text; with parity those of English are NLTK's, whose trained data decide where a sentence ends.

    Raises:
        PlanError: with parity, if NLTK or its data is missing.
    """
    if is_chinese(text) or not guest_context().parity.on("bleu-words"):
        return segmented(text)
    return words_of_nltk(text)


def words_of_nltk(text: str) -> list[str]:
    """The words of an English text as NLTK finds them.

    Raises:
        PlanError: if NLTK or its data is missing.
    """
    try:
        from nltk import word_tokenize

        return list(word_tokenize(text))
    except (ModuleNotFoundError, LookupError) as error:
        raise PlanError(
            "BLEU at parity with EvalScope needs NLTK and its data punkt_tab.",
            hint=f"Install them with: {pip_install('nltk')} && {python_command()} -m nltk.downloader punkt_tab",
        ) from error


def _mean_of_scores(items: Sequence[Any], weights: Sequence[float]) -> float:
    scored = [(item.score, weight) for item, weight in zip(items, weights, strict=True) if item.score == item.score]
    if items and not scored:
        return float("nan")
    total = sum(weight for _, weight in scored)
    return sum(score * weight for score, weight in scored) / total if total else 0.0


def _rouge_parts(name: str, value: Rouge, letters: str) -> dict[str, float]:
    return {f"{name}-{letter}": getattr(value, part) for letter, part in zip(letters, _ROUGE_PARTS, strict=True)}


metric_registry = _built_in()
