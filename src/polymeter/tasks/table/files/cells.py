"""Reading the cells of the columns ``image`` and ``image_path``.

A cell is base64 (bare or as a ``data:`` URL), the index of another row whose image it shares, an http(s) URL, a printed
Python list of these, or empty. Code in a cell is never run. Tables are read leniently: an invalid cell is kept
unchanged, and fails its row once that row's image is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.media.pixels import opened_image
from polymeter.data.base64_images import decode_base64
from polymeter.data.tables.stored_text import StoredText
from polymeter.data.tables.tsv import is_nothing

LONGEST_REFERENCE = 64
"""A cell of at most this many characters names another row."""
_SUFFIX = {"JPEG": ".jpg", "MPO": ".jpg", "PNG": ".png", "TIFF": ".tiff", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp"}
NOT_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_MOST_SHOWN = 40


def toliststr(value: Any) -> list[str]:
    """A cell as a list of texts: a printed list, a list, or one text.

    Raises:
        DataError: if a text in brackets is not a printed list, or the value is neither a text nor a list.
    """
    if isinstance(value, str):
        if value[:1] != "[" or value[-1:] != "]":
            return [value]
        try:
            items = ast.literal_eval(value)
        except NOT_LITERAL as error:
            raise DataError(f"{_quoted(value)} is in brackets, but is not a printed list.") from error
        return [str(item) for item in items]
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    raise DataError(f"A {type(value).__name__} ({_quoted(str(value))}) is neither a text nor a list.")


def read_images(indices: Sequence[Any], cells: Sequence[Any]) -> list[Any]:
    """The cells of a column ``image`` as authors expect them: base64, or a list of it. References to other rows are
    replaced by the images that they lead to, which are held once however many cells refer to them; empty cells stay
    empty. A list may hold references too: each is replaced by all images that it leads to. Stored texts stay where they
    are.
    """
    cells_of_rows = {str(index): _paths_in(cell) for index, cell in zip(indices, cells, strict=True)}
    return [_without_references(_followed(cell, cells_of_rows), cells_of_rows) for cell in cells_of_rows.values()]


def _paths_in(cell: Any) -> Any:
    """A cell with a printed list of several texts, or of one, as that. The texts of a stored list are stored too."""
    if not isinstance(cell, StoredText):
        is_listed = isinstance(cell, list) and any(isinstance(item, StoredText) for item in cell)
        return cell if is_listed else read_paths(cell)
    if not cell.is_list:
        return cell
    items = read_paths(cell.text())
    return [cell.beside(item) for item in items] if isinstance(items, list) else cell.beside(items)


def read_paths(cell: Any) -> Any:
    """A cell of a column ``image_path``: one text, or a list of texts where there are more."""
    if not isinstance(cell, (str, list, tuple)):
        return cell
    try:
        items = toliststr(cell)
    except DataError:
        return cell
    return items[0] if len(items) == 1 else items


def _without_references(cell: Any, cells_of_rows: Mapping[str, Any]) -> Any:
    """A list with its references replaced. A reference to a list of further references is an error of its row: if all
    were followed, a small table could name more images than any machine can hold.
    """
    if not isinstance(cell, list):
        return cell
    items: list[Any] = []
    for item in cell:
        images = _followed(item, cells_of_rows)
        items.extend(images if isinstance(images, list) else [images])
    return items


def _followed(cell: Any, cells_of_rows: Mapping[str, Any]) -> Any:
    """The cell that a reference leads to, also over several rows; the reference itself if it leads nowhere."""
    start, seen = cell, set[str]()
    while (
        not (is_nothing(cell) or isinstance(cell, (list, StoredText)))
        and _may_be_reference(str(cell))
        and str(cell) in cells_of_rows
    ):
        if str(cell) in seen:
            return start
        seen.add(str(cell))
        cell = cells_of_rows[str(cell)]
    return start if is_nothing(cell) else cell


def _may_be_reference(text: str) -> bool:
    return len(text) <= LONGEST_REFERENCE


def image_in(cell: str, index: Any, column: str = "image") -> tuple[bytes, str]:
    """The image that a cell holds, encoded as it was, and the suffix of its format.

    Args:
        cell: Base64, bare or as a ``data:`` URL. Line breaks are ignored, other characters are errors.
        index: Its row, for messages.
        column: Its column, for messages.

    Raises:
        DataError: if the cell is not base64, or its bytes are not an image.
    """
    where = cell_name(index, column)
    data = _decoded_base64(cell, where)
    with boundary(DataError, f"Opening the image in {where}"):
        kind = _format_of(data)
    if kind is None:
        raise DataError(f"The base64 in {where} is not an image.", hint="Encode image files unchanged.")
    return data, _SUFFIX.get(kind, f".{kind.lower()}")


def cell_name(index: Any, column: str) -> str:
    """A cell's name in messages."""
    return f"row {str(index)!r}, column {column!r}"


def _decoded_base64(cell: str, where: str) -> bytes:
    is_short = _may_be_reference(cell)
    try:
        data = decode_base64(cell)
    except DataError as error:
        if is_short:
            raise _lost_reference(cell, where) from error
        what = f"The image in {where} cannot be decoded: {error.what}"
        raise DataError(what, hint="Encode the image again.") from error
    if is_short and _format_of(data) is None:
        raise _lost_reference(cell, where)
    return data


def _format_of(data: bytes) -> str | None:
    """Pillow's name for the format of an image; ``None`` if the bytes are not an image."""
    from PIL import UnidentifiedImageError

    try:
        with opened_image(data) as image:
            return image.format or "PNG"
    except UnidentifiedImageError:
        return None


def _lost_reference(cell: str, where: str) -> DataError:
    return DataError(
        f"The cell in {where} refers to row {cell!r}, which is missing or has no image.",
        hint=f"A cell of at most {LONGEST_REFERENCE} characters names the index of the row whose image is shared.",
    )


def _quoted(text: str) -> str:
    return repr(text[:_MOST_SHOWN]) + ("…" if len(text) > _MOST_SHOWN else "")
