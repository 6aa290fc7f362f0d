"""Names of colours: that of the nearest of several named shades in the CIE L*a*b* space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ANCHORS: Mapping[str, tuple[str, ...]] = {
    "red": ("#ff0000", "#d72328", "#b01018", "#e6503c", "#8b0000"),
    "orange": ("#ff8c00", "#f58c19", "#ffa500", "#e07010", "#ff7f32"),
    "yellow": ("#ffff00", "#f0dc32", "#ffd700", "#e0c820", "#fff078"),
    "green": ("#00ff00", "#2da541", "#008000", "#006400", "#78c850", "#20b060", "#90ee90"),
    "blue": ("#0000ff", "#2d5adc", "#1e90ff", "#00008b", "#50a0e6", "#87ceeb"),
    "purple": ("#800080", "#9637be", "#6a0dad", "#8a2be2", "#b469dc", "#9400d3"),
    "pink": ("#ffc0cb", "#ff69b4", "#ff1493", "#f08cb4", "#ffa0c8", "#e75480"),
    "brown": ("#8b4513", "#6e4628", "#a0522d", "#5a3214", "#a0703c"),
    "cyan": ("#00ffff", "#00ced1", "#20b2aa", "#008b8b"),
    "black": ("#000000", "#191919", "#2a2a2a"),
    "gray": ("#808080", "#a9a9a9", "#696969", "#505050", "#bebebe"),
    "white": ("#ffffff", "#f0f0f0", "#e4e4e4"),
}
"""Shades by name: strong, dark and light ones. The nearest shade decides between two names."""
COLOUR_NAMES = tuple(ANCHORS)
"""All names that ``colour_name`` can give."""

# From linear sRGB to CIE XYZ under D65 (IEC 61966-2-1), and the white point to divide by.
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(rgb: NDArray[np.generic] | Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Convert 8-bit sRGB values to CIE L*a*b* (1976, D65).

    Args:
        rgb: Shape ``(…, 3)``, 0 to 255.

    Returns:
        The same shape: L* from 0 to 100, a* and b*.
    """
    values = np.asarray(rgb)
    linear = _LINEAR[values] if values.dtype == np.uint8 else _linear(values)
    ratio = linear @ _TO_XYZ.T / _WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _linear(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """Convert 8-bit sRGB values to linear light, from 0 to 1, in the same shape."""
    shares = np.asarray(values, dtype=np.float64) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


_LINEAR = _linear(np.arange(256))


def colour_names(rgb: NDArray[np.generic] | Sequence[Sequence[float]]) -> NDArray[np.str_]:
    """Return the names of colours.

    Args:
        rgb: Shape ``(…, 3)``, 0 to 255.

    Returns:
        Shape ``(…)``: each one of ``COLOUR_NAMES``.
    """
    coordinates = lab(rgb)
    distances = np.linalg.norm(coordinates[..., None, :] - _SHADES, axis=-1)
    names: NDArray[np.str_] = np.asarray(_NAMES)[distances.argmin(axis=-1)]
    return names


def colour_name(rgb: Sequence[float] | NDArray[np.generic]) -> str:
    """Return the name of one colour, ``(red, green, blue)`` from 0 to 255."""
    return str(colour_names(np.asarray(rgb)))


def _rgb(code: str) -> tuple[int, int, int]:
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


_NAMES = tuple(name for name, codes in ANCHORS.items() for _ in codes)
_SHADES = lab([_rgb(code) for codes in ANCHORS.values() for code in codes])
