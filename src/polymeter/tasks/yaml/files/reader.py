"""A YAML file as pure data.

Owns the safe loader, ``!function`` tags and includes. Runs no task code and knows no task fields.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.text.full_width import COLON, FullWidth, in_yaml
from polymeter.core.text.yaml_text import document, text_of
from polymeter.guests.loading.load import FunctionRef

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # pragma: no cover  (PyYAML built without libyaml)
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

T = TypeVar("T")
Place = tuple[Path, int]
_MOST_KEPT = 256
"""Files whose documents are kept."""
LOST_INDENTATION = "The file seems to have lost its indentation, as web copies do."


@dataclass(frozen=True, slots=True)
class Document:
    """One file, parsed, without its includes.

    Attributes:
        file: The file.
        values: Its top-level keys.
        lines: The line of each.
        duplicates: Keys that it holds twice in one mapping, with the line of the later one, which wins.
    """

    file: Path
    values: dict[str, Any]
    lines: dict[str, int]
    duplicates: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """A file with its includes merged.

    Attributes:
        file: The file.
        values: Top-level keys after merging.
        places: Where each value was written.
        files: All files that were merged, the including one first.
        duplicates: Keys that are written twice, each with file and line; the later one wins.
    """

    file: Path
    values: dict[str, Any]
    places: dict[str, Place]
    files: tuple[Path, ...]
    duplicates: tuple[tuple[str, Place], ...] = ()

    def where(self, key: str) -> str:
        """``file:line`` of a key."""
        file, line = self.places.get(key, (self.file, 1))
        return f"{file}:{line}"


class _Loader(_BaseLoader):
    """The safe loader, with function tags, which also records keys that are written twice."""

    file: Path
    duplicates: list[tuple[str, int]]


def _construct_function(loader: _Loader, node: yaml.Node) -> FunctionRef:
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode) or "." not in str(node.value).strip("."):
        raise PlanError(
            "A !function tag needs 'module.function'.",
            where=f"{loader.file}:{line}",
            hint="For example: !function utils.my_function",
        )
    module, _, attribute = str(node.value).strip().rpartition(".")
    return FunctionRef(module, attribute, loader.file.parent, loader.file, line)


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> Iterator[dict[Any, Any]]:
    for key, value in node.value:
        _refuse_full_width(loader, key, value)
    if len(node.value) > 1:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    loader.duplicates.append((key.value, key.start_mark.line + 1))
                seen.add(key.value)
    # Yielded empty and filled afterwards, as PyYAML expects, so that anchors may refer to the mapping around them.
    data: dict[Any, Any] = {}
    yield data
    data.update(loader.construct_mapping(node))


def _refuse_full_width(loader: _Loader, key: yaml.Node, value: yaml.Node) -> None:
    """Refuse a key such as ``max_new_tokens：8``, which has no value and would set nothing."""
    is_plain = isinstance(key, yaml.ScalarNode) and not key.style and COLON in key.value
    if is_plain and value.tag == "tag:yaml.org,2002:null":
        mark = key.start_mark
        found = FullWidth(COLON, mark.line + 1, mark.column + key.value.index(COLON) + 1)
        raise PlanError(f"Here {found.words}.", where=f"{loader.file}:{found.line}", hint=found.hint)


_Loader.add_constructor("!function", _construct_function)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def parse(file: Path) -> Document:
    """Parse one file. What it gives is shared, and not to be changed.

    Raises:
        PlanError: if it cannot be read, is not YAML, or is not a mapping.
    """
    return _parse(file, text_of(file, what="task file"))


# A listing shows, loads and checks each task, and hundreds include one template. The text is part of the key.
@lru_cache(maxsize=_MOST_KEPT)
def _parse(file: Path, text: str) -> Document:
    duplicates: list[tuple[str, int]] = []

    def make_loader(text: str) -> _Loader:
        loader = _Loader(text)
        loader.file, loader.duplicates = file, duplicates
        return loader

    try:
        values, node = document(make_loader, text, str(file))
    except PlanError as error:
        if not error.hint and _is_flat(text):
            error.hint = LOST_INDENTATION
        raise
    if values is None:
        values = {}
    if not isinstance(values, dict):
        found = in_yaml(text, text.count("\n") + 1)
        raise PlanError(
            f"A task file must be a mapping of keys to values, and this is {_named(values)}.",
            where=f"{file}:{node.start_mark.line + 1 if node else 1}",
            hint="" if found is None else f"{found.words}. {found.hint}",
        )
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in node.value} if node and values else {}
    return Document(file, {str(key): value for key, value in values.items()}, lines, tuple(duplicates))


def _named(value: object) -> str:
    kinds = {list: "a list", str: "one text", bool: "a truth value", int: "a number", float: "a number"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _is_flat(text: str) -> bool:
    """Return whether no line is indented although some key has its value on the lines below."""
    lines = [line.partition(" #")[0].rstrip() for line in text.splitlines() if line.strip()]
    return not any(line.startswith((" ", "\t")) for line in lines) and any(line.endswith(":") for line in lines)


@dataclass(slots=True)
class YamlReader:
    """Reads files with their includes. Parses each file once, however many include it.

    Attributes:
        is_working_directory_first: Whether an include is looked for in the working directory before it is looked for
            beside the file.
        is_last_include_first: Whether later includes win over earlier ones, in place of earlier over later.
        is_beside_only: Whether an include is looked for beside the including file alone.
        never_included: Keys that count for the file that writes them, and not for those that include it.
        renamed: Our names of keys that files write by other names.
        defaults: Values of keys that a task does not write.
    """

    is_working_directory_first: bool = False
    is_last_include_first: bool = False
    is_beside_only: bool = False
    never_included: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    _parsed: dict[Path, Document] = field(default_factory=dict)
    _merged: dict[Path, Resolved] = field(default_factory=dict)

    def read(self, file: Path) -> Resolved:
        """A file with its includes merged: own keys win, then earlier includes over later ones, or the other way round.
        Values are replaced whole, never merged.

        Raises:
            PlanError: if a file is broken or missing, or files include each other in a circle.
        """
        resolved = self._read(file, ())
        if not self.defaults or not isinstance(resolved.values.get("task"), (str, int)):
            return resolved
        return replace(resolved, values={**self.defaults, **resolved.values})

    def _read(self, file: Path, chain: tuple[Path, ...]) -> Resolved:
        merged = self._merged.get(file)
        if merged is not None:
            return merged
        if file in chain:
            circle = " → ".join(member.name for member in (*chain[chain.index(file) :], file))
            including = self._parsed[chain[-1]]
            raise PlanError(
                f"These files include each other: {circle}.",
                where=f"{including.file}:{including.lines.get('include', 1)}",
            )
        document = self._parsed.get(file)
        if document is None:
            document = self._parsed[file] = self._renamed(parse(file))
        resolved = self._merged[file] = self.merged(document, chain)
        return resolved

    def _renamed(self, document: Document) -> Document:
        if not self.renamed:
            return document
        values = self._in_our_words(document.values)
        members = values.get("task")
        if isinstance(members, list):  # of a group, each of which may write fields of its own
            values["task"] = [self._in_our_words(item) if isinstance(item, dict) else item for item in members]
        return replace(document, values=values, lines=self._in_our_words(document.lines))

    def _in_our_words(self, mapping: Mapping[str, T]) -> dict[str, T]:
        return {self.renamed.get(key, key): value for key, value in mapping.items()}

    def merged(self, document: Document, chain: tuple[Path, ...] = ()) -> Resolved:
        """A document with its includes merged; ``chain``: the files that have led to it by including each other.

        Raises:
            PlanError: if a file is broken or missing, or files include each other in a circle.
        """
        file = document.file
        values: dict[str, Any] = {}
        places: dict[str, Place] = {}
        files = [file]
        duplicates = [(key, (file, line)) for key, line in document.duplicates]
        names = _includes(document)
        for name in names if self.is_last_include_first else reversed(names):  # what is read later overwrites
            included = self._read(self._find_include(name, document), (*chain, file))
            kept = included.values.keys() - self.never_included
            values.update((key, value) for key, value in included.values.items() if key in kept)
            places.update((key, place) for key, place in included.places.items() if key in kept)
            files.extend(item for item in included.files if item not in files)
            duplicates.extend(included.duplicates)
        values.update(document.values)
        values.pop("include", None)
        places.update({key: (file, line) for key, line in document.lines.items()})
        return Resolved(file, values, places, tuple(files), tuple(duplicates))

    def _find_include(self, name: str, document: Document) -> Path:
        if self.is_beside_only:
            return find_include(name, document, is_here_last=False)
        return find_include(name, document, is_here_first=self.is_working_directory_first)


def find_include(name: str, document: Document, *, is_here_first: bool = False, is_here_last: bool = True) -> Path:
    """The file that an include names: beside the including file, else in the working directory, or there first.

    Args:
        name: The name.
        document: The including file.
        is_here_first: Whether the working directory comes first.
        is_here_last: Whether the working directory counts where it does not come first.

    Raises:
        PlanError: if there is no such file.
    """
    beside = document.file.parent / name
    candidates = (beside, Path(name)) if is_here_first or is_here_last else (beside,)
    for candidate in reversed(candidates) if is_here_first else candidates:
        if os.path.isfile(candidate):  # unlike Path.is_file, it takes names that no file can have
            return _tidy(candidate)
    siblings = [item.name for item in document.file.parent.iterdir() if item.is_file()]
    if any(map(os.path.isdir, candidates)):
        raise PlanError(
            f"The include {name!r} is a folder, and a task file is needed.",
            where=f"{document.file}:{document.lines.get('include', 1)}",
            hint="Name a file in it.",
        )
    raise PlanError(
        f"The included file {name!r} does not exist.",
        where=f"{document.file}:{document.lines.get('include', 1)}",
        hint=did_you_mean(name, siblings)
        or f"It is looked for in {document.file.parent}{' and in the working directory' * (len(candidates) > 1)}.",
    )


def _includes(document: Document) -> list[str]:
    value = document.values.get("include")
    names = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PlanError(
            "'include' must be a file name or a list of them.",
            where=f"{document.file}:{document.lines.get('include', 1)}",
        )
    return names


def _tidy(path: Path) -> Path:
    """The absolute path without ``..``, with symbolic links kept: code is looked for beside the link."""
    return Path(os.path.abspath(path))
