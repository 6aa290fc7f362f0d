"""Images of every kind that Pillow opens, each with the pixels that a model should see, from the kind's definition."""

from __future__ import annotations

import colorsys
import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as pil

BLOCK = 16
ROWS, COLUMNS = 3, 4
HEIGHT, WIDTH = ROWS * BLOCK, COLUMNS * BLOCK
ORIENTATION = 0x0112
_random = np.random.default_rng(5)


def _blocks(values: Any) -> NDArray[Any]:
    """A value per block as an image: blocks survive JPEG and scaling in their middle."""
    return np.asarray(values).repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)


GREY = _blocks(_random.permutation(np.arange(0, 256, 23))[: ROWS * COLUMNS].reshape(ROWS, COLUMNS).astype(np.uint8))
COLOUR = _blocks(_random.integers(0, 256, (ROWS, COLUMNS, 3)).astype(np.uint8))
_OPACITIES = _random.permutation([0, 0, 17, 51, 90, 128, 140, 200, 240, 254, 255, 255]).astype(np.uint8)
ALPHA = _blocks(_OPACITIES.reshape(ROWS, COLUMNS))
INDEX = _blocks(np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype(np.uint8))
PALETTE = _random.integers(0, 256, (ROWS * COLUMNS, 3)).astype(np.uint8)
TWO = _blocks(_random.integers(0, 2, (ROWS, COLUMNS)).astype(bool))
IS_KEY = INDEX == 5


@dataclass(frozen=True)
class Kind:
    """One kind of image.

    Attributes:
        name: For reports of tests.
        make: Makes the image: encoded bytes, or pixels.
        seen: What a model should see, shape ``(height, width, 3)``.
        why: The definition behind it.
        is_sent: Whether its bytes are sent as they are.
        tolerance: How far a level may be off: 1 for the rounding of conversions, more for lossy formats.
    """

    name: str
    make: Callable[[], Any]
    seen: NDArray[Any]
    why: str
    is_sent: bool = False
    tolerance: int = 1

    def differs(self, image: pil.Image, *, is_lossy: bool = False) -> str:
        """Where an image is not what should be seen; empty if it is. A smaller image is compared block by block."""
        found = np.asarray(image.convert("RGB")).astype(int)
        height, width = self.seen.shape[:2]
        if found.shape != self.seen.shape or is_lossy or self.tolerance > 1:
            factor = max(found.shape[:2]) / max(height, width)
            if found.shape[:2] != (round(height * factor), round(width * factor)):
                return f"{self.name}: shape {found.shape}"
            middles = [np.arange(BLOCK // 2, side, BLOCK) for side in (height, width)]
            wanted = self.seen[np.ix_(*middles)].astype(int)
            found = found[np.ix_(*[(middle * factor).astype(int) for middle in middles])]
        else:
            wanted = self.seen.astype(int)
        off = np.abs(found - wanted).max()
        allowed = max(self.tolerance, 8 if is_lossy else 1)
        return "" if off <= allowed else f"{self.name}: off by {off}, {self.why}"


def grey(levels: Any) -> NDArray[Any]:
    """Grey levels as RGB, rounded."""
    return np.repeat(np.floor(np.asarray(levels, float) + 0.5)[..., None], 3, axis=2).astype(np.uint8)


def on_white(colour: Any, alpha: Any) -> NDArray[Any]:
    """Colours of an opacity from 0 to 255 over white."""
    share = np.asarray(alpha, float)[..., None] / 255
    return np.rint(np.asarray(colour, float) * share + 255 * (1 - share)).astype(np.uint8)


def saved(image: pil.Image, kind: str, **settings: Any) -> bytes:
    """An image encoded by Pillow."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **settings)
    return buffer.getvalue()


def png(rows: NDArray[Any], depth: int, colours: int, *more: tuple[bytes, bytes]) -> bytes:
    """A PNG that Pillow does not write.

    Args:
        rows: The samples, packed: shape ``(height, bytes)``.
        depth: Bits of a sample.
        colours: The colour type of the format.
        more: Chunks before the pixels.
    """

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    packed = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, colours, 0, 0, 0)
    chunks = [(b"IHDR", head), *more, (b"IDAT", zlib.compress(packed)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


def turned(orientation: int) -> Any:
    """EXIF data of an orientation."""
    exif = pil.Exif()
    exif[ORIENTATION] = orientation
    return exif


def _of(mode: str, *bands: Any) -> pil.Image:
    """An image of a mode that NumPy cannot name, from its bands."""
    return pil.merge(mode, [pil.fromarray(np.ascontiguousarray(band)) for band in bands])


def _rgba() -> pil.Image:
    return _of("RGBA", *np.moveaxis(COLOUR, 2, 0), ALPHA)


def _palette(mode: str = "P") -> pil.Image:
    image = pil.fromarray(INDEX)
    image.putpalette(PALETTE.tobytes())
    if mode == "PA":
        image = image.convert("PA")
        image.putalpha(pil.fromarray(ALPHA))
    return image


def _premultiplied(mode: str) -> pil.Image:
    bands = GREY[..., None] if mode == "La" else COLOUR
    lit = np.rint(bands.astype(float) * ALPHA[..., None] / 255).astype(np.uint8)
    return pil.frombytes(mode, (WIDTH, HEIGHT), np.concatenate([lit, ALPHA[..., None]], axis=2).tobytes())


def _animation(kind: str, **settings: Any) -> bytes:
    first, second = pil.fromarray(COLOUR), pil.fromarray(255 - COLOUR)
    if kind == "GIF":
        first, second = _palette(), pil.fromarray(GREY)
    return saved(first, kind, save_all=True, append_images=[second], duration=100, **settings)


def _with_exif(orientation: int) -> pil.Image:
    image = pil.open(io.BytesIO(saved(pil.fromarray(COLOUR), "PNG", exif=turned(orientation))))
    return image.convert("RGB")


_PRINTED = np.stack([COLOUR[..., 0], COLOUR[..., 1], COLOUR[..., 2], GREY // 2], axis=2)
_KEY_GREY = int(GREY[IS_KEY][0])
_KEY_COLOUR = tuple(int(level) for level in COLOUR[IS_KEY][0])
_WIDE = _blocks(_random.integers(0, 65536, (ROWS, COLUMNS)).astype(np.uint16))
_WIDE[-1, -1], _WIDE[0, 0] = 65535, 0
_TWELVE = (_WIDE // 16).astype(np.uint16)
_WIDE_COLOUR = _blocks(_random.integers(0, 65536, (ROWS, COLUMNS, 3)).astype(np.uint16))
_SHARES = GREY / np.float32(255)
_FEW = (GREY // 17).astype(np.uint8)
_FEW[IS_KEY] = 3
_FEW[~IS_KEY & (_FEW == 3)] = 4


def _printed_seen() -> NDArray[Any]:
    ink = _PRINTED.astype(float)
    return np.rint((255 - ink[..., :3]) * (255 - ink[..., 3:]) / 255).astype(np.uint8)


def _odd() -> NDArray[Any]:
    values = _SHARES.copy()
    values[INDEX == 0], values[INDEX == 1], values[INDEX == 2] = np.nan, np.inf, -np.inf
    values[INDEX == 3] = 1
    return values


def _odd_seen() -> NDArray[Any]:
    levels = GREY.astype(float)
    levels[(INDEX == 0) | (INDEX == 2)] = 0
    levels[(INDEX == 1) | (INDEX == 3)] = 255
    return grey(levels)


def _lab_values() -> NDArray[Any]:
    """Lightness from 0 to 100, and colours that sRGB has."""
    light = _blocks(np.linspace(20, 90, ROWS * COLUMNS).reshape(ROWS, COLUMNS))
    return np.stack(
        [light, _blocks(np.tile([-12, 0, 9, 15], (3, 1))), _blocks(np.tile([8, -14, 0, 11], (3, 1)))], axis=2
    )


def _lab() -> bytes:
    """As TIFF has it: a and b are signed bytes."""
    light, a, b = np.moveaxis(_lab_values(), 2, 0)
    bands = np.stack([np.rint(light * 2.55), a % 256, b % 256], axis=2).astype(np.uint8)
    image = pil.frombytes("LAB", (WIDTH, HEIGHT), bands.tobytes())
    return saved(image, "TIFF")


def _lab_seen() -> NDArray[Any]:
    """CIE 15: L*a*b* with the white of D50, as ICC profiles have it, to XYZ; Bradford and IEC 61966-2-1 to sRGB."""
    light, a, b = np.moveaxis(_lab_values(), 2, 0)
    y = (np.rint(light * 2.55) / 2.55 + 16) / 116
    f = np.stack([y + a / 500, y, y - b / 200], axis=2)
    xyz = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * [0.9642, 1.0, 0.8249]
    to_linear = [
        [3.1338561, -1.6168667, -0.4906146],
        [-0.9787684, 1.9161415, 0.033454],
        [0.0719453, -0.2289914, 1.4052427],
    ]
    linear = (xyz @ np.transpose(to_linear)).clip(0, 1)
    shares = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * shares).astype(np.uint8)


def _hsv_seen() -> NDArray[Any]:
    each = [colorsys.hsv_to_rgb(*(pixel / 255)) for pixel in COLOUR.reshape(-1, 3).astype(float)]
    return np.rint(np.asarray(each) * 255).reshape(COLOUR.shape).astype(np.uint8)


def _ycc_seen() -> NDArray[Any]:
    """ITU-T T.871."""
    y, cb, cr = np.moveaxis(COLOUR.astype(float), 2, 0)
    bands = [y + 1.402 * (cr - 128), y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128), y + 1.772 * (cb - 128)]
    return np.rint(np.stack(bands, axis=2).clip(0, 255)).astype(np.uint8)


def _turned_seen(orientation: int) -> NDArray[Any]:
    """TIFF 6.0, tag 274: where the first row and the first column are."""
    flipped = {1: COLOUR, 2: COLOUR[:, ::-1], 3: COLOUR[::-1, ::-1], 4: COLOUR[::-1]}
    across = COLOUR.swapaxes(0, 1)
    flipped |= {5: across, 6: across[:, ::-1], 7: across[::-1, ::-1], 8: across[::-1]}
    return flipped[orientation]


_L, _RGB = pil.fromarray(GREY), pil.fromarray(COLOUR)
_P_SEEN = PALETTE[INDEX]
_ON_WHITE = "c·a + 255·(1 − a)"
_KEYED = "the transparent value is white"
_16 = "16 bits: value / 257"
_SAME = "8 bits and opaque"

KINDS = [
    Kind("png RGB", lambda: saved(_RGB, "PNG"), COLOUR, _SAME, True),
    Kind("png L", lambda: saved(_L, "PNG"), grey(GREY), _SAME, True),
    Kind("png 1", lambda: saved(pil.fromarray(TWO), "PNG"), grey(TWO * 255), _SAME, True),
    Kind("png P", lambda: saved(_palette(), "PNG"), _P_SEEN, _SAME, True),
    Kind("png 4-bit grey", lambda: png(_FEW[:, ::2] << 4 | _FEW[:, 1::2], 4, 0), grey(_FEW * 17.0), "17 apart", True),
    Kind("png RGBA", lambda: saved(_rgba(), "PNG"), on_white(COLOUR, ALPHA), _ON_WHITE),
    Kind("png RGBA opaque", lambda: saved(_RGB.convert("RGBA"), "PNG"), COLOUR, _ON_WHITE),
    Kind("png LA", lambda: saved(_of("LA", GREY, ALPHA), "PNG"), on_white(grey(GREY), ALPHA), _ON_WHITE),
    Kind(
        "png P tRNS index", lambda: saved(_palette(), "PNG", transparency=5), on_white(_P_SEEN, ~IS_KEY * 255), _KEYED
    ),
    Kind(
        "png P tRNS bytes",
        lambda: saved(_palette(), "PNG", transparency=_OPACITIES.tobytes()),
        on_white(_P_SEEN, ALPHA),
        _ON_WHITE,
    ),
    Kind("png L tRNS", lambda: saved(_L, "PNG", transparency=_KEY_GREY), on_white(grey(GREY), ~IS_KEY * 255), _KEYED),
    Kind("png 1 tRNS", lambda: saved(pil.fromarray(TWO), "PNG", transparency=0), grey(TWO * 0 + 255), _KEYED),
    Kind("png RGB tRNS", lambda: saved(_RGB, "PNG", transparency=_KEY_COLOUR), on_white(COLOUR, ~IS_KEY * 255), _KEYED),
    Kind(
        "png 4-bit grey tRNS",
        lambda: png(_FEW[:, ::2] << 4 | _FEW[:, 1::2], 4, 0, (b"tRNS", b"\0\3")),
        on_white(grey(_FEW * 17.0), ~IS_KEY * 255),
        "tRNS counts in samples of 4 bits",
    ),
    Kind("png 16-bit grey", lambda: saved(pil.fromarray(_WIDE), "PNG"), grey(_WIDE / 257), _16),
    Kind("png 12 of 16 bits", lambda: saved(pil.fromarray(_TWELVE), "PNG"), grey(_TWELVE / 4095 * 255), "12 bits"),
    Kind("png 8 of 16 bits", lambda: saved(pil.fromarray(GREY.astype(np.uint16)), "PNG"), grey(GREY), "8 bits"),
    Kind(
        "png 16-bit grey tRNS",
        lambda: saved(pil.fromarray(_WIDE), "PNG", transparency=int(_WIDE[IS_KEY][0])),
        on_white(grey(_WIDE / 257), ~IS_KEY * 255),
        _KEYED,
    ),
    Kind(
        "png 16-bit grey alpha",
        lambda: png(np.stack([_WIDE, ALPHA * np.uint16(257)], axis=2).astype(">u2"), 16, 4),
        on_white(grey(_WIDE / 257), ALPHA),
        _ON_WHITE,
    ),
    Kind("png 16-bit RGB", lambda: png(_WIDE_COLOUR.astype(">u2"), 16, 2), _WIDE_COLOUR / 257, _16),
    Kind(
        "png 16-bit RGBA",
        lambda: png(np.concatenate([_WIDE_COLOUR, ALPHA[..., None] * np.uint16(257)], axis=2).astype(">u2"), 16, 6),
        on_white(_WIDE_COLOUR / 257, ALPHA),
        _ON_WHITE,
    ),
    Kind("png animated", lambda: _animation("PNG"), COLOUR, "the first frame"),
    Kind("png turned", lambda: saved(_RGB, "PNG", exif=turned(6)), _turned_seen(6), "orientation 6"),
    Kind("tiff I;16", lambda: saved(pil.fromarray(_WIDE), "TIFF"), grey(_WIDE / 257), _16),
    Kind(
        "tiff I;16B",
        lambda: saved(pil.frombytes("I;16B", (WIDTH, HEIGHT), _WIDE.astype(">u2").tobytes()), "TIFF"),
        grey(_WIDE / 257),
        _16,
    ),
    Kind(
        "tiff I;16 of ink",
        lambda: saved(pil.fromarray(_WIDE), "TIFF", tiffinfo={262: 0}),
        255 - grey(_WIDE / 257),
        "TIFF 6.0, tag 262: 0 is white",
    ),
    Kind("tiff I", lambda: saved(pil.fromarray(_WIDE.astype(np.int32)), "TIFF"), grey(_WIDE / 257), _16),
    Kind(
        "tiff I below 0",
        lambda: saved(pil.fromarray(_TWELVE.astype(np.int32) - 1024), "TIFF"),
        grey((_TWELVE - float(_TWELVE.min())) / float(_TWELVE.max() - _TWELVE.min()) * 255),
        "from the smallest to the largest",
    ),
    Kind("tiff F to 1", lambda: saved(pil.fromarray(_SHARES), "TIFF"), grey(GREY), "white is 1"),
    Kind(
        "tiff F just above 1",
        lambda: saved(pil.fromarray(_SHARES * np.float32(1.25)), "TIFF"),
        grey(np.minimum(255, GREY * 1.25)),
        "white is 1, and what exceeds it",
    ),
    Kind("tiff F to 255", lambda: saved(pil.fromarray(GREY.astype(np.float32)), "TIFF"), grey(GREY), "white is 255"),
    Kind("tiff F to 65535", lambda: saved(pil.fromarray(_WIDE.astype(np.float32)), "TIFF"), grey(_WIDE / 257), _16),
    Kind(
        "tiff F of any values",
        lambda: saved(pil.fromarray((_SHARES * 14 - 9).astype(np.float32)), "TIFF"),
        grey((GREY - float(GREY.min())) / float(GREY.max() - GREY.min()) * 255),
        "from the smallest to the largest",
    ),
    Kind("tiff F with NaN", lambda: saved(pil.fromarray(_odd()), "TIFF"), _odd_seen(), "NaN is black, ∞ is white"),
    Kind("tiff CMYK", lambda: saved(_of("CMYK", *np.moveaxis(_PRINTED, 2, 0)), "TIFF"), _printed_seen(), "(1−c)(1−k)"),
    Kind(
        "jpeg CMYK",
        lambda: saved(_of("CMYK", *np.moveaxis(_PRINTED, 2, 0)), "JPEG", quality=100),
        _printed_seen(),
        "(1−c)(1−k); Adobe stores 255 − ink",
        tolerance=6,
    ),
    Kind("tiff LAB", _lab, _lab_seen(), "CIE L*a*b* of D50", tolerance=2),
    Kind("tiff RGBA", lambda: saved(_rgba(), "TIFF"), on_white(COLOUR, ALPHA), _ON_WHITE),
    Kind("tiff turned", lambda: saved(_RGB, "TIFF", tiffinfo={ORIENTATION: 8}), _turned_seen(8), "orientation 8"),
    Kind("webp lossless RGB", lambda: saved(_RGB, "WEBP", lossless=True), COLOUR, _SAME, True),
    Kind("webp lossy RGB", lambda: saved(_RGB, "WEBP", quality=100), COLOUR, _SAME, True, 12),
    Kind(
        "webp lossless RGBA",
        lambda: saved(_rgba(), "WEBP", lossless=True, exact=True),
        on_white(COLOUR, ALPHA),
        _ON_WHITE,
    ),
    Kind(
        "webp lossy RGBA", lambda: saved(_rgba(), "WEBP", quality=100), on_white(COLOUR, ALPHA), _ON_WHITE, tolerance=12
    ),
    Kind("webp animated", lambda: _animation("WEBP", lossless=True), COLOUR, "the first frame"),
    Kind(
        "webp turned",
        lambda: saved(_RGB, "WEBP", lossless=True, exif=turned(3)),
        _turned_seen(3),
        "orientation 3",
    ),
    Kind("gif", lambda: saved(_palette(), "GIF"), _P_SEEN, _SAME, True),
    Kind("gif transparent", lambda: saved(_palette(), "GIF", transparency=5), on_white(_P_SEEN, ~IS_KEY * 255), _KEYED),
    Kind("gif animated", lambda: _animation("GIF"), _P_SEEN, "the first frame"),
    Kind("bmp RGB", lambda: saved(_RGB, "BMP"), COLOUR, _SAME),
    Kind("bmp P", lambda: saved(_palette(), "BMP"), _P_SEEN, _SAME),
    Kind("jpeg RGB", lambda: saved(_RGB, "JPEG", quality=100, subsampling=0), COLOUR, _SAME, True, 6),
    Kind("jpeg L", lambda: saved(_L, "JPEG", quality=100), grey(GREY), _SAME, True, 6),
    *[
        Kind(
            f"jpeg turned {number}",
            lambda number=number: saved(_RGB, "JPEG", quality=100, subsampling=0, exif=turned(number)),  # type: ignore[misc]
            _turned_seen(number),
            f"orientation {number}",
            tolerance=6,
        )
        for number in range(2, 9)
    ],
    Kind("pixels with an orientation", lambda: _with_exif(6), _turned_seen(6), "orientation 6, not applied yet"),
    Kind("pixels La", lambda: _premultiplied("La"), on_white(grey(GREY), ALPHA), "c·a is stored"),
    Kind("pixels RGBa", lambda: _premultiplied("RGBa"), on_white(COLOUR, ALPHA), "c·a is stored"),
    Kind("pixels PA", lambda: _palette("PA"), on_white(_P_SEEN, ALPHA), _ON_WHITE),
    Kind("pixels HSV", lambda: _of("HSV", *np.moveaxis(COLOUR, 2, 0)), _hsv_seen(), "Smith (1978)", tolerance=3),
    Kind("pixels YCbCr", lambda: _of("YCbCr", *np.moveaxis(COLOUR, 2, 0)), _ycc_seen(), "ITU-T T.871", tolerance=2),
    Kind("pixels RGBX", lambda: _RGB.convert("RGBX"), COLOUR, "the fourth byte means nothing"),
    Kind("pixels P with opacities", lambda: _rgba_palette(), on_white(_P_SEEN, ALPHA), _ON_WHITE),
]


def _rgba_palette() -> pil.Image:
    image = pil.fromarray(INDEX)
    image.putpalette(np.concatenate([PALETTE, _OPACITIES[:, None]], axis=1).tobytes(), "RGBA")
    return image
