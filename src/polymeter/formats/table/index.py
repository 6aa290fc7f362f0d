"""What benchmarks there are: dataset classes in Python files, and TSV files that need no code. Nothing is run, and of a
TSV file only the header is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from polymeter.core.catalog import Catalog, Entry, Problem, Root
from polymeter.core.errors import DataError, PlanError
from polymeter.data.tables import columns_of
from polymeter.interop.ulmeval.tasks.reading import DatasetClass, DatasetFile, read_file

NAME = "tsv"
ENDINGS = (".py", ".tsv")


def index(roots: Sequence[Root]) -> Catalog:
    """All benchmarks under the roots and in the folder of data files. A root is a folder, or a single Python or TSV
    file of any name.

    A TSV file that a dataset class of the roots names is that class's data and no benchmark of its own. What cannot be
    read becomes a ``Problem``; in the folder of data files, where others keep files too, it is passed over.
    """
    catalog = Catalog()
    found = [(path, root) for root in roots for path in _files(root.path)]
    owned: set[str] = set()
    broken: list[Path] = []
    for path, root in found:
        if path.suffix == ".py":
            try:
                file = read_file(path, is_named=path == root.path)
            except PlanError as error:
                catalog.problems.append(Problem(error.where or str(path), error.what))
                broken.append(path)
                continue
            _add_classes(catalog, file, root)
            owned |= set(_data_of(file))
    for path, root in found:
        if path.suffix == ".tsv":
            _add_table(catalog, path, root, owned)
    # What a broken file mentions may be its data: it must not be measured as something else.
    mentioned = b"".join(path.read_bytes() for path in broken if path.is_file())
    for path in _data_files():
        if path.stem not in owned and path.stem not in catalog.entries and path.stem.encode() not in mentioned:
            entry = _table_entry(path, is_user=False)
            if entry is not None:
                catalog.add(entry)
    return catalog


def class_entries(file: DatasetFile, *, is_user: bool) -> Iterator[Entry]:
    """The entries of the datasets that a file names."""
    packages = tuple(sorted(file.packages))
    for name, owner in file.named():
        kind = owner.text("TYPE")
        yield Entry(name, "task", NAME, file.path, is_user, tags=(kind,) if kind else (), packages=packages)


def computed_classes(file: DatasetFile) -> list[DatasetClass]:
    """The classes whose names only running the file would tell, and that are not there for others to derive from."""
    above = {name for item in file.classes for name in item.ancestors}
    return [item for item in file.classes if item.datasets is None and item.name not in above]


def _add_classes(catalog: Catalog, file: DatasetFile, root: Root) -> None:
    is_named = file.path == root.path
    for entry in class_entries(file, is_user=root.is_user):
        catalog.add(entry)
    for item in computed_classes(file):
        if is_named:
            catalog.add(Entry(item.name, "group", NAME, file.path, root.is_user, packages=tuple(sorted(file.packages))))
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
    """Stems of the data files that a file's classes own: the names of the datasets, and the last part of their
    URLs.
    """
    for item in file.classes:
        for name, url in (item.datasets or {}).items():
            yield name
            if url:
                yield PurePosixPath(url.partition("?")[0]).stem


def _add_table(catalog: Catalog, path: Path, root: Root, owned: Iterable[str]) -> None:
    if path.stem in owned:
        if path == root.path:
            catalog.problems.append(Problem(str(path), f"{path.name} is the data of a dataset class; run its name."))
        return
    try:
        columns = columns_of(path)
    except DataError as error:
        catalog.problems.append(Problem(error.where or str(path), error.what))
        return
    entry = _entry(path, columns, is_user=root.is_user)
    if entry is not None:
        catalog.add(entry)
    elif root.is_user:
        catalog.problems.append(Problem(f"{path}:1", _why_not(columns)))


def _table_entry(path: Path, *, is_user: bool) -> Entry | None:
    try:
        return _entry(path, columns_of(path), is_user=is_user)
    except DataError:
        return None


def _entry(path: Path, columns: Sequence[str], *, is_user: bool) -> Entry | None:
    kind = type_of_table(columns)
    return Entry(path.stem, "task", NAME, path, is_user, tags=(kind,)) if kind else None


def type_of_table(columns: Sequence[str]) -> str:
    """The TYPE of a TSV without code; empty when its columns make no benchmark."""
    from polymeter.formats.table import classes as native

    return (native.type_of(columns) or "") if "index" in columns else ""


def _why_not(columns: Sequence[str]) -> str:
    if "index" not in columns:
        return f"This table has no column 'index'; it has: {', '.join(columns[:12])}."
    from polymeter.formats.table import classes as native

    return f"{native.why_not(columns)} {native.RULES}"


def _data_files() -> Iterator[Path]:
    from polymeter.formats.table.roots import find_data_root

    folder = find_data_root()
    if folder is not None and folder.is_dir():
        yield from sorted(folder.resolve().glob("*.tsv"))  # a link is called by its own name


def _files(root: Path) -> Iterator[Path]:
    root = Path(os.path.abspath(root))
    if root.is_file():
        if root.suffix in ENDINGS:
            yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(ENDINGS))
