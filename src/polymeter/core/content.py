"""Parts: one piece of content of a message. Media is lazy: a part knows where its bytes are and decodes them when they
are used, at most once.

Images are decoded here because every layer needs it and it is one call to Pillow. Audio and video only carry their
source; ``polymeter.data.video`` and ``polymeter.data.audio`` read frames and waveforms from it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeGuard, TypeVar

from polymeter.core.errors import DataError, PolymeterError, boundary
from polymeter.core.machine.opened_files import (
    FileState,
    Noted,
    digest_of_file,
    is_own_file,
    note,
    noting,
    read_file,
    remember_digest,
)
from polymeter.core.media.image_headers import grey_bits, is_plain_file, is_turned, stated_size
from polymeter.core.media.pixels import check_pixels, opened_image
from polymeter.core.media.showing import SHOWING_VERSION, AudioRule, ImageRule, MediaRule, VideoRule, stated_of_content
from polymeter.core.media.shown_images import MEDIA_VERSION, as_shown, is_opaque, is_plain
from polymeter.core.media.sources import (
    digest,
    encoded_source,
    from_data_url,
    is_elsewhere,
    is_pil,
    is_url,
    media_hash,
    on_disk,
    original,
    pixels_hash,
    sniff_mime,
)

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

    from polymeter.core.records.shown_media import ShownMedium

Modality = Literal["text", "image", "audio", "video"]

_EXIF_ORIENTATION = 0x0112
_SIDEWAYS = (5, 6, 7, 8)
_KEY_OF_ROW = re.compile(r"[0-9a-f]{32}(?::[0-9a-f]{12})?:(?P<row>\d+):(?:[vm](?P<number>\d+)|(?P<column>.+))")
"""The key of a row's medium: digests, the row's number, the name of its column or its number among the row's media."""
_MOST_FEW_GREYS = 16
_CONVERTED_ALIKE = ("CMYK", "YCbCr", "HSV", "RGBX")
"""Modes of decoded images that the first rules of showing them converted like the present ones."""
_ONE_BYTE = ("1", "L", "P")
"""The modes in which Pillow stores a pixel in one byte."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text.

    Attributes:
        text: The text.
        item: The item of a chat message that it stood in, as the author wrote it, if that is more than a type and a
            text. Wrapped models get it unchanged.
    """

    text: str
    item: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    modality: ClassVar[Modality] = "text"


@dataclass(frozen=True, slots=True)
class Given:
    """A medium as the benchmark's author gave it. Wrapped models get it unchanged.

    Attributes:
        value: A path, bytes, or a mapping with any keys; ``None``: the medium's source says all.
        place: Its position in what the author's function returned: one number for each level of nested lists. Empty
            for an item of a chat message.
        item: The item of a chat message that it stood in, with nothing in place of the medium.
    """

    value: Any = None
    place: tuple[int, ...] = ()
    item: Mapping[str, Any] | None = None

    def mark(self, content_hash: str) -> str:
        """The hash of a medium's content, which also counts what else the author wrote beside it."""
        if not isinstance(self.value, Mapping):
            return content_hash
        more = beside(self.value, _KEYS_OF_MEDIA)
        return digest(f"{content_hash}:{more}".encode()) if more else content_hash


def beside(written: Mapping[str, Any], known: Container[str]) -> str:
    """Return the values of a mapping beside some keys, as text that is the same if the values are; empty if there are
    none.
    """
    more = {str(key): value for key, value in written.items() if key not in known}
    try:
        return json.dumps(more, sort_keys=True, default=repr) if more else ""
    except (TypeError, ValueError):  # keys that JSON does not have or cannot sort, a cycle
        return repr(more)


_KEYS_OF_MEDIA = frozenset(
    f"{name}{ending}" for name in ("image", "audio", "video") for ending in ("", "_path", "_start", "_end")
) | {"type", "url", "path", "bytes", "array", "sampling_rate"}


class _Memo:
    """The decoded content of a part. It is not part of its value; ``release`` empties it."""

    __slots__ = ("content_hash", "data", "decoded", "error", "files", "note", "resolved", "size")

    def __init__(self) -> None:
        self.data: tuple[bytes, FileState | None] | None = None
        self.decoded: Any = None
        self.resolved: Any = None
        self.size: tuple[int, int] | None = None
        self.content_hash: str | None = None
        self.error: PolymeterError | None = None
        self.note: dict[str, Any] | None = None
        self.files: Noted | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """An image.

    Attributes:
        source: A file path, encoded bytes, a Pillow image, or a function without arguments that returns one of these.
            A string is a path, or a URL if it begins with ``http://``, ``https://`` or ``data:``.
        key: Stable identity of the image inside one run (dataset fingerprint, row, position), if it comes from the
            dataset. ``None``: the content is the identity.
        given: What the benchmark's author gave.
        rule: What is shown of it, as far as the task or the run states that.
    """

    source: Path | str | bytes | PILImage | Callable[[], Any]
    key: str | None = None
    _memo: _Memo = field(default_factory=_Memo, repr=False)
    given: Given | None = field(default=None, repr=False)
    rule: ImageRule | None = field(default=None, repr=False)
    _sent: list[ShownMedium] = field(default_factory=list, repr=False)
    modality: ClassVar[Modality] = "image"

    @property
    def is_url(self) -> bool:
        """True if the source is a URL that an endpoint may fetch itself."""
        return is_url(self.source)

    def open(self) -> PILImage:
        """The decoded image, upright (EXIF orientation applied). The first call decodes; the result, or the failure, is
        remembered.

        Raises:
            DataError: if the source is missing or is not an image that Pillow can read.
        """
        memo = self._memo
        if memo.error is not None:
            raise memo.error.without_traceback()
        image: PILImage | None = memo.decoded  # another thread may release it meanwhile
        if image is None:
            try:
                with boundary(DataError, lambda: f"Decoding the image {self.place()}"):
                    image = memo.decoded = _decode(self._read(), self.place)
            except DataError as error:
                memo.error = error.without_traceback()
                raise
        return image

    def shown(self, *, keeps_grey: bool = False) -> PILImage:
        """The image as models see it: RGB, 8 bits a channel, upright, transparent parts on white. The rules stand in
        ``polymeter.core.media.shown_images``. An image that is so already is the decoded one itself, so do not change
        it.

        Args:
            keeps_grey: Return a grey image in mode ``L``.

        Raises:
            DataError: if the source is missing or is not an image that Pillow can read and convert.
        """
        image = self.open()
        with boundary(DataError, lambda: f"Making an RGB image of {self.describe()}"):
            made = as_shown(image, key_factor=self._key_factor(image))
            return made if keeps_grey or made.mode == "RGB" else made.convert("RGB")

    def _key_factor(self, image: PILImage) -> int:
        """The step between two grey values of a PNG whose transparent value may be in its own scale."""
        key = image.info.get("transparency")
        if image.mode != "L" or not isinstance(key, int) or not 0 < key < _MOST_FEW_GREYS:
            return 1
        data = self.original_bytes()
        bits = grey_bits(data) if data else 8
        return 255 // ((1 << bits) - 1) if bits in (2, 4) else 1

    def size(self) -> tuple[int, int]:
        """Width and height in pixels of the upright image. Reads no more than the header of an image that has not been
        decoded.

        Raises:
            DataError: if the source is missing or is not an image that Pillow can read.
        """
        memo = self._memo
        image: PILImage | None = memo.decoded
        if image is not None:
            return image.size
        if memo.error is not None:
            raise memo.error.without_traceback()
        if memo.size is not None:
            return memo.size
        try:
            with boundary(DataError, lambda: f"Opening the image {self.place()}"):
                source = self._read()
                size = _upright_size(source, self.place)
        except DataError as error:
            memo.error = error.without_traceback()
            raise
        if isinstance(source, bytes):  # a Pillow image may be changed by its owner
            memo.size = size
        return size

    def encoded(self) -> tuple[bytes, str]:
        """The image as ``(bytes, MIME type)``. Bytes in a format that endpoints accept are returned unchanged.

        Raises:
            DataError: if the source is missing or unreadable.
        """
        source = self.original_bytes()
        mime = sniff_mime(source) if source is not None else None
        if source is not None and mime is not None:
            return source, mime
        image = self.open()
        buffer = io.BytesIO()
        if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
            image = self.shown()
        image.save(buffer, format="PNG", compress_level=1)
        return buffer.getvalue(), "image/png"

    def original_bytes(self) -> bytes | None:
        """The encoded bytes that the image came as; ``None`` if there are only pixels.

        Raises:
            DataError: if the source is missing or unreadable.
        """
        source = original(self._read())
        return source if isinstance(source, bytes) else None

    def content_hash(self) -> str:
        """Hex digest of what the image shows: its encoded bytes if there are any, else mode, size and pixels. For an
        image on another machine it is the digest of the URL.
        """
        memo = self._memo
        if memo.content_hash is None:
            memo.content_hash = self._hash()
        return _marked(memo.content_hash, self.given)

    def _hash(self) -> str:
        if is_elsewhere(self.source):
            return digest(self.source.encode())
        source = self.original_bytes()
        if source is None:
            return pixels_hash(self.open())
        made = digest(source)
        read = self._memo.data  # another thread may have read it meanwhile
        if read is not None and read[0] is source and read[1] is not None:
            remember_digest(read[1], made)
        return made

    def shown_hash(self) -> str:
        """Hex digest of what a model is shown: ``content_hash``, the version of the rules if the first rules showed
        this image otherwise, and its own rule. Answers of one run may serve another as long as it is the same.
        """
        return under_rule(self._usually_shown_hash(), self.rule)

    def _usually_shown_hash(self) -> str:
        shown = self.content_hash()
        if is_elsewhere(self.source) and self._memo.resolved is None:
            return shown
        try:
            with boundary(DataError, lambda: f"Opening the image {self.place()}"):
                is_otherwise = _is_shown_otherwise(self._resolve())
        except DataError:  # it is an error of its request, and errors are never kept as answers
            return shown
        return digest(f"{shown}:{MEDIA_VERSION}".encode()) if is_otherwise else shown

    def note_files(self, noted: Noted) -> None:
        """Note the files that the image comes from: the one that it names, or those that its source has opened."""
        _note_path(self.source, noted)
        if self._memo.files:
            noted.update(self._memo.files)

    def held_bytes(self) -> int:
        """The bytes of memory that the decoded pixels use now; 0 if nothing is decoded."""
        image = self._memo.decoded
        if image is None and is_pil(self.source) and _is_loaded(self.source):
            image = self.source
        return 0 if image is None else _pixel_bytes(image)

    def expected_bytes(self) -> int:
        """The bytes that its pixels use once they are decoded; 0 if that is not known without reading it."""
        if self._memo.decoded is None and is_pil(self.source):
            return _pixel_bytes(self.source)
        return self.held_bytes()

    def held_encoded_bytes(self) -> int:
        """The number of encoded bytes that are held because the source was read; 0 if it was not."""
        data = getattr(self._memo.resolved, "polymeter_bytes", self._memo.resolved)
        return len(data) if isinstance(data, bytes) else 0

    def release(self) -> None:
        """Forget the decoded pixels and what was read; both are read again when they are next used."""
        self._memo.data = None
        self._memo.decoded = None
        self._memo.resolved = None

    @property
    def is_decoded(self) -> bool:
        """True if the whole image is in memory."""
        return self._memo.decoded is not None

    @property
    def note(self) -> dict[str, Any] | None:
        """The record of a store about this image (size, preview file), once it has been stored."""
        return self._memo.note

    def annotate(self, note: dict[str, Any]) -> None:
        """Set ``note``."""
        self._memo.note = note

    @property
    def sent(self) -> ShownMedium | None:
        """The record of what a model was shown of it, once there is one."""
        return self._sent[0] if self._sent else None

    def record_sent(self, sent: ShownMedium) -> None:
        """Set ``sent``."""
        self._sent[:] = [sent]

    def describe(self) -> str:
        """A short name for messages."""
        if isinstance(self.source, (str, Path)):
            return str(self.source)[:120]
        return self.key or type(self.source).__name__

    def place(self) -> str:
        """The place of the image for messages: its file if that is known, else its row. It may read the row, and is
        only used when the image has failed. ``describe``, which run folders hold, is cheap and never changes.
        """
        source = self.source
        if isinstance(source, (str, Path)):
            return self.describe()
        file = getattr(source, "place", None) or getattr(source, "polymeter_file", getattr(source, "filename", None))
        named = file() if callable(file) else file
        if named:
            return str(named)
        return place_of_key(self.key or "") or self.describe()

    def file_name(self) -> str:
        """The name of the file that the dataset gives for the image; empty if it gives none, or has not been read yet.
        Unlike ``place`` it never reads the row.
        """
        return Path(self.source_file()).name

    def source_file(self) -> str:
        """The file of ``file_name`` as the dataset names it."""
        source = self.source
        if isinstance(source, (str, Path)):
            return "" if is_url(source) else str(source)
        file = getattr(source, "file", None) or getattr(source, "polymeter_file", None)
        return file if isinstance(file, str) else ""

    def resolved(self) -> Any:
        """The source, and if that is a function, what it returns, which is remembered until ``release``; for an image
        on another machine its bytes, if they were supplied.

        Raises:
            DataError: if the function fails.
        """
        return self._resolve()

    def supply(self, data: bytes) -> None:
        """Set the bytes of an image on another machine, so that its pixels can be read, until ``release``."""
        self._memo.resolved = data

    def _resolve(self) -> Any:
        source: Any = self.source
        memo = self._memo
        if is_elsewhere(source):
            return source if memo.resolved is None else memo.resolved
        if not callable(source) or is_pil(source):
            return source
        if memo.resolved is None:
            with boundary(DataError, lambda: f"Reading the image {self.place()}"), noting({}, is_own_file) as files:
                memo.resolved = source()
            memo.files = files or None
        return memo.resolved

    def _read(self) -> Any:
        """The source of ``_resolve``, with the bytes of a file or a data URL in its place. They are read once until
        ``release``: an image is looked at, previewed, hashed and sent.
        """
        source, memo = self._resolve(), self._memo
        if not isinstance(source, (Path, str)):
            return source
        read = memo.data
        if read is None:
            read = memo.data = _read_whole(source)
        return read[0]


class _Carried:
    """The base of audio and video: a source that others decode, and a note about it."""

    __slots__ = ()
    source: Any
    key: str | None
    rule: MediaRule | None
    _memo: _Memo
    _sent: list[ShownMedium]
    modality: ClassVar[Modality]

    def content_hash(self) -> str:
        """Hex digest of its content."""
        raise NotImplementedError

    def _source_hash(self) -> str:
        """Hex digest of the source, which is remembered unless the source is a file: that may change."""
        if isinstance(self.source, (str, Path)):
            # A long video is asked about many times: it is read for this once.
            known = None if is_url(self.source) else digest_of_file(on_disk(str(self.source)))
            return media_hash(self.source) if known is None else known
        if self._memo.content_hash is None:
            self._memo.content_hash = media_hash(self.source)
        return self._memo.content_hash

    @property
    def is_url(self) -> bool:
        """True if the source is a URL that an endpoint may fetch itself."""
        return is_url(self.source)

    def origin(self) -> Any:
        """The place of the content, in its simplest form: a ``Path``, a URL as text, encoded bytes, or else the source
        itself (samples, frames, a decoder of another library).

        Raises:
            DataError: if the source is empty.
        """
        source = self.source
        if isinstance(source, Mapping) and source.get("array") is None:
            values = (source.get(name) for name in ("bytes", "path", "url", self.modality))
            source = next((item for item in values if item is not None), None)
        encoded = encoded_source(source)
        if encoded is not source:
            source = encoded.get("bytes") or encoded.get("path") or source
        if source is None:
            raise DataError(
                f"There is no {self.modality} in {self.describe()}.",
                hint="Give a path, bytes, or a mapping with one of them.",
            )
        if isinstance(source, (bytearray, memoryview)):
            return bytes(source)
        if isinstance(source, str) and source.startswith("data:"):
            return from_data_url(source)
        is_path = isinstance(source, Path) or (isinstance(source, str) and not is_url(source))
        return Path(on_disk(str(source))) if is_path else source

    def original_bytes(self) -> bytes | None:
        """The encoded bytes; ``None`` if there are none on this machine: samples, frames, or a URL.

        Raises:
            DataError: if the file does not exist.
        """
        origin = self.origin()
        if isinstance(origin, Path):
            return bytes(original(origin))
        return origin if isinstance(origin, bytes) else None

    def shown_hash(self) -> str:
        """Hex digest of what a model is shown: ``content_hash`` and the rule. Answers of one run may serve another as
        long as it is the same.
        """
        return under_rule(self.content_hash(), self.rule)

    def note_files(self, noted: Noted) -> None:
        """Note the file that it comes from, if it is in one."""
        source = encoded_source(self.source)
        if isinstance(source, Mapping):
            source = None if source.get("bytes") is not None else source.get("path")
        _note_path(source, noted)

    @property
    def note(self) -> dict[str, Any] | None:
        """The record of a store about it (size, preview file), once it has been stored."""
        return self._memo.note

    def annotate(self, note: dict[str, Any]) -> None:
        """Set ``note``."""
        self._memo.note = note

    @property
    def sent(self) -> ShownMedium | None:
        """The record of what a model was shown of it, once there is one."""
        return self._sent[0] if self._sent else None

    def record_sent(self, sent: ShownMedium) -> None:
        """Set ``sent``."""
        self._sent[:] = [sent]

    def describe(self) -> str:
        """A short name for messages."""
        return str(self.source)[:120] if isinstance(self.source, (str, Path)) else self.key or self.modality


@dataclass(frozen=True, slots=True, eq=False)
class Audio(_Carried):
    """A recording: a path or URL, encoded bytes, or ``{"array": samples, "sampling_rate": Hz}``."""

    source: Any
    key: str | None = None
    _memo: _Memo = field(default_factory=_Memo, repr=False)
    given: Given | None = field(default=None, repr=False)
    rule: AudioRule | None = field(default=None, repr=False)
    _sent: list[ShownMedium] = field(default_factory=list, repr=False)
    modality: ClassVar[Modality] = "audio"

    def content_hash(self) -> str:
        """Hex digest of the recording's bytes, or of its samples and rate."""
        return _marked(self._source_hash(), self.given)


@dataclass(frozen=True, slots=True, eq=False)
class Video(_Carried):
    """A video: a path or URL, encoded bytes, or frames; optionally only the part from ``start_s`` to ``end_s``
    (seconds).

    Attributes:
        source: The video.
        key: Stable identity of the video inside one run, as that of an ``Image``.
        start_s: Start of the part that is shown.
        end_s: Its end.
        given: What the benchmark's author gave.
        rule: What is shown of it, as far as the task or the run states that.
        subtitles: The file of its subtitles, or their text. They are shown if ``rule`` says so.
    """

    source: Any
    key: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    _memo: _Memo = field(default_factory=_Memo, repr=False)
    given: Given | None = field(default=None, repr=False)
    rule: VideoRule | None = field(default=None, repr=False)
    _sent: list[ShownMedium] = field(default_factory=list, repr=False)
    subtitles: Path | str | None = field(default=None, repr=False)
    modality: ClassVar[Modality] = "video"

    @property
    def subtitles_shown(self) -> Path | str | None:
        """The file or text of its subtitles; ``None``: it has none, or they are not shown."""
        return self.subtitles if self.rule is not None and self.rule.shows_subtitles else None

    def content_hash(self) -> str:
        """Hex digest of the video's bytes, of the part that is shown, and of its subtitles if these are shown."""
        whole = f"{self._source_hash()}:{self.start_s}:{self.end_s}"
        subtitles = self.subtitles_shown
        if subtitles is not None:
            text = digest(subtitles.encode()) if is_subtitle_text(subtitles) else media_hash(subtitles)
            whole = f"{whole}:subtitles:{text}"
        return _marked(digest(whole.encode()), self.given)

    def note_files(self, noted: Noted) -> None:
        """Note the files that it and its subtitles come from."""
        super(Video, self).note_files(noted)
        subtitles = self.subtitles_shown
        if subtitles is not None and not is_subtitle_text(subtitles):
            _note_path(subtitles, noted)


def is_subtitle_text(source: Path | str) -> TypeGuard[str]:
    """Return whether subtitles are given as their text: a string with a line break or the mark of a time, or a blank
    one. Any other string is the path of a file.
    """
    return isinstance(source, str) and (not source.strip() or "\n" in source or "-->" in source)


def under_rule(content_hash: str, rule: MediaRule | None) -> str:
    """The hash of a medium's content, which also counts the rule by which it is shown, if there is one."""
    if rule is None:
        return content_hash
    settings = json.dumps(stated_of_content(rule), sort_keys=True)
    return digest(f"{content_hash}:{SHOWING_VERSION}:{settings}".encode())


def _marked(content_hash: str, given: Given | None) -> str:
    return content_hash if given is None else given.mark(content_hash)


def _note_path(source: Any, noted: Noted) -> None:
    if isinstance(source, Path) or (isinstance(source, str) and not is_url(source)):
        note(noted, on_disk(str(source)))


def place_of_key(key: str) -> str:
    """The place of a medium in its dataset, by its key: ``'photo' of row 3``; empty if the key names none."""
    of_row = _KEY_OF_ROW.fullmatch(key)
    if of_row is None:
        return ""
    number = of_row["number"]
    which = f"number {int(number) + 1}" if number else repr(of_row["column"])
    return f"{which} of row {of_row['row']}"


def is_image(value: Any) -> bool:
    """Return whether a value is an ``Image`` part or a Pillow image."""
    return isinstance(value, Image) or is_pil(value)


_Medium = TypeVar("_Medium", bound="Image | Audio | Video")


def recorded_apart(medium: _Medium, **changes: Any) -> _Medium:
    """The same medium, with changes of its fields. All that is read of either is there for both, but what a model is
    shown of one is not recorded of the other.
    """
    return replace(medium, _sent=[], **changes)


Media = Image | Audio | Video
Part = Text | Image | Audio | Video


def _read_whole(source: Path | str) -> tuple[bytes, FileState | None]:
    """The bytes of a file, and its state; of a data URL no state."""
    if not is_url(source):
        with suppress(OSError, ValueError):  # what is wrong with it is said below
            return read_file(on_disk(str(source)))
    return original(source), None


def _decode(source: Any, name: Callable[[], str]) -> PILImage:
    from PIL import ImageOps  # importing Pillow takes 25 ms: only if an image is decoded

    if is_pil(source) and not _is_loaded(source):
        check_pixels(source.size, lambda: f"The image {name()}")
    if is_pil(source) and (_is_loaded(source) or not isinstance(original(source), bytes)):
        with readable_image(name):
            source.load()
        return source  # type: ignore[no-any-return]
    # The row's own image stays undecoded if its bytes exist: its pixels would stay until the sample ends.
    data = original(source)
    if not isinstance(data, bytes):
        raise DataError(
            f"Cannot make an image of a {type(data).__name__}.", hint="Give a path, bytes or a Pillow image."
        )
    with readable_image(name):
        image: PILImage = opened_image(data, lambda: f"The image {name()}")
        image.load()
    if image.getexif().get(_EXIF_ORIENTATION, 1) != 1:
        image = ImageOps.exif_transpose(image)
    return image


class readable_image:
    """Read an image inside this: bytes that are not an image, or not a whole one, raise an error that names the image.

    A class and not a generator, because every image passes through it.
    """

    __slots__ = ("_name",)

    def __init__(self, name: Callable[[], str]) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, (OSError, SyntaxError)):  # Pillow raises a SyntaxError for a broken PNG
            return
        is_unknown = type(error).__name__ == "UnidentifiedImageError"
        why = " ".join(str(error).split()).rstrip(".")
        hint = "Save it as PNG or JPEG." if is_unknown else ""
        raise DataError(f"Cannot read the image {self._name()}: {why}.", hint=hint) from error


def _is_loaded(image: Any) -> bool:
    """Return whether the pixels of a Pillow image are in memory. A stored image says so itself; of a file that Pillow
    has opened and not read, the tiles are still to be decoded.
    """
    is_decoded = getattr(image, "is_decoded", None)
    return not getattr(image, "tile", None) if is_decoded is None else bool(is_decoded)


def _pixel_bytes(image: Any) -> int:
    """Return the bytes that the pixels of a Pillow image use: it stores three bands in four bytes."""
    per_pixel = 1 if image.mode in _ONE_BYTE else 2 if image.mode.startswith("I;16") else 4
    return int(image.width * image.height * per_pixel)


def _is_shown_otherwise(source: Any) -> bool:
    """Return whether the first version of the rules showed an image otherwise, as its header says: it was sent
    unchanged, or its transparency, depth or orientation was lost.
    """
    data = original(source)
    if not isinstance(data, bytes):
        return not (is_plain(source) or source.mode in _CONVERTED_ALIKE)
    mime = sniff_mime(data)
    if mime is not None:
        return not is_plain_file(data, mime) or is_turned(data, mime, by_exif=False)
    image = opened_image(data)
    return not (is_opaque(image) or image.mode in _CONVERTED_ALIKE)


def _upright_size(source: Any, name: Callable[[], str]) -> tuple[int, int]:
    if is_pil(source):
        return source.size  # type: ignore[no-any-return]
    data = original(source)
    if not isinstance(data, bytes):
        return _decode(source, name).size
    stated = stated_size(data)
    if stated is not None:
        check_pixels(stated, lambda: f"The image {name()}")
        return stated
    with readable_image(name):
        image = opened_image(data, lambda: f"The image {name()}")
    # A PNG is decoded by asking it for EXIF data, and seldom has any.
    is_turned = image.format != "PNG" and image.getexif().get(_EXIF_ORIENTATION, 1) in _SIDEWAYS
    return (image.height, image.width) if is_turned else image.size
