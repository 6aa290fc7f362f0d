"""Arguments of Python callers, converted to the form of the engine; an argument without such a form is a plan error."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError

Names = str | Path | Iterable[str | Path]
"""One name or path, or several."""


def names_of(given: Any, argument: str) -> tuple[str, ...]:
    """The names in an argument that takes one or several of them.

    Raises:
        PlanError: if anything else is among them: ``None``, a number, a list in the list.
    """
    is_one = isinstance(given, (str, bytes, os.PathLike, Mapping)) or not isinstance(given, Iterable)
    names = [given] if is_one else list(given)
    for name in names:
        if not isinstance(name, (str, os.PathLike)):
            what = f"{name!r} is neither a name nor a path."
            raise PlanError(what, where=argument, hint="Give one, or a list of them.")
    return tuple(map(str, names))


def mapping_of(given: Any, argument: str) -> dict[str, Any]:
    """Return a copy of the mapping in an optional argument.

    Raises:
        PlanError: if it is something else, or one of its keys is not text.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        # What was given may hold a key, and is not shown.
        raise PlanError(f"{argument} must be a mapping with text as keys.", hint=f"Write {argument}={{'NAME': …}}.")
    return dict(given)
