"""Stand-in for ``…whisper_normalizer.basic``: for any language (Radford et al. 2022, appendix C)."""

from __future__ import annotations

import importlib
import re
import unicodedata

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
"""Letters that Unicode does not take apart, and what is read for them."""


def remove_symbols_and_diacritics(s: str, keep: str = "") -> str:
    """Letters without their marks; blanks for symbols and punctuation, except for those to keep."""
    return "".join(char if char in keep else _plain(char) for char in unicodedata.normalize("NFKD", s))


def remove_symbols(s: str) -> str:
    """Blanks for symbols, punctuation and loose marks."""
    return "".join(" " if unicodedata.category(char)[0] in "MSP" else char for char in unicodedata.normalize("NFKC", s))


class BasicTextNormalizer:
    """Lower case, nothing in brackets, no symbols, single blanks.

    Args:
        remove_diacritics: Take marks off letters as well.
        split_letters: Part the characters by blanks, for languages without words; needs the package ``regex``.
    """

    def __init__(self, remove_diacritics: bool = False, split_letters: bool = False) -> None:
        self.clean = remove_symbols_and_diacritics if remove_diacritics else remove_symbols
        self.split_letters = split_letters

    def __call__(self, s: str) -> str:
        text = re.sub(r"[<\[][^>\]]*[>\]]", "", s.lower())
        text = self.clean(re.sub(r"\(([^)]+?)\)", "", text)).lower()
        if self.split_letters:
            text = " ".join(importlib.import_module("regex").findall(r"\X", text))
        return re.sub(r"\s+", " ", text)


def _plain(char: str) -> str:
    if char in ADDITIONAL_DIACRITICS:
        return ADDITIONAL_DIACRITICS[char]
    kind = unicodedata.category(char)
    return "" if kind == "Mn" else " " if kind[0] in "MSP" else char
