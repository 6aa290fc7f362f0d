"""Full-width punctuation where a file or a command line needs its ASCII form: a keyboard for Chinese or Japanese writes
``：`` and ``，``, which look alike and mean nothing there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

COLON = "："
_NAMES = {
    COLON: ("colon", ":"),
    "，": ("comma", ","),
    "、": ("comma", ","),
    "＝": ("equals sign", "="),
    "｛": ("brace", "{"),
    "｝": ("brace", "}"),
    "［": ("bracket", "["),
    "］": ("bracket", "]"),
    "－": ("hyphen", "-"),
    "＃": ("number sign", "#"),
    "\u3000": ("space", " "),
}
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|(?:^|\s)#.*")
_KEY = re.compile(r"^[ -]*(?P<key>[\w./-]+)[ \u3000]*：")
_INDENT = re.compile(r"^ *(?P<sign>[\u3000－])")
_FLOW = frozenset("：，、｛｝［］")
_PAIR = re.compile(r"[，、]\s*[\w.-]+\s*[=＝]|^\s*[\w.-]+\s*＝")


@dataclass(frozen=True, slots=True)
class FullWidth:
    """A full-width character.

    Attributes:
        sign: The character.
        line: Its line, counted from 1.
        column: Its place in the line, counted from 1.
        unit: What a place is called: ``column`` of a file, or ``character`` of a text.
    """

    sign: str
    line: int
    column: int
    unit: str = "column"

    @property
    def words(self) -> str:
        """The description of the sign, as the predicate of a sentence."""
        return f"{self.sign!r} ({self.unit} {self.column}) is a full-width {_NAMES[self.sign][0]}"

    @property
    def hint(self) -> str:
        """The text to write instead."""
        name, meant = _NAMES[self.sign]
        return f"Write {meant!r} and a space." if name == "colon" else f"Write {meant!r}."


def in_yaml(text: str, last_line: int) -> FullWidth | None:
    """The first full-width character that stands where YAML needs its ASCII form: after a key, or between the items of
    a list or mapping in brackets. Texts in quotes and comments may hold any.

    Args:
        text: The text of a file that is not valid YAML.
        last_line: Where the reader gave up, counted from 1.
    """
    for number, line in enumerate(text.splitlines()[:last_line], 1):
        bare = _QUOTED.sub(lambda match: " " * len(match[0]), line)
        key, indent = _KEY.match(bare), _INDENT.match(bare)
        if key is not None:
            return FullWidth("：", number, key.end())
        if indent is not None:
            return FullWidth(indent["sign"], number, indent.start("sign") + 1)
        opened = next((place for place, sign in enumerate(bare) if sign in "{[｛［"), None)
        found = None if opened is None else next((p for p in range(opened, len(bare)) if bare[p] in _FLOW), None)
        if found is not None:
            return FullWidth(bare[found], number, found + 1)
    return None


def in_pairs(text: str) -> FullWidth | None:
    """The full-width comma or equals sign that separates ``key=value`` pairs of a command line."""
    match = _PAIR.search(text)
    if match is None:
        return None
    place = next(place for place in range(match.start(), match.end()) if text[place] in _NAMES)
    return FullWidth(text[place], 1, place + 1, "character")


def in_names(text: str) -> FullWidth | None:
    """The first full-width comma in a list of names."""
    place = next((place for place, sign in enumerate(text) if sign in "，、"), None)
    return None if place is None else FullWidth(text[place], 1, place + 1, "character")
