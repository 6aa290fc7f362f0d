"""Forms of columns that neither the code nor the name of the column tells, by a glob of tasks.

A form is one of `made_rows.rows.KINDS`, ``=JSON`` for one value, or ``|JSON`` for one of several.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from typing import Any


def _several(*values: Any) -> str:
    return f"|{json.dumps(values)}"


def _translations(*languages: str) -> str:
    words = (("a red boat", "ruu 1"), ("seven small birds", "ruu 2"), ("the old clock", "ruu 3"), ("a house", "ruu 4"))
    return _several(*(dict(zip(languages, pair, strict=True)) for pair in words))


_OPTIONS = (["red", "blue"], ["a boat", "a house"], ["seven", "twelve"])
_ENDING = {"ctx_a": "text", "ctx_b": "text", "activity_label": "text", "endings": "options"}

HINTS: Mapping[str, Mapping[str, str]] = {
    "*hellaswag*": {**_ENDING, "label": _several("0", "1", "2", "3")},
    "arabic_leaderboard_acva_*": {"answer": _several("صح", "خطأ")},
    "bigbench_*_multiple_choice": {
        "multiple_choice_targets": _several(*_OPTIONS),
        "multiple_choice_scores": _several([1, 0], [0, 1]),
    },
    "careqa_*": {"cop": _several(1, 2, 3, 4)},
    "*storycloze_*": {"answer_right_ending": _several(1, 2)},
    "mafand_*": {"translation": _translations("en", "amh")},
    "masakhapos_*": {
        "tokens": _several(["a", "red", "boat"], ["seven", "birds", "sing"], ["the", "clock", "stopped"]),
        "upos": _several([0, 1, 2], [3, 0, 5], [7, 8, 9]),
    },
}


def hints_for(task: str) -> dict[str, str]:
    """The forms for a task."""
    return {
        column: form
        for tasks, forms in HINTS.items()
        if fnmatch.fnmatchcase(task, tasks)
        for column, form in forms.items()
    }
