"""Word error rates of speech recognition, and the normalisation of transcripts.

``BasicTextNormalizer`` is for any language (Radford et al. 2022, appendix C). The normalizers for English are those of
Whisper. Their list of spellings comes with the package ``whisper-normalizer`` (or ``openai-whisper``), which is
imported when a normalizer is made. ``polymeter.metrics.chinese_speech`` has the one for Chinese.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

from polymeter.core.errors import ScoreError
from polymeter.core.names.installing import pip_install
from polymeter.metrics.bounded import bounded

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


@bounded
def remove_sp(text: str, language: str, *, puncs: str = DEFAULT_PUNCS, no_space_languages: Collection[str] = ()) -> str:
    """Remove special tokens (``<|…|>``), repeated spaces and spaces before punctuation from a transcript, and all
    spaces in languages that are written without them.
    """
    text = re.sub(r"\s+", " ", re.sub(r"<\|.*?\|>", " ", text))
    text = re.sub(f" ?([{puncs}])", r"\1", text).lstrip(" ")
    return re.sub(r"\s+", "", text) if language in no_space_languages else text


class EvaluationTokenizer:
    """A tokenizer of texts, by a tokenizer of sacreBLEU.

    Args:
        tokenizer_type: The name of the tokenizer.
        lowercase: Whether to fold case.
        punctuation_removal: Whether to drop tokens that are nothing but punctuation.
        character_tokenization: Whether every character is a token; spaces become ``▁``.
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
            raise ValueError(f"Unknown tokenizer {tokenizer_type!r}; known: {', '.join(_TOKENIZERS)}")
        self.lowercase = lowercase
        self.punctuation_removal = punctuation_removal
        self.character_tokenization = character_tokenization
        self.tokenizer = _tokenizer(tokenizer_type)
        self._type = tokenizer_type

    @classmethod
    def remove_punctuation(cls, sent: str) -> str:
        words = sent.split(cls.SPACE)
        return cls.SPACE.join(word for word in words if not all(unicodedata.category(char)[0] == "P" for char in word))

    def tokenize(self, sent: str) -> str:
        is_changed = self.tokenizer is not _tokenizer(self._type)
        text = str(self.tokenizer()(sent)) if is_changed else _tokenized(self._type, sent)
        if self.punctuation_removal:
            text = self.remove_punctuation(text)
        if self.character_tokenization:
            text = self.SPACE.join(text.replace(self.SPACE, self.SPACE_ESCAPE))
        return text.lower() if self.lowercase else text


def _tokenizer(kind: str) -> Any:
    module, name = _TOKENIZERS[kind]
    return getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), name)


@bounded
def _tokenized(kind: str, text: str) -> str:
    return str(_tokenizer(kind)()(text))


def compute_wer(  # noqa: PLR0913  (the signature that tasks are written against)
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
    """Compute edits per word over all transcripts (per character in ``char_languages``), ignoring punctuation and case.

    Each normalizer is used for the languages in its collection: first the converter for Cantonese, then the English
    one, then the Chinese one or, for all other languages, the basic one.

    Raises:
        ScoreError: if the references have no words.
    """
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
        tokens = tokenizer.tokenize(text).split()
        return list("".join(tokens)) if language in char_languages else tokens

    edits = length = 0
    for ref, hyp in zip(map(words, refs), map(words, hyps), strict=True):
        edits += _edits(ref, hyp)
        length += len(ref)
    if length == 0:
        raise ScoreError("The references have no words, so the word error rate is not defined.")
    return edits / length


@bounded
def _edits(reference: list[str], hypothesis: list[str]) -> int:
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(reference, hypothesis))


def zhconv_convert(text: str, target: str) -> str:
    """Convert Chinese to another script, such as ``zh-cn``, by the package ``zhconv``."""
    return str(importlib.import_module("zhconv").convert(text, target))


ADDITIONAL_DIACRITICS = {
    "œ": "oe",
    "Œ": "OE",
    "ø": "o",
    "Ø": "O",
    "æ": "ae",
    "Æ": "AE",
    "ß": "ss",
    "ẞ": "SS",
    "đ": "d",
    "Đ": "D",
    "ð": "d",
    "Ð": "D",
    "þ": "th",
    "Þ": "th",
    "ł": "l",
    "Ł": "L",
}
"""Letters that Unicode does not decompose, and their replacements."""


def remove_symbols_and_diacritics(s: str, keep: str = "") -> str:
    """Remove marks from letters, and replace symbols and punctuation by spaces, except those to keep."""
    return "".join(char if char in keep else _without_mark(char) for char in unicodedata.normalize("NFKD", s))


def remove_symbols(s: str) -> str:
    """Replace symbols, punctuation and separate marks by spaces."""
    return "".join(" " if unicodedata.category(char)[0] in "MSP" else char for char in unicodedata.normalize("NFKC", s))


class BasicTextNormalizer:
    """A normalizer of texts to lower case, without bracketed parts and symbols, with single spaces.

    Args:
        remove_diacritics: Whether to remove marks from letters too.
        split_letters: Whether to separate characters by spaces, for languages without spaces between words; needs the
            package ``regex``.
    """

    def __init__(self, remove_diacritics: bool = False, split_letters: bool = False) -> None:
        self.clean = remove_symbols_and_diacritics if remove_diacritics else remove_symbols
        self.split_letters = split_letters

    def __call__(self, s: str) -> str:
        text = self.clean(_without_brackets(s.lower())).lower()
        if self.split_letters:
            text = " ".join(importlib.import_module("regex").findall(r"\X", text))
        return re.sub(r"\s+", " ", text)


@bounded
def _without_brackets(text: str) -> str:
    return re.sub(r"\(([^)]+?)\)", "", re.sub(r"[<\[][^>\]]*[>\]]", "", text))


def _without_mark(char: str) -> str:
    if char in ADDITIONAL_DIACRITICS:
        return ADDITIONAL_DIACRITICS[char]
    kind = unicodedata.category(char)
    return "" if kind == "Mn" else " " if kind[0] in "MSP" else char


_WHISPER_MODULES = ("whisper_normalizer.english", "whisper.normalizers.english")


def EnglishTextNormalizer() -> Any:
    """Return Whisper's normalizer for English: a function from text to text.

    Raises:
        ModuleNotFoundError: if neither package is installed.
    """
    return _whispers("EnglishTextNormalizer")


def EnglishNumberNormalizer() -> Any:
    """Return Whisper's normalizer for English numbers."""
    return _whispers("EnglishNumberNormalizer")


def EnglishSpellingNormalizer() -> Any:
    """Return Whisper's normalizer for British spellings."""
    return _whispers("EnglishSpellingNormalizer")


def _whispers(name: str) -> Any:
    for module in _WHISPER_MODULES:
        try:
            return getattr(importlib.import_module(module), name)()
        except ModuleNotFoundError as error:
            if not module.startswith(str(error.name)):  # the package is installed, but one that it needs is missing
                raise
    raise ModuleNotFoundError(
        f"Normalizing English needs Whisper's normalizer: {pip_install('whisper-normalizer')}",
        name="whisper_normalizer",
    )
