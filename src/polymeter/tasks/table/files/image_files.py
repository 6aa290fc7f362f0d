"""The files of a row's images: their names, and writing their bytes as the table holds them."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.files import replacing, write_once
from polymeter.core.machine.opened_files import note_own
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import digest, is_elsewhere
from polymeter.data.media import names_nothing
from polymeter.data.tables.tsv import is_nothing
from polymeter.tasks.table.files.cells import cell_name, image_in, toliststr
from polymeter.tasks.table.files.roots import file_stem

_FLATTENED = ("RGBA", "P", "LA")


def write_images(index: Any, images: Any, paths: Any, root: Path, again_as: str = ".jpg") -> list[str]:
    """Write a row's images.

    Args:
        index: The row.
        images: Its cell of the column ``image``: base64, or a list of it, also printed.
        paths: Its cell of the column ``image_path``, if there is one.
        root: The folder.
        again_as: At parity, the format in which a single image without a path is encoded again, as a suffix.

    Returns:
        Absolute paths in order; for an image at a URL, the URL.

    Raises:
        DataError: if a cell is not an image, or there are more or fewer paths than images.
    """
    cells = listed(images, index, "image")
    names = _image_names(paths, len(cells), index)
    suffix = ".png" if names[1:] else again_as
    return [_write(cell, number, names, index, root, suffix) for number, cell in enumerate(cells)]


def listed(cell: Any, index: Any, column: str) -> list[str]:
    """A cell as a list of texts; an empty list for an empty cell.

    Raises:
        DataError: if it is neither a list nor a text; the message names row and column.
    """
    if is_empty(cell):
        return []
    try:
        return toliststr(cell)
    except DataError as error:
        raise DataError(f"{error.what} It stands in {cell_name(index, column)}.") from error


def is_empty(value: Any) -> bool:
    """Return whether a cell is empty: missing, an empty list, or a text that names nothing."""
    if isinstance(value, str):
        return names_nothing(value)
    return is_nothing(value) or (isinstance(value, (list, tuple)) and not value)


def _write(cell: str, number: int, names: Sequence[str], index: Any, root: Path, again_as: str) -> str:
    if is_elsewhere(cell):
        return cell
    data, suffix = image_in(cell, index)
    if guest_context().parity.on("dumped-image-as-jpeg"):
        suffix = again_as
        given = os.path.splitext(names[number])[1] if names else ""
        data = _encoded_again(data, given or suffix, index)
    if names and _is_below(root, names[number]):
        name = names[number]
    else:
        name = file_stem(index) + (f"_{number}" if names[1:] else "") + suffix
    return str(_keep((root / name).absolute(), data))


def _encoded_again(data: bytes, suffix: str, index: Any) -> bytes:
    """An image as ULMEvalKit writes it: without transparency, in the format that the file's suffix names, by Pillow's
    usual settings.
    """
    from PIL import Image as pil

    written = io.BytesIO()
    with boundary(DataError, f"Writing the image of {cell_name(index, 'image')} again"):
        image = opened_image(data)
        kinds = pil.registered_extensions()
        plain = image.convert("RGB") if image.mode in _FLATTENED else image
        plain.save(written, kinds.get(suffix.lower(), "JPEG"))
    return written.getvalue()


def _image_names(paths: Any, count: int, index: Any) -> list[str]:
    """File names for ``count`` images. One name for several images is numbered; without any, the names are empty."""
    names = listed(paths, index, "image_path") or [""] * count
    if len(names) == 1 and count > 1:
        base, suffix = os.path.splitext(names[0])
        names = [f"{base}_{number}{suffix}" for number in range(count)]
    if len(names) != count:
        raise DataError(f"There are {len(names)} paths for {count} images in {cell_name(index, 'image_path')}.")
    return names


def _is_below(root: Path, path: str) -> bool:
    """Return whether a path relative to a folder stays inside it."""
    top = os.path.abspath(root)
    return "\0" not in path and os.path.abspath(os.path.join(top, path)).startswith(top + os.sep)


def _keep(path: Path, data: bytes) -> Path:
    """Write bytes, unless the file holds them already. A file with other bytes belongs to another row or another run,
    which may be reading it: it stays, and these bytes get another name. Other processes may be writing there too.
    """
    with boundary(DataError, f"Writing the image {path}"):
        if not (_holds(path, data) or write_once(path, data) or _holds(path, data)):
            path = path.with_name(f"{path.stem}-{digest(data)[:12]}{path.suffix}")
            if not _holds(path, data):
                with replacing(path, binary=True, is_synced=False) as file:
                    file.write(data)
    note_own(path)
    return path


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
