"""Images: decoded once, lazily, upright; bytes that are encoded already are never encoded again."""

from __future__ import annotations

import base64
import io
import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures
from PIL import UnidentifiedImageError

from polymeter.core.content import Audio, Image, Video
from polymeter.core.errors import DataError
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import is_url, mime_of_suffix, sniff_mime

SIZE = (12, 8)
MIMES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}


def picture(mode: str = "RGB") -> Pictures.Image:
    """A picture without symmetry."""
    made = Pictures.new("RGB", SIZE, "navy")
    made.paste((250, 120, 10), (0, 0, 4, 3))
    return made.convert(mode)


def file_bytes(kind: str = "PNG", **settings: Any) -> bytes:
    buffer = io.BytesIO()
    picture().save(buffer, format=kind, **settings)
    return buffer.getvalue()


def turned(orientation: int = 6) -> bytes:
    """A JPEG whose EXIF says that it is to be turned."""
    exif = Pictures.Exif()
    exif[0x0112] = orientation
    return file_bytes("JPEG", exif=exif)


class Source:
    """A source that counts how often it is called."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.n_calls = 0

    def __call__(self) -> Any:
        self.n_calls += 1
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.fixture(params=["bytes", "path", "text path", "function of bytes", "function of path", "data URL"])
def as_source(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[bytes], Any]:
    """The ways in which encoded bytes come."""

    def make(data: bytes) -> Any:
        path = tmp_path / "picture.bin"
        path.write_bytes(data)
        return {
            "bytes": data,
            "path": path,
            "text path": str(path),
            "function of bytes": lambda: data,
            "function of path": lambda: path,
            "data URL": "data:image/any;base64," + base64.b64encode(data).decode(),
        }[request.param]

    return make


@pytest.mark.parametrize("kind", MIMES)
def test_encoded_bytes_come_back_identical(as_source: Callable[[bytes], Any], kind: str) -> None:
    data = file_bytes(kind)
    image = Image(as_source(data))
    assert image.encoded() == (data, MIMES[kind])
    assert image.original_bytes() == data
    image.open()
    assert image.encoded() == (data, MIMES[kind]), "not even after it was decoded"


def test_every_kind_of_source_shows_the_same(as_source: Callable[[bytes], Any]) -> None:
    image = Image(as_source(file_bytes()))
    assert image.open().tobytes() == picture().tobytes()
    assert image.content_hash() == Image(file_bytes()).content_hash()


@pytest.mark.parametrize("kind", ["BMP", "TIFF"])
def test_formats_that_endpoints_do_not_take_become_png_without_loss(kind: str) -> None:
    data, mime = Image(file_bytes(kind)).encoded()
    assert mime == "image/png"
    assert sniff_mime(data) == "image/png"
    assert Image(data).open().tobytes() == picture().tobytes()


def test_a_suffix_tells_the_same_under_every_version_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {key: mime for key, mime in mimetypes.types_map.items() if key not in (".avif", ".webp")}
    monkeypatch.setattr(mimetypes, "types_map", {**old, ".bmp": "image/x-ms-bmp"})  # as 3.10 has it
    suffixes = (".avif", ".bmp", ".png", ".webp", ".unheard-of", "")
    assert list(map(mime_of_suffix, suffixes)) == ["image/avif", "image/bmp", "image/png", "image/webp", None, None]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_pixels_are_encoded_without_loss(mode: str) -> None:
    source = picture(mode)
    data, mime = Image(source).encoded()
    back = Image(data).open()
    assert mime == "image/png"
    assert (back.mode, back.convert("RGBA").tobytes()) == (mode, source.convert("RGBA").tobytes())


@pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "HSV", "F"])
def test_pixels_that_png_cannot_hold_are_converted(mode: str) -> None:
    data, _ = Image(picture(mode)).encoded()
    assert Image(data).open().mode == "RGB"


def test_decoding_waits_until_asked_and_happens_once() -> None:
    source = Source(file_bytes())
    image = Image(source)
    assert (source.n_calls, image.held_bytes()) == (0, 0)
    first = image.open()
    assert image.open() is first
    image.encoded(), image.original_bytes(), image.content_hash()
    assert source.n_calls == 1


def test_a_released_image_can_be_opened_again() -> None:
    source = Source(file_bytes())
    image = Image(source)
    before = image.open()
    mark = image.content_hash()
    assert image.held_bytes() == SIZE[0] * SIZE[1] * 4
    image.release()
    assert image.held_bytes() == 0
    after = image.open()
    assert after is not before
    assert after.tobytes() == before.tobytes()
    assert source.n_calls == 2
    assert image.content_hash() == mark


def test_a_picture_in_memory_counts_as_held_and_is_used_as_it_is() -> None:
    source = picture("RGBA")
    image = Image(source)
    assert image.held_bytes() == SIZE[0] * SIZE[1] * 4
    assert image.open() is source
    image.release()
    assert image.held_bytes() == SIZE[0] * SIZE[1] * 4


def test_a_picture_that_remembers_its_bytes_is_not_encoded_again() -> None:
    source = picture()
    source.polymeter_bytes = file_bytes("JPEG")  # type: ignore[attr-defined]
    assert Image(source).encoded() == (file_bytes("JPEG"), "image/jpeg")


@pytest.mark.parametrize("orientation", [2, 3, 6, 8])
def test_images_stand_upright_and_their_bytes_stay(orientation: int) -> None:
    image = Image(turned(orientation))
    assert image.open().size == (SIZE if orientation < 5 else SIZE[::-1])
    assert image.open().getexif().get(0x0112, 1) == 1
    assert image.encoded()[0] == turned(orientation)
    corner = {2: (11, 0), 3: (11, 7), 6: (7, 0), 8: (0, 11)}[orientation]
    red, _, blue = image.open().getpixel(corner)  # type: ignore[misc]
    assert red > 150 > blue, "the bright corner went where the orientation says"


BROKEN = [b"", b"no image at all", file_bytes()[:40], file_bytes("JPEG")[:200]]


@pytest.mark.parametrize("data", BROKEN, ids=["empty", "noise", "cut png", "cut jpeg"])
def test_corrupt_bytes_are_a_data_error_that_is_remembered(data: bytes) -> None:
    source = Source(data)
    image = Image(source, key="set:row 7:image")
    with pytest.raises(DataError, match="Cannot read the image set:row 7:image") as first:
        image.open()
    with pytest.raises(DataError) as second:
        image.open()
    assert str(second.value) == str(first.value)
    assert second.value.__cause__ is None  # what is remembered holds no frames, and so no image
    assert source.n_calls == 1


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (file_bytes("EPS"), "Encapsulated Postscript (EPS)"),
        (b"\xc5\xd0\xd3\xc6" + bytes(40), "Encapsulated Postscript (EPS)"),
        (b"\xd7\xcd\xc6\x9a\0\0" + bytes(40), "Windows Metafile (WMF)"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"<svg xmlns='x'/>", "SVG"),
    ],
)
def test_a_format_that_is_not_read_is_named(data: bytes, found: str, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(data)
    for source in (data, tmp_path / "photo.png"):
        for read in (Image.open, Image.size):
            with pytest.raises(DataError) as refused:
                read(Image(source))
            assert f": it is {found}, not " in refused.value.what
            assert " PNG, " in refused.value.what
            assert refused.value.hint == "Save it as PNG or JPEG."
    with pytest.raises(UnidentifiedImageError, match="it is "):
        opened_image(tmp_path / "photo.png")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "DIB", "GIF", "PPM", "JPEG2000", "TGA", "ICO"])
def test_formats_of_pixels_are_read_from_bytes_and_files(kind: str, tmp_path: Path) -> None:
    encoded = file_bytes(kind, sizes=[SIZE]) if kind == "ICO" else file_bytes(kind)
    (tmp_path / "photo.xyz").write_bytes(encoded)
    for source in (encoded, tmp_path / "photo.xyz"):
        with opened_image(source) as image:
            assert (image.format, image.size) == (kind, SIZE)


def test_a_missing_file_says_which(tmp_path: Path) -> None:
    image = Image(tmp_path / "gone.png")
    for look in (image.open, image.encoded, image.content_hash):
        with pytest.raises(DataError, match=r"gone\.png' does not exist.*dataset's row"):
            look()


def test_a_source_that_raises_is_a_data_error_with_its_place() -> None:
    with pytest.raises(DataError, match="ZeroDivisionError: no picture today") as caught:
        Image(Source(ZeroDivisionError("no picture today")), key="row 3").open()
    assert caught.value.where.startswith(__file__)
    assert "row 3" in caught.value.what


@pytest.mark.parametrize("source", [3, {"a": 1}, lambda: None, lambda: [1]], ids=["int", "dict", "none", "list"])
def test_what_is_no_image_is_refused_by_type(source: Any) -> None:
    with pytest.raises(DataError, match="Cannot make an image of a"):
        Image(source).open()


@pytest.mark.parametrize("url", ["data:image/png,abc", "data:image/png;base64,§§", "data:image/png;base64"])
def test_a_broken_data_url_is_a_data_error(url: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        Image(url).open()


def test_urls_are_known_by_their_beginning() -> None:
    assert [is_url(source) for source in ("http://a", "https://a", "data:x", "/a", "a.png", b"http://", None)] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_pixels_are_told_apart_by_mode_size_and_value() -> None:
    plain = Pictures.new("L", (2, 3), 7)
    others = [Pictures.new("L", (3, 2), 7), Pictures.new("P", (2, 3), 7), Pictures.new("L", (2, 3), 8)]
    marks = {Image(one).content_hash() for one in [plain, *others]}
    assert len(marks) == 4
    assert Image(plain.copy()).content_hash() == Image(plain).content_hash()


def test_what_was_noted_does_not_make_two_images_differ() -> None:
    image = Image(b"x")
    image.annotate({"width": 3})
    assert image.note == {"width": 3}
    assert image.content_hash() == Image(b"x").content_hash()


def test_sounds_and_videos_are_told_apart_by_content_and_part(tmp_path: Path) -> None:
    file = tmp_path / "clip.bin"
    file.write_bytes(b"bytes")
    assert Audio(b"bytes").content_hash() == Audio(file).content_hash() == Audio({"path": str(file)}).content_hash()
    assert Video(b"bytes").content_hash() == Video(str(file)).content_hash()
    sounds = [{"array": [0.0, 1.0], "sampling_rate": 8000}, {"array": [0.0, 1.0], "sampling_rate": 16000}]
    assert len({Audio(sound).content_hash() for sound in sounds}) == 2
    parts = [Video(b"bytes"), Video(b"bytes", start_s=1.0), Video(b"bytes", end_s=1.0)]
    assert len({video.content_hash() for video in parts}) == 3


# --- what the header tells --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_size_is_that_of_the_upright_image_and_decodes_nothing(orientation: int) -> None:
    image = Image(turned(orientation))
    size = image.size()
    assert not image.is_decoded
    assert image.held_bytes() == 0
    assert size == image.open().size
    assert image.is_decoded
    assert image.size() == size


def test_a_size_needs_a_header() -> None:
    image = Image(b"no image at all", key="set:7")
    with pytest.raises(DataError, match="Cannot read the image set:7"):
        image.size()
    with pytest.raises(DataError):
        image.open()


def test_the_size_of_pixels_is_known() -> None:
    assert Image(Pictures.new("L", (3, 4))).size() == (3, 4)


def test_encoded_bytes_count_while_they_are_held() -> None:
    data = turned(1)
    image = Image(lambda: data, key="set:1")
    assert image.held_encoded_bytes() == 0
    image.size()
    assert image.held_encoded_bytes() == len(data)
    image.release()
    assert image.held_encoded_bytes() == 0
