"""A picture in a cell: base64, or the path of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError
from polymeter.core.parts import Image
from polymeter.formats.table.cells import image_in
from polymeter.formats.table.classes.cells import column, place_of

_LONGEST_PATH = 1024


def picture_in(line: Mapping[str, Any], name: str, folders: Sequence[Path]) -> Image:
    """The picture in a cell.

    Args:
        line: The row.
        name: The column.
        folders: Where a relative path is looked for, in this order; then the working directory.

    Raises:
        DataError: The cell is neither a picture in base64 nor the path of a file.
    """
    text = column(line, name).strip()
    if len(text) <= _LONGEST_PATH and not text.startswith("data:"):
        for folder in (*folders, Path()):
            path = (folder / text).expanduser()
            if _is_file(path):
                return Image(path)
    try:
        return Image(image_in(text, line.get("index"), name)[0])
    except DataError as error:
        if len(text) > _LONGEST_PATH:
            raise
        raise DataError(
            f"This cell is neither a picture in base64 nor the path of a file: {text[:80]!r}.",
            where=place_of(line, name),
            hint="Paths are relative to the table's folder.",
        ) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # base64 of a small picture is short enough for a path, and too long for a name
        return False
