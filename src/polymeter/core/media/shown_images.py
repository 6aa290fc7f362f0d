"""The image that a model sees: 8 bits a channel, RGB or grey, upright, without transparency.

Every model of ours is shown images through ``as_shown``, whether it takes pixels or encoded bytes. Code written for
another system keeps the images of that system's loaders.

The rules, in the order in which they apply:

1. The image is turned as its EXIF orientation says, if that was not done yet. Of an animation it is the current frame,
   which is the first unless its author chose another.
2. Grey values of more than 8 bits (modes ``I;16``, ``I`` and ``F``) are scaled by ``grey_levels``, and inverted if a
   TIFF says that its white is 0.
3. Colours of another space (``CMYK``, ``YCbCr``, ``HSV``, ``LAB``, palettes) become RGB as Pillow converts them; a
   colour profile is not applied.
4. Transparent parts lie on white: an alpha channel, premultiplied alpha, a palette with opacities, one transparent
   colour or grey value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage

MEDIA_VERSION = 2
"""The version of the rules by which images are shown. It goes up whenever an image may be shown otherwise.

A run's manifest holds it, so that a reader of the results sees which rules they rest on; a manifest without it stands
for version 1. It is not part of a request's fingerprint: no earlier run asks its model again because of it. The content
fingerprint, by which answers of one run may serve another, holds it for those images alone that a version changed
(``Image.shown_hash``).
"""

_RATE_VERSION = 2
"""The version of the frames that a rate gives. In the first a rate above a video's own gave frames repeatedly."""
WHITES = (255, 4095, 65535)
"""The values that white may have among integers: those of 8, 12 and 16 bits."""
_FLOAT_WHITES = (1, *WHITES)
_MOST_OF_ONE = 2.0
"""Floats up to this count as a scale from 0 to 1: scaling and filtering leave some values above 1."""
_PLAIN = ("1", "L", "P", "RGB")
"""The modes that every reader of an encoded image shows alike, if nothing in them is transparent."""
_OF_ANOTHER_SPACE = ("CMYK", "LAB", "YCbCr", "HSV")
_ORIENTATION = 0x0112
_PHOTOMETRIC = 262
_WHITE_IS_ZERO = 0
_MAY_TURN = ("exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp")
"""The place where Pillow finds the orientation of an image. It turns a TIFF itself."""
_BLOCK = 1 << 22
_BYTE = 255


def rate_identity(fps: float | None) -> Any:
    """Return the part of a model's identity for the rate at which it is shown the frames of videos."""
    return [fps, _RATE_VERSION] if fps else fps


def as_shown(image: PILImage, *, key_factor: int = 1) -> PILImage:
    """An image as models see it, by the rules of this module. One that is so already is returned itself.

    Args:
        image: The image, of any mode. It is not changed.
        key_factor: What a transparent grey value is multiplied by: a PNG of 2 or 4 bits names it in its own scale,
            while Pillow spreads its pixels over 8 bits.

    Returns:
        An image of mode ``L`` or ``RGB``.

    Raises:
        ValueError: if Pillow has no conversion from its mode to RGB.
    """
    upright = _upright(image)
    if upright.mode in ("L", "RGB") and not is_transparent(upright):
        return upright
    shown = _flattened(upright, key_factor) if is_transparent(upright) else _in_eight_bits(upright)
    # A profile describes the numbers of one colour space; a PNG would carry it along.
    profile = upright.info.get("icc_profile") if upright.mode not in _OF_ANOTHER_SPACE else None
    shown.info = {} if profile is None else {"icc_profile": profile}
    return shown


def is_plain(image: PILImage) -> bool:
    """Return whether an image is shown alike by every reader that is given it encoded as a PNG. Only its header is
    used.
    """
    return is_opaque(image) and not _is_turned(image)


def is_opaque(image: PILImage) -> bool:
    """Return whether it is grey, RGB or a palette of 8 bits at most, and nothing in it is transparent, as its header
    says.
    """
    return image.mode in _PLAIN and not is_transparent(image)


def is_transparent(image: PILImage) -> bool:
    """Return whether some of its pixels may be transparent, as its header says."""
    if "A" in image.mode.upper() and image.mode != "LAB":
        return True
    has_palette = image.mode == "P" and image.palette is not None
    return "transparency" in image.info or (has_palette and image.palette.mode.endswith("A"))  # type: ignore[union-attr]


def grey_levels(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Grey values of any kind as 8 bits.

    The values decide, because the container does not say how many bits of it are used. Black is 0. White is the first
    of 255, 4095 and 65535 that no value exceeds, for floats also 1 (which values up to 2 may exceed). If there are
    values below 0 or above 65535, the smallest value is black and the largest is white. NaN is black; infinities are
    black and white, and do not count as smallest or largest.

    Args:
        values: Integers or floats, shape ``(height, width)``.

    Returns:
        Rounded to the nearest level, the same shape.
    """
    import numpy as np

    black, white = _ends(values)
    if values.dtype.itemsize == 2:  # a table needs a tenth of the arithmetic
        levels: NDArray[np.uint8] = _scaled(np.arange(1 << 16)[None], black, white)[0]
        return np.take(levels, values)
    return _scaled(values, black, white)


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    import numpy as np

    is_float = values.dtype.kind == "f"
    counts: Any = np.isfinite(values) if is_float else True
    low = float(np.min(values, where=counts, initial=np.inf) if is_float else values.min())
    high = float(np.max(values, where=counts, initial=-np.inf) if is_float else values.max())
    if low > high:  # nothing is finite
        return 0.0, 1.0
    if low < 0 or high > WHITES[-1]:
        return low, high
    if is_float and high <= _MOST_OF_ONE:
        return 0.0, 1.0
    return 0.0, float(next(white for white in WHITES if high <= white))


def _scaled(values: NDArray[Any], black: float, white: float) -> NDArray[np.uint8]:
    import numpy as np

    factor = _BYTE / (white - black) if white > black else 0.0
    levels = np.empty(values.shape, np.uint8)
    height, width = values.shape
    step = max(1, _BLOCK // max(1, width))
    with np.errstate(invalid="ignore", over="ignore"):
        for top in range(0, height, step):
            scaled = (values[top : top + step].astype(np.float64) - black) * factor
            inside = np.nan_to_num(scaled, nan=0, posinf=_BYTE, neginf=0).clip(0, _BYTE)
            levels[top : top + step] = np.floor(inside + 0.5)
    return levels


def _upright(image: PILImage) -> PILImage:
    if not _is_turned(image):
        return image
    from PIL import ImageOps

    turned = image.copy()  # which has EXIF data of its own: other threads may be showing the same image
    ImageOps.exif_transpose(turned, in_place=True)
    return turned


def _is_turned(image: PILImage) -> bool:
    marks = {name: image.info[name] for name in _MAY_TURN if name in image.info}
    if not marks:
        return False
    from PIL import Image as pil

    # An image remembers EXIF data while it is still reading them, which another thread would take for all of them.
    probe = pil.Image()
    probe.info.update(marks)
    return probe.getexif().get(_ORIENTATION, 1) in range(2, 9)


def _in_eight_bits(image: PILImage) -> PILImage:
    """An opaque image in grey or RGB."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        import numpy as np
        from PIL import Image as pil

        levels = grey_levels(np.asarray(image))
        # Pillow inverts such a TIFF itself if it has 8 bits, and leaves deeper ones unchanged.
        is_inverted = getattr(image, "tag_v2", {}).get(_PHOTOMETRIC) == _WHITE_IS_ZERO
        return pil.fromarray(_BYTE - levels if is_inverted else levels)
    if image.mode == "LAB":
        return _of_lab(image)
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _flattened(image: PILImage, key_factor: int) -> PILImage:
    """An image that may be transparent, on white."""
    from PIL import Image as pil

    if image.mode in ("La", "RGBa"):
        return _of_premultiplied(image)
    if image.mode in ("LA", "PA", "P", "RGBA"):
        layer = image.convert("RGBA")
        flat = pil.alpha_composite(pil.new("RGBA", layer.size, "white"), layer)
        return flat.getchannel("R") if image.mode == "LA" else flat.convert("RGB")
    return _without_key(image, key_factor)


def _without_key(image: PILImage, key_factor: int) -> PILImage:
    """An image one of whose colours is transparent, with white in its place."""
    import numpy as np
    from PIL import Image as pil

    key = image.info["transparency"]
    values = np.asarray(image)
    levels = np.array(_in_eight_bits(_without_mark(image)))
    if isinstance(key, int):
        # Of two values, Pillow's versions name the brighter 1 or 255.
        key = bool(key) if image.mode == "1" else key * key_factor
        if values.ndim == 2:
            levels[values == key] = _BYTE
    elif isinstance(key, tuple) and len(key) == values.shape[-1] and values.ndim == 3:
        # A PNG of 16 bits names 16 bits of each channel; Pillow reads the upper 8 of its pixels.
        is_wide = max(key) > _BYTE
        levels[(values == [band >> 8 if is_wide else band for band in key]).all(axis=-1)] = _BYTE
    return pil.fromarray(levels)


def _without_mark(image: PILImage) -> PILImage:
    """The same pixels, all of them opaque: Pillow's conversions would take the transparent colour along."""
    opaque = image.copy()
    opaque.info = {name: value for name, value in image.info.items() if name != "transparency"}
    return opaque


def _of_premultiplied(image: PILImage) -> PILImage:
    """An image whose colours hold their opacity already: white is added where it is lacking."""
    import numpy as np
    from PIL import Image as pil

    bands = np.asarray(image).astype(np.uint16)
    lit = np.minimum(bands[..., :-1] + (_BYTE - bands[..., -1:]), _BYTE).astype(np.uint8)
    return pil.fromarray(lit[..., 0] if image.mode == "La" else lit)


def _of_lab(image: PILImage) -> PILImage:
    from PIL import ImageCms

    lab, rgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    converted = ImageCms.profileToProfile(image, lab, rgb, outputMode="RGB")
    assert converted is not None  # it is, unless the image is changed in place
    return converted
