"""Word and character error rates of a corpus, with named normalisers of transcripts.

``text`` has ``wer`` and ``cer``, whose means over samples give a short text as much weight as a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import PlanError
from polymeter.core.metric import Aggregation, Metric
from polymeter.core.names.installing import pip_install
from polymeter.metrics.arguments import check_choice
from polymeter.metrics.bounded import bounded
from polymeter.metrics.chinese_speech import TextNorm
from polymeter.metrics.references import one_prediction
from polymeter.metrics.speech import BasicTextNormalizer, EnglishTextNormalizer
from polymeter.reading.text import compared, with_single_spaces
from polymeter.stats.additive import Additive

_MAKERS: dict[str, Callable[[], Callable[[str], str]]] = {
    "none": lambda: str,
    "basic": BasicTextNormalizer,
    "whisper_english": EnglishTextNormalizer,
    "chinese": lambda: TextNorm(to_banjiao=True, to_upper=True, remove_space=True),
}
NORMALIZERS = tuple(_MAKERS)


def corpus_wer(references: Sequence[Any], predictions: Sequence[Any], normalizer: str = "none") -> tuple[float, float]:
    """Count the word edits of a sample and the words of its reference.

    The rate of the corpus is ``Σ (S + D + I) / Σ N``: substitutions, deletions and insertions over words of the
    references (Morris et al. 2004, section 2). White space separates words. Of several references, the one with the
    smallest rate counts.

    Args:
        references: The references.
        predictions: The answer.
        normalizer: ``none``; ``basic`` (lower case, no symbols or bracketed parts) or ``whisper_english``, both of
            Radford et al. 2022, appendix C; for ``corpus_cer`` also ``chinese``, SpeechIO's.

    Returns:
        The edits and the words.
    """
    return _edits(references, predictions, normalizer, split=True)


def corpus_cer(references: Sequence[Any], predictions: Sequence[Any], normalizer: str = "none") -> tuple[float, float]:
    """Count the character edits of a sample and the characters of its reference; otherwise like ``corpus_wer``. Single
    spaces between words count as characters.
    """
    return _edits(references, predictions, normalizer, split=False)


def check_wer(normalizer: Any = "none") -> None:
    """Check that a normaliser exists and can be used for words.

    Raises:
        PlanError: if it does not, or its package is not installed.
    """
    _check("corpus_wer", normalizer)
    if normalizer == "chinese":
        raise PlanError("Metric 'corpus_wer' has no words in Chinese text.", hint="Use corpus_cer.")


def check_cer(normalizer: Any = "none") -> None:
    """Check that a normaliser exists and can be used.

    Raises:
        PlanError: if it does not, or its package is not installed.
    """
    _check("corpus_cer", normalizer)


def _check(metric: str, normalizer: Any) -> None:
    check_choice(metric, "normalizer", normalizer, NORMALIZERS)
    try:
        _normalizer(normalizer)
    except ModuleNotFoundError as error:
        raise PlanError(
            f"Metric {metric!r} needs a package for normalizer {normalizer!r}, which is not installed.",
            hint=f"Install it with: {pip_install('whisper-normalizer')}",
        ) from error


@lru_cache(maxsize=len(_MAKERS))  # whisper_english reads a table of spellings; a normaliser has no state
def _normalizer(name: str) -> Callable[[str], str]:
    return _MAKERS[name]()


@bounded
def _edits(
    references: Sequence[Any], predictions: Sequence[Any], normalizer: str, *, split: bool
) -> tuple[float, float]:
    from rapidfuzz.distance import Levenshtein

    normalize = _normalizer(normalizer)

    def units(value: Any) -> str | list[str]:
        text = with_single_spaces(normalize(compared(str(value))))
        return text.split() if split else text

    answer = units(one_prediction(references, predictions))
    targets = [units(reference) for reference in references]
    pairs = [(float(Levenshtein.distance(target, answer)), float(len(target))) for target in targets]
    return min(pairs, key=lambda pair: pair[0] / max(pair[1], 1.0))


def _terms(values: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """Return edits and length of each sample, shape ``(n, 2)``."""
    terms = np.asarray(values, dtype=np.float64)
    if terms.ndim != 2 or terms.shape[1] != 2:
        raise ValueError("Each value must be a pair of edits and length.")
    return terms


def _rate(totals: Sequence[float]) -> float:
    # Without any reference text, each insertion is an error, as in wer.
    return totals[0] / max(totals[1], 1.0)


ERROR_RATE_AGGREGATION = Aggregation("error_rate", Additive(_terms, _rate), bounds=(0.0, None))

CORPUS_WER = Metric(
    "corpus_wer",
    "error_rate",
    higher_is_better=False,
    score=corpus_wer,
    values={"generate_until": "edits and length"},
    check=check_wer,
    only_computed=True,
)
CORPUS_CER = Metric(
    "corpus_cer",
    "error_rate",
    higher_is_better=False,
    score=corpus_cer,
    values={"generate_until": "edits and length"},
    check=check_cer,
    only_computed=True,
)
