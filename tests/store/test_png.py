"""Generated images as PNG files: every pixel comes back, whichever way the file was compressed."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.store import png
from polymeter.store.png import encode_png


@pytest.fixture
def without_isal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "_isal", lambda: None)


@pytest.fixture(params=["isal", "zlib"])
def compressor(request: pytest.FixtureRequest) -> None:
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        request.getfixturevalue("without_isal")


def encoded(image: pil.Image) -> bytes:
    return encode_png(image, image.tobytes())


def read(data: bytes) -> pil.Image:
    image = pil.open(io.BytesIO(data))
    image.verify()  # the checksum of every chunk
    image = pil.open(io.BytesIO(data))
    image.load()
    return image


def pixels(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@given(
    mode=st.sampled_from(["L", "LA", "RGB", "RGBA"]),
    width=st.integers(1, 70),
    height=st.integers(1, 70),
    n_levels=st.sampled_from([1, 2, 256]),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("compressor")
def test_every_pixel_comes_back(mode: str, width: int, height: int, n_levels: int, seed: int) -> None:
    shape = (height, width, len(mode)) if len(mode) > 1 else (height, width)
    image = pil.fromarray(np.minimum(pixels(seed, shape), n_levels - 1), mode)
    back = read(encoded(image))
    assert (back.format, back.mode, back.size) == ("PNG", mode, image.size)
    assert back.tobytes() == image.tobytes()


@pytest.mark.usefixtures("compressor")
def test_rows_of_all_strips_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    image = pil.fromarray(pixels(0, (50, 31, 3)))
    at_once, strip_bytes = encoded(image), png._STRIP_BYTES
    monkeypatch.setattr(png, "_STRIP_BYTES", 7 * 31 * 3)
    assert read(encoded(image)).tobytes() == image.tobytes()
    monkeypatch.setattr(png, "_STRIP_BYTES", 1)
    assert read(encoded(image)).tobytes() == image.tobytes()
    monkeypatch.setattr(png, "_STRIP_BYTES", strip_bytes)
    assert encoded(image) == at_once, "equal pixels are equal bytes"


def chosen(image: pil.Image, monkeypatch: pytest.MonkeyPatch) -> int:
    strategies: list[int] = []
    make = zlib.compressobj

    def noting(*args: int) -> object:
        strategies.append(args[-1])
        return make(*args)

    with monkeypatch.context() as patched:
        patched.setattr(zlib, "compressobj", noting)
        assert read(encoded(image)).tobytes() == image.tobytes()
    return strategies[-1]


@pytest.mark.usefixtures("without_isal")
def test_photographs_are_searched_for_runs_and_patterns_for_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    photograph = pil.fromarray(pixels(0, (16, 16, 3))).resize((256, 256), pil.Resampling.BICUBIC)
    pattern = pil.fromarray(np.tile(pixels(0, (16, 16, 3)), (16, 16, 1)))
    assert chosen(photograph, monkeypatch) == zlib.Z_RLE
    assert chosen(pattern, monkeypatch) == zlib.Z_DEFAULT_STRATEGY
    assert len(encoded(pattern)) < 0.1 * len(pattern.tobytes())


@pytest.mark.usefixtures("compressor")
def test_files_are_about_as_large_as_pillows() -> None:
    flat = pil.new("RGB", (256, 256), "teal")
    photograph = pil.fromarray(pixels(1, (12, 12, 3))).resize((256, 256), pil.Resampling.BICUBIC)
    noise = pil.fromarray(pixels(2, (256, 256, 3)))
    for image in (flat, photograph, noise):
        theirs = io.BytesIO()
        image.save(theirs, format="PNG", compress_level=1)
        assert len(encoded(image)) < 1.3 * len(theirs.getvalue())


def test_colours_that_are_more_than_channels_are_kept() -> None:
    image = pil.fromarray(pixels(0, (9, 9, 3)))
    image.info["transparency"] = (1, 2, 3)
    image.info["icc_profile"] = b"profile"
    back = read(encoded(image))
    assert back.info["transparency"] == (1, 2, 3)
    assert back.info["icc_profile"] == b"profile"
    assert back.tobytes() == image.tobytes()
