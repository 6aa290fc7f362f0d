"""A Pillow image that stays a file until its pixels are used.

Thousands of generated images fit into one table this way: each holds its path, its size and its mode. It decodes when
its pixels are first used, keeps no file open, and pickles as a reference to its file as long as its pixels are those
of the file.

Importing this module imports Pillow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image as pil

from polymeter.core.errors import DataError, boundary
from polymeter.core.media.pixels import opened_image

_DECODED = frozenset(vars(pil.Image())) - {"_size", "_mode"}
"""The attributes in which Pillow's base class keeps pixels and their description; their names depend on its version."""

_PARTS = 3
"""The number of parts of a stored image's path below the folder of its run: ``media/ab/abcd….png``."""
_MAX_LEVELS = 4
"""The number of folders around a reference that are searched for an image that was moved with it."""


class StoredImage(pil.Image):
    """An image in a file.

    It does everything that a Pillow image does. Changing it changes the pixels in memory; the file is never written.

    Args:
        path: The file, absolute.
        size: Width and height in pixels.
        mode: Pillow's name of the pixel format.
    """

    path: Path

    def __init__(self, path: Path, size: tuple[int, int], mode: str) -> None:  # the base class would set the pixels
        self.path = path
        self._size = size
        self._mode = mode

    def __getattr__(self, name: str) -> Any:
        """Decode when an attribute of the pixels is first read: until then it is not set, so Python looks here."""
        if name not in _DECODED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        image = self._decode()
        if image.size != self._size:
            width, height = self._size
            raise DataError(
                f"The stored image {self.path} is {image.width}x{image.height}, not {width}x{height}.",
                hint="The file was changed after it was stored.",
            )
        self._mode = image.mode
        self.__dict__.update({key: vars(image)[key] for key in _DECODED})
        return self.__dict__[name]

    @property
    def is_decoded(self) -> bool:
        """True if the pixels are in memory."""
        return not _DECODED.isdisjoint(self.__dict__)

    @property
    def polymeter_bytes(self) -> bytes:
        """The file's bytes, for code that passes the image on encoded.

        Raises:
            AttributeError: if the pixels were changed in memory, so that the file does not show them.
            DataError: if the file is missing.
        """
        if self._is_changed():
            raise AttributeError("the image was changed after it was decoded")
        if not self.path.is_file():
            raise _missing_file(self.path)
        return self.path.read_bytes()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __reduce__(self) -> Any:
        """A reference as long as the pixels are the file's; else the pixels, as Pillow pickles them."""
        if self._is_changed():
            state = [self.info, self.mode, self.size, self.getpalette(), self.tobytes()]
            return pil.Image, (), state
        return stored_image, (str(self.path), self._size, self._mode)

    def _is_changed(self) -> bool:
        """Return whether the pixels in memory are not the file's. Decodes the file only if it has pixels to compare."""
        if not self.is_decoded:
            return False
        image = self._decode()
        return (image.size, image.mode, image.getpalette()) != (self.size, self.mode, self.getpalette()) or (
            image.tobytes() != self.tobytes()
        )

    def _decode(self) -> pil.Image:
        if not self.path.is_file():
            raise _missing_file(self.path)
        with boundary(DataError, f"Decoding the stored image {self.path}"), self.path.open("rb") as file:
            image: pil.Image = opened_image(file, f"The stored image {self.path}")
            image.load()
            return image


def stored_image(path: Path | str, size: tuple[int, int], mode: str) -> StoredImage:
    """The image in a file whose size (pixels) and mode are known. Nothing is read."""
    return StoredImage(Path(path).absolute(), (int(size[0]), int(size[1])), mode)


def stored_near(folder: Path, path: Path | str, size: tuple[int, int], mode: str) -> StoredImage:
    """The image that a file in a folder refers to. If both were moved together, the image is still found: it is
    searched for below the folders around the one that holds the reference, under the last parts of its path. Stored
    images are named by their content, so another file of that name is the same image.

    Args:
        folder: The folder of the file that holds the reference.
        path: Where the image was when the reference was written.
        size: Width and height in pixels.
        mode: Pillow's name of the pixel format.
    """
    file = Path(path)
    if not file.is_file():
        around = (folder, *folder.parents)[:_MAX_LEVELS]
        moved = (ancestor.joinpath(*file.parts[-_PARTS:]) for ancestor in around)
        file = next((candidate for candidate in moved if candidate.is_file()), file)
    return stored_image(file, size, mode)


def open_stored(path: Path | str) -> StoredImage:
    """The image in a file. Reads only the header.

    Raises:
        DataError: if the file is missing or is not an image.
    """
    file = Path(path).absolute()
    if not file.is_file():
        raise _missing_file(file)
    with boundary(DataError, f"Opening the stored image {file}"), opened_image(file) as image:
        return StoredImage(file, image.size, image.mode)


def _missing_file(path: Path) -> DataError:
    return DataError(f"The stored image {path} does not exist.", hint="It was moved or deleted after it was stored.")
