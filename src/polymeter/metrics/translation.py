"""Corpus metrics of translation, by sacreBLEU with its default settings.

The value of a sample is ``(references, prediction)``. The score is that of the whole corpus, not a mean over sentences.
The contributions of a sentence (n-gram matches, edits, lengths) are extracted once and resampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import UnscoredError
from polymeter.core.metric import Aggregation, Metric
from polymeter.metrics.references import one_prediction
from polymeter.stats.additive import Additive

_LONGEST = 200_000
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


def _corpus_score(scorer: Callable[[], Any]) -> Callable[[Sequence[Pair]], float]:
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


BLEU_AGGREGATION = Aggregation("bleu", _corpus_score(_bleu), resamples=200, bounds=(0.0, 100.0))
CHRF_AGGREGATION = Aggregation("chrf", _corpus_score(_chrf), resamples=200, bounds=(0.0, 100.0))
CHRF_WITH_WORDS_AGGREGATION = Aggregation("chrf++", _corpus_score(_chrf_with_words), resamples=200, bounds=(0.0, 100.0))
TER_AGGREGATION = Aggregation("ter", _corpus_score(_ter), resamples=200, bounds=(0.0, None))

_PAIR = {"generate_until": "reference and prediction"}
BLEU = Metric("bleu", "bleu", score=references_and_prediction, values=_PAIR)
CHRF = Metric("chrf", "chrf", score=references_and_prediction, values=_PAIR)
TER = Metric("ter", "ter", higher_is_better=False, score=references_and_prediction, values=_PAIR)
