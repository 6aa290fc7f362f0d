"""lmms-eval's own default judge prompts, read from the installed package: Polymeter does not carry them.

Nothing of the package is imported or run; its files are read as text.
"""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.installing import pip_install

VERSION = "0.7.2"


# Kept for the life of the process: a constant of the installed package.
@lru_cache(maxsize=8)
def original_prompt(name: str) -> str:
    """A template of lmms-eval, to be filled in by ``str.format``.

    Args:
        name: The name that it has here. ``RUBRIC_JUDGE_PROMPT`` has none there: it stands in a function.

    Raises:
        PlanError: if lmms-eval is not installed in the version that is meant.
    """
    folder = _folder()
    if name == "RUBRIC_JUDGE_PROMPT":
        template = _written_in(folder / "base.py", "evaluate_with_rubric")
    else:
        template = _constant(folder / "prompt.py", name)
    if template is None:
        raise PlanError(f"The installed lmms_eval has no prompt {name!r}.", where=str(folder), hint=_hint())
    return template


def check_original() -> None:
    """Check that the prompts can be read.

    Raises:
        PlanError: if lmms-eval is not installed in the version that is meant.
    """
    _folder()


def _hint() -> str:
    command = pip_install("--no-deps", f"lmms_eval=={VERSION}")
    return f"Install it beside Polymeter: {command}. Or name prompts of your own."


def _folder() -> Path:
    try:
        found = version("lmms_eval")
    except PackageNotFoundError:
        found = ""
    # The shim answers to the package's name, so the finder of the file system is asked.
    spec = PathFinder.find_spec("lmms_eval", sys.path) if found == VERSION else None
    if spec is None or not spec.submodule_search_locations:
        there = f"{found} is" if found else "none is"
        raise PlanError(
            f"lmms-eval's default judge prompts are read from lmms_eval {VERSION}; {there} installed.", hint=_hint()
        )
    return Path(next(iter(spec.submodule_search_locations))) / "llm_judge"


def _constant(file: Path, name: str) -> str | None:
    for node in ast.parse(file.read_text("utf-8")).body:
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == name
            and isinstance(node.value, ast.Constant)
        ):
            return str(node.value.value)
    return None


def _written_in(file: Path, function: str) -> str | None:
    """The f-string of ``prompt = f"…"`` in a function, as a template; its ``rubric_text`` is our ``rubric``."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            for statement in ast.walk(node):
                if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.JoinedStr):
                    return "".join(map(_piece, statement.value.values))
    return None


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return "{" + ast.unparse(part.value).replace("rubric_text", "rubric") + "}"
    text = part.value if isinstance(part, ast.Constant) else ""
    return str(text).replace("{", "{{").replace("}", "}}")
