"""YAML as data: every file that Polymeter reads goes through here.

A few lines of YAML can stand for more than any machine holds: an alias repeats what its anchor names, aliases of
aliases multiply, and an alias inside its own anchor never ends. So what a text stands for is counted before anything is
made of it. Every error in a file becomes one ``PlanError`` with its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.text.full_width import in_yaml

if TYPE_CHECKING:
    import yaml

MOST_REPEATED = 100_000
"""Most values that aliases may add to those that are written. The largest published task files repeat some hundred."""
DEEPEST = 100
"""Most collections inside one another."""
_CHARS_OF_A_VALUE = 1_000
"""So many characters of a text count as one value, since an alias can repeat a long text as well."""
_LONG_START = re.compile(rf"^[ \-?:]{{{DEEPEST},}}", re.MULTILINE)
"""A line that begins far to the right: every block inside another needs a column."""
_NO_VALUE = (ValueError, OverflowError, TypeError, AttributeError, LookupError)
_ESCAPE = re.compile("hexdecimal|unknown escape")
"""In what PyYAML says of a backslash in double quotes, in its own spelling."""
_INVALID = "This is not valid YAML"


def read_yaml(file: Path, *, what: str = "file") -> Any:
    """The content of a YAML file as plain data.

    Args:
        file: The file.
        what: What it is, for messages ("settings file").

    Raises:
        PlanError: if it cannot be read, is not UTF-8 text or not YAML, or stands for too much.
    """
    return parse_yaml(text_of(file, what=what), where=str(file))


def parse_yaml(text: str, *, where: str) -> Any:
    """The content of a YAML text as plain data.

    Raises:
        PlanError: if it is not YAML, or stands for too much.
    """
    import yaml

    return document(getattr(yaml, "CSafeLoader", yaml.SafeLoader), text, where)[0]


def text_of(file: Path, *, what: str = "file") -> str:
    """The text of a file.

    Raises:
        PlanError: if it cannot be read, or is not UTF-8 text.
    """
    try:
        data = file.read_bytes()
    except IsADirectoryError as error:
        raise PlanError(f"This is a folder, not a {what}.", where=str(file)) from error
    except OSError as error:
        raise PlanError(f"Cannot read the {what}: {error.strerror or error}.", where=str(file)) from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = error.start - before.rfind(b"\n")
        raise PlanError(
            f"The {what} is not UTF-8 text: byte 0x{data[error.start]:02x} in column {column}.",
            where=f"{file}:{before.count(10) + 1}",
            hint="Save it as UTF-8.",
        ) from error


def document(make_loader: Callable[[str], Any], text: str, where: str) -> tuple[Any, yaml.Node | None]:
    """The only document of a text, and its node.

    Args:
        make_loader: Makes a safe loader of a text.
        text: The text.
        where: The file, for messages.

    Raises:
        PlanError: if it is not YAML, or stands for too much.
    """
    import yaml

    node: yaml.Node | None = None
    loader: Any = None
    try:
        if _may_be_deep(text):
            _check_depth(text, where)
        loader = make_loader(text)  # looks at the first characters already
        node = loader.get_single_node()
        if node is None:
            return None, None
        if "*" in text and "&" in text:
            _Extent(where).count(node)
        return loader.construct_document(node), node
    except yaml.MarkedYAMLError as error:
        raise _invalid(error, text, where) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        raise PlanError(
            f"{_INVALID}: it holds a character that YAML does not allow.", where=f"{where}:{line}"
        ) from error
    except yaml.YAMLError as error:
        raise PlanError(f"{_INVALID}: {' '.join(str(error).split())}.", where=f"{where}:1") from error
    except _NO_VALUE as error:
        # A text that looks like a number or a date but is not one (2024-13-45): PyYAML lets Python's own exception
        # through.
        mark = _failing_node(make_loader(text)).start_mark
        problem = " ".join(str(error).split())
        raise PlanError(
            f"{_INVALID}: {problem} (column {mark.column + 1}).", where=f"{where}:{mark.line + 1}"
        ) from error
    finally:
        if loader is not None:
            loader.dispose()


def _invalid(error: yaml.MarkedYAMLError, text: str, where: str) -> PlanError:
    """Return the error in a text that is not YAML, with its line."""
    mark, lines = error.problem_mark or error.context_mark, text.splitlines()
    number = min(mark.line + 1, max(len(lines), 1)) if mark else 1
    problem = " ".join(str(error.problem or error.context or "it cannot be parsed").split())
    column = f" (column {mark.column + 1})" if mark else ""
    line = lines[number - 1] if lines else ""
    before = line[: mark.column + 1] if mark else ""
    full_width = in_yaml(text, number)
    hint = ""
    if full_width is not None:
        number, problem, column, hint = full_width.line, full_width.words, "", full_width.hint
    elif "\t" in before:
        problem, hint = "this line has a tab", "Indent it with spaces; YAML allows no tabs there."
    elif _ESCAPE.search(problem) and "\\" in before:
        place = before.rindex("\\")
        problem, column = f"in double quotes, {line[place : place + 2]} begins an escape", f" (column {place + 1})"
        hint = "Put the text in single quotes, or write a path with / in place of \\."
    return PlanError(f"{_INVALID}: {problem}{column}.", where=f"{where}:{number}", hint=hint)


def _failing_node(loader: Any) -> yaml.Node:
    """The node of a value that cannot be made. It is found by making all of them once more: PyYAML does not name it."""
    construct = loader.construct_object
    begun = []

    def noted(node: yaml.Node, deep: bool = False) -> Any:
        begun.append(node)
        value = construct(node, deep)
        begun.pop()
        return value

    loader.construct_object = noted
    try:
        with suppress(*_NO_VALUE):
            loader.construct_document(loader.get_single_node())
    finally:
        loader.dispose()
    return begun[-1]


class _Extent:
    """Counts what a node stands for, with every alias in full."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._full: dict[int, int] = {}
        self._open: set[int] = set()
        self._written = 0

    def count(self, node: Any) -> int:
        """Return the number of its values.

        Raises:
            PlanError: if it is too much, or has no end.
        """
        key = id(node)
        known = self._full.get(key)
        if known is not None:
            return known
        children = node.value if isinstance(node.value, list) else ()
        if not children:
            own = 1 + (len(node.value) // _CHARS_OF_A_VALUE if isinstance(node.value, str) else 0)
            self._full[key] = own
            self._written += own
            return own
        if key in self._open:
            raise self._refused("An alias refers to the collection that contains it, so it has no end.", node)
        self._open.add(key)
        total = 1
        self._written += 1
        for child in children:
            for part in child if isinstance(child, tuple) else (child,):
                total += self.count(part)
        self._open.discard(key)
        if total > self._written + MOST_REPEATED:
            raise self._refused(
                f"With its aliases written out, this stands for more than {MOST_REPEATED:,} further values.", node
            )
        self._full[key] = total
        return total

    def _refused(self, what: str, node: Any) -> PlanError:
        return _refused(what, node.start_mark, self._where, "Write the values out, or use an include.")


def _may_be_deep(text: str) -> bool:
    """Return whether collections might lie too deep inside one another. Seldom true, and never false where they do."""
    return text.count("[") + text.count("{") > DEEPEST or _LONG_START.search(text) is not None


def _check_depth(text: str, where: str) -> None:
    """Raise if too many collections lie inside one another: PyYAML's loader would crash the process."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                what = f"More than {DEEPEST} collections lie inside one another."
                raise _refused(what, event.start_mark, where, "")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _refused(what: str, mark: Any, where: str, hint: str) -> PlanError:
    return PlanError(f"{what[:-1]} (column {mark.column + 1}).", where=f"{where}:{mark.line + 1}", hint=hint)
