"""The words of a search in the texts that it found: where a long text is cut, and how the words are marked in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup, escape

from polymeter.report.formatting import clip, one_line

_BEFORE = 60
"""The characters that a cut text keeps before the first word."""
_LONGEST = 100_000
_SLACK = 4
"""A cut begins with this many times the wanted characters, because white space is shortened afterwards."""


def marked(text: str, words: Sequence[str]) -> Markup:
    """Return a text as HTML with the found words in ``mark`` elements. All else is escaped."""
    pattern = _pattern(tuple(words))
    if pattern is None:
        return escape(text)
    parts = pattern.split(text)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def gist(text: str, length: int, words: Sequence[str] = ()) -> str:
    """Return a text on one line, cut to a length: its beginning, or if no word is in that, the part around the first.

    Args:
        text: The text.
        length: The most characters.
        words: The words of a search.
    """
    beginning = clip(one_line(text[: _SLACK * length]), length)
    pattern = _pattern(tuple(words))
    if pattern is None or pattern.search(beginning):
        return beginning
    found = pattern.search(text, 0, _LONGEST)
    if found is None:
        return beginning
    start = max(found.start() - _BEFORE, 0)
    return clip(f"…{one_line(text[start : start + _SLACK * length])}", length)


# Kept for the life of the process: the result depends on the arguments alone, and only the last ones are held.
@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """The pattern of some words, in any case and with any white space in them; ``None``: there are none."""
    parts = [r"\s+".join(map(re.escape, word.split())) for word in sorted(words, key=len, reverse=True)]
    wanted = [part for part in parts if part]
    return re.compile(f"({'|'.join(wanted)})", re.IGNORECASE) if wanted else None
