"""Sources of media: files, URLs, encoded bytes, objects of other libraries.

``polymeter.core.content`` makes parts of messages of them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeGuard

from polymeter.core.errors import DataError

_MAGIC = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
)
_AUDIO_MAGIC = (
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
)
_IMAGE_BRANDS = frozenset({b"avif", b"avis", b"heic", b"heix", b"heif", b"mif1", b"msf1"})
_OTHER_IMAGES = (
    b"II*\0",
    b"MM\0*",
    b"\0\0\0\x0cjP  ",
    b"\0\0\0\x0cJXL ",
    b"\xff\x0a",
    *(b"P%d\n" % n for n in range(1, 7)),
)
"""TIFF, JPEG 2000, JPEG XL and the formats of PPM."""
_OTHER_VIDEOS = (b"FLV\x01", b"0&\xb2u\x8ef\xcf\x11", b"\0\0\x01\xba", b"\0\0\x01\xb3")
"""FLV, WMV and MPEG."""
_LONGEST_NAME = 255
_TS_PACKET, _TS_SYNC = 188, b"G"
# The table of Python 3.10 to 3.12 does not have these or names them otherwise; a name means the same under every
# version.
_OF_SUFFIX = {".avif": "image/avif", ".bmp": "image/bmp", ".webp": "image/webp"}


def mime_of_suffix(suffix: str) -> str | None:
    """Return the MIME type of a file name's ending, given in lower case with its dot; ``None`` for an unknown one."""
    return _OF_SUFFIX.get(suffix) or mimetypes.types_map.get(suffix)


def sniff_mime(data: bytes) -> str | None:
    """MIME type of encoded image bytes by their first bytes; ``None`` for formats that endpoints do not accept."""
    for magic, mime in _MAGIC:
        if data.startswith(magic):
            return mime
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def sniff_audio_mime(data: bytes) -> str | None:
    """MIME type of encoded audio by its first bytes; ``None`` if it is in none of the usual formats."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    for magic, mime in _AUDIO_MAGIC:
        if data.startswith(magic):
            return mime
    return "audio/mp4" if data[4:11] == b"ftypM4A" else None


def sniff_video_mime(data: bytes) -> str | None:
    """MIME type of an encoded video by its first bytes, if browsers play its container; ``None`` if they do not."""
    if data[4:8] == b"ftyp":
        return None if data[8:11] == b"M4A" or data[8:12] in _IMAGE_BRANDS else "video/mp4"
    return "video/webm" if data[:4] == b"\x1aE\xdf\xa3" else None


def sniff_modality(data: bytes) -> Literal["image", "audio", "video"] | None:
    """The modality of an encoded medium by its first bytes (200 at least); ``None`` if they are of no usual format."""
    is_bitmap = data[:2] == b"BM" and data[6:10] == bytes(4)
    if sniff_mime(data) or is_bitmap or data.startswith(_OTHER_IMAGES):
        return "image"
    if data[4:8] == b"ftyp" and data[8:12] in _IMAGE_BRANDS:
        return "image"
    if sniff_audio_mime(data):
        return "audio"
    is_avi = data[:4] == b"RIFF" and data[8:12] == b"AVI "
    is_stream = data[:1] == data[_TS_PACKET : _TS_PACKET + 1] == _TS_SYNC
    return "video" if sniff_video_mime(data) or is_avi or is_stream or data.startswith(_OTHER_VIDEOS) else None


def is_url(source: Any) -> bool:
    """Return whether a source is a URL that an endpoint may fetch itself."""
    return isinstance(source, str) and source.startswith(("http://", "https://", "data:"))


def on_disk(path: str) -> str:
    """A path as the disk spells it, where a name of it has another normal form of Unicode there (``é`` may be one
    character or two); the path itself if that leads to something, or nothing is found.
    """
    if path.isascii() or os.path.exists(path):
        return path
    here, *names = Path(path).parts
    if here != os.sep:
        here, names = "", [here, *names]
    for name in names:
        found = os.path.join(here, name)
        if not os.path.exists(found):
            wanted = unicodedata.normalize("NFC", name)
            if len(wanted) > _LONGEST_NAME or name == wanted == unicodedata.normalize("NFD", name):
                return path  # no name, or one that has no other form
            try:
                listed = os.listdir(here or ".")
            except (OSError, ValueError):  # a text that is not a path
                return path
            same = (each for each in listed if unicodedata.normalize("NFC", each) == wanted)
            found = os.path.join(here, next(same, name))
        here = found
    return here if os.path.exists(here) else path


def is_elsewhere(source: Any) -> TypeGuard[str]:
    """Return whether a source is a URL on another machine, so that its bytes are not on this one."""
    return isinstance(source, str) and source.startswith(("http://", "https://"))


def original(source: Any) -> Any:
    """The encoded bytes behind a source if it has any (a file, bytes, a Pillow image that ``polymeter.data`` opened),
    else the source.

    Raises:
        DataError: if the file does not exist, or a ``data:`` URL cannot be read.
    """
    if isinstance(source, str) and source.startswith("data:"):
        return from_data_url(source)
    if isinstance(source, (Path, str)):
        path = Path(on_disk(str(source)))
        if not path.is_file():
            raise DataError(
                f"The media file {str(source)[:200]!r} does not exist.", hint="Check the path in the dataset's row."
            )
        return path.read_bytes()
    return getattr(source, "polymeter_bytes", source)


def from_data_url(url: str) -> bytes:
    """The bytes in a ``data:`` URL.

    Raises:
        DataError: if it is not base64.
    """
    head, comma, body = url.partition(",")
    try:
        if not comma or not head.endswith(";base64"):
            raise ValueError("it is not base64")
        return base64.b64decode(body, validate=True)
    except (ValueError, binascii.Error) as error:
        raise DataError(f"The data URL {url[:40]!r}… cannot be read: {error}.") from error


def is_pil(value: Any) -> bool:
    """Return whether a value is a Pillow image, without importing Pillow."""
    return hasattr(value, "getbands") and hasattr(value, "tobytes")


def media_hash(source: Any) -> str:
    """Hex digest of audio or video: its bytes, its samples and rate, or its frames."""
    if isinstance(source, bytes):
        return digest(source)
    if isinstance(source, dict):
        array = source.get("array")
        if array is not None:
            data = repr(array).encode() if isinstance(array, (list, tuple)) else _numbers(array)
            return digest(f"{source.get('sampling_rate')}:".encode() + data)
        inner = source.get("bytes") or source.get("path") or source.get("url")
        return media_hash(inner) if inner is not None else digest(repr(sorted(source.items())).encode())
    if is_url(source):
        return digest(source.encode())
    if isinstance(source, (str, Path)):
        path = Path(on_disk(str(source)))
        return digest_file(path) if path.is_file() else digest(str(source).encode())
    plain = plain_source(source)
    return media_hash(plain) if plain is not source else _decoded_hash(source)


def is_known_by_content(source: Any) -> bool:
    """Return whether ``media_hash`` of audio or video rests on its content, and not on a URL, the path of a missing
    file, or the name of an object.
    """
    source = encoded_source(source)
    if isinstance(source, dict):
        inner = source.get("bytes") or source.get("path") or source.get("url")
        return source.get("array") is not None or (inner is not None and is_known_by_content(inner))
    if isinstance(source, (str, Path)):
        return str(source).startswith("data:") or (not is_url(source) and Path(on_disk(str(source))).is_file())
    if isinstance(source, (list, tuple)):
        return all(map(is_known_by_content, source))
    inside = getattr(source, "source", None) if hasattr(source, "content_hash") else None
    if inside is not None:  # an image part among the frames of a video
        return not is_elsewhere(inside)
    is_array = hasattr(source, "dtype") and hasattr(source, "shape")
    return isinstance(source, bytes) or is_pil(source) or is_array or hasattr(source, "get_all_samples")


def _decoded_hash(source: Any) -> str:
    """Hex digest of frames, an array, or an object of another library."""
    if isinstance(source, (list, tuple)):
        return digest(":".join(map(media_hash, source)).encode())
    if is_pil(source):
        return pixels_hash(source)
    if hasattr(source, "dtype") and hasattr(source, "shape"):
        return digest(f"{source.dtype}:{tuple(source.shape)}:".encode() + _numbers(source))
    content_hash = getattr(source, "content_hash", None)  # an image part among the frames of a video
    if content_hash is not None:
        return str(content_hash())
    # The usual text of an object is its address, which another video may have later: such a source is like no other.
    name = repr(source)
    return digest(os.urandom(16) if " at 0x" in name else name.encode())


def pixels_hash(image: Any) -> str:
    """Hex digest of a Pillow image: its mode, size and pixels."""
    return digest(f"{image.mode}:{image.width}x{image.height}:".encode() + image.tobytes())


def _numbers(array: Any) -> bytes:
    """The numbers of an array or a tensor, each of them: the text of a long one leaves out most."""
    if not hasattr(array, "tobytes"):
        import numpy as np

        array = np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)
    data: bytes = array.tobytes()
    return data


def encoded_source(source: Any) -> Any:
    """Return the mapping of bytes and path that ``datasets`` has made a decoder of; any other source unchanged."""
    encoded = getattr(source, "_hf_encoded", None)  # kept under a private name, so another version may not have it
    return encoded if isinstance(encoded, Mapping) else source


def plain_source(source: Any) -> Any:
    """The same, but the samples of a sound whose decoder does not say what it was made of."""
    encoded = encoded_source(source)
    if encoded is not source or not hasattr(source, "get_all_samples"):
        return encoded
    sound = source.get_all_samples()
    return {"array": sound.data.numpy(), "sampling_rate": sound.sample_rate}


def new_digest() -> hashlib.blake2b:
    """The digest of no bytes yet, to be updated."""
    return hashlib.blake2b(digest_size=16)


def digest_file(path: Path) -> str:
    """The digest of a file's bytes, read in blocks because videos are large."""
    state = new_digest()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def digest(*data: bytes) -> str:
    """Hex digest of bytes, one after the other: 128 bits, so collisions within a run are negligible."""
    state = hashlib.blake2b(*data[:1], digest_size=16)
    for block in data[1:]:
        state.update(block)
    return state.hexdigest()
