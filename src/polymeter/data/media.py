"""Media cells of a row: from what the dataset stores to what task code expects.

Images become Pillow images that are opened but not decoded, with their encoded bytes attached, so that nobody has to
encode them again. Audio becomes ``{"array", "sampling_rate", "path"}``; a video the path of its file, else its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Modality, readable_image
from polymeter.core.errors import DataError, boundary
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import on_disk
from polymeter.data.audio import samples
from polymeter.data.fetching.fetch import bytes_named_by_data

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Decoder = Callable[[Any], Any]

_EXIF_ORIENTATION = 0x0112
_PNG_EXIF_MARKS = (b"eXIf", b"Raw profile type")


def modality_of(feature: Any) -> Modality | None:
    """The modality of a column that is a medium or a list of media; ``None`` for any other column."""
    import datasets

    kinds: tuple[tuple[Any, Modality], ...] = (
        (datasets.Image, "image"),
        (datasets.Audio, "audio"),
        (datasets.Video, "video"),
    )
    inner = _item_of(feature)
    for kind, modality in kinds:
        if isinstance(feature, kind) or (inner is not None and isinstance(inner, kind)):
            return modality
    return None


def is_list(feature: Any) -> bool:
    """Return whether a feature is a list of something."""
    return _item_of(feature) is not None


def decoder_of(feature: Any) -> Decoder | None:
    """The function from a stored cell to a row's value, nested media included; ``None`` if the cell is already the
    value.
    """
    if isinstance(feature, dict):
        return _dict_decoder({key: decoder for key, item in feature.items() if (decoder := decoder_of(item))})
    if type(feature).__name__ == "Sequence" and isinstance(getattr(feature, "feature", None), dict):
        # Before version 4, ``datasets`` stores a sequence of dictionaries as a dictionary of lists.
        lists: dict[str, Decoder] = {
            key: partial(_each, decoder) for key, item in feature.feature.items() if (decoder := decoder_of(item))
        }
        return _dict_decoder(lists)
    item = _item_of(feature)
    if item is not None:
        inner = decoder_of(item)
        return partial(_each, inner) if inner else None
    return _leaf_decoder(feature) if getattr(feature, "decode", True) else None


def encoded_bytes(cell: Any) -> bytes | None:
    """The encoded bytes of a stored medium, read from its file if necessary; ``None`` for an empty cell.

    Raises:
        DataError: if the file does not exist.
    """
    if cell is None or isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        cell = {"path": cell}
    data = cell.get("bytes")
    if isinstance(data, bytes):
        return data
    path = cell.get("path")
    return None if path is None else bytes_named_by_data(path)


def names_nothing(path: str) -> bool:
    """Return whether the text of a cell with a path names no file: white space, or the word that pandas writes for
    nothing.
    """
    return path.strip().lower() in ("", "nan")


def open_image(cell: Any, mode: str | None = None) -> PILImage | None:
    """A Pillow image that is opened but not decoded, upright, with its encoded bytes as ``polymeter_bytes``.

    An image that its EXIF orientation rotates is decoded at once and carries no bytes, which would show it unrotated.

    Raises:
        DataError: if the cell holds no image that Pillow can read.
    """
    if cell is not None and not isinstance(cell, (bytes, str, dict)):
        return cell  # type: ignore[no-any-return]
    data = encoded_bytes(cell)
    if data is None:
        return None
    from PIL import ImageOps

    file = str(cell.get("path") or "") if isinstance(cell, dict) else ""
    with (
        boundary(DataError, "Opening an image of the dataset"),
        readable_image(lambda: file or "of the dataset"),
    ):
        image: PILImage = opened_image(data, "An image of the dataset")
        if file:
            image.polymeter_file = file  # type: ignore[attr-defined]
        # Asking a PNG for EXIF data decodes it, so look for the chunk first.
        may_turn = image.format != "PNG" or any(mark in data for mark in _PNG_EXIF_MARKS)
        if may_turn and image.getexif().get(_EXIF_ORIENTATION, 1) != 1:
            image = ImageOps.exif_transpose(image)
        elif not (mode and mode != image.mode):
            image.polymeter_bytes = data  # type: ignore[attr-defined]
        return image.convert(mode) if mode and mode != image.mode else image


def forget_bytes_if_touched(image: Any) -> Any:
    """Drop the encoded bytes of an image that has been decoded: its pixels may have been changed in place since."""
    # Pillow empties ``tile`` when it decodes. An image that a run has stored knows by itself whether it was changed.
    if getattr(image, "__dict__", {}).get("polymeter_bytes") is not None and not getattr(image, "tile", None):
        del image.polymeter_bytes
    return image


def decode_audio(cell: Any, rate: int | None = None) -> dict[str, Any] | None:
    """Audio as ``{"array": mono float32 samples of shape (n,), "sampling_rate": Hz, "path"}``.

    Raises:
        DataError: if the cell holds no audio that can be read.
        PlanError: if the package that reads audio is missing.
    """
    data = encoded_bytes(cell)
    if data is None:
        return None
    array, own_rate = samples(data, rate=rate)
    return {"array": array, "sampling_rate": own_rate, "path": cell.get("path") if isinstance(cell, dict) else None}


def video_file(cell: Any) -> Any:
    """The path of a video's file if that exists on this machine, else its bytes."""
    if not isinstance(cell, dict):
        return cell
    path = cell.get("path")
    return path if path and (cell.get("bytes") is None or Path(on_disk(path)).is_file()) else cell.get("bytes")


def _item_of(feature: Any) -> Any:
    if isinstance(feature, (list, tuple)) and feature:
        return feature[0]
    item = getattr(feature, "feature", None)
    return None if isinstance(item, dict) and type(feature).__name__ == "Sequence" else item


def _dict_decoder(members: dict[str, Decoder]) -> Decoder | None:
    if not members:
        return None

    def decode(cell: Any) -> Any:
        if cell is None:
            return None
        return {key: members[key](value) if key in members else value for key, value in cell.items()}

    return decode


def _each(decode: Decoder, cells: Any) -> Any:
    return None if cells is None else [decode(cell) for cell in cells]


def _leaf_decoder(feature: Any) -> Decoder | None:
    import datasets

    if isinstance(feature, datasets.Image):
        return partial(open_image, mode=feature.mode)
    if isinstance(feature, datasets.Audio):
        return partial(decode_audio, rate=feature.sampling_rate)
    if isinstance(feature, datasets.Video):
        return video_file
    return partial(_if_there, feature.decode_example) if hasattr(feature, "decode_example") else None


def _if_there(decode: Decoder, cell: Any) -> Any:
    return None if cell is None else decode(cell)
