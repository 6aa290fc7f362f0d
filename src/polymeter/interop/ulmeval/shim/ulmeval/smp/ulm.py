"""``ulmeval.smp.ulm``: images to and from base64, and small helpers for images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import digest
from polymeter.data.base64_images import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
)
from polymeter.interop.ulmeval.shim.ulmeval.smp.misc import toliststr
from polymeter.tasks.table.files.roots import LMUDataRoot

__all__ = [
    "apiok",
    "build_option_str",
    "concat_images_ulmeval",
    "concat_images_vlmeval",
    "decode_base64_to_image",
    "decode_base64_to_image_file",
    "encode_image_file_to_base64",
    "encode_image_to_base64",
    "gpt_key_set",
    "isimg",
    "mmqa_display",
    "read_ok",
    "rescale_img",
    "resize_image_by_factor",
]


def rescale_img(img: Image.Image, tgt: tuple[int, int]) -> Image.Image:
    """An image scaled to a width or a height; the other one, given as -1, keeps the aspect ratio.

    Raises:
        ValueError: if neither is -1, or both are.
    """
    width, height = tgt
    if (width == -1) == (height == -1):
        raise ValueError(f"One of width and height must be -1, not {tgt}.")
    old_width, old_height = img.size
    size = (
        (int(height / old_height * old_width), height) if width == -1 else (width, int(width / old_width * old_height))
    )
    return img.resize(size)


def resize_image_by_factor(img: Image.Image, factor: float = 1) -> Image.Image:
    """An image with both sides multiplied by a factor."""
    return img.resize((int(img.width * factor), int(img.height * factor)))


def concat_images_ulmeval(
    images: Sequence[str], target_size: int = -1, mode: str = "h", return_image: bool = False
) -> Image.Image | str:
    """Several images as one, side by side (``h``) or on top of each other (``v``).

    Args:
        images: Paths.
        target_size: The height (``h``) or width (``v``) that each is scaled to; -1: unchanged.
        mode: ``h`` or ``v``.
        return_image: Whether to return the image rather than the path of a PNG file with it.
    """
    opened = [_opened(path) for path in images]
    is_row = mode == "h"
    if target_size != -1:
        opened = [rescale_img(image, (-1, target_size) if is_row else (target_size, -1)) for image in opened]
    widths, heights = [image.width for image in opened], [image.height for image in opened]
    size = (sum(widths), max(heights)) if is_row else (max(widths), sum(heights))
    sheet = Image.new("RGB", size)
    offset = 0
    for image in opened:
        sheet.paste(image, (offset, 0) if is_row else (0, offset))
        offset += image.width if is_row else image.height
    if return_image:
        return sheet
    name = digest("\n".join([*images, mode, str(target_size)]).encode())[:32]
    target = Path(LMUDataRoot()) / "files" / f"{name}.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(target)
    return str(target)


concat_images_vlmeval = concat_images_ulmeval


def mmqa_display(question: Mapping[str, Any], target_size: int = -1) -> None:
    """Show a row in a notebook: its images, then its other cells.

    Raises:
        PlanError: if IPython, which shows them, is not installed.
    """
    import pandas as pd

    from polymeter.interop.ulmeval.shim.lazy import LazyObject

    show = LazyObject("IPython.display", "display")
    cells = {str(name).lower(): value for name, value in dict(question).items()}
    packed, paths = cells.pop("image", None), cells.pop("image_path", None)
    images = (
        toliststr(packed) if packed is not None else [encode_image_file_to_base64(p) for p in toliststr(paths or [])]
    )
    show(f"INDEX: {cells.pop('index', '?')}")
    for image in images:
        show(decode_base64_to_image(image, target_size=target_size))
    for name, value in cells.items():
        if isinstance(value, (list, tuple)) or not pd.isna(value):
            show(f"{name.upper()}. {value}")


def build_option_str(option_dict: Mapping[str, Any]) -> str:
    """The options of a question, one to a line; empty cells are left out."""
    import pandas as pd

    lines = [f"{label}. {text}\n" for label, text in option_dict.items() if not pd.isna(text)]
    return "There are several options: \n" + "".join(lines)


def isimg(s: str) -> bool:
    """Return whether a text is an existing path, or a URL."""
    return os.path.exists(s) or s.startswith("http")


def read_ok(img_path: str | Path) -> bool:
    """Return whether a file is an image that can be opened."""
    try:
        with opened_image(img_path) as image:
            return bool(image.width and image.height)
    except (OSError, Image.DecompressionBombError):
        return False


def gpt_key_set() -> bool:
    """Always true: the run owns the judge and its key (``--judge``)."""
    return True


def apiok(wrapper: Any) -> bool:
    """Return whether a model at an endpoint answers."""
    return wrapper.fail_msg not in wrapper.generate("Hello!")


def _opened(path: str) -> Image.Image:
    with opened_image(path) as image:
        converted: Image.Image = image.convert("RGB")
    return converted
