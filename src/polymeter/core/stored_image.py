"""A Pillow image that is a file until somebody looks at it.

Thousands of generated images fit into one table this way: each holds its path, its size and its mode. It decodes when
its pixels are first needed, keeps no file open, and pickles as a reference to its file for as long as its pixels are
those of the file.

Importing this module imports Pillow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image as pil

from polymeter.core.errors import DataError, boundary

_DECODED = frozenset(vars(pil.Image())) - {"_size", "_mode"}
"""The attributes that Pillow's base class keeps pixels and their description in, whatever its version calls them."""

_PARTS = 3
"""How many parts of a stored image's path lie in the folder of its run: ``media/ab/abcd….png``."""
_MOST_LEVELS = 4


class StoredImage(pil.Image):
    """An image in a file.

    Everything that a Pillow image can do works, also changing it: the change stays in memory, the file is never
    written.

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
        """Reached by attributes that are not there: those of the pixels, before the first look at them."""
        if name not in _DECODED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        picture = self._decode()
        if picture.size != self._size:
            width, height = self._size
            raise DataError(
                f"The stored image {self.path} is {picture.width}x{picture.height}, not {width}x{height}.",
                hint="The file was changed after it was stored.",
            )
        self._mode = picture.mode
        self.__dict__.update({key: vars(picture)[key] for key in _DECODED})
        return self.__dict__[name]

    @property
    def is_decoded(self) -> bool:
        """Whether the pixels are in memory."""
        return not _DECODED.isdisjoint(self.__dict__)

    @property
    def polymeter_bytes(self) -> bytes:
        """The file's bytes, for whoever passes the image on encoded.

        Raises:
            AttributeError: The pixels were changed in memory, so that no file shows them.
            DataError: The file is missing.
        """
        if self._is_changed():
            raise AttributeError("the image was changed after it was decoded")
        if not self.path.is_file():
            raise _missing(self.path)
        return self.path.read_bytes()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __reduce__(self) -> Any:
        """A reference while the pixels are the file's; else the pixels, as Pillow pickles them."""
        if self._is_changed():
            state = [self.info, self.mode, self.size, self.getpalette(), self.tobytes()]
            return pil.Image, (), state
        return stored_image, (str(self.path), self._size, self._mode)

    def _is_changed(self) -> bool:
        """Whether the pixels in memory are not the file's. Decodes the file only if there are pixels to compare."""
        if not self.is_decoded:
            return False
        picture = self._decode()
        return (picture.size, picture.mode, picture.getpalette()) != (self.size, self.mode, self.getpalette()) or (
            picture.tobytes() != self.tobytes()
        )

    def _decode(self) -> pil.Image:
        if not self.path.is_file():
            raise _missing(self.path)
        with boundary(DataError, f"Decoding the stored image {self.path}"), self.path.open("rb") as file:
            picture: pil.Image = pil.open(file)
            picture.load()
            return picture


def stored_image(path: Path | str, size: tuple[int, int], mode: str) -> StoredImage:
    """The image in a file whose size (pixels) and mode are known. Nothing is read."""
    return StoredImage(Path(path).absolute(), (int(size[0]), int(size[1])), mode)


def stored_near(folder: Path, path: Path | str, size: tuple[int, int], mode: str) -> StoredImage:
    """The image that a file in a folder refers to. Files that were moved together find each other: an image that is not
    in its place is looked for below the folders around the one that refers to it, under the last parts of its path.
    Stored images are named by their content, so another one of that name is the same.

    Args:
        folder: Where the file that holds the reference lies.
        path: Where the image was.
        size: Width and height in pixels.
        mode: Pillow's name of the pixel format.
    """
    place = Path(path)
    if not place.is_file():
        around = (folder, *folder.parents)[:_MOST_LEVELS]
        moved = (ancestor.joinpath(*place.parts[-_PARTS:]) for ancestor in around)
        place = next((candidate for candidate in moved if candidate.is_file()), place)
    return stored_image(place, size, mode)


def open_stored(path: Path | str) -> StoredImage:
    """The image in a file. Reads the header only.

    Raises:
        DataError: The file is missing or holds no image.
    """
    place = Path(path).absolute()
    if not place.is_file():
        raise _missing(place)
    with boundary(DataError, f"Opening the stored image {place}"), pil.open(place) as picture:
        return StoredImage(place, picture.size, picture.mode)


def _missing(path: Path) -> DataError:
    return DataError(f"The stored image {path} does not exist.", hint="It was moved or deleted after it was stored.")
