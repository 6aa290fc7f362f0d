"""The generation of EvalScope that the code is written for which imports a name that both have for different things."""

from __future__ import annotations

import linecache
import sys

_OF_1X = ("evalscope.api", "evalscope.report.report", "evalscope.metrics.semantics")
"""Modules that only the later generation has."""
_OURS = ("polymeter.", "importlib", "_frozen_importlib")


def is_imported_by_1x() -> bool:
    """Return whether the code that is importing a name uses what only EvalScope 1.x has. False where there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    return any(module in text for module in _OF_1X)
