"""Named rules by which an answer and a reference are made comparable.

Every metric of Polymeter applies ``compared``. The other rules are steps that a metric, or a user, adds to it. If
nothing of a text is left, the original text is compared, so an empty answer never equals a reference with content.

A rule removes only text without meaning for the answer. Signs, symbols, and zero-width characters inside words stay.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping

_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_SPACES += "\u2028\u2029\u202f\u205f\u3000"
_JOINER = "\u200d"
_ZERO_WIDTH = "\u200b\u200c" + _JOINER + "\u2060\ufeff\u180e\xad"
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_AROUND = _SPACES + _ZERO_WIDTH + _DIRECTIONS
_VIRAMA = 9
"""The canonical combining class of the sign that removes a consonant's vowel in the scripts of India."""
_ALIKE: Mapping[int, str] = {
    0x2212: "-",  # the minus sign
    0x2010: "-",  # the hyphen, which keyboards do not have
    0x2011: "-",  # the same for places at which a line must not break
    0xA0: " ",  # spaces at which a line must not break
    0x2007: " ",
    0x202F: " ",
}
"""Characters that differ from those on the keyboard only in layout. Dashes are other characters."""
_WIDE = re.compile("[\u3000\uff01-\uffee]+")
_QUOTING = "`\xb4"
"""Characters that Unicode counts as symbols, but that serve as quotation marks and in markup."""
_NO_ASCII_PUNCTUATION = str.maketrans("", "", "".join(set(string.punctuation) - set("$+<=>^|~")))
_MARKED = re.compile(r"[-.,]\d")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_OF_NUMBER = re.compile(r"(?<![\w)\]}-])-(?=[.,]?\d)|(?<=\d)[.,](?=\d)|(?<![\w.,])[.,](?=\d)")
_STOPS = ".。．｡।۔።։"
_PAIRS = ('""', "''", "“”", "‘’", "„“", "‚‘", "«»", "»«", "‹›", "「」", "『』", "``")
_BOLD = "**"


def compared(text: str) -> str:
    """Return a text in the form in which every metric compares it: in NFC, with the keyboard's characters for those
    that differ only in layout (U+2212 is a minus sign), and without white space and zero-width characters around it.
    """
    if text.isascii():
        return text.strip() or text
    composed = composed_of(text)
    return without_surroundings(composed.translate(_ALIKE)) or composed


def composed_of(text: str) -> str:
    """Return a text in NFC: a letter and its accents are one character if Unicode has one."""
    return unicodedata.normalize("NFC", text)


def without_surroundings(text: str) -> str:
    """Return a text without white space, zero-width characters, byte order marks and marks of direction around it.

    A joiner after a virama stays: at the end of a word in Malayalam and Bengali, it makes another letter.
    """
    begun = text.lstrip(_AROUND)
    bare = begun.rstrip(_AROUND)
    is_spelling = begun[len(bare) : len(bare) + 1] == _JOINER and unicodedata.combining(bare[-1]) == _VIRAMA
    return bare + _JOINER if is_spelling else bare


def with_folded_case(text: str) -> str:
    """Return a text with folded letter case: ``ß`` is ``ss``, and both forms of sigma are one letter. The dotted and
    the dotless i of Turkish remain different.
    """
    return text.lower() if text.isascii() else composed_of(text.casefold())


def with_folded_width(text: str) -> str:
    """Return a text with letters, digits, marks, kana and hangul in their usual width: ``Ａ`` is ``A``."""
    if text.isascii():
        return text
    return composed_of(_WIDE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text))


def with_single_spaces(text: str) -> str:
    """Return a text with one space instead of each run of white space, and none around it."""
    return " ".join(text.split())


def without_punctuation(text: str) -> str:
    """Return a text without the punctuation of all scripts (Unicode's categories ``P*``, and the backtick), and with
    single spaces.

    Symbols such as ``$``, ``+`` and ``<`` are not punctuation, and neither are a number's sign and decimal mark: ``-5``
    is not ``5``, and ``1.5`` is not ``15``. Commas between thousands are punctuation. A decimal comma becomes a decimal
    point.
    """
    if _MARKED.search(text) is None:
        return with_single_spaces(_bare(text))
    text = _GROUPED.sub(lambda match: match[0].replace(",", ""), text)
    parts, begin = [], 0
    for mark in _OF_NUMBER.finditer(text):
        parts += [_bare(text[begin : mark.start()]), mark[0].replace(",", ".")]
        begin = mark.end()
    return with_single_spaces("".join((*parts, _bare(text[begin:]))))


def without_digits(text: str) -> str:
    """Return a text without the decimal digits of all scripts."""
    return "".join(character for character in text if not character.isdecimal())


def open_answer(text: str) -> str:
    """Return a short answer, or a reference, in the form in which an open question of a table compares them. Letter
    case, the width of runs of white space, a closing full stop, and quotation marks or markup (``**``, a backtick)
    around the whole do not count.

    Everything else counts: signs, symbols, articles, and the notation of a number.
    """
    plain = with_single_spaces(compared(text)) or text
    bare = plain
    while (less := _unwrapped(bare)) != bare:
        bare = less
    return with_folded_case(bare or plain)


def _bare(text: str) -> str:
    if text.isascii():
        return text.translate(_NO_ASCII_PUNCTUATION)
    kept = (one for one in text if one not in _QUOTING and not unicodedata.category(one).startswith("P"))
    return "".join(kept)


def _unwrapped(text: str) -> str:
    """Return a text without a closing full stop, or else without one pair of marks around the whole."""
    if text[-1:] and text[-1] in _STOPS and text[-2:-1] not in _STOPS:
        return text[:-1].rstrip()
    if len(text) > 2 * len(_BOLD) and text.startswith(_BOLD) and text.endswith(_BOLD):
        inner = text[len(_BOLD) : -len(_BOLD)]
        return text if "*" in inner else inner.strip()
    inner = text[1:-1]
    if inner and text[0] + text[-1] in _PAIRS and not {text[0], text[-1]} & set(inner):
        return inner.strip()
    return text
