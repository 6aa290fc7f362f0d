"""CIDEr-D of captions: agreement on n-grams that are rare in the references of the corpus."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polymeter.core.metric import Aggregation, Metric
from polymeter.metrics.arguments import check_choice
from polymeter.metrics.translation import Pair, references_and_prediction
from polymeter.metrics.words import english_words
from polymeter.stats.additive import Additive

_LONGEST_NGRAM = 4
_SIGMA = 6.0
_SCALE = 10.0
# What the authors' tokenizer removes, besides brackets.
_PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "(", ")", "{", "}", "[", "]", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
Ngram = tuple[str, ...]


def _words(text: str) -> list[str]:
    return [word for word in english_words(text.lower()) if word not in _PUNCTUATION]


def _characters(text: str) -> list[str]:
    return [character for character in text.lower() if not character.isspace()]


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"words": _words, "chars": _characters}


def cider_scores(values: Sequence[Pair], tokenizer: str = "words") -> list[float]:
    """Compute CIDEr-D of each sample (Vedantam et al. 2015, sections 3 and 4).

    ``10 / N · Σ_n 1/m · Σ_j exp(-(l(c) - l(s_j))² / (2 · 6²)) · min(g_n(c), g_n(s_j)) · g_n(s_j) / (|g_n(c)| ·
    |g_n(s_j)|)`` for ``n`` from 1 to ``N = 4`` and the ``m`` references ``s_j`` of a sample. ``g_n`` holds the n-grams'
    counts times ``log(samples / samples with the n-gram in a reference)``. As in the authors' code, counts are not
    divided by the length, no stemmer is used, and ``l`` is the number of bigrams.

    Args:
        values: The references and the prediction of each sample, all samples of the corpus.
        tokenizer: ``words``: those of the Penn Treebank in lower case, without punctuation; ``chars``: characters.

    Returns:
        From 0 to 10 for each sample. With one sample, no n-gram is rare and the score is 0.
    """
    split = TOKENIZERS[tokenizer]
    references = [[_ngrams(split(text)) for text in _texts(own)] for own, _ in values]
    answers = [_ngrams(split(_texts(answer)[0])) for _, answer in values]
    frequency = Counter(ngram for own in references for ngram in {ngram for counts in own for ngram in counts})
    rarity = {ngram: math.log(len(values)) - math.log(count) for ngram, count in frequency.items()}
    weigh = partial(_Weighted, rarity=rarity, unseen=math.log(len(values)) if values else 0.0)
    return [
        _SCALE * sum(_similarity(weigh(answer), weigh(one)) for one in own) / len(own)
        for answer, own in zip(answers, references, strict=True)
    ]


class _Weighted:
    """The n-grams of a text with their weights, one mapping for each length."""

    def __init__(self, counts: Mapping[Ngram, int], *, rarity: Mapping[Ngram, float], unseen: float) -> None:
        self.by_length: list[dict[Ngram, float]] = [{} for _ in range(_LONGEST_NGRAM)]
        for ngram, count in counts.items():
            self.by_length[len(ngram) - 1][ngram] = count * rarity.get(ngram, unseen)
        self.norms = [math.sqrt(math.fsum(weight**2 for weight in own.values())) for own in self.by_length]
        self.n_bigrams = sum(count for ngram, count in counts.items() if len(ngram) == 2)


def _similarity(answer: _Weighted, reference: _Weighted) -> float:
    """Return the mean over the lengths of n-grams of the cosine, clipped and with the penalty for lengths."""
    penalty = math.exp(-((answer.n_bigrams - reference.n_bigrams) ** 2) / (2 * _SIGMA**2))
    total = 0.0
    for n in range(_LONGEST_NGRAM):
        own, other = answer.by_length[n], reference.by_length[n]
        norm = answer.norms[n] * reference.norms[n]
        if norm:
            shared = math.fsum(
                min(weight, other[ngram]) * other[ngram] for ngram, weight in own.items() if ngram in other
            )
            total += penalty * shared / norm
    return total / _LONGEST_NGRAM


def _ngrams(words: Sequence[str]) -> Counter[Ngram]:
    return Counter(
        tuple(words[start : start + n]) for n in range(1, _LONGEST_NGRAM + 1) for start in range(len(words) - n + 1)
    )


def _texts(value: str | Sequence[str]) -> list[str]:
    texts = [value] if isinstance(value, str) else list(value)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise TypeError("A caption must be text.")
    return texts


def _mean(totals: Sequence[float]) -> float:
    return totals[0] / totals[1]


def cider_aggregation(tokenizer: str = "words") -> Aggregation:
    """Return the mean of CIDEr-D over the corpus.

    Resamples keep the rarity of n-grams in the whole corpus, so the error is that of the captions.

    Args:
        tokenizer: See ``cider_scores``.

    Raises:
        PlanError: if the tokenizer is unknown.
    """
    check_choice("cider", "tokenizer", tokenizer, TOKENIZERS)

    def terms(values: Sequence[Pair]) -> NDArray[np.float64]:
        scores = cider_scores(values, tokenizer)
        return np.stack([np.asarray(scores, dtype=np.float64), np.ones(len(scores))], axis=1)

    return Aggregation("cider", Additive(terms, _mean), bounds=(0.0, _SCALE))


CIDER_AGGREGATION = cider_aggregation()

CIDER = Metric(
    "cider",
    "cider",
    score=references_and_prediction,
    values={"generate_until": "reference and prediction"},
    aggregation_with=cider_aggregation,
    only_computed=True,
)
