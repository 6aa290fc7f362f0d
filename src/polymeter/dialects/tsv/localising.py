"""Tables too large to hold: a copy whose images lie in files, so that only their paths are read into memory.

The table is read in pieces of a few rows, and every cell but those of ``image`` is copied as the text that it is.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.files import replacing
from polymeter.core.sources import digest, is_elsewhere
from polymeter.data.tables import columns_of, require_index
from polymeter.dialects.tsv.cells import LONGEST_REFERENCE
from polymeter.dialects.tsv.image_files import write_images
from polymeter.dialects.tsv.roots import LMUDataRoot

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

LARGE_BYTES = 1 << 30
_VARIABLE = "FORCE_LOCAL"
_ROWS_AT_ONCE = 64


def is_to_be_localised(path: Path) -> bool:
    """Whether a table is to be read without its images: it has more than 1 GiB, or the environment variable
    ``FORCE_LOCAL`` is set; and it has images.
    """
    is_large = path.stat().st_size > LARGE_BYTES or bool(os.environ.get(_VARIABLE))
    return is_large and "image" in columns_of(path)


def localised(path: Path, images: Path) -> Path:
    """A copy of a table with a column ``image_path`` in place of ``image``, made once for each state of the table.

    A cell that holds no image is logged, and named by a path where no file is: the error of its row.

    Args:
        path: The table.
        images: The folder that image files are written to, byte by byte as the table holds them.

    Returns:
        The copy, in the folder ``local`` beside the tables.

    Raises:
        DataError: The table cannot be read.
    """
    stat = path.stat()
    state = digest(f"{path.absolute()}:{stat.st_size}:{stat.st_mtime_ns}".encode())[:12]
    target = Path(LMUDataRoot(), "local", f"{path.stem}-{state}_local.tsv")
    if not target.is_file():
        log.info("writing the images of %s to %s", path, images)
        with boundary(DataError, f"Taking the images out of {path}"), replacing(target) as file:
            _without_images(path, images).to_csv(file, sep="\t", index=False)
    return target


def _without_images(path: Path, images: Path) -> pd.DataFrame:
    import pandas as pd

    pieces: list[pd.DataFrame] = []
    found: dict[str, list[str] | str] = {}
    # As texts: a number that is read and written again may come out as another text.
    reader = pd.read_csv(path, sep="\t", dtype=object, keep_default_na=False, chunksize=_ROWS_AT_ONCE)
    with reader:
        for piece in reader:
            require_index(piece, str(path))
            found |= {str(row["index"]): _files_of(row, images) for row in piece.to_dict("records")}
            pieces.append(piece.drop(columns=["image"]))
    table = pd.concat(pieces, ignore_index=True)
    require_index(table, str(path))
    table["image_path"] = [_as_cell(_followed(str(index), found)) for index in table["index"]]
    return table


def _files_of(row: Mapping[str, Any], images: Path) -> list[str] | str:
    """Where a row's images are now, or the index of the row whose images it shares."""
    cell, index = row["image"], row["index"]
    if len(cell) <= LONGEST_REFERENCE and not is_elsewhere(cell):
        return str(cell)
    try:
        return write_images(index, cell, row.get("image_path"), images)
    except DataError as error:
        log.warning("%s", error)
        return [f"(no image could be read in row {index})"]


def _followed(index: str, found: Mapping[str, list[str] | str]) -> list[str]:
    files: list[str] | str | None = found[index]
    seen = {index}
    while isinstance(files, str) and files not in seen:
        seen.add(files)
        last, files = files, found.get(files)
        if files is None:
            return [f"(no image in row {last})"] if last else []
    return files if isinstance(files, list) else []


def _as_cell(files: list[str]) -> str:
    return repr(files) if len(files) > 1 else "".join(files)
