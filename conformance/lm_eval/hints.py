"""Forms of columns that neither the code nor the name of the column tells, by the start of a task's name.

A form is one of `made_rows.rows.KINDS`, ``=JSON`` for one value, or ``|JSON`` for one of several.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def _several(*values: Any) -> str:
    return f"|{json.dumps(values)}"


def _translations(*languages: str) -> str:
    words = (("a red boat", "ruu 1"), ("seven small birds", "ruu 2"), ("the old clock", "ruu 3"), ("a house", "ruu 4"))
    return _several(*(dict(zip(languages, pair, strict=True)) for pair in words))


HINTS: Mapping[str, Mapping[str, str]] = {
    "mafand_": {"translation": _translations("en", "amh")},
    "masakhapos_": {
        "tokens": _several(["a", "red", "boat"], ["seven", "birds", "sing"], ["the", "clock", "stopped"]),
        "upos": _several([0, 1, 2], [3, 0, 5], [7, 8, 9]),
    },
}


def hints_for(task: str) -> dict[str, str]:
    """The forms for a task."""
    return {column: form for start, forms in HINTS.items() if task.startswith(start) for column, form in forms.items()}
