"""The places of authors' code, and the names that they may give."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = re.compile(r"[^\s,:*?\[\]/\\]+")
"""A name of a task or a scorer: without what ``--tasks``, globs and paths mean otherwise."""
_OURS = str(Path(__file__).parent)


def written_at() -> str:
    """Return the file and line of the author's code that makes a record."""
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        is_made = code.co_filename == "<string>" and code.co_name == "__init__"  # the constructor of a dataclass
        if not (is_made or code.co_filename == dataclasses.__file__ or code.co_filename.startswith(_OURS)):
            return f"{code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def place_of(function: Callable[..., Any]) -> str:
    """Return the file and line of a function; empty if it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
