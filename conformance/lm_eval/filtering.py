"""What rows a task's ``process_docs`` keeps, where it keeps none: which text in which column it looks for."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_DEPTH = 3


def forms_that_are_kept(function: Any, columns: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Columns and forms to try, those first whose column the function names.

    Args:
        function: The task's ``process_docs``.
        columns: A row that it drops.
    """
    texts = list(dict.fromkeys(_constants(function, _DEPTH)))
    named = [name for name in columns if name in texts]
    values = [text for text in texts if text not in columns and (not isinstance(text, str) or 0 < len(text) < 80)]
    words = [value for value in values if isinstance(value, str)]
    # What an f-string may make of them: ``f"mmlu.{subject}"``.
    joined = [first + second for first in words for second in words if re.search(r"\w[._:/-]$", first)]
    for column in [*named, *(name for name in columns if name not in named)]:
        for value in [*values, *(joined if column in named else ())]:
            yield column, f"={json.dumps(value)}"


def _constants(value: Any, depth: int) -> Iterator[Any]:
    """The texts and numbers that a function holds: bound, closed over, written down, in functions that it names."""
    if isinstance(value, bool) or value is None or depth == 0:
        return
    if isinstance(value, (str, int)):
        yield value
    elif isinstance(value, functools.partial):
        for one in (*value.keywords.values(), *value.args):
            yield from _constants(one, depth)
        yield from _constants(value.func, depth)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in list(value)[:40]:
            yield from _constants(one, depth - 1)
    elif isinstance(value, dict):
        for key, one in list(value.items())[:40]:
            yield from _constants([key, one], depth - 1)
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            yield from _constants(cell.cell_contents, depth)
        for default in value.__defaults__ or ():
            yield from _constants(default, depth)
        for code in _codes(value.__code__):
            for one in code.co_consts:
                yield from _constants(one, depth)
        for name in (name for code in _codes(value.__code__) for name in code.co_names):
            other = value.__globals__.get(name)
            if isinstance(other, (FunctionType, functools.partial, list, dict, str, tuple, set)):
                yield from _constants(other, depth - 1)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)
