"""What is wrong with a benchmark, found without running its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from polymeter.core.catalog import Entry, Problem
from polymeter.core.errors import DataError
from polymeter.data.tables import is_nothing, read_tsv, require_index
from polymeter.formats.table.load import class_of
from polymeter.interop.ulmeval.tasks.reading import PLAIN_BASES, DatasetClass, read_file

_SCORES = ("evaluate", "evaluate_sample")
_MOST = 20


def check(entry: Entry) -> list[Problem]:
    """Everything that can be found without running code: of a class its scoring, its URLs and the packages that it
    needs; of a table its rows and their images.

    Raises:
        PlanError: The file is broken beyond reading.
    """
    if entry.file.suffix == ".tsv":
        return list(_table(entry))
    found = class_of(entry)
    where = f"{entry.file}:{found.line}"
    problems = [Problem(where, message) for message in (*_scoring(found), *_sums(found))]
    problems.extend(
        Problem(f"{entry.file}:{line}", f"Its code needs the package {package!r}, which is not installed.")
        for package, line in read_file(entry.file, is_named=True).packages.items()
        if find_spec(package) is None
    )
    return problems


def _scoring(found: DatasetClass) -> Iterator[str]:
    """What is missing, when the class derives from nothing but the plain bases."""
    if set(found.bases) <= {*PLAIN_BASES, "object"} and not set(_SCORES) & found.methods:
        yield f"{found.name} defines neither evaluate nor evaluate_sample, so nothing is scored."
    if not found.bases and "build_prompt" not in found.methods:
        yield f"{found.name} defines no build_prompt."


def _sums(found: DatasetClass) -> Iterator[str]:
    sums = found.values.get("DATASET_MD5")
    known = sums if isinstance(sums, Mapping) else {}
    for name, url in (found.datasets or {}).items():
        if url and url.startswith("http://") and not known.get(name):
            yield f"The data of {name!r} is fetched over plain http, and DATASET_MD5 has no sum to verify it by."


def _table(entry: Entry) -> Iterator[Problem]:
    """Problems of a table's rows: indices, and cells that hold no image."""
    from polymeter.formats.table.cells import image_in, read_images, toliststr

    try:
        table = read_tsv(entry.file)
        require_index(table, str(entry.file))
    except DataError as error:
        yield Problem(error.where or str(entry.file), f"{error.what} {error.hint}".strip())
        return
    if "image" not in table:
        return
    n_found = 0
    for index, cell in zip(table["index"], read_images(list(table["index"]), list(table["image"])), strict=True):
        try:
            for item in [] if is_nothing(cell) else toliststr(cell):
                if not item.startswith(("http://", "https://")):
                    image_in(item, index)
        except DataError as error:
            n_found += 1
            if n_found <= _MOST:
                yield Problem(str(entry.file), error.what)
    if n_found > _MOST:
        yield Problem(str(entry.file), f"{n_found - _MOST} more rows have cells that hold no image.")
