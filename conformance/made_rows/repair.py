"""What to change in generated rows after a task's code has failed on them."""

from __future__ import annotations

import ast
import json
import re
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.made_rows.rows import KINDS, Shape

# What the message of an error says about the form that the code wants.
_WANTS = (
    (
        r"string indices must be|'str' object has no attribute '(items|keys|get|values)'",
        ("mapping", "mappings", "texts"),
    ),
    (r"'(int|float|NoneType|bool)' object has no attribute '(strip|split|lower|upper|replace|startswith)'", ("text",)),
    (r"'(list|dict)' object has no attribute '(strip|split|lower|upper|replace|startswith)'", ("text",)),
    (r"'str' object has no attribute '(convert|size|resize|mode|save)'", ("image",)),
    (r"'list' object has no attribute '(convert|size|resize)'", ("image",)),
    (r"has no attribute '(get_all_samples|array)'", ("audio",)),
    (r"Expecting value|JSONDecodeError|JSON object must be", ("json", "jsons")),
    (r"invalid literal for int|could not convert string to float", ("digits", "number")),
    (r"malformed node|invalid syntax|was never closed", ("literal", "json")),
    (r"list indices must be integers", ("number", "mapping", "mappings")),
    (r"not supported between instances of 'str'", ("number",)),
    (r"unsupported operand|can only concatenate str|must be str, not", ("text", "number")),
    (r"object is not (iterable|subscriptable)", ("texts", "numbers", "mapping")),
    (r"not enough values to unpack|too many values to unpack", ("time", "numbers", "box")),
    (r"is not in list|substring not found", ("letter", "text")),
    (r"index out of range", ("options", "texts", "letter", "number", "images")),
    (r"expected str|not a string|must be a string|expected string", ("text",)),
    (r"time data", ("time",)),
)


class Repairs:
    """Tries one form after another for the columns that a failure points at."""

    def __init__(self, shape: Shape, folder: Path) -> None:
        self.shape = shape
        self.folder = folder
        self.tried: set[tuple[str, str]] = set()

    def repair(
        self, error: BaseException, row: Mapping[str, Any], suspects: Sequence[str] = (), wanted: Sequence[str] = ()
    ) -> bool:
        """Change the shape; whether there was anything left to try.

        Args:
            error: The failure.
            row: The row on which it happened.
            suspects: The columns to change where the lines of code that failed name none.
            wanted: The forms to try first, where the caller knows.
        """
        missing = error.args[0] if isinstance(error, KeyError) and error.args else None
        if match := re.search(r"'([^']+)' is undefined|[Cc]olumn '?([\w ]+)'? ", str(error)):
            missing = match[1] or match[2]
        if isinstance(missing, str) and missing and missing not in row and missing not in self.shape.columns.keys:
            # Harmless where the key was missed inside a value: the next failure is the same, and columns are tried.
            self.shape.columns.key(missing)
            return True
        if isinstance(missing, str) and missing not in row and self.shape.kinds.get(missing, "") in {"image", "images"}:
            # A column of pictures is not there when answers are scored.
            self.shape.kinds[missing] = "text"
            self.tried.add((missing, "image"))
            self.tried.add((missing, "images"))
            return True
        if isinstance(error, KeyError) and error.args and self._from_table(error, row):
            return True
        if "is not in list" in str(error) and self._from_list(error, row):
            return True
        message = f"{type(error).__name__}: {error}"
        wanted = [*wanted, *(kind for pattern, kinds in _WANTS if re.search(pattern, message) for kind in kinds)]
        suspects = self._suspects(error, row) or [name for name in suspects if name in row]
        for kinds in (wanted, KINDS):
            for column in suspects:
                for kind in kinds:
                    if (column, kind) not in self.tried:
                        self.tried.add((column, kind))
                        self.shape.kinds[column] = kind
                        return True
        return False

    def _from_table(self, error: KeyError, row: Mapping[str, Any]) -> bool:
        """Where a cell is looked up in a table of the task's code: the table's keys are what the column may hold."""
        columns = [name for name, cell in row.items() if _is_cell(error.args[0], cell)]
        for frame, line in reversed(_frames(error)):
            words = re.findall(r"\w+", line)
            tables = [
                table
                for word in words
                for table in (frame.f_locals.get(word), frame.f_globals.get(word))
                if isinstance(table, dict)
                and table
                and "__builtins__" not in table
                and not set(row) & set(map(str, table))
            ]
            for column in columns:
                for table in tables:
                    keys = [key for key in table if isinstance(key, (str, int))]
                    kind = f"|{json.dumps(keys[:12])}"
                    if keys and (column, kind) not in self.tried:
                        self.tried.add((column, kind))
                        self.shape.kinds[column] = kind
                        return True
        return False

    def _from_list(self, error: BaseException, row: Mapping[str, Any]) -> bool:
        """Where a cell is looked for in a list of the task's code: the list is what the column may hold."""
        sought = str(error).partition(" is not in list")[0]
        columns = [name for name, cell in row.items() if repr(cell) == sought]
        for frame, line in reversed(_frames(error)):
            named = [frame.f_locals.get(word, frame.f_globals.get(word)) for word in re.findall(r"\w+", line)]
            lists = [one for one in (*named, *_written_lists(line)) if isinstance(one, (list, tuple)) and one]
            for column in columns:
                for values in lists:
                    kind = f"|{json.dumps([one for one in values if isinstance(one, (str, int))][:12])}"
                    if kind != "|[]" and (column, kind) not in self.tried:
                        self.tried.add((column, kind))
                        self.shape.kinds[column] = kind
                        return True
        return False

    def _suspects(self, error: BaseException, row: Mapping[str, Any]) -> list[str]:
        found: list[str] = []
        for frame, line in reversed(_frames(error)):
            if not str(frame.f_code.co_filename).startswith(str(self.folder)) and "{{" not in line:
                continue
            for name in row:
                if f'"{name}"' in line or f"'{name}'" in line:
                    found.append(name)
            words = set(re.findall(r"\w+", line))
            for local, value in frame.f_locals.items():
                if local in words and not isinstance(value, (bool, type(None))):
                    found += [name for name, cell in row.items() if _is_cell(value, cell)]
            if found:
                break
        return list(dict.fromkeys(found))


def _written_lists(line: str) -> list[list[Any]]:
    """The lists of constants that are written in a line of code."""
    try:
        tree = ast.parse(line.strip())
    except SyntaxError:
        return []
    lists = [node.elts for node in ast.walk(tree) if isinstance(node, (ast.List, ast.Tuple))]
    return [[one.value for one in items if isinstance(one, ast.Constant)] for items in lists]


def _is_cell(value: Any, cell: Any) -> bool:
    if value is cell:
        return True
    if type(value) is not type(cell) or not isinstance(value, (str, list, dict, int, float)):
        return False
    return bool(value == cell)


def _frames(error: BaseException) -> list[tuple[Any, str]]:
    made = []
    for frame, number in traceback.walk_tb(error.__traceback__):
        made.append((frame, _statement(frame.f_code.co_filename, number)))
    return made


def _statement(file: str, number: int) -> str:
    import linecache

    return linecache.getline(file, number)
