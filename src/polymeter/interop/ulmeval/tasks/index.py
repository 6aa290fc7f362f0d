"""The dataset classes in Python files, and the tables that are their data. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from polymeter.core.errors import PlanError, Problem
from polymeter.core.machine.folders import files_below
from polymeter.core.names.catalog import Catalog, Entry, Root, is_default, named_with_protocol, protocol_name
from polymeter.interop.ulmeval.tasks.reading import DatasetClass, DatasetFile, read_file

NAME = "dataset_class"
_ENDING = ".py"


def index(roots: Sequence[Root]) -> Catalog:
    """All dataset classes under the roots. A root is a folder, or a single Python file of any name.

    A table that a class names is that class's data and no benchmark of its own; so may be one that a file mentions
    which cannot be read (``Catalog.claims``).
    """
    catalog = Catalog()
    for root in roots:
        for path in files_below(root.path, _ENDING):
            try:
                file = read_file(path, is_named=path == root.path)
            except PlanError as error:
                catalog.problems.append(Problem(error.where or str(path), error.what))
                catalog.claims.unread.append(path)
                continue
            _add_classes(catalog, file, root)
    return catalog


def class_entries(file: DatasetFile, *, is_user: bool) -> Iterator[Entry]:
    """The entries of the datasets that a file names."""
    packages = tuple(sorted(file.packages))
    for name, owner in file.named():
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


def _add_classes(catalog: Catalog, file: DatasetFile, root: Root) -> None:
    is_named = file.path == root.path
    catalog.claims.names.update(_data_of(file))
    for entry in class_entries(file, is_user=root.is_user):
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


def _data_of(file: DatasetFile) -> Iterator[str]:
    """Names of the tables that a file's classes own: those of the datasets, and the last part of their URLs."""
    for item in file.classes:
        for name, url in (item.datasets or {}).items():
            yield name
            if url:
                yield PurePosixPath(url.partition("?")[0]).stem
