"""Overlap of a text with a reference: BLEU of one sentence, and ROUGE in two variants.

``translation`` has BLEU of a corpus. Of the two variants of ROUGE, ``rouge`` counts every occurrence of an n-gram, and
``distinct_rouge`` counts each n-gram once.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from polymeter.metrics.bounded import bounded
from polymeter.metrics.words import chinese_words, english_words, is_chinese

_SMALL = 1e-8
# A sentence ends after its mark, or after the closing quote behind the mark; the second group begins the next one.
_BREAKS = tuple(
    map(re.compile, (r"([。！？?])([^”’])", r"(\.{6})([^”’])", r"(…{2})([^”’])", r"([。！？?][”’])([^，。！？?])"))
)


@dataclass(frozen=True, slots=True)
class Rouge:
    """Recall (the share of the reference that is in the text), precision (the share of the text in the reference), and
    their F-measure.
    """

    recall: float
    precision: float
    f1: float


@bounded
def segmented(text: str) -> list[str]:
    """Split a text into words: by ``jieba`` if it contains Chinese, else by the conventions of the Penn Treebank."""
    return chinese_words(text) if is_chinese(text) else english_words(text)


@bounded
def bleu_of_order(reference: Sequence[str], words: Sequence[str], n: int) -> float:
    """Compute BLEU of one sentence for one order of n-grams (Papineni et al. 2002).

    ``penalty · clipped matches / n-grams``, with the brevity penalty ``exp(1 - r/c)`` if the sentence is shorter. It is
    not smoothed, as in NLTK: no word in common gives 0, and no n-gram in common gives the smallest positive number.

    Args:
        reference: Words of the reference.
        words: Words of the sentence.
        n: Length of the n-grams.
    """
    if not _common(reference, words, 1):
        return 0.0
    matches, count = _common(reference, words, n), max(1, len(words) - n + 1)
    precision = matches / count if matches else sys.float_info.min
    penalty = 1.0 if len(words) > len(reference) else math.exp(1 - len(reference) / len(words))
    return penalty * math.exp(math.log(precision))


@bounded
def rouge(reference: Sequence[str], words: Sequence[str]) -> dict[str, Rouge]:
    """Compute ROUGE-1, -2 and -L (Lin 2004) of two lists of words, with the keys ``1``, ``2`` and ``l``.

    Counts of n-grams are clipped, and L uses the longest common subsequence of the whole texts, as in ``rouge_score``.
    """
    scores = {}
    for n in (1, 2):
        common = _common(reference, words, n)
        scores[str(n)] = _rouge(common, max(len(reference) - n + 1, 1), max(len(words) - n + 1, 1))
    scores["l"] = _rouge(_longest(reference, words), max(len(reference), 1), max(len(words), 1))
    return scores


@bounded
def distinct_rouge(reference: str, text: str) -> dict[str, Rouge]:
    """Compute ROUGE-1, -2 and -L of distinct n-grams, with the keys ``1``, ``2`` and ``l``, as in ``rouge_chinese``.

    ``jieba`` splits a text that contains Chinese into words; in others, white space separates words. 1e-8 is added to
    the denominator of the F-measure. An empty text or reference gives zeros.

    Raises:
        PlanError: if a text is Chinese and ``jieba`` is not installed.
    """
    reference_words, words = _spaced_words(reference), _spaced_words(text)
    scores = {}
    for n in (1, 2):
        expected, actual = set(_ngrams(reference_words, n)), set(_ngrams(words, n))
        scores[str(n)] = _soft_rouge(len(expected & actual), expected, actual)
    scores["l"] = _soft_rouge(_longest(reference_words, words), reference_words, words)
    return scores


def _spaced_words(text: str) -> list[str]:
    """Return words separated by white space, sentence by sentence. A line of spaces is one empty word."""
    if is_chinese(text):
        text = " ".join(chinese_words(text))
    for pattern in _BREAKS:
        text = pattern.sub(r"\1\n\2", text)
    lines = [line for line in text.rstrip().split("\n") if line]
    return [word for line in lines for word in (line.split() or [""])]


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def _common(reference: Sequence[str], words: Sequence[str], n: int) -> int:
    return (Counter(_ngrams(reference, n)) & Counter(_ngrams(words, n))).total()


def _longest(reference: Sequence[str], words: Sequence[str]) -> int:
    from rapidfuzz.distance import LCSseq

    return int(LCSseq.similarity(reference, words))


def _rouge(common: int, in_reference: int, in_text: int) -> Rouge:
    recall, precision = common / in_reference, common / in_text
    return Rouge(recall, precision, 2 * precision * recall / (precision + recall) if common else 0.0)


def _soft_rouge(common: int, expected: Collection[object], actual: Collection[object]) -> Rouge:
    recall, precision = (common / len(part) if part else 0.0 for part in (expected, actual))
    return Rouge(recall, precision, 2.0 * (precision * recall / (precision + recall + _SMALL)))
