"""Tables too large for memory: a copy whose images are in files, so that only their paths are read into memory.

The table is read a few rows at a time, and every cell except those of ``image`` is copied as text, unchanged.
"""

from __future__ import annotations

import csv
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest, is_elsewhere
from polymeter.data.tables.large import pieces_of
from polymeter.data.tables.tsv import columns_of, each_cell_under_its_name, require_index
from polymeter.tasks.table.files.cells import LONGEST_REFERENCE
from polymeter.tasks.table.files.image_files import listed, write_images
from polymeter.tasks.table.files.roots import LMUDataRoot

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

LARGE_BYTES = 1 << 30
_VARIABLE = "FORCE_LOCAL"
UNREADABLE = "no image: "
"""The beginning of a cell of ``image_path`` that gives the reason why there is no image."""


def is_to_be_localised(path: Path) -> bool:
    """Return whether a table is to be read without its images: it has more than 1 GiB, or the environment variable
    ``FORCE_LOCAL`` is set; and it has images.
    """
    is_large = path.stat().st_size > LARGE_BYTES or bool(os.environ.get(_VARIABLE))
    return is_large and "image" in columns_of(path)


def localised(path: Path, images: Path) -> Path:
    """A copy of a table with a column ``image_path`` in place of ``image``, made once for each state of the table.

    A cell that holds no image is logged, and gets the reason in place of a path, for the error of its row.

    Args:
        path: The table.
        images: The folder that image files are written to, byte by byte as the table holds them.

    Returns:
        The copy, in the folder ``local`` beside the tables.

    Raises:
        DataError: if the table cannot be read.
    """
    stat = path.stat()
    state = digest(f"{path.absolute()}:{stat.st_size}:{stat.st_mtime_ns}".encode())[:12]
    target = Path(LMUDataRoot(), "local", f"{path.stem}-{state}_local.tsv")
    if not target.is_file():
        log.info("writing the images of %s to %s", path, images)
        with boundary(DataError, f"Taking the images out of {path}"), replacing(target) as file:
            _without_images(path, images).to_csv(file, sep="\t", index=False, quoting=csv.QUOTE_ALL)
    return target


@dataclass(frozen=True, slots=True)
class _Reference:
    """A cell that refers to the images of another row."""

    cell: str


_Files = list[str | _Reference]


def _without_images(path: Path, images: Path) -> pd.DataFrame:
    import pandas as pd

    pieces: list[pd.DataFrame] = []
    files_of_rows: dict[str, _Files] = {}
    with each_cell_under_its_name() as settings:
        for piece in pieces_of(path, settings):
            require_index(piece, str(path))
            files_of_rows |= {str(row["index"]): _files_of(row, images) for row in piece.to_dict("records")}
            pieces.append(piece.drop(columns=["image"]))
    table = pd.concat(pieces, ignore_index=True)
    require_index(table, str(path))
    table["image_path"] = [_as_cell(_files_in_place(str(index), files_of_rows, images)) for index in table["index"]]
    return table


def _files_of(row: Mapping[str, Any], images: Path) -> _Files:
    """The files of a row's images, and its references to other rows."""
    index = row["index"]
    try:
        cells = listed(row["image"], index, "image")
    except DataError as error:
        return [_reason(error)]
    if not any(map(_may_be_reference, cells)):
        return [*_written(index, cells, row.get("image_path"), images)]
    files: _Files = []
    for number, cell in enumerate(cells):
        is_reference = _may_be_reference(cell)
        files += [_Reference(cell)] if is_reference else _written(f"{index}_{number}", [cell], None, images)
    return files


def _may_be_reference(cell: str) -> bool:
    return len(cell) <= LONGEST_REFERENCE and not is_elsewhere(cell)


def _files_in_place(index: str, files_of_rows: Mapping[str, _Files], images: Path) -> list[str]:
    """The files of a row, with references replaced. A cell that refers to no row may be a very small image."""
    files: list[str] = []
    for item in _followed(files_of_rows[index], files_of_rows):
        if isinstance(item, str):
            files.append(item)
            continue
        others = _followed([item], files_of_rows)
        plain = [other for other in others if isinstance(other, str)]
        last = others[0] if len(others) == 1 and isinstance(others[0], _Reference) else item
        files += plain if len(plain) == len(others) else _written(index, [last.cell], None, images)
    return files


def _followed(items: _Files, files_of_rows: Mapping[str, _Files]) -> _Files:
    """The files that a reference leads to, also over several rows; the reference itself if it leads nowhere."""
    start, seen = items, set[str]()
    while len(items) == 1 and isinstance(items[0], _Reference) and items[0].cell in files_of_rows:
        cell = items[0].cell
        if cell in seen:
            return start
        seen.add(cell)
        items = files_of_rows[cell]
    return items or start


def _written(index: Any, cells: list[str], paths: Any, images: Path) -> list[str]:
    try:
        return write_images(index, cells, paths, images)
    except DataError as error:
        return [_reason(error)]


def _reason(error: DataError) -> str:
    """The text in place of a path, for the error of that row."""
    log.warning("%s", error)
    return f"{UNREADABLE}{error}"


def _as_cell(files: list[str]) -> str:
    return repr(files) if len(files) > 1 else "".join(files)
