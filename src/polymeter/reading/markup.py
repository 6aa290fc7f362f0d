r"""Reduction of an answer's markup to two marks, so that readers see words, brackets and line breaks.

Markdown emphasis, LaTeX's text commands and HTML's inline tags become ``MARK``. Markup that announces an answer by
itself (``\boxed{``, ``<answer>``) becomes ``ANNOUNCES``. Widths are folded, text is converted to NFC, and characters of
no width are removed.
"""

from __future__ import annotations

import re
import unicodedata

MARK = "\ue000"
"""The mark for emphasis: not a letter, not white space, and never part of a word."""
ANNOUNCES = "\ue001"
"""The mark before text that a box or a tag announces as the answer."""

_ZERO_WIDTH = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, 0xFEFF])
_TAG = r"(?:final[ _-]?)?(?:answer|choice|option|solution|result|response|output|prediction)"
_KEY = r"(?:final_?)?(?:result|response|output|pred|prediction|selected|selection|letter)"
_MARKUP = re.compile(
    r"(?P<box>\\(?:boxed|fbox|framebox)\s{0,3}(?=\{))"
    rf"|(?P<open><{_TAG}>)"
    rf"|(?P<key>(?<=[{{,\s])\"{_KEY}\"\s{{0,3}}:\s{{0,3}}(?=[\"\[({{\d]))"
    r"|(?P<token></?s>|<\|[a-z_]{1,30}\|>|<(?:eos|end_of_turn)>)"
    rf"|(?P<close></{_TAG}>)"
    r"|(?P<line><br\s?/?>|</?(?:p|div|li|ul|ol|h[1-6])>|```[\w-]{0,20})"
    r"|(?P<mark></?(?:b|i|u|em|strong|code|span|mark|sub|sup|tt|font)(?: [^<>]{0,60})?>"
    r"|\\(?:text(?:bf|it|rm|tt|sf|sc)?|math(?:bf|rm|it|sf|tt)|bf|rm|bold|boldsymbol|underline|emph|operatorname)"
    r"(?![a-z])\s{0,3}"
    r"|\\[()\[\]]|\\[,;!](?=\s|$)|[*`~]{1,12}|(?m:^) {0,3}#{1,6}(?!#)|(?<![^\W_])_+|_+(?![^\W_]))",
    re.IGNORECASE,
)


def _width_table() -> dict[int, str]:
    """Return the table of wide and narrow forms, and of letters and digits that differ from the plain ones by their
    font or a circle.
    """
    table = {}
    for code in (*range(0xFF01, 0xFFEF), 0x3000):
        kind, _, plain = unicodedata.decomposition(chr(code)).partition("> ")
        if kind in ("<wide", "<narrow"):
            table[code] = chr(int(plain, 16))
    for code in (*range(0x1D400, 0x1D6A4), *range(0x1D7CE, 0x1D800), *range(0x24B6, 0x24EA), *range(0x249C, 0x24B6)):
        table[code] = unicodedata.normalize("NFKC", chr(code))
    table |= {0x1F130 + number: chr(ord("A") + number) for number in range(26)}
    return table | {0x1F150 + number: chr(ord("A") + number) for number in range(26)} | {0x1F171: "B", 0x1F170: "A"}


_WIDTHS = _width_table()


def folded(text: str) -> str:
    """Return a text in NFC, with plain widths, without characters of no width, and with one kind of line break."""
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n")
    plain = text.translate(_ZERO_WIDTH).translate(_WIDTHS).replace("\ufe0f", "")
    return unicodedata.normalize("NFC", plain).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")


def marked(text: str) -> str:
    """Return a folded text with its markup reduced to marks."""
    return _MARKUP.sub(_mark, folded(text))


def same_length_lower(text: str) -> str:
    """Return a text in lower case in which each character keeps its position."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _mark(match: re.Match[str]) -> str:
    match match.lastgroup:
        case "box" | "key":
            return ANNOUNCES
        case "open":
            return f"{ANNOUNCES}("
        case "close":
            return ")"
        case "line":
            return "\n"
        case _:
            return MARK
