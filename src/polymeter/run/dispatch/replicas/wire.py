"""Messages between the run and its replicas, as bytes: requests out, responses back.

Encoded media cross unchanged. An image of a dataset's row is read once, here, and crosses as its encoded bytes; it is
decoded at the model. Pixels that were never encoded, such as a generated image's, cross as pixels. Large pieces stand
beside the rest, so that a transport need not copy them, and may send each only once.

Only bytes that this process and its own replicas have written are ever read.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polymeter.core.acting.tools import Call, Tool
from polymeter.core.content import Audio, Given, Image, Text, Video, is_subtitle_text
from polymeter.core.errors import ModelError
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule
from polymeter.core.media.sources import is_elsewhere, is_pil, is_url, on_disk, original, plain_source
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import (
    ChoiceLogprob,
    Error,
    Generate,
    GenerateImage,
    Loglikelihood,
    Message,
    Origin,
    Output,
    OwnPrompt,
    Request,
    Response,
    Usage,
)
from polymeter.data.showing.subtitles import subtitle_text

_LARGE = 16 * 1024
"""Bytes from which on a piece of media stands beside the rest."""

Buffers = Sequence[Any]
"""Large pieces, each of them bytes or a view of some."""
Readable = Callable[[Path], bool]
"""A test of whether a replica can read a file that this process can read."""


def everywhere(path: Path) -> bool:
    """Replicas on this machine read the same files."""
    return True


def packed(
    value: Any, is_readable: Readable = everywhere, *, is_made_plain: bool = False
) -> tuple[bytes, list[memoryview]]:
    """Plain data of the run as bytes.

    Args:
        value: Work for a replica, or what it has computed.
        is_readable: Which files need not be carried, because the other side reads them itself.
        is_made_plain: Whether texts and numbers of classes of their own become plain ones: the other side may not have
            the class.

    Returns:
        The data, and the large pieces that stand beside it.

    Raises:
        DataError: if media cannot be read.
        ModelError: if something in it is not plain data.
    """
    beside: list[memoryview] = []

    def is_inside(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if not isinstance(view.obj, bytes) or len(view) < _LARGE:  # arrays would come back read-only
            return True
        beside.append(view)
        return False

    out = io.BytesIO()
    try:
        _Pickler(out, is_inside, is_readable, is_made_plain).dump(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:  # what pickle raises depends on the object
        why = " ".join(str(error).split())
        raise ModelError(
            f"A request holds something that cannot be sent to another process: {why}",
            hint="Run it without --replicas, or let the benchmark put plain data into its prompts.",
        ) from error
    return out.getvalue(), beside


def unpacked(data: bytes, beside: Buffers = ()) -> Any:
    """The data again. ``beside`` must be ``bytes`` objects."""
    return pickle.loads(data, buffers=beside)  # noqa: S301  (written by ``packed`` in a process of this run)


def _getter(record: type) -> Callable[[Any], tuple[Any, ...]]:
    names = [each.name for each in fields(record)]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: (getattr(value, names[0]),)


_VALUES = {
    record: _getter(record)
    for record in (
        *(Request, OwnPrompt, Message, Text, Given, Origin, Generate, Loglikelihood, GenerateImage, Tool, Call),
        *(Response, Output, Usage, ChoiceLogprob, Error),
        *(VideoRule, ImageRule, AudioRule, ShownMedium),
    )
}
"""Records that every request is made of, with what gives their fields: by themselves, frozen dataclasses with slots are
pickled by a function of ``dataclasses`` that takes ten times as long.
"""


class CarriedImage:
    """The encoded bytes of an image that another process has read.

    Args:
        data: The bytes.
        file: The file that they come from, if that is known.
    """

    __slots__ = ("_data", "file")

    def __init__(self, data: bytes, file: str) -> None:
        self._data = data
        self.file = file

    def __call__(self) -> bytes:
        return self._data

    def place(self) -> str:
        """The file that they come from."""
        return self.file

    def __reduce__(self) -> Any:
        return CarriedImage, (pickle.PickleBuffer(self._data), self.file)


def _is_own_type(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


class _Pickler(pickle.Pickler):
    """Writes records by their fields and media by their encoded bytes."""

    def __init__(
        self,
        out: io.BytesIO,
        is_inside: Callable[[pickle.PickleBuffer], bool],
        is_readable: Readable,
        is_made_plain: bool,
    ) -> None:
        super().__init__(out, protocol=5, buffer_callback=is_inside)
        self._is_readable = is_readable
        self._is_made_plain = is_made_plain

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        values = _VALUES.get(kind)
        if values is not None:
            return kind, values(value)
        if kind is Image:
            return _image, self._image(value)
        if kind is Audio:
            return _audio, (self._source(value.source), value.key, value.given, value.rule)
        if kind is Video:
            source = self._source(value.source)
            subtitles = self._subtitles(value.subtitles_shown)
            return _video, (source, value.key, value.start_s, value.end_s, value.given, value.rule, subtitles)
        if is_pil(value):
            return self._pixels(value)
        if kind is MappingProxyType:
            return _read_only, (dict(value),)
        # Never asked for plain ones themselves; a class of Polymeter's own is on the other side too.
        if self._is_made_plain and isinstance(value, (str, int, float)) and not _is_own_type(kind):
            return _as_builtin(value)
        return NotImplemented

    def _subtitles(self, source: Path | str | None) -> Path | str | None:
        if source is None or is_subtitle_text(source) or self._is_readable(Path(source)):
            return source
        text = subtitle_text(Path(on_disk(str(source))))
        return text if is_subtitle_text(text) else f"{text}\n"  # a line alone would be taken for a path

    def _image(self, image: Image) -> tuple[Any, ...]:
        source, supplied = image.source, None
        if is_elsewhere(source):
            read = image.resolved()
            supplied = pickle.PickleBuffer(read) if isinstance(read, bytes) else None
        elif callable(source) and not is_pil(source):
            read = image.resolved()
            source = CarriedImage(read, image.source_file()) if isinstance(read, bytes) else read
        elif isinstance(source, (str, Path)) and not is_url(source) and not self._is_readable(Path(source)):
            source = CarriedImage(original(source), str(source))
        return self._source(source), image.key, image.given, image.rule, supplied

    def _source(self, source: Any) -> Any:
        """Return the plain form of a medium, without code; its bytes stand beside the rest."""
        if isinstance(source, bytes):
            return pickle.PickleBuffer(source)
        if isinstance(source, (str, Path)) and not is_url(source) and not self._is_readable(Path(source)):
            return pickle.PickleBuffer(original(source))
        return plain_source(source)

    def _pixels(self, image: Any) -> Any:
        """A Pillow image: its encoded bytes if it has any and was not decoded, else its pixels."""
        file = getattr(image, "path", None)
        if isinstance(file, Path) and not getattr(image, "is_decoded", True) and self._is_readable(file):
            return image.__reduce__()
        data = getattr(image, "polymeter_bytes", None)
        name = getattr(image, "polymeter_file", "")
        if isinstance(data, bytes) and (isinstance(file, Path) or getattr(image, "tile", None)):
            return _opened, (pickle.PickleBuffer(data), name)
        from PIL import Image as pil

        state = pil.Image.__getstate__(image)  # an image that was read from a file would add to it
        encoded = pickle.PickleBuffer(data) if isinstance(data, bytes) else None
        return _drawn, ([_beside(value) for value in state], encoded, name)


def _beside(value: Any) -> Any:
    return pickle.PickleBuffer(value) if isinstance(value, bytes) else value


def _as_builtin(value: str | int | float) -> tuple[type, tuple[str | int | float]]:
    """A text or number without its class, whatever that class says its text or number is."""
    if isinstance(value, str):
        return str, (str.__str__(value),)
    return (int, (int.__int__(value),)) if isinstance(value, int) else (float, (float.__float__(value),))


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


def _image(source: Any, key: str | None, given: Given | None, rule: ImageRule | None, supplied: bytes | None) -> Image:
    image = Image(source, key, given=given, rule=rule)
    if supplied is not None:
        image.supply(supplied)
    return image


def _audio(source: Any, key: str | None, given: Given | None, rule: AudioRule | None) -> Audio:
    return Audio(source, key, given=given, rule=rule)


def _video(
    source: Any,
    key: str | None,
    start_s: float | None,
    end_s: float | None,
    given: Given | None,
    rule: VideoRule | None,
    subtitles: Path | str | None = None,
) -> Video:
    return Video(source, key, start_s, end_s, given=given, rule=rule, subtitles=subtitles)


def _opened(data: bytes, file: str) -> Any:
    """An image of a dataset as it was opened there: not decoded, with its bytes attached."""
    from polymeter.data.media import open_image

    return open_image({"bytes": data, "path": file})


def _drawn(state: list[Any], encoded: bytes | None, file: str) -> Any:
    from PIL import Image as pil

    image = pil.Image()
    image.__setstate__(state)  # type: ignore[no-untyped-call, unused-ignore]
    for name, value in (("polymeter_bytes", encoded), ("polymeter_file", file)):
        if value:
            setattr(image, name, value)
    return image
