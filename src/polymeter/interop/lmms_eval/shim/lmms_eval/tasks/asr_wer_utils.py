"""Stand-in for ``lmms_eval.tasks.asr_wer_utils``: word error rates of speech recognition."""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

from polymeter.core.errors import ScoreError

DEFAULT_PUNCS = "!,.?;:"
Normalizer = Callable[[str], str]

_TOKENIZERS = {
    "none": ("tokenizer_none", "NoneTokenizer"),
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "intl": ("tokenizer_intl", "TokenizerV14International"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "ja-mecab": ("tokenizer_ja_mecab", "TokenizerJaMecab"),
    "char": ("tokenizer_char", "TokenizerChar"),
}


def remove_sp(text: str, language: str, *, puncs: str = DEFAULT_PUNCS, no_space_languages: Collection[str] = ()) -> str:
    """A transcript without special tokens (``<|…|>``), repeated blanks and blanks before punctuation; without any
    blanks in languages that write none.
    """
    text = re.sub(r"\s+", " ", re.sub(r"<\|.*?\|>", " ", text))
    text = re.sub(f" ?([{puncs}])", r"\1", text).lstrip(" ")
    return re.sub(r"\s+", "", text) if language in no_space_languages else text


class EvaluationTokenizer:
    """Parts a text into tokens with a tokenizer of sacreBLEU.

    Args:
        tokenizer_type: Which one.
        lowercase: Fold case.
        punctuation_removal: Drop tokens that are nothing but punctuation.
        character_tokenization: Every character is a token; blanks become ``▁``.
    """

    SPACE = " "
    SPACE_ESCAPE = "▁"
    _made: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        tokenizer_type: str = "13a",
        lowercase: bool = False,
        punctuation_removal: bool = False,
        character_tokenization: bool = False,
    ) -> None:
        if tokenizer_type not in _TOKENIZERS:
            raise ValueError(f"There is no tokenizer {tokenizer_type!r}; known: {', '.join(_TOKENIZERS)}")
        self.lowercase = lowercase
        self.punctuation_removal = punctuation_removal
        self.character_tokenization = character_tokenization
        module, name = _TOKENIZERS[tokenizer_type]
        self.tokenizer = getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), name)

    @classmethod
    def remove_punctuation(cls, sent: str) -> str:
        words = sent.split(cls.SPACE)
        return cls.SPACE.join(word for word in words if not all(unicodedata.category(char)[0] == "P" for char in word))

    def tokenize(self, sent: str) -> str:
        text = str(self.tokenizer()(sent))
        if self.punctuation_removal:
            text = self.remove_punctuation(text)
        if self.character_tokenization:
            text = self.SPACE.join(text.replace(self.SPACE, self.SPACE_ESCAPE))
        return text.lower() if self.lowercase else text


def compute_wer(
    refs: Sequence[str],
    hyps: Sequence[str],
    language: str,
    *,
    yue_languages: Collection[str] = (),
    english_languages: Collection[str] = (),
    chinese_languages: Collection[str] = (),
    char_languages: Collection[str] = (),
    yue_converter: Callable[[str, str], str] | None = None,
    english_normalizer: Normalizer | None = None,
    chinese_normalizer: Normalizer | None = None,
    basic_normalizer: Normalizer | None = None,
) -> float:
    """Edits per word over all transcripts (per character in ``char_languages``), punctuation and case aside.

    Each collection of languages says where its normalizer is used: first the converter of Cantonese, then the English
    one, then the Chinese one or, elsewhere, the basic one.

    Raises:
        ScoreError: The references hold no words.
    """
    from rapidfuzz.distance import Levenshtein

    tokenizer = EvaluationTokenizer("none", lowercase=True, punctuation_removal=True)

    def words(text: str) -> list[str]:
        if language in yue_languages and yue_converter is not None:
            text = yue_converter(text, "zh-cn")
        if language in english_languages and english_normalizer is not None:
            text = english_normalizer(text)
        if language in chinese_languages and chinese_normalizer is not None:
            text = chinese_normalizer(text)
        elif basic_normalizer is not None:
            text = basic_normalizer(text)
        found = tokenizer.tokenize(text).split()
        return list("".join(found)) if language in char_languages else found

    edits = length = 0
    for ref, hyp in zip(map(words, refs), map(words, hyps), strict=True):
        edits += Levenshtein.distance(ref, hyp)
        length += len(ref)
    if length == 0:
        raise ScoreError("The word error rate of references without words does not exist.")
    return edits / length


def zhconv_convert(text: str, target: str) -> str:
    """Chinese in another script, such as ``zh-cn``, by the package ``zhconv``."""
    return str(importlib.import_module("zhconv").convert(text, target))
