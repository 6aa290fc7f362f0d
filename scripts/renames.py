"""The names that moved when the house was rebuilt, and a way to apply them to code that was written before.

    python scripts/renames.py PATH …      rewrites the Python files below the paths in place

``renames.json`` holds the table: ``modules`` maps dotted modules and packages (the longest match wins), ``names`` maps
identifiers, ``patterns`` regular expressions for attributes whose name alone says too little, and ``texts`` the few
places where a call has another shape. Names that reach a file, digest, seed, flag or YAML key never moved and are not
in it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_TABLE = json.loads(Path(__file__).with_name("renames.json").read_text("utf-8"))
_MODULES: dict[str, str] = _TABLE["modules"]
_NAMES: dict[str, str] = _TABLE["names"]
_PATTERNS: list[list[str]] = _TABLE["patterns"]
_TEXTS: list[list[str]] = _TABLE["texts"]
_FROM = re.compile(
    r"^(?P<indent>[ \t]*)from (?P<package>(?:polymeter|tests)[\w.]*) import (?P<what>\([^)]*\)|[^\n(]*)$", re.M
)


def moved(name: str) -> str:
    """The dotted name under which a module, or an object in it, is found now."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        new = _MODULES.get(".".join(parts[:depth]))
        if new is not None:
            return ".".join([new, *parts[depth:]])
    return name


def rewrite(text: str) -> str:
    """Source text with every moved name in its new form."""
    text = _FROM.sub(_rewrite_import, text)
    text = re.sub(r"\b(?:polymeter|tests)(?:\.\w+)+", lambda match: moved(match[0]), text)
    if _NAMES:
        names = "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True))
        text = re.sub(rf"\b(?:{names})\b", lambda match: _NAMES[match[0]], text)
    for before, after in _TEXTS:
        text = text.replace(before, after)
    for pattern, replacement in _PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text


def _rewrite_import(match: re.Match[str]) -> str:
    package, what = match["package"], match["what"]
    if what.endswith("\\"):
        return match[0]
    bare, _, comment = what.partition("#") if not what.startswith("(") else (what, "", "")
    items = [item.strip() for item in re.sub(r"#[^\n]*", "", bare.strip("()")).split(",") if item.strip()]
    lines = list(_imports(package, items, match["indent"]))
    return "\n".join(lines) + (f"  #{comment}" if comment else "")


def _imports(package: str, items: list[str], indent: str) -> Iterator[str]:
    kept: dict[str, list[str]] = {}
    for item in items:
        name, _, alias = item.partition(" as ")
        full = f"{package}.{name.strip()}"
        new = moved(full)
        home, _, last = new.rpartition(".")
        if full not in _MODULES:
            home, last = moved(package), name.strip()
        shown = alias.strip() or name.strip()
        kept.setdefault(home, []).append(last if shown == last else f"{last} as {shown}")
    for home, names in kept.items():
        joined = ", ".join(names)
        line = f"{indent}from {home} import {joined}"
        yield line if len(line) <= 110 else f"{indent}from {home} import ({joined})"


def main(paths: list[str]) -> None:
    """Rewrite the files below some paths."""
    for path in map(Path, paths):
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            before = file.read_text("utf-8")
            after = rewrite(before)
            if after != before:
                file.write_text(after, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
