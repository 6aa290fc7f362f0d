"""Lists with boxes: "- [ ] A. bus" and "- [x] B. dog", or "❌ A" and "✅ B"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from polymeter.reading.markup import MARK

_YES, _NO = "☑✅✓✔🗹", "☐❌✗✘⬜✖☒"
_BOX = re.compile(rf"[\s\-*+•>]*(?:\[(?P<box>[ xX✓✔])\]|(?P<sign>[{_YES}{_NO}]))\s*(?P<rest>.*)")
_AFTER = " \t.,;:!|)" + MARK


def ticked(lines: Iterable[str]) -> list[str] | None:
    """Return the ticked entries in a list with boxes, or ``None`` if no line has a box."""
    found, has_boxes = [], False
    for line in lines:
        match = _BOX.fullmatch(line)
        bare = line.rstrip(_AFTER)
        if match is not None:
            sign, rest = match["sign"] or match["box"], match["rest"]
        elif bare and bare[-1] in _YES + _NO:
            sign, rest = bare[-1], bare[:-1]
        else:
            continue
        has_boxes = True
        if sign != " " and sign not in _NO:
            found.append(rest)
    return found if has_boxes else None
