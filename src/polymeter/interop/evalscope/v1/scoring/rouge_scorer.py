"""ROUGE as the package ``rouge_score`` gives it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polymeter.metrics.overlap import rouge

_WORD = re.compile(r"[^a-z0-9]+")
_KINDS = {"rouge1": "1", "rouge2": "2", "rougeL": "l"}


class RougeScore(NamedTuple):
    """The parts of a ROUGE score."""

    precision: float
    recall: float
    fmeasure: float


class RougeScorer:
    """Scores of texts against references.

    Args:
        rouge_types: Of ``rouge1``, ``rouge2`` and ``rougeL``.
        use_stemmer: Not supported.
        split_summaries: Only of use to ``rougeLsum``, which is not supported.
        tokenizer: An object with ``tokenize(text)``; default: the ASCII letters and digits, in small letters.

    Raises:
        ValueError: if something is not supported.
    """

    def __init__(
        self,
        rouge_types: Sequence[str],
        use_stemmer: bool = False,
        split_summaries: bool = False,
        tokenizer: Any = None,
    ) -> None:
        unknown = [name for name in rouge_types if name not in _KINDS]
        if unknown or use_stemmer:
            what = f"rouge type {unknown[0]!r}" if unknown else "stemming"
            raise ValueError(f"RougeScorer does not support {what}; it knows {', '.join(_KINDS)}.")
        self.rouge_types = list(rouge_types)
        self._words: Callable[[str], list[str]] = tokenizer.tokenize if tokenizer else _words

    def score(self, target: str, prediction: str) -> dict[str, RougeScore]:
        """The scores of a prediction by type."""
        scores = rouge(self._words(target), self._words(prediction))
        of_type = ((name, scores[_KINDS[name]]) for name in self.rouge_types)
        return {name: RougeScore(value.precision, value.recall, value.f1) for name, value in of_type}

    def score_multi(self, targets: Sequence[str], prediction: str) -> dict[str, RougeScore]:
        """The best scores of a prediction over several references, by their F-measure."""
        scores = [self.score(target, prediction) for target in targets]
        return {name: max((each[name] for each in scores), key=lambda s: s.fmeasure) for name in self.rouge_types}


def _words(text: str) -> list[str]:
    return [word for word in _WORD.sub(" ", text.lower()).split() if word]
