"""Benchmarks that need a judge, as far as their source shows without being run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

JudgeNeed = Literal["yes", "possible", "no"]
_FLAG = "llm_as_a_judge"
_MATCH_METHOD = "llm_match"
_MODULES = frozenset({"judge", "llm_judge"})
_NAMES = frozenset({"LLMJudge"})
_FACTORY = "build_judge"
_MENTION = re.compile(rb"judge|LLMJudge|llm_match")
"""A part of every name above: parsing takes a thousand times as long as a search for it."""
_MOST_READ = 4096


def judge_need(name: str, config: Mapping[str, Any], sources: Iterable[Path]) -> JudgeNeed:
    """Return whether the configuration and the code use a judge.

    Args:
        name: The benchmark's name: if classes are registered under names, only that class counts.
        config: Its configuration.
        sources: Its files.

    Returns:
        ``yes`` if it declares that a judge scores; ``possible`` if its code can use one; else ``no``.
    """
    if config.get(_FLAG) is True:
        return "yes"
    found = [scope for file in sources if file.suffix == ".py" for scope in _scopes(_scopes_in(file), name)]
    if any(scope.sets_flag for scope in found):
        return "yes"
    return "possible" if any(scope.can_use_judge for scope in found) else "no"


@dataclass(frozen=True, slots=True)
class _Scope:
    """A class, or a whole file.

    Attributes:
        name: The class's name; empty: the file.
        registered: The names that it may be registered under.
        sets_flag: Whether it says that a judge scores.
        can_use_judge: Whether its code can use one.
    """

    name: str
    registered: frozenset[str]
    sets_flag: bool
    can_use_judge: bool


def _scopes(found: tuple[_Scope, ...], name: str) -> Iterator[_Scope]:
    """The classes that are registered under the name, with all of the same class name; else the whole file."""
    own = {scope.name for scope in found if name in scope.registered}
    yield from (scope for scope in found if (scope.name in own if own else not scope.name))


def _scopes_in(file: Path) -> tuple[_Scope, ...]:
    try:
        found = file.stat()
    except OSError:
        return ()  # loading the benchmark reports it
    return _read_once(str(file), found.st_size, found.st_mtime_ns)


# Thousands of benchmarks share their code, so a file is read once in a process, as long as it is unchanged.
@lru_cache(maxsize=_MOST_READ)
def _read_once(file: str, size: int, mtime_ns: int) -> tuple[_Scope, ...]:
    """Return what the classes of a file and the file itself say about judges."""
    try:
        content = Path(file).read_bytes()
        if not _MENTION.search(content):
            return ()
        tree = ast.parse(content)
    except (OSError, SyntaxError, ValueError):
        return ()  # loading the benchmark reports it
    whole = _scope(tree, "", set())
    if not (whole.sets_flag or whole.can_use_judge):
        return ()
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return (whole, *(_scope(node, node.name, _registered(node)) for node in classes))


def _scope(scope: ast.AST, name: str, registered: set[str]) -> _Scope:
    nodes = [*ast.walk(scope)]
    return _Scope(name, frozenset(registered), any(map(_sets_flag, nodes)), any(map(_can_use_judge, nodes)))


def _registered(node: ast.ClassDef) -> set[str]:
    """The texts among the arguments of a class's decorators that may be its name."""
    calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    values = [call.args[0] for call in calls if call.args]
    values += [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "name"]
    return {value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def _sets_flag(node: ast.AST) -> bool:
    """``self.llm_as_a_judge = True``, ``llm_as_a_judge = True``, or the keyword of a call."""
    if isinstance(node, ast.keyword):
        return node.arg == _FLAG and _is_true(node.value)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {getattr(target, "attr", getattr(target, "id", "")) for target in targets}
        return _FLAG in names and _is_true(node.value)
    return False


def _can_use_judge(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == _MATCH_METHOD
    if isinstance(node, ast.Name):
        return node.id == _FACTORY
    if isinstance(node, ast.ImportFrom):
        imported = {alias.name for alias in node.names}
        return bool(_NAMES & imported or _MODULES & set((node.module or "").split(".")) or _MODULES & imported)
    return isinstance(node, ast.Import) and any(_MODULES & set(alias.name.split(".")) for alias in node.names)


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True
