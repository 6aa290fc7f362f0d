"""Texts beside a benchmark's configuration: in the README of its folder, and in its code about keys."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

READMES = ("README.md", "readme.md", "Readme.md")
MOST_READ = 20_000
"""Characters of a README that are looked at."""
_LONGEST = 400
_KEY = re.compile(r"[A-Z][A-Z0-9_]*(?:_KEY|_TOKEN|_SECRET)(?:_[0-9])?")
_SKIPPED = ("#", "|", "<", "!", "[", "```", "---", "http", "*", "-", ">", "@")
_LABEL = re.compile(r"^(?:title|abstract|paper title|description)\s*:\s*", re.IGNORECASE)
_MOST_PARSED = 4096


def readme_of(folder: Path) -> str:
    """The beginning of the README in a folder; empty if there is none."""
    for name in READMES:
        try:
            return (folder / name).read_text(encoding="utf-8", errors="replace")[:MOST_READ]
        except OSError:
            continue
    return ""


def readme_summary(folder: Path) -> str:
    """The first paragraph of the README in a folder that is a sentence; empty if there is none."""
    try:
        found = os.stat(folder)
    except OSError:
        return ""
    return _summary(folder, found.st_mtime_ns)


# Kept for the life of the process: a changed folder is read again, and thousands of benchmarks share few.
@lru_cache(maxsize=_MOST_PARSED)
def _summary(folder: Path, mtime_ns: int) -> str:
    for paragraph in re.split(r"\n\s*\n", readme_of(folder)):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        text = _LABEL.sub("", " ".join(line for line in lines if not line.startswith(_SKIPPED)).replace("`", ""))
        if len(text.split()) >= 5:
            return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
    return ""


def keys_behind(sources: Iterable[Path]) -> tuple[str, ...]:
    """The environment variables with keys that source files read, by name; nothing is run."""
    found: set[str] = set()
    for file in sources:
        if file.suffix == ".py":
            try:
                stamp = os.stat(file)
            except OSError:
                continue
            found.update(_keys_in(file, stamp.st_size, stamp.st_mtime_ns))
    return tuple(sorted(found))


# Kept for the life of the process: the file's state is part of the key, so a changed file is read again.
@lru_cache(maxsize=_MOST_PARSED)
def _keys_in(file: Path, size: int, mtime_ns: int) -> frozenset[str]:
    try:
        content = file.read_bytes()
        if b"environ" not in content and b"getenv" not in content:
            return frozenset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the author's texts
            tree = ast.parse(content)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(name for name in _names_read(tree) if _KEY.fullmatch(name))


def _names_read(tree: ast.AST) -> Iterator[str]:
    """The names of environment variables that code reads by ``os.getenv`` or out of ``os.environ``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            called, name = ast.unparse(node.func), node.args[0]
            is_read = called.rpartition(".")[2] == "getenv" or called.endswith("environ.get")
        elif isinstance(node, ast.Subscript):
            name, is_read = node.slice, ast.unparse(node.value).endswith("environ")
        else:
            continue
        if is_read and isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value
