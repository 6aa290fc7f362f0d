"""Reading a file of dataset classes without running it: which classes there are and which datasets they name, by the
syntax tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import protocol_name
from polymeter.guests.reading.sources import bytes_of, packages_needed, tree_of
from polymeter.interop.ulmeval.tasks.listing.registry import registry_of
from polymeter.interop.ulmeval.tasks.literals import NOT_KNOWN, bound, constants, returned
from polymeter.tasks.table.protocols import PROTOCOL, stated_for

URLS: Final = "DATASET_URL"
SUPPORTED: Final = "supported_datasets"
PLAIN_BASES: Final = ("TextBaseDataset", "ImageBaseDataset", "VideoBaseDataset")
"""Bases that name no dataset themselves."""
SETS: Final = "DATASET_SETS"
"""The attribute in which a class of collections lists the datasets of each."""
_OF_ANY_FILE = ("CustomMCQDataset", "CustomTextMCQDataset", "CustomVQADataset")
"""Classes of VLMEvalKit for a file that no class names: they inherit names, and come last in its registry."""
_MOST_PARSED = 1024
_MARKS = (URLS.encode(), SUPPORTED.encode())
_OF_OPENCOMPASS = re.compile(rb"^\s*(?:from|import) opencompass\b", re.MULTILINE)
_BASE_NAME = re.compile(r"\w+Dataset")
_METHODS = ("build_prompt", "evaluate", "evaluate_sample")
_KEPT = (URLS, "DATASET_MD5", PROTOCOL, SETS, "TYPE", "MODALITY", "NUM_GENERATIONS", "METRICS", "SHOWN")
"""The class attributes that are of use without running the file."""
_TYPE: Final = "TYPE"
TYPES_OF_BASES: Final[Mapping[str, str]] = {
    "ImageMCQDataset": "MCQ",
    "MMMUDataset": "MCQ",
    "MMMUProDataset": "MCQ_MMMU_Pro",
    "TextMCQDataset": "MCQ",
    "CustomMCQDataset": "MCQ",
    "CustomTextMCQDataset": "MCQ",
    "ImageVQADataset": "VQA",
    "CustomVQADataset": "VQA",
    "ImageYORNDataset": "Y/N",
    "ImageShortQADataset": "Short",
    "ImageCaptionDataset": "Caption",
    "MMDUDataset": "MT",
}
"""The TYPE that a class inherits from a base of VLMEvalKit's other files: its runner chooses the judge by it."""


@dataclass(frozen=True, slots=True)
class DatasetClass:
    """A dataset class, as it is written.

    Attributes:
        name: Its name.
        line: Where it stands.
        datasets: Name of each dataset and its URL, ``None`` where that is not known. ``None`` altogether: the names
            are computed.
        values: Those of its class attributes that say something about its datasets, as far as they are known,
            inherited ones within the file included.
        methods: Names of its methods, inherited ones within the file included.
        ancestors: The classes of the file that it derives from, nearest first.
        bases: Names of the bases that the file does not define.
    """

    name: str
    line: int
    datasets: Mapping[str, str | None] | None
    values: Mapping[str, Any]
    methods: frozenset[str]
    ancestors: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """A class attribute, if it is known and a text; else empty."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def stated_protocol(self, dataset: str) -> Any:
        """The protocol that the class states for one of its datasets, without values that are computed; ``None``: it
        states none, or the protocol or its name is computed, so that it is known when the file has run.
        """
        written = stated_for(self.values.get(PROTOCOL), dataset, self.datasets or (dataset,))
        if not isinstance(written, Mapping):
            return None if written is NOT_KNOWN else written
        known = {key: value for key, value in written.items() if not _is_computed(value)}
        return None if "name" in written and "name" not in known else known


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A file, read as a syntax tree.

    Attributes:
        path: The file.
        classes: Its dataset classes, in their order.
        packages: Third-party packages that it imports at its top, each with its line.
        ranks: The places of classes in the tool's list of classes, if its copy has one.
    """

    path: Path
    classes: tuple[DatasetClass, ...] = ()
    packages: Mapping[str, int] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)

    def owner_of(self, dataset: str, protocol: str = "") -> DatasetClass | None:
        """The class that a dataset belongs to: of several that name it the first in the tool's list of classes. Of
        those that are in no list, it is the one that derives from the others, else the first. VLMEvalKit's classes for
        any file own no name that another class has.

        Args:
            dataset: The dataset.
            protocol: The name of the protocol that the class states for it; empty: it states none. A class from which
                others derive is then left to them, whatever they state.
        """
        naming = [item for item in self.classes if item.datasets is not None and dataset in item.datasets]
        naming = [item for item in naming if item.name not in _OF_ANY_FILE] or naming
        owners = [item for item in naming if protocol_name(item.stated_protocol(dataset)) == protocol]
        listed = [item for item in owners if item.name in self.ranks]
        if listed:
            return min(listed, key=lambda item: self.ranks[item.name])
        above = {name for item in (owners if protocol else naming) for name in item.ancestors}
        return next((item for item in owners if item.name not in above), None)

    def named(self) -> Iterator[tuple[str, DatasetClass]]:
        """Every dataset that is named, under each protocol, with the class that it belongs to."""
        found = dict.fromkeys(
            (name, protocol_name(item.stated_protocol(name))) for item in self.classes for name in item.datasets or ()
        )
        for name, protocol in found:
            owner = self.owner_of(name, protocol)
            if owner is not None:
                yield name, owner


def read_file(path: Path, *, is_named: bool = False) -> DatasetFile:
    """The dataset classes of a file. One that mentions neither ``DATASET_URL`` nor ``supported_datasets`` is not even
    parsed.

    Args:
        path: The file.
        is_named: Whether the user has named this very file, so that it is parsed whatever it mentions.

    Raises:
        PlanError: if it is not valid Python.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise PlanError(f"The file cannot be read: {error.strerror}.", where=str(path)) from None
    return ranked(_parsed(path, is_named, found.st_size, found.st_mtime_ns))


# A name of a tree is looked up among its files: each is parsed once in a process, as long as it stays as it is.
@lru_cache(maxsize=_MOST_PARSED)
def _parsed(path: Path, is_named: bool, size: int, mtime_ns: int) -> DatasetFile:
    content = bytes_of(path)
    if not any(mark in content for mark in _MARKS) and not (is_named and b"Dataset" in content):
        return DatasetFile(path)
    if _OF_OPENCOMPASS.search(content):  # its dataset classes have a base of the same name
        return DatasetFile(path)
    tree = tree_of(path, content)
    classes = tuple(_ClassReader(tree).classes())
    return DatasetFile(path, classes, dict(packages_needed(tree, path.parent)) if classes else {})


def ranked(file: DatasetFile) -> DatasetFile:
    """A file with the places of its classes in the list of its copy of the tool."""
    return replace(file, ranks=registry_of(file.path).ranks(file.path)) if file.classes else file


def line_of_protocol(path: Path, item: DatasetClass) -> int:
    """The line of a file where a class, or a base class in the file, states its protocol; else that of the class."""
    classes = {node.name: node for node in tree_of(path, bytes_of(path)).body if isinstance(node, ast.ClassDef)}
    statements = (node for name in (item.name, *item.ancestors) for node in classes[name].body)
    return next((node.lineno for node in statements if PROTOCOL in bound(node)), item.line)


def line_of_data(path: Path, dataset: str, protocol: str = "") -> int:
    """The line of a file where a class names a dataset and its URL; that of the class where the names are computed."""
    file = read_file(path, is_named=True)
    owner = file.owner_of(dataset, protocol) or next(iter(file.classes), None)
    if owner is None:
        return 1
    classes = {node.name: node for node in tree_of(path, bytes_of(path)).body if isinstance(node, ast.ClassDef)}
    for name in (owner.name, *owner.ancestors):
        for node in ast.walk(classes[name]):
            if isinstance(node, ast.Constant) and node.value == dataset:
                return node.lineno
    return owner.line


class _ClassReader:
    """Finds dataset classes in one tree.

    Args:
        tree: The tree of a whole file.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._constants = constants(tree.body)
        self._values: dict[str, dict[str, Any]] = {}

    def classes(self) -> Iterator[DatasetClass]:
        """In the order of the file."""
        for name, node in self._nodes.items():
            found = self._read(name, node)
            if _is_dataset_class(found):
                yield found

    def _read(self, name: str, node: ast.ClassDef) -> DatasetClass:
        line = self._lineage(name)
        values: dict[str, Any] = {}
        for ancestor in reversed(line):
            values |= self._values_of(ancestor)
        methods = {method for ancestor in line for method in _methods(self._nodes[ancestor])}
        bases = tuple(base for ancestor in line for base in _bases(self._nodes[ancestor]) if base not in self._nodes)
        datasets = self._datasets(line, values, bases)
        kept = {item: values[item] for item in _KEPT if item in values}
        inherited = next((TYPES_OF_BASES[base] for base in bases if base in TYPES_OF_BASES), None)
        if _TYPE not in kept and inherited is not None:
            kept[_TYPE] = inherited
        return DatasetClass(name, node.lineno, datasets, kept, frozenset(methods), tuple(line[1:]), bases)

    def _lineage(self, name: str) -> list[str]:
        """A class and those of the file that it derives from, nearest first."""
        found: list[str] = []
        waiting = [name]
        while waiting:
            current = waiting.pop(0)
            if current not in found:
                found.append(current)
                waiting.extend(base for base in _bases(self._nodes[current]) if base in self._nodes)
        return found

    def _values_of(self, name: str) -> dict[str, Any]:
        """The class attributes that a class's own body sets."""
        if name not in self._values:
            scope = {**self._constants, **{f"{other}.{URLS}": v.get(URLS) for other, v in self._values.items()}}
            body = self._nodes[name].body
            inside = constants(body, scope)
            own = {item for node in body for item in bound(node) if not item.endswith("()")}
            # What is set or changed after the class (``Class.x = …``) is known by its dotted name.
            self._values[name] = {item: self._constants.get(f"{name}.{item}", inside[item]) for item in own}
        return self._values[name]

    def _datasets(
        self, line: Sequence[str], values: Mapping[str, Any], bases: Sequence[str]
    ) -> Mapping[str, str | None] | None:
        """Return the names that the nearest class of a lineage states: by a method that gives them, or by its URLs."""
        for name in line:
            method = _method(self._nodes[name], SUPPORTED)
            names = None if method is None else _returned(method, {**self._constants, **_inside(method, name, values)})
            if method is not None and names is not None:
                return None if names is NOT_KNOWN else dict.fromkeys(map(str, names))
            if URLS in self._values_of(name):
                urls = self._values_of(name)[URLS]
                if not isinstance(urls, dict):
                    return None
                return {str(key): value if isinstance(value, str) else None for key, value in urls.items()}
        is_inherited = any(base not in PLAIN_BASES and _BASE_NAME.fullmatch(base) for base in bases)
        return None if is_inherited else {}


def _is_computed(value: Any) -> bool:
    if value is NOT_KNOWN:
        return True
    values = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(_is_computed, values))


def _inside(method: ast.FunctionDef, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a class as a method of it names them: by the class, or by its first argument."""
    owners = [name, *(item.arg for item in method.args.args[:1])]
    return {f"{owner}.{key}": value for owner in owners for key, value in values.items()}


def _is_dataset_class(found: DatasetClass) -> bool:
    """A class that derives from one whose name says so, or that has URLs and does something with what they give."""
    if any(_BASE_NAME.fullmatch(base) for base in found.bases):
        return True
    return URLS in found.values and bool(found.bases or found.methods & set(_METHODS))


def _bases(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield base.id
        elif isinstance(base, ast.Attribute):
            yield base.attr


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name), None)


def _methods(node: ast.ClassDef) -> Iterator[str]:
    yield from (item.name for item in node.body if isinstance(item, ast.FunctionDef))


def _returned(method: ast.FunctionDef, known: Mapping[str, Any]) -> Any:
    """The names that ``supported_datasets`` gives; ``None`` where it gives those of ``DATASET_URL``."""
    value = method.body[-1].value if isinstance(method.body[-1], ast.Return) else None
    written = ast.unparse(value) if value is not None else ""
    if re.fullmatch(rf"(?:list\()?\w+\.{URLS}(?:\.keys\(\))?\)?", written):
        return None
    names = returned(method, known)
    return list(names) if isinstance(names, (list, dict)) else NOT_KNOWN
