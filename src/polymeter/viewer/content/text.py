"""Text exactly as it is, for reading: what cannot be seen is made visible, and a long text is folded.

White space that matters (tabs, and blanks at the ends of a text or line) keeps its characters under a mark, so that
what is copied is what the model wrote. Characters that would change how other text is shown (direction overrides,
controls) are replaced by their names, and what is copied has them as those names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Span = tuple[int, int, str]
"""Start and end of a part of a text, and what it is: ``missed`` or ``added``."""

FOLDED_FROM = 6_000
"""Texts of more characters are folded."""
SHOWN_FIRST = 4_000
SHOWN_AT_MOST = 200_000
"""Of a longer text the page says how much it leaves out."""
_LINES_FIRST = 80
_SCROLLS_FROM = 600
_SCROLLS_FROM_LINES = 14

_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# Blanks are taken as a whole and judged in Python: a pattern that looked for what follows them would take time that
# grows with the square of their number.
_MARKED = re.compile(rf"[ \t\n]+|{_UNSEEN}")
_ALIKE = re.compile(r" +|\t+|\n+")
_CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS "
    "RS US"
)
_SHORT = {
    **dict(enumerate(_CONTROLS.split())), 0x007F: "DEL",
    0x00A0: "NBSP", 0x00AD: "SHY", 0x061C: "ALM", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM",
    0x200F: "RLM", 0x2028: "LSEP", 0x2029: "PSEP", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO",
    0x202E: "RLO", 0x202F: "NNBSP", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
    0x3000: "IDSP", 0xFEFF: "BOM",
}  # fmt: skip
_JOINERS = (0x200C, 0x200D)
"""What joins letters and emoji: needed where one stands between two others, and only then left alone."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters that are shown in the same way.

    Attributes:
        text: The characters, or the short name of one that cannot be shown.
        kind: Empty; ``blank``, ``tab`` or ``break``: white space that is marked; ``name``: the name of a character.
        title: What the character is, for a pointer that rests on it and for a screen reader.
        change: Empty, ``missed`` or ``added``.
    """

    text: str
    kind: str = ""
    title: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text to show.

    Attributes:
        runs: What is shown at once.
        folded: What is shown on request.
        n_folded: How many characters that are.
        n_left_out: How many more characters the text has.
    """

    runs: tuple[Run, ...] = ()
    folded: tuple[Run, ...] = ()
    n_folded: int = 0
    n_left_out: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no character at all."""
        return not self.runs

    @property
    def may_scroll(self) -> bool:
        """Whether what is shown at once may be too long for its box, so that a keyboard must be able to reach it."""
        shown = "".join(run.text for run in self.runs)
        return len(shown) > _SCROLLS_FROM or shown.count("\n") > _SCROLLS_FROM_LINES


def visible(text: str, spans: Sequence[Span] = ()) -> Shown:
    """A text as it is shown.

    Args:
        text: Any text.
        spans: The parts of it that are marked as changes, in order and apart from each other.
    """
    end = min(len(text), SHOWN_AT_MOST)
    cut = _cut(text, end)
    first: list[Run] = []
    later: list[Run] = []
    for start, stop, change in _parted(spans, cut, end):
        (first if start < cut else later).extend(_runs(text, start, stop, change))
    return Shown(tuple(first), tuple(later), end - cut, len(text) - end)


def _cut(text: str, end: int) -> int:
    """Where a text is folded; its end if it is short."""
    if len(text) > FOLDED_FROM:
        return min(SHOWN_FIRST, end)
    lines = [match.end() for match in re.finditer("\n", text)]
    return lines[_LINES_FIRST - 1] if len(lines) > 2 * _LINES_FIRST else end


def _parted(spans: Sequence[Span], cut: int, end: int) -> Iterator[Span]:
    """The whole text from 0 to its end in parts that are changed as a whole or not at all, and that end at the cut."""
    place = 0
    for start, stop, change in (*spans, (end, end, "")):
        for upto, kind in ((start, ""), (stop, change)):
            while place < min(upto, end):
                part = min(upto, end, cut if place < cut else end)
                yield place, part, kind
                place = part


def _runs(text: str, start: int, stop: int, change: str) -> Iterator[Run]:
    place = start
    # A blank is judged by what stands around it, so the whole text is looked at and not the part alone.
    for match in _MARKED.finditer(text, start, stop):
        for run_start, run in _marked(text, match.start(), match.end(), change):
            if place < run_start:
                yield Run(text[place:run_start], change=change)
            yield run
            place = run_start + (1 if run.kind == "name" else len(run.text))
    if place < stop:
        yield Run(text[place:stop], change=change)


def _marked(text: str, start: int, stop: int, change: str) -> Iterator[tuple[int, Run]]:
    """What is marked of blanks, or of one character that is not seen: places and runs."""
    if text[start] not in " \t\n":
        if not (ord(text[start]) in _JOINERS and _joins(text, start)):
            yield start, Run(_short_name(text[start]), "name", _full_name(text[start]), change)
        return
    is_outside = start == 0 or stop == len(text)
    for match in _ALIKE.finditer(text, start, stop):
        if match[0][0] == "\t":
            yield match.start(), Run(match[0], "tab", change=change)
        elif match[0][0] == "\n" and is_outside:
            yield match.start(), Run(match[0], "break", change=change)
        elif match[0][0] == " " and (is_outside or text[match.end() : match.end() + 1] in ("\n", "\r", "\t")):
            yield match.start(), Run(match[0], "blank", change=change)


def _joins(text: str, place: int) -> bool:
    """Whether a joiner stands between two characters that it can join."""
    before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    return all(
        beside and (beside == "\ufe0f" or not _MARKED.match(beside)) and beside > "\x7f" for beside in (before, after)
    )


def _short_name(character: str) -> str:
    code = ord(character)
    return _SHORT.get(code, f"U+{code:04X}")


def _full_name(character: str) -> str:
    code = ord(character)
    name = unicodedata.name(character, "").lower()
    if not name:
        name = "lone surrogate" if 0xD800 <= code <= 0xDFFF else "control character"
    return f"U+{code:04X} {name}"
