"""Replacements for characters that a terminal's encoding cannot hold: the signs of our own tables and messages have
stand-ins, all others are printed as their escapes.
"""

from __future__ import annotations

import codecs

PLAIN = "polymeter.plain"
"""The name of the error handler of streams."""
_STAND_INS = str.maketrans(
    {
        "↑": "^",
        "↓": "v",
        "→": "->",
        "←": "<-",
        "–": "-",
        "—": "-",
        "─": "-",
        "│": "|",
        "…": "...",
        "×": "x",
        "±": "+/-",
        "✓": "+",
        "✗": "x",
        "≥": ">=",
        "≤": "<=",
        "≈": "~",
        "·": ".",
        "•": "*",
    }
)


def register() -> None:
    """Make the error handler known to streams."""
    codecs.register_error(PLAIN, _stand_in)


def _stand_in(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unencodable = error.object[error.start : error.end]
    return unencodable.translate(_STAND_INS).encode("ascii", "backslashreplace").decode("ascii"), error.end
