"""Exact text for reading: invisible characters are made visible, and a long text is folded.

White space that matters (tabs, and blanks at the ends of a text or line) keeps its characters under a mark, so that a
copy is exactly the model's text. Characters that would change the display of other text (direction overrides, controls)
are replaced by their names, also in a copy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Span = tuple[int, int, str]
"""Start and end of a part of a text, and its kind: ``missed`` or ``added``."""

FOLDED_FROM = 6_000
"""Texts of more characters are folded."""
SHOWN_FIRST = 4_000
SHOWN_AT_MOST = 100_000
"""The most characters of a text on a page; the page states how many more there are."""
_LINES_FIRST = 80
_SCROLLS_FROM = 600
_SCROLLS_FROM_LINES = 14

_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# Blanks at the end of a line are looked for from their first one on only: else a long row of them would take time that
# grows with the square of its length.
_INSIDE = re.compile(rf"(?<! ) +(?=[\t\n\r])|\t+|{_UNSEEN}")
_ALIKE = re.compile(r" +|\t+|\n+")
_BLANKS = " \t\n"
_KINDS = {" ": "blank", "\t": "tab", "\n": "break"}
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
"""Characters that join letters and emoji: needed between two others, and only there left unchanged."""


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters that are shown in the same way.

    Attributes:
        text: The characters, or the short name of one that cannot be shown.
        kind: Empty; ``blank``, ``tab`` or ``break``: white space that is marked; ``name``: the name of a character.
        title: The name of the character, for tooltips and screen readers.
        change: Empty, ``missed`` or ``added``.
    """

    text: str
    kind: str = ""
    title: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text to show.

    Attributes:
        runs: The part that is shown at once.
        folded: The part that is shown on request.
        n_folded: The number of its characters.
        n_left_out: The number of further characters of the text.
    """

    runs: tuple[Run, ...] = ()
    folded: tuple[Run, ...] = ()
    n_folded: int = 0
    n_left_out: int = 0

    @property
    def is_empty(self) -> bool:
        """True if it has no character."""
        return not self.runs

    @property
    def may_scroll(self) -> bool:
        """True if the part shown at once may be too long for its box, so that a keyboard must be able to reach it."""
        shown = "".join(run.text for run in self.runs)
        return len(shown) > _SCROLLS_FROM or shown.count("\n") > _SCROLLS_FROM_LINES


def visible(text: str, spans: Sequence[Span] = ()) -> ShownText:
    """Return a text in its shown form.

    Args:
        text: Any text.
        spans: The parts of it that are marked as changes, in order and apart from each other.
    """
    end = min(len(text), SHOWN_AT_MOST)
    cut = _cut(text, end)
    first: list[Run] = []
    later: list[Run] = []
    marks = _marks(text, end)
    mark = next(marks, None)
    for start, stop, change in _parted(spans, cut, end):
        runs, place = (first if start < cut else later), start
        while mark is not None and mark[0] < stop:
            if place < mark[0]:
                runs.append(Run(text[place : mark[0]], change=change))
            place = min(mark[1], stop)
            runs.append(_run(text[max(mark[0], start) : place], mark[2], change))
            if mark[1] > stop:  # the rest of it belongs to the next part
                break
            mark = next(marks, None)
        if place < stop:
            runs.append(Run(text[place:stop], change=change))
    return ShownText(tuple(first), tuple(later), end - cut, len(text) - end)


def _marks(text: str, end: int) -> Iterator[tuple[int, int, str]]:
    """Return the marked parts, in order: start, end and kind."""
    inside = end - len(text[:end].lstrip(_BLANKS))
    outside = max(len(text[:end].rstrip(_BLANKS)), inside) if end == len(text) else end
    for match in _ALIKE.finditer(text, 0, inside):
        yield match.start(), match.end(), _KINDS[match[0][0]]
    for match in _INSIDE.finditer(text, inside, outside):
        kind = _KINDS.get(match[0][0], "name")
        if kind != "name" or not (ord(match[0]) in _JOINERS and _joins(text, match.start())):
            yield match.start(), match.end(), kind
    for match in _ALIKE.finditer(text, outside, end):
        yield match.start(), match.end(), _KINDS[match[0][0]]


def _run(text: str, kind: str, change: str) -> Run:
    return Run(_short_name(text), kind, _full_name(text), change) if kind == "name" else Run(text, kind, "", change)


def _cut(text: str, end: int) -> int:
    """Return the place where a text is folded; its end if it is short."""
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


def _joins(text: str, place: int) -> bool:
    """Return whether a joiner stands between two characters that it can join."""
    before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    return all(
        beside and (beside == "\ufe0f" or not _INSIDE.match(beside)) and beside > "\x7f" for beside in (before, after)
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
