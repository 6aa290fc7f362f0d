"""Images in and out of base64: upstream's defaults, strict reading."""

import base64
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.data.base64_images import (
    decode_base64,
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
)

SIZES = st.tuples(st.integers(100, 130), st.integers(100, 130))


def noise(size=(120, 110), bands=3, seed=0):
    shape = (size[1], size[0], bands) if bands > 1 else (size[1], size[0])
    return pil.fromarray(np.random.default_rng(seed).integers(0, 255, shape, dtype=np.uint8))


def opened(text):
    return pil.open(io.BytesIO(base64.b64decode(text)))


@given(SIZES, st.integers(0, 9))
def test_png_comes_back_pixel_by_pixel(size, seed):
    picture = noise(size, seed=seed)
    found = decode_base64_to_image(encode_image_to_base64(picture, fmt="PNG"))
    assert (found.size, found.tobytes()) == (picture.size, picture.tobytes())


@given(st.binary(), st.integers(1, 20))
def test_any_bytes_come_back_also_with_line_breaks(data, width):
    text = base64.b64encode(data).decode()
    assert decode_base64(text) == data
    assert decode_base64("\n".join(text[i : i + width] for i in range(0, len(text), width))) == data
    assert decode_base64(f"data:image/png;base64,{text}") == data


def test_the_default_is_a_jpeg():
    assert opened(encode_image_to_base64(noise())).format == "JPEG"


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1", "I", "F", "I;16", "CMYK"])
def test_every_mode_can_be_written(mode):
    picture = noise(bands=1).convert("I").convert("I;16") if mode == "I;16" else noise().convert("L").convert(mode)
    assert opened(encode_image_to_base64(picture)).size == picture.size


def test_small_images_are_enlarged_to_an_edge_of_100_pixels(monkeypatch):
    assert opened(encode_image_to_base64(noise((50, 40)))).size == (125, 100)
    monkeypatch.setenv("VLMEVAL_MIN_IMAGE_EDGE", "20")
    assert opened(encode_image_to_base64(noise((50, 40)))).size == (50, 40)
    monkeypatch.setenv("VLMEVAL_MIN_IMAGE_EDGE", "many")
    with pytest.raises(DataError, match="VLMEVAL_MIN_IMAGE_EDGE=many is not a number"):
        encode_image_to_base64(noise())


def test_images_that_are_too_large_shrink_until_they_fit(monkeypatch, caplog):
    monkeypatch.setenv("VLMEVAL_MAX_IMAGE_SIZE", "6e3")
    text = encode_image_to_base64(noise((200, 200)))
    assert len(text) <= 6000
    assert "shrunk" in caplog.text
    monkeypatch.setenv("VLMEVAL_MAX_IMAGE_SIZE", "1")
    assert encode_image_to_base64(noise((200, 200)))  # ends, though nothing fits


def test_target_size_bounds_the_longer_side_and_changes_no_argument():
    picture = noise((400, 200))
    assert opened(encode_image_to_base64(picture, target_size=200)).size == (200, 100)
    assert picture.size == (400, 200)
    assert decode_base64_to_image(encode_image_to_base64(picture), target_size=40).size == (40, 20)


def test_reading_drops_alpha_and_never_enlarges():
    buffer = io.BytesIO()
    pil.new("RGBA", (3, 2), (1, 2, 3, 4)).save(buffer, "PNG")
    found = decode_base64_to_image(base64.b64encode(buffer.getvalue()).decode())
    assert (found.mode, found.size, found.getpixel((0, 0))) == ("RGB", (3, 2), (1, 2, 3))


def test_files(tmp_path):
    noise().save(tmp_path / "a.png")
    text = encode_image_file_to_base64(tmp_path / "a.png", fmt="PNG")
    decode_base64_to_image_file(text, tmp_path / "new" / "b.png")
    assert pil.open(tmp_path / "new" / "b.png").tobytes() == noise().tobytes()
    decode_base64_to_image_file(text, str(tmp_path / "c.jpg"))
    assert (tmp_path / "c.jpg").read_bytes().startswith(b"\xff\xd8\xff")
    with pytest.raises(DataError, match=r"Writing the image .*d\.what raised"):
        decode_base64_to_image_file(text, tmp_path / "d.what")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.png", "c.jpg", "new"]
    with pytest.raises(DataError, match=r"There is no image file .*no\.png"):
        encode_image_file_to_base64(tmp_path / "no.png")


@pytest.mark.parametrize("text", ["not base64!", "abc", "abc=def", "aé==", "data:image/png,plain"])
def test_what_is_not_base64_is_refused(text):
    with pytest.raises(DataError, match=r"not base64|cannot be read"):
        decode_base64_to_image(text)


def test_base64_of_no_image_is_refused():
    whole = encode_image_to_base64(noise(), fmt="PNG")
    for text in ("aGVsbG8=", whole[: len(whole) // 8 * 4]):
        with pytest.raises(DataError, match=r"Decoding an image of \d+ bytes from base64 raised"):
            decode_base64_to_image(text)
