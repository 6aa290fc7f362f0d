"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import polymeter

SOURCE = Path(polymeter.__file__).parent
ENGINE_WORDS = frozenset({"rollout", "score", "reduce"})
FOR_AUTHORS: frozenset[str] = frozenset()
"""Base classes that authors subclass and that have a method of one of these names."""


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted(SOURCE.glob(f"{folder}/**/*.py")):
            yield path.relative_to(SOURCE), ast.parse(path.read_text("utf-8"))


def test_formats_compile_to_functions_and_have_no_task_classes() -> None:
    named = [
        f"{path}: {node.name}.{method.name}"
        for path, tree in trees("formats", "interop/*/tasks")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name not in FOR_AUTHORS
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name in ENGINE_WORDS
    ]
    assert named == []


def test_there_is_one_context_variable() -> None:
    places = [
        str(path)
        for path, tree in trees(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "ContextVar"
    ]
    assert places == ["core/guest_context.py"]


def test_no_constructor_starts_a_thread() -> None:
    starts = [
        f"{path}:{call.lineno}"
        for path, tree in trees("engine", "store", "models")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("hread.start")
    ]
    assert starts == []


def test_the_rooms_are_those_that_the_architecture_names() -> None:
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").is_file()}
    named = {line.split("/")[0] for line in text.splitlines() if "/" in line.split(" ")[0] and line[:1].isalpha()}
    assert rooms <= named
