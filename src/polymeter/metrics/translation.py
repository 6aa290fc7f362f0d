"""Corpus metrics of translation, by sacreBLEU with its default settings or with a task's.

The value of a sample is ``(references, prediction)``. The score is that of the whole corpus, not a mean over sentences.
The contributions of a sentence (n-gram matches, edits, lengths) are extracted once and resampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import PlanError, UnscoredError, boundary
from polymeter.core.metric import Aggregation, Metric
from polymeter.core.names.installing import pip_install
from polymeter.metrics.arguments import check_choice, check_flag, check_number
from polymeter.metrics.references import one_prediction
from polymeter.stats.additive import Additive

_LONGEST = 200_000
_PACKAGES: Mapping[str, str] = {
    "ja-mecab": "sacrebleu[ja]",
    "ko-mecab": "sacrebleu[ko]",
    **dict.fromkeys(("flores101", "flores200"), "sentencepiece"),
}
TOKENIZERS = ("13a", "intl", "char", "zh", "none", *_PACKAGES)
_LARGEST_ORDER = 100
Pair = tuple["str | Sequence[str]", "str | Sequence[str]"]


def references_and_prediction(
    references: Sequence[str], predictions: Sequence[str]
) -> tuple[str | tuple[str, ...], str]:
    """Return ``(reference, prediction)`` of a sample, with a tuple of references if it has several.

    Raises:
        UnscoredError: if the prediction is so long that the corpus metric would take hours for it alone.
    """
    prediction = one_prediction(references, predictions)
    if isinstance(prediction, str) and len(prediction) > _LONGEST:
        raise UnscoredError(
            f"The answer has {len(prediction):,} characters, too many for a corpus metric ({_LONGEST:,} at most)."
        )
    return (references[0] if len(references) == 1 else tuple(references)), prediction


def corpus(values: Sequence[Pair]) -> tuple[list[str], list[list[str | None]]]:
    """Return predictions and streams of references for sacreBLEU. Samples may differ in their number of references.

    Raises:
        TypeError: if a reference or prediction is not text.
        ValueError: if a sample has no reference, or not exactly one prediction.
    """
    predictions: list[str] = []
    references: list[list[str]] = []
    for own_references, answer in values:
        answers = _checked_texts(answer)
        if len(answers) != 1:
            raise ValueError(f"A sample has {len(answers)} predictions instead of one.")
        predictions += answers
        references.append(_checked_texts(own_references))
        if not references[-1]:
            raise ValueError("A sample has no reference.")
    width = max(map(len, references), default=0)
    streams = [[texts[i] if i < len(texts) else None for texts in references] for i in range(width)]
    return predictions, streams


def corpus_score(scorer: Callable[[], Any]) -> Callable[[Sequence[Pair]], float]:
    """Return an aggregation from the factory of one of sacreBLEU's metrics.

    sacreBLEU 2 itself resamples with two protected methods of its ``Metric`` base class, but not by cluster and not
    with the run's seed. With another version, each resample is scored from scratch, which gives the same values more
    slowly.
    """
    if not version("sacrebleu").startswith("2."):
        return lambda values: float(scorer().corpus_score(*corpus(values)).score)

    def terms(values: Sequence[Pair]) -> NDArray[np.float64]:
        return np.asarray(scorer()._extract_corpus_statistics(*corpus(values)), dtype=np.float64)

    def score(totals: Sequence[float]) -> float:
        return float(scorer()._compute_score_from_stats(list(totals)).score)

    return Additive(terms, score)


def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU()


def _chrf() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _chrf_with_words() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=2)


def _ter() -> Any:
    from sacrebleu.metrics.ter import TER

    return TER()


def _checked_texts(value: str | Sequence[str]) -> list[str]:
    texts = [value] if isinstance(value, str) else list(value)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"A translation must be text, not {type(text).__name__}.")
    return texts


BLEU_AGGREGATION = Aggregation("bleu", corpus_score(_bleu), resamples=200, bounds=(0.0, 100.0))
CHRF_AGGREGATION = Aggregation("chrf", corpus_score(_chrf), resamples=200, bounds=(0.0, 100.0))
CHRF_WITH_WORDS_AGGREGATION = Aggregation("chrf++", corpus_score(_chrf_with_words), resamples=200, bounds=(0.0, 100.0))
TER_AGGREGATION = Aggregation("ter", corpus_score(_ter), resamples=200, bounds=(0.0, None))


def bleu_aggregation(tokenize: str = "13a", lowercase: bool = False, effective_order: bool = False) -> Aggregation:
    """Return corpus BLEU (Papineni et al. 2002; Post 2018) with other settings.

    Args:
        tokenize: A tokenizer of sacreBLEU, such as ``zh`` for Chinese.
        lowercase: Fold letter case.
        effective_order: Ignore orders of n-grams without any match, which short texts need.

    Raises:
        PlanError: if an argument has no such value, or the tokenizer's package is not installed.
    """
    from sacrebleu.metrics.bleu import BLEU

    check_choice("bleu", "tokenize", tokenize, TOKENIZERS)
    check_flag("bleu", "lowercase", lowercase)
    check_flag("bleu", "effective_order", effective_order)
    _check_tokenizer(tokenize)
    return _with(
        BLEU_AGGREGATION,
        lambda: BLEU(tokenize=tokenize, lowercase=lowercase, effective_order=effective_order, force=True),
    )


def chrf_aggregation(char_order: int = 6, word_order: int = 0, beta: int = 2) -> Aggregation:
    """Return corpus chrF (Popović 2015) with other settings; with a ``word_order`` of 2, it is chrF++ (Popović 2017).

    Args:
        char_order: The longest n-grams of characters.
        word_order: The longest n-grams of words.
        beta: The weight of recall against precision.

    Raises:
        PlanError: if an argument has no such value.
    """
    from sacrebleu.metrics.chrf import CHRF

    check_number("chrf", "char_order", char_order, 1, _LARGEST_ORDER, whole=True)
    check_number("chrf", "word_order", word_order, 0, _LARGEST_ORDER, whole=True)
    check_number("chrf", "beta", beta, 1, _LARGEST_ORDER, whole=True)
    return _with(CHRF_AGGREGATION, lambda: CHRF(char_order=char_order, word_order=word_order, beta=beta))


def ter_aggregation(
    normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Aggregation:
    """Return corpus TER (Snover et al. 2006) with other settings.

    Args:
        normalized: Separate punctuation and symbols from words.
        no_punct: Remove punctuation.
        asian_support: With ``normalized`` or ``no_punct``, do this for Chinese and Japanese too.
        case_sensitive: Keep letter case.

    Raises:
        PlanError: if an argument is neither true nor false.
    """
    from sacrebleu.metrics.ter import TER

    settings: dict[str, Any] = {
        "normalized": normalized,
        "no_punct": no_punct,
        "asian_support": asian_support,
        "case_sensitive": case_sensitive,
    }
    for argument, value in settings.items():
        check_flag("ter", argument, value)
    return _with(TER_AGGREGATION, lambda: TER(**settings))


def _with(aggregation: Aggregation, scorer: Callable[[], Any]) -> Aggregation:
    # Some tokenizers read a model, so the scorer is made once for all resamples.
    return replace(aggregation, aggregate=corpus_score(cache(scorer)))


def _check_tokenizer(name: str) -> None:
    from sacrebleu.metrics.bleu import BLEU

    package = _PACKAGES.get(name)
    if package is None:
        return
    with boundary(PlanError, f"Preparing the tokenizer {name!r} of metric 'bleu'"):
        try:
            BLEU(tokenize=name, force=True)
        except (ImportError, RuntimeError) as error:  # sacreBLEU reports missing packages by both
            raise PlanError(
                f"The tokenizer {name!r} of metric 'bleu' needs packages that are not installed.",
                hint=f"Install them with: {pip_install(package)}",
            ) from error


_PAIR = {"generate_until": "reference and prediction"}
BLEU = Metric("bleu", "bleu", score=references_and_prediction, values=_PAIR, aggregation_with=bleu_aggregation)
CHRF = Metric("chrf", "chrf", score=references_and_prediction, values=_PAIR, aggregation_with=chrf_aggregation)
TER = Metric(
    "ter",
    "ter",
    higher_is_better=False,
    score=references_and_prediction,
    values=_PAIR,
    aggregation_with=ter_aggregation,
)
