"""From what a wrapper gives to outputs: pictures, files of pictures, arrays of pixels, and texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.core.request import Generate, Output
from polymeter.core.sources import is_pil
from polymeter.interop.ulmeval.models.hooks import described

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_DEPTHS = (1, 3, 4)


def outputs(ask: Any, given: Iterable[Any]) -> tuple[Output, ...]:
    """An output for each result.

    Raises:
        ModelError: One is not what was asked for; it says what came.
    """
    if isinstance(ask, Generate):
        return tuple(Output(text=_text(item), finish_reason="stop") for item in given)
    return tuple(Output(images=(_picture(item),)) for item in given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ModelError(f"The wrapper gave {described(given)} where a text was asked for.")
    return given


def _picture(given: Any) -> PILImage:
    """A picture of our own in memory: its file, pixels or object may be used again for the next one."""
    if is_pil(given):
        return given.copy()  # type: ignore[no-any-return]
    if isinstance(given, Path) or (isinstance(given, str) and Path(given[:1000]).is_file()):
        return _from_file(Path(given))
    if hasattr(given, "__array_interface__"):
        return _from_array(given)
    raise ModelError(
        f"The wrapper gave {described(given)} where an image was asked for.",
        hint="Return a PIL image, or the path of an image file.",
    )


def _from_file(path: Path) -> PILImage:
    from PIL import Image, UnidentifiedImageError

    try:
        picture: PILImage = Image.open(path)
        picture.load()
    except FileNotFoundError:
        raise ModelError(f"The wrapper gave the path {str(path)!r}, and no file is there.") from None
    except UnidentifiedImageError:
        raise ModelError(f"The wrapper gave the path {str(path)!r}, which is no image that can be read.") from None
    return picture


def _from_array(array: Any) -> PILImage:
    """Pixels of shape (height, width) or (height, width, 1, 3 or 4): 8-bit integers, or numbers from 0 to 1."""
    import numpy as np
    from PIL import Image

    pixels = np.array(array)  # Pillow shares the memory of what it is given
    shape = f"an array of shape {pixels.shape} and type {pixels.dtype}"
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in _DEPTHS):
        raise ModelError(f"The wrapper gave {shape} where an image was asked for.", hint="Return a PIL image.")
    if pixels.dtype == np.uint8:
        return Image.fromarray(pixels)
    if not np.issubdtype(pixels.dtype, np.floating) or pixels.size == 0 or pixels.min() < 0 or pixels.max() > 1:
        raise ModelError(
            f"The wrapper gave {shape} where an image was asked for.", hint="Return a PIL image, or 8-bit pixels."
        )
    return Image.fromarray((pixels * 255).round().astype(np.uint8))
