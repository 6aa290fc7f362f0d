"""The rules by which an image is shown: scales of grey, what is returned unchanged, and what answers it may share."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.content import Image
from polymeter.core.errors import DataError
from polymeter.core.identity import request_fingerprint
from polymeter.core.media.image_headers import is_plain_file, is_turned, stated_size
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.media.shown_images import MEDIA_VERSION, as_shown, grey_levels, is_plain
from polymeter.core.media.sources import sniff_mime
from polymeter.core.request import Generate, Message, Request
from tests.helpers.image_kinds import KINDS, Kind, saved, turned

NAN, INF = float("nan"), float("inf")
SHOWN_AS_BEFORE = ("bmp", "turned", "CMYK", "HSV", "YCbCr", "RGBX")
"""Beside those that are sent as they are: the first rules already showed these so."""

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.mark.parametrize(
    ("values", "dtype", "levels", "why"),
    [
        ([0, 1, 254, 255], "u2", [0, 1, 254, 255], "8 bits in 16"),
        ([0, 1, 128, 255], "i4", [0, 1, 128, 255], "8 bits in 32"),
        ([0, 256, 2048, 4095], "u2", [0, 16, 128, 255], "12 bits in 16: 255/4095 of each"),
        ([0, 2048, 3000, 4000], "i4", [0, 128, 187, 249], "12 bits in 32"),
        ([0, 257, 32768, 65535], "u2", [0, 1, 128, 255], "16 bits"),
        ([0, 4096, 128, 129], "u2", [0, 16, 0, 1], "one value of more than 12 bits: 16; 128/257 is below a half"),
        ([0, 0, 0, 0], "u2", [0, 0, 0, 0], "black"),
        ([65535] * 4, "u2", [255] * 4, "white"),
        ([-1000, 0, 1000, 3000], "i4", [0, 64, 128, 255], "below 0: from the smallest to the largest"),
        ([0, 35000, 70000, 140000], "i4", [0, 64, 128, 255], "more than 16 bits: likewise"),
        ([-7] * 4, "i4", [0] * 4, "one value, which is the smallest"),
        ([0, 0.25, 0.5, 1], "f4", [0, 64, 128, 255], "from 0 to 1"),
        ([0, 0.25, 0.5, 0.5], "f4", [0, 64, 128, 128], "from 0 to 1, without white"),
        ([0, 0.5, 1.0001, 2], "f4", [0, 128, 255, 255], "a little above 1 is white"),
        ([0, 2.5, 100, 255], "f4", [0, 3, 100, 255], "8 bits"),
        ([0, 2048, 3000, 4095], "f4", [0, 128, 187, 255], "12 bits"),
        ([0, 257, 32768, 65535], "f4", [0, 1, 128, 255], "16 bits"),
        ([-1, -0.5, 0, 1], "f4", [0, 64, 128, 255], "below 0: from the smallest to the largest"),
        ([1e30, 2e30, 4e30, 5e30], "f4", [0, 64, 191, 255], "large"),
        ([-3e38, -1.5e38, 0, 3e38], "f4", [0, 64, 128, 255], "the difference has no float of 32 bits"),
        ([NAN, 0, 0.5, 1], "f4", [0, 0, 128, 255], "NaN is black"),
        ([INF, -INF, 0.5, 0.25], "f4", [255, 0, 128, 64], "infinities do not count for the scale"),
        ([NAN, NAN, INF, -INF], "f4", [0, 0, 255, 0], "nothing is finite"),
        ([-5, -5, NAN, INF], "f4", [0, 0, 0, 0], "one finite value below 0"),
    ],
)
def test_grey_values_are_scaled_by_their_own_range(
    values: list[float], dtype: str, levels: list[int], why: str
) -> None:
    for order in "<>":
        array = np.asarray(values, dtype=np.dtype(dtype).newbyteorder(order)).reshape(2, 2)
        found = grey_levels(array)
        assert found.dtype == np.uint8
        assert found.ravel().tolist() == levels, why


def test_a_large_image_is_scaled_block_by_block_to_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.linspace(-3, 5, 12 * 7, dtype=np.float32).reshape(12, 7)
    whole = grey_levels(values)
    monkeypatch.setattr("polymeter.core.media.shown_images._BLOCK", 20)
    assert (grey_levels(values) == whole).all()


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_an_image_that_is_shown_as_it_is_is_not_copied(mode: str) -> None:
    image = pil.new(mode, (3, 2))
    assert as_shown(image) is image
    part = Image(image)
    assert part.shown(keeps_grey=True) is image
    assert (part.shown() is image) is (mode == "RGB")


@each_kind
def test_showing_an_image_leaves_it_as_it_was(kind: Kind) -> None:
    made = kind.make()
    image = pil.open(io.BytesIO(made)) if isinstance(made, bytes) else made
    image.load()
    before = (image.mode, image.size, image.tobytes(), repr(image.info))
    as_shown(image)
    assert (image.mode, image.size, image.tobytes(), repr(image.info)) == before


def test_a_colour_profile_stays_only_where_its_colours_do() -> None:
    for mode, is_kept in (("RGBA", True), ("LA", True), ("P", True), ("CMYK", False), ("HSV", False)):
        image = pil.new(mode, (2, 2))
        image.info = {"icc_profile": b"profile", "transparency": 0} if mode == "P" else {"icc_profile": b"profile"}
        assert as_shown(image).info == ({"icc_profile": b"profile"} if is_kept else {})


def _jpegs(rng: np.random.Generator) -> Iterator[bytes]:
    """JPEGs of several forms: whole, then with bytes of their headers changed, removed or added."""
    for mode, more in (("RGB", {}), ("L", {"progressive": True}), ("RGB", {"comment": b"hello", "dpi": (72, 72)})):
        made = io.BytesIO()
        pil.new(mode, (37, 21), 90).save(made, "JPEG", **more)
        whole = made.getvalue()
        yield whole
        for _ in range(300):
            data = bytearray(whole)
            place = int(rng.integers(len(data)))
            change = int(rng.integers(3))
            data[place : place + (change != 2)] = b"" if change == 0 else rng.bytes(1)
            yield bytes(data if rng.integers(4) else data[:place])


def test_the_size_that_headers_state_is_pillows_or_left_to_it() -> None:
    n_stated = 0
    for data in _jpegs(np.random.default_rng(7)):
        stated = stated_size(data)
        if stated is not None:
            n_stated += 1
            with pil.open(io.BytesIO(data), formats=["JPEG"]) as image:  # raises if it refuses the headers
                assert (image.size, image.getexif().get(0x0112, 1)) == (stated, 1)
    assert n_stated > 100


@pytest.mark.parametrize("name", ["orientation", "CMYK", "PNG", "too many pixels"])
def test_the_size_of_an_unusual_image_is_asked_of_pillow(name: str) -> None:
    exif = pil.Exif()
    exif[0x0112] = 6
    made = io.BytesIO()
    image = pil.new("CMYK" if name == "CMYK" else "RGB", (37, 21))
    image.save(made, "PNG" if name == "PNG" else "JPEG", **({"exif": exif} if name == "orientation" else {}))
    if name == "too many pixels":  # the limit holds for the short way as well
        assert stated_size(made.getvalue()) == (37, 21)
        with pixel_budget(700), pytest.raises(DataError, match="37x21"):
            Image(made.getvalue()).size()
        return
    assert stated_size(made.getvalue()) is None
    assert Image(made.getvalue()).size() == ((21, 37) if name == "orientation" else (37, 21))


def test_an_image_that_many_threads_show_is_turned_for_each_of_them() -> None:
    data = saved(pil.new("RGB", (64, 32)), "PNG", exif=turned(6))
    for _ in range(20):
        image = pil.open(io.BytesIO(data)).convert("RGB")  # a task's own, its orientation not applied
        start = threading.Barrier(4)

        def show(_: int, image: pil.Image = image, start: threading.Barrier = start) -> tuple[int, int]:
            start.wait(5)
            return as_shown(image).size

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(show, range(4))) == {(32, 64)}
        assert image.size == (64, 32)


def test_the_frame_that_an_author_chose_is_shown() -> None:
    frames = [pil.new("P", (4, 4), number) for number in (0, 1)]
    for frame in frames:
        frame.putpalette([255, 0, 0, 0, 0, 255])
    image = pil.open(io.BytesIO(saved(frames[0], "GIF", save_all=True, append_images=frames[1:])))
    assert Image(image).shown().getpixel((0, 0)) == (255, 0, 0)
    image.seek(1)
    assert Image(image).shown().getpixel((0, 0)) == (0, 0, 255)


def test_a_mode_without_rules_is_an_error_that_names_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("conversion from CMYK to RGB not supported")

    monkeypatch.setattr(pil.Image, "convert", refuse)
    with pytest.raises(DataError, match="Making an RGB image of Image raised ValueError: conversion from CMYK"):
        Image(pil.new("CMYK", (2, 2))).shown()


@each_kind
def test_a_header_says_whether_bytes_are_sent_as_they_are(kind: Kind) -> None:
    made = kind.make()
    mime = sniff_mime(made) if isinstance(made, bytes) else None
    if isinstance(made, bytes) and mime is not None:
        assert (is_plain_file(made, mime) and not is_turned(made, mime)) is kind.is_sent
    elif isinstance(made, pil.Image):
        assert is_plain(made) is False


def test_an_orientation_in_xmp_counts_like_one_in_exif() -> None:
    """Pillow applies both, so models on this machine see it applied."""
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    by_xmp = saved(pil.new("RGB", (16, 8)), "JPEG", xmp=xmp)
    by_exif = saved(pil.new("RGB", (16, 8)), "JPEG", exif=turned(6))
    assert [is_turned(data, "image/jpeg") for data in (by_xmp, by_exif)] == [True, True]
    assert [is_turned(data, "image/jpeg", by_exif=True) for data in (by_xmp, by_exif)] == [False, True]
    assert Image(by_xmp).shown().size == (8, 16)
    assert Image(by_xmp).shown_hash() != Image(by_xmp).content_hash()
    assert Image(by_exif).shown_hash() == Image(by_exif).content_hash()


def test_an_orientation_is_searched_in_the_headers_of_a_jpeg_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, sideways = (saved(pil.new("RGB", (16, 8)), "JPEG", **more) for more in ({}, {"exif": turned(6)}))
    colours = b"\xff\xe2\xea\x62" + bytes(60_000)  # a segment before that of the orientation
    assert is_turned(sideways[:2] + colours + sideways[2:], "image/jpeg")
    broken = [plain[:2], plain[:3], plain[:2] + b"?" + plain[2:], plain[:2] + b"\xff\xe2\0\0" + plain[2:]]
    monkeypatch.setattr("polymeter.core.media.image_headers.opened_image", lambda data: pytest.fail("it was opened"))
    assert not any(is_turned(data, "image/jpeg") for data in [plain + b"Exif\0tiff:Orientation", *broken])


@pytest.mark.parametrize("wrap", ["bytes", "path", "function", "opened"])
@each_kind
def test_answers_are_shared_unless_the_image_was_shown_otherwise(kind: Kind, wrap: str, tmp_path: Path) -> None:
    made: Any = kind.make()
    if not isinstance(made, bytes):
        image = Image(made)
    elif wrap == "path":
        (tmp_path / "image").write_bytes(made)
        image = Image(tmp_path / "image")
    elif wrap == "opened":
        opened = pil.open(io.BytesIO(made))
        opened.polymeter_bytes = made  # type: ignore[attr-defined]
        image = Image(opened)
    else:
        image = Image(made if wrap == "bytes" else lambda: made)
    is_as_before = kind.is_sent or any(name in kind.name for name in SHOWN_AS_BEFORE)
    is_as_before &= kind.name != "jpeg CMYK"  # it was sent as it is
    assert (image.shown_hash() == image.content_hash()) is is_as_before
    keyed = Image(image.source, key="row")
    first, same = (Request((Message("user", (each,)),), Generate()) for each in (image, keyed))
    assert request_fingerprint(first, by_content=True) == request_fingerprint(same, by_content=True)


def test_only_the_fingerprint_across_runs_counts_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    clear = saved(pil.new("RGBA", (4, 4)), "PNG")
    requests = [Request((Message("user", (Image(clear, key=key),)),), Generate()) for key in (None, "row")]

    def fingerprints(by_content: bool) -> list[str]:
        return [request_fingerprint(request, by_content=by_content) for request in requests]

    within, across = fingerprints(False), fingerprints(True)
    monkeypatch.setattr("polymeter.core.content.MEDIA_VERSION", MEDIA_VERSION + 1)
    assert fingerprints(False) == within
    assert all(new != old for new, old in zip(fingerprints(True), across, strict=True))


def test_an_image_that_cannot_be_read_or_lies_elsewhere_is_known_by_what_is_known() -> None:
    for source in (b"no image", "https://example.org/a.png"):
        assert Image(source).shown_hash() == Image(source).content_hash()
