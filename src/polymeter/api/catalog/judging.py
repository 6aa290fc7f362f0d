"""Whether a benchmark needs a judge, as far as its source shows without being run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

JudgeNeed = Literal["yes", "possible", "no"]
_FLAG = "llm_as_a_judge"
_MATCH_METHOD = "llm_match"
_MODULES = frozenset({"judge", "llm_judge"})
_NAMES = frozenset({"LLMJudge"})
_FACTORY = "build_judge"


def judge_need(name: str, config: Mapping[str, Any], sources: Iterable[Path]) -> JudgeNeed:
    """Whether the configuration and the code use a judge.

    Args:
        name: The benchmark's name: if classes are registered under names, only that class counts.
        config: Its configuration.
        sources: Its files.

    Returns:
        ``yes`` if it declares that a judge scores; ``possible`` if its code can use one; else ``no``.
    """
    if config.get(_FLAG) is True:
        return "yes"
    trees = [tree for file in sources if (tree := _parse(file)) is not None]
    nodes = [node for tree in trees for scope in _scopes(tree, name) for node in ast.walk(scope)]
    if any(_sets_flag(node) for node in nodes):
        return "yes"
    return "possible" if any(_can_use_judge(node) for node in nodes) else "no"


def _parse(file: Path) -> ast.Module | None:
    if file.suffix != ".py":
        return None
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None  # loading the benchmark reports it


def _scopes(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """The classes that are registered under the name, with all of the same class name; else the whole file."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    own = {node.name for node in classes if name in _registered(node)}
    yield from (node for node in classes if node.name in own) if own else (tree,)


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
