"""Messages as dataset classes and model wrappers of ULMEvalKit pass them: lists of ``{"type": …, "value": …}``.

``as_items`` reads any form that authors write (a text, an item, a list of texts or of items), ``as_parts`` and
``as_messages`` convert it to what Polymeter's own models take, and ``items_of`` converts back.

The declared type of an item counts: its text is never looked up on the disk. Only for a list of strings is it guessed
what each of them is. Arguments are never changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from polymeter.core.content import Audio, Image, Media, Part, Text, Video
from polymeter.core.errors import DataError, did_you_mean
from polymeter.core.machine.files import replacing
from polymeter.core.media.showing import ImageRule
from polymeter.core.media.sources import digest, from_data_url, is_elsewhere, is_pil, mime_of_suffix, on_disk
from polymeter.core.request import Message, Request, Role

Item = dict[str, Any]
"""``{"type": "text" | "image" | "video" | "audio", "value": …}``, and whatever else its author adds (``role``)."""

_CARRIED: Mapping[str, type[Audio] | type[Video]] = {"video": Video, "audio": Audio}
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/webp", "image/gif")
_TYPES = ("text", "image", *_CARRIED)
_ROLES: tuple[str, ...] = get_args(Role)
_FORMS = "Give a text, {'type': …, 'value': …}, a list of texts, or a list of such items."


def as_items(message: Any, *, folder: Path | None = None) -> list[Item]:
    """Convert a message in any form that authors write to new items.

    A text is one text. A string in a list is an image if it is an existing *file* with the suffix of an image, a
    ``data:image/`` URL, or an http(s) URL with the suffix of an image; anything else is text, also the name of a
    folder. Paths of media become absolute, relative to the current working directory.

    Args:
        message: A string, an item, a list of strings, or a list of items.
        folder: Where images that are not local files (URLs, bytes, Pillow images) are written; their items then hold
            the paths. ``None``: they stay unchanged.

    Raises:
        DataError: if the message has another form, an item has another type or value, or an image cannot be fetched.
    """
    if isinstance(message, str):
        return [{"type": "text", "value": message}]
    if not isinstance(message, (list, tuple)):
        if isinstance(message, Mapping):
            return [_checked_item(message, "The item", folder)]
        raise DataError(f"A message cannot be {_kind_of(message)}.", hint=_FORMS)
    if not message:
        raise DataError("The message is empty.", hint=_FORMS)
    if all(isinstance(item, str) for item in message):
        return [_checked_item(_guessed(text), f"Item {number}", folder) for number, text in enumerate(message)]
    for number, item in enumerate(message):
        if not isinstance(item, Mapping):
            raise DataError(f"Item {number} of a message cannot be {_kind_of(item)} beside other items.", hint=_FORMS)
    return [_checked_item(item, f"Item {number}", folder) for number, item in enumerate(message)]


def as_parts(items: Iterable[Mapping[str, Any]]) -> tuple[Part, ...]:
    """The parts that items stand for, in order. Nothing is opened: an image is a path, a URL, bytes or pixels.

    Args:
        items: As ``as_items`` gives them.

    Raises:
        DataError: if a data URL is not base64.
    """
    return tuple(_made_part(item["type"], item["value"]) for item in items)


def as_messages(items: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    """The messages that items stand for: adjacent items of one ``role`` make one message; without a role, the user's.

    Raises:
        DataError: if a role is unknown, or a data URL is not base64.
    """
    grouped: list[tuple[Role, list[Mapping[str, Any]]]] = []
    for item in items:
        role = item.get("role", "user")
        if role not in _ROLES:
            hint = did_you_mean(str(role), _ROLES) or f"Known: {', '.join(_ROLES)}."
            raise DataError(f"There is no role {role!r}.", hint=hint)
        if not grouped or grouped[-1][0] != role:
            grouped.append((cast(Role, role), []))
        grouped[-1][1].append(item)
    return tuple(Message(role, as_parts(own)) for role, own in grouped)


def items_of(request: Request, folder: Path) -> list[Item]:
    """The items of a request's messages, as wrappers take them: every image is the path of a local file.

    An image that is a file keeps its path. Any other is written unchanged below ``folder``, named by a digest of its
    bytes, so that equal images are one file; an image at a URL is fetched. Items of messages that are not the user's
    have a ``role``.

    An image with a rule is written as the rule says.

    Raises:
        DataError: if a medium cannot be read or fetched.
    """
    items: list[Item] = []
    for message in request.messages:
        role = {} if message.role == "user" else {"role": message.role}
        items.extend({"type": part.modality, "value": _value(part, folder), **role} for part in message.parts)
    return items


def _guessed(text: str) -> Item:
    is_image = text.startswith("data:image/") or (_is_image_name(text) and (is_elsewhere(text) or _is_file(text)))
    return {"type": "image" if is_image else "text", "value": text}


def _is_image_name(text: str) -> bool:
    """Return whether a path or URL has the suffix of an image."""
    path = re.split("[?#]", text, maxsplit=1)[0] if is_elsewhere(text) else text
    suffix = os.path.splitext(path)[1].lower()
    return (mime_of_suffix(suffix) or "").startswith("image/")


def _is_file(text: str) -> bool:
    return os.path.isfile(on_disk(text))  # unlike Path.is_file, returns False for text that cannot be a path


def _checked_item(item: Mapping[str, Any], name: str, folder: Path | None) -> Item:
    if "type" not in item or "value" not in item:
        missing = [key for key in ("type", "value") if key not in item]
        keys = ", ".join(repr(key) for key in item) or "no keys"
        raise DataError(
            f"{name} of a message has no {' and no '.join(map(repr, missing))}; it has {keys}.", hint=_FORMS
        )
    kind, value = item["type"], item["value"]
    if kind not in _TYPES:
        hint = did_you_mean(str(kind), _TYPES) or f"Known: {', '.join(_TYPES)}."
        raise DataError(f"{name} of a message has the unknown type {kind!r}.", hint=hint)
    if kind == "text":
        if not isinstance(value, str):
            raise DataError(f"{name} of a message is a text, but its value is {_kind_of(value)}.")
        return dict(item)
    return {**item, "value": _medium(kind, value, name, folder)}


def _medium(kind: str, value: Any, name: str, folder: Path | None) -> Any:
    """The value of a medium: an absolute path, a URL, or the image itself."""
    if isinstance(value, str) and is_elsewhere(value):
        return value if folder is None or kind != "image" else _fetched(value, folder)
    if kind == "image" and _is_encoded(value):
        return value if folder is None else _stored(Image(value), folder)
    if not isinstance(value, (str, Path)):
        raise DataError(
            f"{name} of a message has the type {kind!r}, but its value is {_kind_of(value)}.",
            hint="Give a path or a URL.",
        )
    if not _is_file(str(value)):
        raise DataError(f"The {kind} {str(value)[:200]!r} does not exist.", hint=f"It is looked for from {Path.cwd()}.")
    return str(Path(value).absolute())


def _is_encoded(value: Any) -> bool:
    """Return whether an image's value is the image itself, not its location."""
    return isinstance(value, bytes) or is_pil(value) or (isinstance(value, str) and value.startswith("data:"))


def _made_part(kind: str, value: Any) -> Part:
    if kind == "text":
        return Text(value)
    is_path = isinstance(value, str) and not is_elsewhere(value) and not value.startswith("data:")
    source: Any = Path(value) if is_path else value
    if kind != "image":
        return _CARRIED[kind](source)
    return Image(from_data_url(source) if isinstance(source, str) and source.startswith("data:") else source)


def _value(part: Part, folder: Path) -> str:
    if isinstance(part, Text):
        return part.text
    source = part.source if isinstance(part, Image) else part.origin()
    if isinstance(part, Image) and part.rule is not None:
        if isinstance(source, str) and is_elsewhere(source):
            part = replace(part, source=Path(_fetched(source, folder)))
        return _stored(part, folder)
    if isinstance(source, str) and is_elsewhere(source):
        return _fetched(source, folder) if isinstance(part, Image) else source
    if isinstance(source, Path) or (isinstance(source, str) and not source.startswith("data:")):
        if not _is_file(str(source)):
            raise DataError(f"The {part.modality} {part.describe()!r} does not exist.")
        return str(Path(on_disk(str(source))).absolute())
    return _stored(part, folder)


def _stored(part: Media, folder: Path) -> str:
    """The path of a file that holds a medium's bytes, written if it does not exist."""
    if isinstance(part, Image):
        data, mime = part.encoded() if part.rule is None else _under_rule(part)
        suffix = "." + mime.removeprefix("image/").replace("jpeg", "jpg")
    else:
        original = part.original_bytes()
        if original is None:
            raise DataError(f"The {part.modality} {part.describe()} is not a file, but a wrapper accepts files only.")
        data, suffix = original, ".mp4" if isinstance(part, Video) else ".wav"
    path = folder.absolute() / f"{digest(data)}{suffix}"
    if not path.is_file():
        with replacing(path, binary=True) as file:
            file.write(data)
    return str(path)


def _under_rule(image: Image) -> tuple[bytes, str]:
    from polymeter.data.showing import encoded_image

    return encoded_image(image, ImageRule(), _IMAGE_TYPES)


def _fetched(url: str, folder: Path) -> str:
    from polymeter.data.fetching.fetch import fetched_image

    return str(fetched_image(url, folder).absolute())


def _kind_of(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return f"a {type(value).__name__} of {len(value)}"
    kind = type(value).__name__
    return "nothing" if value is None else f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
