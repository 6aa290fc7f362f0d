"""The dataset classes in Python files, and the tables that are their data. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from polymeter.core.errors import PlanError, Problem
from polymeter.core.machine.folders import files_below
from polymeter.core.names.catalog import Catalog, Entry, Root, is_default, named_with_protocol, protocol_name
from polymeter.interop.ulmeval.tasks.listing.files import FileReader
from polymeter.interop.ulmeval.tasks.listing.presets import PRESETS, classes_near, read_presets
from polymeter.interop.ulmeval.tasks.listing.registry import registry_of
from polymeter.interop.ulmeval.tasks.reading import DatasetClass, DatasetFile

NAME = "dataset_class"
_ENDING = ".py"


def index(roots: Sequence[Root], cache_dir: Path | None = None) -> Catalog:
    """All dataset classes under the roots. A root is a folder, or a single Python file of any name.

    A table that a class names is that class's data and no benchmark of its own; so may be one that a file mentions
    which cannot be read (``Catalog.claims``).
    """
    catalog = Catalog()
    reader = FileReader(cache_dir, roots)
    for root in roots:
        files = list(_read(root, reader, catalog))
        others = _owned_elsewhere(files)
        for file in files:
            _add_classes(catalog, file, root, others.get(file.path, frozenset()))
        _add_presets(catalog, files, root)
    reader.save()
    return catalog


def class_entries(file: DatasetFile, *, is_user: bool, others: frozenset[str] = frozenset()) -> Iterator[Entry]:
    """The entries of the datasets that a file names.

    Args:
        file: The file.
        is_user: Whether it is in a folder of the user's.
        others: Datasets that belong to a class of another file.
    """
    packages = tuple(sorted(file.packages))
    for name, owner in file.named():
        if name in others:
            continue
        kind, stated = owner.text("TYPE"), owner.stated_protocol(name)
        yield Entry(
            named_with_protocol(name, stated),
            "task",
            NAME,
            file.path,
            is_user,
            tags=(kind,) if kind else (),
            packages=packages,
            protocol=protocol_name(stated),
            is_default=is_default(stated),
        )


def computed_classes(file: DatasetFile) -> list[DatasetClass]:
    """Return the classes with names that only running the file would give, without base classes of others."""
    above = {name for item in file.classes for name in item.ancestors}
    return [item for item in file.classes if item.datasets is None and item.name not in above]


def _read(root: Root, reader: FileReader, catalog: Catalog) -> Iterator[DatasetFile]:
    for path in files_below(root.path, _ENDING):
        try:
            yield reader.read(path, is_named=path == root.path)
        except PlanError as error:
            catalog.problems.append(Problem(error.where or str(path), error.what))
            catalog.claims.unread.append(path)


def _owned_elsewhere(files: Iterable[DatasetFile]) -> Mapping[Path, frozenset[str]]:
    """For each file the datasets that it names and that belong to a class of another file of the same copy of a tool,
    by the tool's list of classes.
    """
    ranks: dict[tuple[Path | None, str], dict[Path, float]] = {}
    for file in files:
        folder = registry_of(file.path).folder if file.classes else None
        for name, owner in file.named():
            rank = file.ranks.get(owner.name, float("inf"))
            places = ranks.setdefault((folder, name), {})
            places[file.path] = min(rank, places.get(file.path, rank))
    found: dict[Path, set[str]] = {}
    for (_, name), places in ranks.items():
        for path, rank in places.items():
            if rank > min(places.values()):
                found.setdefault(path, set()).add(name)
    return {path: frozenset(names) for path, names in found.items()}


def _add_classes(catalog: Catalog, file: DatasetFile, root: Root, others: frozenset[str]) -> None:
    is_named = file.path == root.path
    catalog.claims.names.update(_data_of(file))
    for entry in class_entries(file, is_user=root.is_user, others=others):
        catalog.add(entry)
    for item in computed_classes(file):
        if is_named:
            packages = tuple(sorted(file.packages))
            catalog.add(Entry(item.name, "group", NAME, file.path, root.is_user, packages=packages))
            catalog.claims.names.add(item.name)  # a class is often called as its only dataset
        else:
            catalog.problems.append(
                Problem(
                    f"{file.path}:{item.line}",
                    f"The names of the datasets of {item.name} are computed, so they cannot be listed; "
                    "name the file itself with --tasks to run them.",
                )
            )
    if is_named:
        catalog.problems.extend(
            Problem(f"{file.path}:{item.line}", f"{item.name} names no dataset: it has no DATASET_URL.")
            for item in file.classes
            if item.datasets == {} and not any(item.name in other.ancestors for other in file.classes)
        )


def _add_presets(catalog: Catalog, files: Sequence[DatasetFile], root: Root) -> None:
    """Add the presets of a copy of VLMEvalKit; with a class file that is named by itself come those of its classes.
    Presets of classes that the copy does not have are problems with their names.
    """
    is_class_file = root.path.is_file() and root.path.name != PRESETS
    for path in _preset_files(files, root):
        try:
            near = classes_near(path) if path == root.path else _classes(files, path.parent)
            presets = read_presets(path, {name: item for name, (_, item) in near.items()})
        except PlanError as error:
            catalog.problems.append(Problem(error.where or str(path), error.what))
            continue
        lacking: dict[str, list[str]] = {}
        for name, preset in presets.items():
            if preset.of in near:
                file, item = near[preset.of]
                tags = tuple(filter(None, [item.text("TYPE")]))
                packages = tuple(sorted(file.packages))
                catalog.add(Entry(name, "task", NAME, path, root.is_user, tags=tags, packages=packages))
            else:
                lacking.setdefault(preset.of, []).append(name)
        for cls, names in {} if is_class_file else lacking.items():
            said = f"This copy does not have the class {cls}, of which there are {len(names)} presets."
            catalog.problems.append(Problem(str(path), said, tuple(names)))


def _preset_files(files: Sequence[DatasetFile], root: Root) -> list[Path]:
    found = [file.path for file in files if file.path.name == PRESETS]
    if found or not root.path.is_file():
        return found
    beside = (registry_of(root.path).folder or root.path.parent) / PRESETS
    return [beside] if files and files[0].classes and beside.is_file() else []


def _classes(files: Sequence[DatasetFile], folder: Path) -> dict[str, tuple[DatasetFile, DatasetClass]]:
    """The classes of the files of a copy of a tool, by name; of two those in its list."""
    found: dict[str, tuple[DatasetFile, DatasetClass]] = {}
    for file in files:
        if file.path.is_relative_to(folder):
            for item in file.classes:
                if item.name not in found or item.name in file.ranks:
                    found[item.name] = file, item
    return found


def _data_of(file: DatasetFile) -> Iterator[str]:
    """Names of the tables that a file's classes own: those of the datasets, and the last part of their URLs."""
    for item in file.classes:
        for name, url in (item.datasets or {}).items():
            yield name
            if url:
                yield PurePosixPath(url.partition("?")[0]).stem
