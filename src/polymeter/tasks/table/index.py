"""Detection of benchmarks among tables, by their headers; and descriptions and checks of a table before it is run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, Problem
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.machine.folders import files_below
from polymeter.core.names.catalog import Catalog, Claims, Entry, Root, is_default, named_with_protocol, protocol_name
from polymeter.core.records.protocol import read_protocol
from polymeter.core.task import TaskSpec
from polymeter.data.opening.explaining import refuse_equal_names
from polymeter.data.tables.stored_text import in_memory
from polymeter.data.tables.tsv import columns_of, is_nothing, read_tsv, require_index
from polymeter.tasks.table.classes import RULES, misspelt_columns, type_of, why_not
from polymeter.tasks.table.files.cells import image_in, read_images, toliststr
from polymeter.tasks.table.files.roots import find_data_root
from polymeter.tasks.table.protocols import protocol_beside, readable_protocol

NAME = "table"
_SUFFIX = ".tsv"
_VERSION = 1
_MOST = 20
_NEAR = 0.7


def index_data(roots: Sequence[Root], claims: Claims) -> Catalog:
    """The tables under the roots, and those in the folder of tables. A root is a folder, or a single file of any name.

    A table that a benchmark claims, as a dataset class does by naming it, is that benchmark's data and no benchmark of
    its own. A file that cannot be read becomes a ``Problem``; in the folder of tables, which other tools use too, it is
    passed over, and only the error of who names it mentions it.
    """
    catalog = Catalog()
    for root in roots:
        for path in files_below(root.path, _SUFFIX):
            if path not in claims.files:
                _add(catalog, path, root, claims.names)
    mentioned = b"".join(path.read_bytes() for path in claims.unread if path.is_file())
    for path in _data_files():
        name = path.stem
        if name not in claims.names and name not in catalog.entries and name.encode() not in mentioned:
            _add_data(catalog, path)
    return catalog


def is_meant(file: Path) -> bool:
    """Check if a table is meant for this format: it has a column 'index', or one with nearly that name.

    Raises:
        DataError: if the header cannot be read.
    """
    names = [name.strip().lower() for name in columns_of(file)]
    return bool(get_close_matches("index", names, n=1, cutoff=_NEAR))


def load(entry: Entry) -> Loaded:
    """The spec behind an entry.

    Raises:
        PlanError: if the table no longer has columns that make a benchmark, or the protocol beside it is wrong.
    """
    values = _values(entry)
    if not values["TYPE"]:
        raise PlanError(f"{entry.file.name} no longer has columns that make a benchmark.", where=f"{entry.file}:1")
    sources = (entry.file,)
    # The rows are not part of the hash: they are the task's data.
    spec_hash = source_hash((), [_VERSION, values])
    protocol = read_protocol(*protocol_beside(entry.file))
    return Loaded((TaskSpec(entry.name, NAME, entry.file, values, spec_hash, sources, entry.alias, protocol=protocol),))


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Return the contents of a table's header: key, value, and the file."""
    return [(key, value, entry.file) for key, value in _values(entry).items()]


def check(entry: Entry) -> Iterator[Problem]:
    """Problems of a table's rows: with their indices, and with cells that hold no image.

    Raises:
        PlanError: if the protocol beside the table is wrong.
    """
    read_protocol(*protocol_beside(entry.file))
    try:
        refuse_equal_names(columns_of(entry.file), entry.file)
        table = read_tsv(entry.file)
        require_index(table, str(entry.file))
    except DataError as error:
        yield Problem(error.where or str(entry.file), f"{error.what} {error.hint}".strip())
        return
    if "image" not in table:
        return
    from polymeter.data.stored_column import held_cells

    n_bad = 0
    cells = read_images(list(table["index"]), held_cells(table["image"]))
    for index, cell in zip(table["index"], map(in_memory, cells), strict=True):
        try:
            for item in [] if is_nothing(cell) else toliststr(cell):
                if not item.startswith(("http://", "https://")):
                    image_in(item, index)
        except DataError as error:
            n_bad += 1
            if n_bad <= _MOST:
                yield Problem(str(entry.file), error.what)
    if n_bad > _MOST:
        yield Problem(str(entry.file), f"{n_bad - _MOST} more rows have cells that hold no image.")


def _add(catalog: Catalog, path: Path, root: Root, claimed: Collection[str]) -> None:
    if path.stem in claimed:
        if path == root.path:
            catalog.problems.append(Problem(str(path), f"{path.name} is the data of a dataset class; run its name."))
        return
    try:
        columns = columns_of(path)
    except DataError as error:
        catalog.problems.append(Problem(error.where or str(path), error.what))
        return
    entry = _entry_of_table(path, columns, is_user=root.is_user)
    if entry is not None:
        catalog.add(entry)
    elif root.is_user:
        catalog.problems.append(Problem(f"{path}:1", _why_not(columns)))


def _add_data(catalog: Catalog, path: Path) -> None:
    """Add a file of the folder of tables, or the reason why it makes no benchmark."""
    try:
        columns = columns_of(path)
    except DataError as error:
        catalog.passed_over[path.stem] = Problem(error.where or str(path), error.what)
        return
    entry = _entry_of_table(path, columns, is_user=False)
    if entry is None:
        catalog.passed_over[path.stem] = Problem(f"{path}:1", _why_not(columns))
    else:
        catalog.add(entry)


def _entry_of_table(path: Path, columns: Sequence[str], *, is_user: bool) -> Entry | None:
    kind = _type_of_table(columns)
    if not kind:
        return None
    stated = readable_protocol(path)
    name, protocol = named_with_protocol(path.stem, stated), protocol_name(stated)
    return Entry(name, "task", NAME, path, is_user, tags=(kind,), protocol=protocol, is_default=is_default(stated))


def _values(entry: Entry) -> dict[str, Any]:
    columns = columns_of(entry.file)
    return {"dataset": entry.benchmark, "TYPE": _type_of_table(columns), "columns": list(columns)}


def _type_of_table(columns: Sequence[str]) -> str:
    """The TYPE of a table; empty if its columns make no benchmark."""
    return (type_of(columns) or "") if "index" in columns else ""


def _why_not(columns: Sequence[str]) -> str:
    if len(columns) == 1 and "," in columns[0]:
        return (
            f"The header of this table has no tabs: {columns[0]!r}. A .tsv has tabs between its cells; save it as "
            "tab-separated text, or name it as a .csv in a YAML (dataset_path: csv)."
        )
    if "index" not in columns:
        misspelt = "".join(f" {sentence}" for sentence in misspelt_columns(columns))
        return (
            f"This table has no column 'index'; it has: {', '.join(columns[:12])}.{misspelt} Its cells name the rows: "
            "1, 2, 3, …"
        )
    return f"{why_not(columns)} {RULES}"


def _data_files() -> Iterator[Path]:
    folder = find_data_root()
    if folder is not None and folder.is_dir():
        yield from sorted(folder.resolve().glob(f"*{_SUFFIX}"))  # a link keeps its own name
