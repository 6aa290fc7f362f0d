"""Outputs from what a wrapper returns: images, image files, arrays of pixels, and texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import is_pil
from polymeter.core.request import Generate, Output
from polymeter.interop.ulmeval.models.hooks import described

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_DEPTHS = (1, 3, 4)


def outputs(parameters: Any, results: Iterable[Any]) -> tuple[Output, ...]:
    """Return an output for each result.

    Raises:
        ModelError: if a result has another type than the parameters ask for; the message names its type.
    """
    if isinstance(parameters, Generate):
        return tuple(Output(text=_checked_text(result), finish_reason="stop") for result in results)
    return tuple(Output(images=(_image(result),)) for result in results)


def _checked_text(result: Any) -> str:
    if not isinstance(result, str):
        raise ModelError(f"The wrapper gave {described(result)} where a text was asked for.")
    return result


def _image(result: Any) -> PILImage:
    """An image as our own copy in memory: the wrapper may reuse its file, pixels or object for the next one."""
    if is_pil(result):
        return result.copy()  # type: ignore[no-any-return]
    if isinstance(result, Path) or (isinstance(result, str) and Path(result[:1000]).is_file()):
        return _from_file(Path(result))
    if hasattr(result, "__array_interface__"):
        return _from_array(result)
    raise ModelError(
        f"The wrapper gave {described(result)} where an image was asked for.",
        hint="Return a PIL image, or the path of an image file.",
    )


def _from_file(path: Path) -> PILImage:
    from PIL import UnidentifiedImageError

    try:
        image = opened_image(path, f"The generated image {path}")
        image.load()
    except FileNotFoundError:
        raise ModelError(f"The wrapper gave the path {str(path)!r}, and no file is there.") from None
    except UnidentifiedImageError:
        raise ModelError(f"The wrapper gave the path {str(path)!r}, which is not an image that can be read.") from None
    return image


def _from_array(array: Any) -> PILImage:
    """The image of an array of shape (height, width) or (height, width, 1, 3 or 4): 8-bit integers, or floats from 0
    to 1.
    """
    import numpy as np
    from PIL import Image

    pixels = np.array(array)  # a copy, because Pillow shares its argument's memory
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
