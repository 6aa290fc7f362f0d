"""Characters around words and options in answers, and the scripts of letters."""

from __future__ import annotations

import re
import unicodedata

from polymeter.reading.markup import ANNOUNCES, MARK

OPENING = " \t\n:=>-–—→'\"“”‘’„«»‹›([{<（【「『〔《〈$|_.…•،," + MARK + ANNOUNCES
"""Characters that may stand before an announced option."""
CLOSING = "'\"”’“»›)]}>）】」』〕》〉$|" + MARK
"""Characters that may directly follow it."""
WRAPS = "'\"“”‘’„«»‹›()[]{}（）【】「」『』〔〕《》〈〉$" + MARK
"""Characters on both sides of a letter that show that it is not a word of a sentence."""
AROUND = OPENING + CLOSING + "*!?;。．：；！？、،۔।؛؟\\"
"""Characters that may surround a letter that is a whole line."""
SEPARATORS = ".):]-–—,=|．。、：】）"
"""Characters that separate a letter from the text of its option."""
TERMINATORS = re.compile(r"[!?;\n。！？；؟।]|\.(?=\s|$)")
"""Characters that end a sentence."""
SEGMENTS = re.compile(r"[,:()（），、،：—]")
"""Characters that separate the clauses of a sentence."""


def skipped(text: str, position: int, characters: str) -> int:
    """Return the position after these characters."""
    while position < len(text) and text[position] in characters:
        position += 1
    return position


def is_joined(character: str) -> bool:
    """Return whether a character belongs to the same word as a letter of an alphabet beside it."""
    if character.isascii():
        return character.isalnum()
    if is_unspaced(character) or is_hangul(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M")


def is_unspaced(character: str) -> bool:
    """Return whether a character belongs to a script that puts no spaces between words: Han, Kana, Thai, Lao, Burmese,
    Khmer, Tibetan.
    """
    return (
        "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\uf900" <= character <= "\ufaff"
        or "\u0e00" <= character <= "\u0eff"
        or "\u0f00" <= character <= "\u109f"
        or "\u1780" <= character <= "\u17ff"
        or "\u3005" <= character <= "\u3007"
        or "\U00020000" <= character <= "\U0003ffff"
    )


def is_hangul(character: str) -> bool:
    """Return whether a character is a Korean syllable or letter."""
    return "\uac00" <= character <= "\ud7af" or "\u1100" <= character <= "\u11ff" or "\u3130" <= character <= "\u318f"
