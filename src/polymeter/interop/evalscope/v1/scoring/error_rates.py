"""Error rates of transcripts, and their normalisation. English is normalised by Whisper's rules, Mandarin by those of
SpeechIO; see ``polymeter.metrics.speech`` and ``polymeter.metrics.chinese_speech``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from polymeter.interop.evalscope.v1.registries import register_metric
from polymeter.interop.evalscope.v1.scoring.functions import levenshtein_distance
from polymeter.interop.evalscope.v1.scoring.metric_base import Metric
from polymeter.metrics.bounded import bounded
from polymeter.metrics.chinese_speech import TextNorm
from polymeter.metrics.speech import (
    DEFAULT_PUNCS,
    BasicTextNormalizer,
    EnglishTextNormalizer,
    EvaluationTokenizer,
    Normalizer,
    zhconv_convert,
)
from polymeter.metrics.speech import remove_sp as without_marks

PUNCS = DEFAULT_PUNCS
_MANDARIN, _CANTONESE = "cmn_hans", "yue_hant"
_BY_CHARACTER = (_MANDARIN, _CANTONESE)
_CHINESE_OR_WORD = re.compile(r"[\u4e00-\u9fff]|[a-zA-Z']+\w*")


def remove_sp(text: str, language: str) -> str:
    """A transcript without special tokens and repeated spaces; Mandarin without spaces at all."""
    return without_marks(text, language, no_space_languages=(_MANDARIN,))


def normalize_text(text: str, language: str) -> str:
    """A transcript in normalised form.

    Args:
        text: The transcript.
        language: ``en``, ``cmn_hans``, ``yue_hant``; anything else is treated alike.

    Raises:
        ModuleNotFoundError: if the language needs a package that is not installed.
    """
    text = remove_sp(text, language)
    if language == _CANTONESE:
        text = zhconv_convert(text, "zh-cn")
    return _normalizer(language if language in ("en", _MANDARIN) else "")(text)


def normalize_inputs(
    ground_truths: Sequence[str], predictions: Sequence[str], language: str
) -> tuple[list[str], list[str]]:
    """Pairs of transcripts in normalised form."""
    pairs = list(zip(ground_truths, predictions, strict=False))
    return [normalize_text(gold, language) for gold, _ in pairs], [normalize_text(text, language) for _, text in pairs]


def word_errors(refs: Sequence[str], hyps: Sequence[str], language: str) -> tuple[int, int]:
    """The edits over some normalised transcripts, and the words of the references; characters in Chinese.

    Args:
        refs: References.
        hyps: Hypotheses, as many.
        language: The language.
    """
    pairs = [(_units(ref, language), _units(hyp, language)) for ref, hyp in zip(refs, hyps, strict=True)]
    return sum(levenshtein_distance(*pair) for pair in pairs), sum(len(ref) for ref, _ in pairs)


def wer(refs: Sequence[str], hyps: Sequence[str], language: str) -> float:
    """The edits per word over some normalised transcripts.

    Raises:
        ZeroDivisionError: if the references have no words.
    """
    errors, length = word_errors(refs, hyps, language)
    return errors / length


@register_metric("wer")
class WER(Metric):
    """Word error rate of texts that are normalised already.

    Args:
        language: The language.
    """

    def __init__(self, language: str = "English") -> None:
        self.language = language

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        return [wer([ref], [text], self.language) for text, ref in zip(predictions, references, strict=False)]


@register_metric("cer")
class CER(Metric):
    """Character error rate after normalisation; of an empty reference, the number of characters of the answer.

    Args:
        language: The language.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        return [self._rate(text, ref) for text, ref in zip(predictions, references, strict=False)]

    def _rate(self, prediction: str, reference: str) -> float:
        expected, text = (normalize_text(each, self.language).strip() for each in (reference, prediction))
        return levenshtein_distance(expected, text) / (len(expected) or 1)


@register_metric("mer")
class MER(Metric):
    """Mixed error rate: edits of Chinese characters and English words, per token of the longer text."""

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        values = []
        for prediction, reference in zip(predictions, references, strict=False):
            tokens, expected = _mixed_tokens(prediction), _mixed_tokens(reference)
            length = max(len(tokens), len(expected))
            values.append(levenshtein_distance(expected, tokens) / length if length else 0.0)
        return values


@register_metric("per")
class PER(Metric):
    """Phone error rate of phones that white space separates."""

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers. Of an empty reference it is 1, unless the answer is empty, too."""
        values = []
        for prediction, reference in zip(predictions, references, strict=False):
            phones, expected = prediction.split(), reference.split()
            edits = levenshtein_distance(expected, phones)
            values.append(edits / len(expected) if expected else float(bool(phones)))
        return values


# Kept for the life of the process: three objects without state, one of which reads a list of spellings.
@lru_cache(maxsize=3)
def _normalizer(language: str) -> Normalizer:
    if language == "en":
        made: Normalizer = EnglishTextNormalizer()
        return made
    return TextNorm() if language == _MANDARIN else BasicTextNormalizer()


def _units(text: str, language: str) -> list[str]:
    words = EvaluationTokenizer("none", lowercase=True, punctuation_removal=True).tokenize(text).split()
    return list("".join(words)) if language in _BY_CHARACTER else words


@bounded
def _mixed_tokens(text: str) -> list[str]:
    return _CHINESE_OR_WORD.findall(text)
