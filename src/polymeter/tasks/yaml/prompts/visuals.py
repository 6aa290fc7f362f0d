"""The media of a prompt: the values of ``doc_to_visual`` and ``doc_to_messages`` as parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.content import Audio, Given, Image, Media, Modality, Part, Text, Video
from polymeter.core.errors import DataError, boundary
from polymeter.core.guest_context import guest_context
from polymeter.core.media.sources import on_disk, sniff_modality
from polymeter.core.request import Message
from polymeter.data.media import encoded_bytes, forget_bytes_if_touched, names_nothing, video_file
from polymeter.data.rows import Rows, is_missing

_SUFFIXES: Mapping[Modality, tuple[str, ...]] = {
    "image": (
        ".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".avif", ".heic",
        ".heif", ".jp2", ".jxl", ".tga", ".ico",
    ),
    "audio": (".wav", ".mp3", ".flac", ".m4a", ".ogg", ".opus", ".aac", ".wma", ".aif", ".aiff", ".amr"),
    "video": (
        ".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".3gp", ".ts", ".mts",
        ".m2ts", ".ogv", ".vob", ".asf",
    ),
}  # fmt: skip
MEDIA_SUFFIXES = tuple(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)
_KINDS = "image, audio or video"
_OF_KIND: Mapping[Modality, type[Image] | type[Audio] | type[Video]] = {"image": Image, "audio": Audio, "video": Video}
_HEAD_BYTES = 256
_SHOWN = 80
_LONGEST_PATH = 4096
"""Longer texts are media themselves, in base64."""
_WRITTEN = (str, Path, bytes, bytearray, Mapping)
"""The value that an author writes for a medium. Pillow images, frames and decoders are their own source."""
_ROLES = ("system", "user", "assistant")


def to_part(value: Any, key: str | None) -> Part:
    """One medium as a part: by its type, by the ``type`` that a mapping names, by a path's suffix, or else by the
    bytes with which it begins.

    Raises:
        DataError: if it is not a kind of medium, or nothing says of which kind it is.
    """
    if isinstance(value, (Text, Image, Audio, Video)):
        return value
    if hasattr(value, "getbands"):
        return Image(forget_bytes_if_touched(value), key)
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, (str, bytes, bytearray)):
        source = _not_empty(value) if isinstance(value, str) else bytes(value)
        return _OF_KIND[_kind_of(source)](source, key)
    if isinstance(value, Mapping):
        return _from_mapping(value, key)
    if hasattr(value, "get_all_samples"):
        return Audio(value, key)
    if hasattr(value, "get_frames_at") or hasattr(value, "get_batch") or hasattr(value, "dtype"):
        return Video(value, key)
    raise DataError(
        f"Cannot show a {type(value).__name__} to a model.",
        hint="Give Pillow images, paths, or mappings with a 'type'.",
    )


def _not_empty(source: Any) -> Any:
    if isinstance(source, str) and not source.strip():
        raise DataError("An empty text names no medium.", hint="Give no medium at all, or leave the row out.")
    return source


def flat(visuals: Any) -> Iterator[Any]:
    """Media in order, nested lists flattened; ``None`` is left out."""
    if isinstance(visuals, (list, tuple)):
        for item in visuals:
            yield from flat(item)
    elif visuals is not None:
        yield visuals


def is_no_medium(cell: Any) -> bool:
    """Return whether a cell of a column of media holds none: it is null or NaN, or a path that names nothing."""
    if isinstance(cell, str):
        return names_nothing(cell)
    if isinstance(cell, Mapping):
        return set(cell) <= {"bytes", "path"} and not any(cell.values())
    return is_missing(cell)


def from_hook(visuals: Any, prefix: str | None) -> tuple[Part, ...]:
    """The media that ``doc_to_visual`` returned for a row, as parts. ``prefix`` is the row's identity; without one each
    part is identified by its content, as it must be where it was made from an answer.
    """
    placed = list(_placed(visuals))
    is_nested = any(len(place) > 1 for _, place in placed)
    parts: list[Part] = []
    for number, (item, place) in enumerate(placed):
        part = to_part(item, None if prefix is None else f"{prefix}:v{number}")
        parts.append(_with_given(part, item, place, is_nested=is_nested))
    return tuple(parts)


def _placed(visuals: Any, place: tuple[int, ...] = ()) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Media in order, as ``flat`` gives them, each with its place in the nested lists."""
    if isinstance(visuals, (list, tuple)):
        for number, item in enumerate(visuals):
            yield from _placed(item, (*place, number))
    elif visuals is not None:
        yield visuals, place or (0,)


def _with_given(part: Part, value: Any, place: tuple[int, ...] = (), *, is_nested: bool = False) -> Part:
    """A medium that knows what the author gave for it."""
    is_written = isinstance(value, _WRITTEN)
    if isinstance(part, Text) or not (is_written or is_nested):
        return part
    return replace(part, given=Given(value if is_written else None, place))


def column_visuals(rows: Rows, column: str, folders: Sequence[Path] = ()) -> Callable[[int], tuple[Part, ...]]:
    """For ``doc_to_visual: column``: a function from a row's number to its parts, which reads nothing before they
    are opened (unless it must count them).

    Args:
        rows: The rows.
        column: The column with media, or with paths of media.
        folders: Where a relative path is looked for if the working directory has no such file.
    """
    modality, is_decoded = rows.media.get(column), column not in rows.undecoded
    fingerprint = rows.fingerprint

    if modality == "image" and rows.is_always_one(column):
        return lambda index: (Image(_Cell(rows, index, column), f"{fingerprint}:{index}:{column}"),)

    def parts(index: int) -> tuple[Part, ...]:
        cells = rows.cell(index, column)
        key = f"{fingerprint}:{index}:{column}"
        if not isinstance(cells, (list, tuple)):
            found = _found(cells, folders)
            return () if is_no_medium(cells) else (_from_cell(found, modality, key, is_decoded=is_decoded),)
        return tuple(
            [
                _from_cell(_found(cell, folders), modality, f"{key}:{j}", is_decoded=is_decoded)
                for j, cell in enumerate(cells)
                if not is_no_medium(cell)
            ]
        )

    return parts


def in_folders(visual: Callable[[Any], Any], folders: Sequence[Path]) -> Callable[[Any], Any]:
    """A function that gives media, of which relative paths are looked for in folders too."""

    def placed(item: Any) -> Any:
        if isinstance(item, (list, tuple)):
            return [placed(one) for one in item]
        is_path = isinstance(item, str) and len(item) <= _LONGEST_PATH and "://" not in item
        return _found(item, folders) if is_path else item

    return lambda doc: placed(visual(doc))


def not_found(cell: Any, folders: Sequence[Path]) -> str:
    """Return the places where the file of a cell was looked for without being found; empty if it was found, or the cell
    names no file of media.
    """
    if not isinstance(cell, str) or "://" in cell or not cell.lower().endswith(MEDIA_SUFFIXES):
        return ""
    path = _found(cell, folders)
    if os.path.isfile(path):
        return ""
    if os.path.isabs(cell):
        return "there"
    return f"in {', '.join(dict.fromkeys(map(str, (Path.cwd(), *(folder.resolve() for folder in folders)))))}"


def is_found(cell: str, folders: Sequence[Path]) -> bool:
    """Return whether a cell names a file of media that exists."""
    is_name = "://" not in cell and cell.lower().endswith(MEDIA_SUFFIXES)
    return is_name and os.path.isfile(_found(cell, folders))


def _found(cell: Any, folders: Sequence[Path]) -> Any:
    """A cell; if it is a path, that of the file that it names."""
    if not isinstance(cell, str) or not cell or os.path.isfile(cell):
        return cell
    places = (on_disk(os.path.join(folder, cell)) for folder in (Path(), *folders))
    return next((place for place in places if os.path.isfile(place)), cell)


class _Cell:
    """The bytes of the medium in one cell, read when it is called.

    Attributes:
        file: The file that the dataset names for it; empty before the cell is read.
    """

    __slots__ = ("_column", "_index", "_rows", "file")

    def __init__(self, rows: Rows, index: int, column: str) -> None:
        self._rows, self._index, self._column = rows, index, column
        self.file = ""

    def __call__(self) -> bytes:
        cell = self._rows.cell(self._index, self._column)
        self.file = _file_of(cell)
        data = encoded_bytes(cell)
        if data is None:
            raise DataError(f"Column {self._column!r} of sample {self._index} is empty.")
        return data

    def place(self) -> str:
        """The file that the dataset names for the medium; empty if it names none."""
        return _file_of(self._rows.cell(self._index, self._column))


def _file_of(cell: Any) -> str:
    file = cell.get("path") if isinstance(cell, Mapping) else cell if isinstance(cell, str) else None
    return str(file or "")


def from_chat(messages: Any, prefix: str | None) -> tuple[Message, ...]:
    """The messages that ``doc_to_messages`` returned; ``prefix`` as for ``from_hook``.

    Raises:
        DataError: if they are not ``[{role, content: [{type, …}]}]``.
    """
    chat = []
    count = 0
    for message in messages if isinstance(messages, Iterable) else ():
        if isinstance(message, Message):
            chat.append(message)
            continue
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            raise DataError(
                f"A chat message needs a role and content, not {message!r:.80}.", hint=f"Roles: {', '.join(_ROLES)}."
            )
        content = message.get("content")
        parts: list[Part] = []
        for item in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            kind = item.get("type") if isinstance(item, Mapping) else None
            if kind == "text":
                is_usual = isinstance(item["text"], str) and tuple(item) == ("type", "text")
                parts.append(Text(str(item["text"]), None if is_usual else dict(item)))
            elif kind in ("image", "video", "audio"):
                parts.append(_typed(kind, item, None if prefix is None else f"{prefix}:m{count}"))
                count += 1
            else:
                raise DataError(f"The type of a chat item must be text, image, video or audio, not {kind!r}.")
        is_listed = not isinstance(content, str)
        chat.append(Message(message["role"], tuple(parts), _written(message), is_listed))
    if not chat:
        raise DataError("doc_to_messages gave no messages.")
    return tuple(chat)


def _written(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message as its author wrote it, without its list of items; ``None`` if that is a role and the list."""
    if not isinstance(message.get("content"), (list, tuple)):
        return dict(message)
    return None if tuple(message) == ("role", "content") else {**message, "content": None}


def keyed(messages: tuple[Message, ...], prefix: str) -> tuple[Message, ...]:
    """Messages of a model's own prompt, their media identified by row and number, so that nothing is read for it."""
    count = iter(range(sum(len(message.parts) for message in messages)))
    return tuple(
        Message(
            message.role,
            tuple(p if isinstance(p, Text) else replace(p, key=f"{prefix}:m{next(count)}") for p in message.parts),
        )
        for message in messages
    )


def chat_item(visual: Any) -> dict[str, Any]:
    """One medium as an item of a chat message: what it is, and where; a mapping as a whole if `is_shown_whole` says so,
    or if it names no place.
    """
    kind = to_part(visual, None).modality
    if not isinstance(visual, Mapping):
        return {"type": kind, "url": visual}
    place = None if is_shown_whole(visual, kind) else visual.get("url", visual.get("path", visual.get("bytes")))
    return {"type": kind, "url": dict(visual) if place is None else place}


def is_shown_whole(value: Mapping[str, Any], kind: Modality) -> bool:
    """Return whether a chat model is to see all of a mapping that stands for a medium: a segment, or a recording's
    samples or bytes, whose path may name nothing.
    """
    if "video_start" in value or "video_end" in value:
        return True
    return kind == "audio" and "url" not in value and ("array" in value or "bytes" in value)


def modalities_of(parts: Iterable[Part]) -> frozenset[Modality]:
    """The modalities of parts; text is always among them."""
    return frozenset({"text", *(part.modality for part in parts)})


def _typed(kind: str, item: Mapping[str, Any], key: str | None) -> Part:
    name = "url" if "url" in item else kind
    source = _not_empty(item.get(name))
    written = {key: None if key == name else value for key, value in item.items()}
    given = Given(source if isinstance(source, _WRITTEN) else None, item=written)
    return replace(_typed_medium(kind, item, source, key), given=given)


def _typed_medium(kind: str, item: Mapping[str, Any], source: Any, key: str | None) -> Media:
    if kind == "image":
        return Image(forget_bytes_if_touched(source) if hasattr(source, "getbands") else _image_source(source), key)
    if kind == "audio" or (isinstance(source, Mapping) and "array" in source):
        return Audio(source, key)
    nested = source if isinstance(source, Mapping) else {}
    start = item.get("start_time", nested.get("video_start"))
    end = item.get("end_time", nested.get("video_end"))
    return Video(
        nested.get("url", nested.get("path", nested.get("video", nested.get("video_path")))) if nested else source,
        key,
        _seconds(start),
        _seconds(end),
    )


def _from_mapping(value: Mapping[str, Any], key: str | None) -> Media:
    kind = value.get("type") or _kind_of_mapping(value)
    if kind not in _SUFFIXES:
        raise DataError(f"The type of a medium must be {_KINDS}, not {kind!r}.")
    data = value.get("bytes")
    source = _not_empty(value.get("url", value.get("path", value.get(kind, value.get(f"{kind}_path")))))
    source = data if source is None else source
    if kind == "image":
        return Image(data if isinstance(data, bytes) else _image_source(source), key)
    if kind == "audio":
        return Audio(dict(value) if "array" in value or "bytes" in value else source, key)
    return Video(source, key, _seconds(value.get("video_start")), _seconds(value.get("video_end")))


def _kind_of_mapping(value: Mapping[str, Any]) -> Modality:
    """The kind of a medium whose mapping names no ``type``: as its other keys say, or its bytes, or its path."""
    if "array" in value:
        return "audio"
    for kind in _SUFFIXES:
        if any(f"{kind}{ending}" in value for ending in ("", "_path", "_start", "_end")):
            return kind
    data = value.get("bytes")
    known = sniff_modality(data) if isinstance(data, bytes) else None
    return known or _kind_of(_not_empty(value.get("url", value.get("path") or data)))


def _kind_of(source: Any) -> Modality:
    """The kind of a medium, by the suffix of its name or by its first bytes. A folder holds the frames of a video.

    Raises:
        DataError: if neither is known.
    """
    head = source[:_HEAD_BYTES] if isinstance(source, bytes) else b""
    if isinstance(source, str):
        name = source.lower()
        names = (name, name.partition("?")[0], name.partition("#")[0])
        for kind, suffixes in _SUFFIXES.items():
            if name.startswith(f"data:{kind}/") or any(each.endswith(suffixes) for each in names):
                return kind
        place = on_disk(source)
        if os.path.isdir(place):
            return "video"
        if os.path.isfile(place):
            with boundary(DataError, f"Reading {source!r}"), open(place, "rb") as file:
                head = file.read(_HEAD_BYTES)
    known = sniff_modality(head) or ("video" if guest_context().parity.on("chat-media") else None)
    if known is None:
        if isinstance(source, (str, bytes)):  # the end of a path says which file it is
            what = repr(source[-_SHOWN:] if isinstance(source, str) else source[:_SHOWN])
        else:
            what = f"A {type(source).__name__}"
        raise DataError(
            f"{what} is not an {_KINDS} by its name or its content.",
            hint="Give a mapping with its type: {'type': 'video', 'path': …}.",
        )
    return known


def _from_cell(cell: Any, modality: Modality | None, key: str, *, is_decoded: bool) -> Part:
    if modality == "image" and not hasattr(cell, "getbands"):
        return Image(partial(encoded_bytes, cell), key)
    if modality == "audio" and not (isinstance(cell, Mapping) and "array" in cell):
        # A recording that the dataset leaves undecoded stays the cell that it is: wrapped models get it as such.
        return Audio(encoded_bytes(cell) if is_decoded else cell, key)
    if modality == "video":
        return Video(video_file(cell), key)
    return to_part(cell, key)


def _image_source(source: Any) -> Any:
    return encoded_bytes(source) if isinstance(source, dict) else source


def _seconds(value: Any) -> float | None:
    return None if value is None else float(value)
