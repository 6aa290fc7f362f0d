"""Media are sent as they are, encoded once, and upright."""

from __future__ import annotations

import base64
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pictures

from polymeter.core.content import Audio, Image, Video
from polymeter.core.errors import DataError
from polymeter.data.audio import samples, wav_bytes
from polymeter.models.endpoint import media as endpoint_media
from polymeter.models.endpoint.media import Encoded, MediaEncoder


def picture(size: tuple[int, int] = (8, 4), colour: str = "red") -> Pictures.Image:
    return Pictures.new("RGB", size, colour)


def encoded(kind: str, size: tuple[int, int] = (8, 4), **more: Any) -> bytes:
    buffer = io.BytesIO()
    picture(size).save(buffer, kind, **more)
    return buffer.getvalue()


def opened(one: Encoded) -> Pictures.Image:
    return Pictures.open(io.BytesIO(base64.b64decode(one.base64)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_what_is_encoded_passes_untouched(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "open", lambda self: pytest.fail("decoded"))
    data = encoded(kind)
    found = MediaEncoder().image(Image(data))
    assert base64.b64decode(found.base64) == data
    assert found.mime == f"image/{kind.lower()}"
    assert b"".join(found.data_url) == f"data:image/{kind.lower()};base64,".encode() + base64.b64encode(data)


def test_other_formats_and_pixels_become_png() -> None:
    encoder = MediaEncoder(image_types=("image/jpeg", "image/png"))
    for source in (encoded("BMP"), encoded("GIF"), picture(), Pictures.new("CMYK", (8, 4))):
        found = encoder.image(Image(source))
        assert (found.mime, opened(found).size) == ("image/png", (8, 4))
    assert opened(encoder.image(Image(picture(colour="blue")))).getpixel((0, 0)) == (0, 0, 255)


def test_an_image_on_its_side_is_set_upright() -> None:
    exif = Pictures.Exif()
    exif[0x0112] = 6
    found = MediaEncoder().image(Image(encoded("JPEG", exif=exif)))
    assert (found.mime, opened(found).size) == ("image/jpeg", (4, 8))
    exif[0x0112] = 1
    data = encoded("JPEG", exif=exif)
    assert base64.b64decode(MediaEncoder().image(Image(data)).base64) == data


def test_large_images_are_scaled_down() -> None:
    encoder = MediaEncoder(max_side_px=100)
    found = encoder.image(Image(encoded("JPEG", (400, 200))))
    assert (found.mime, opened(found).size) == ("image/jpeg", (100, 50))
    assert opened(encoder.image(Image(picture((1, 300))))).size == (1, 100)
    small = encoded("JPEG", (100, 20))
    assert base64.b64decode(encoder.image(Image(small)).base64) == small


def test_each_distinct_image_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encodings: list[int] = []
    started = threading.Barrier(4)
    real = endpoint_media._encode_pixels

    def counted(*args: Any) -> Encoded:
        encodings.append(1)
        return real(*args)

    monkeypatch.setattr(endpoint_media, "_encode_pixels", counted)
    encoder = MediaEncoder()

    def ask(_: int) -> Encoded:
        started.wait(5)
        return encoder.image(Image(picture()))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(encodings) == 1
    assert len({id(one) for one in found}) == 1
    encoder.image(Image(picture(colour="blue")))
    assert len(encodings) == 2


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_media, "_MIB", 1000)
    encoder = MediaEncoder(budget_mb=1)
    first = encoder.image(Image(encoded("BMP", (8, 4))))
    assert encoder.image(Image(encoded("BMP", (8, 4)))) is first
    for width in range(100, 120):
        encoder.image(Image(encoded("BMP", (width, 4))))
    assert encoder.image(Image(encoded("BMP", (8, 4)))) is not first


def test_what_is_sent_as_it_is_is_not_kept() -> None:
    encoder = MediaEncoder()
    image = Image(encoded("JPEG"))
    first = encoder.image(image)
    assert encoder.image(image) == first
    assert encoder.image(image).base64 is not first.base64


def test_broken_images_are_named_and_tried_again() -> None:
    encoder = MediaEncoder(max_side_px=10)
    for _ in range(2):
        with pytest.raises(DataError, match="Looking at the image key-7 raised"):
            encoder.image(Image(b"\xff\xd8\xff no", key="key-7"))
    with pytest.raises(DataError, match="does not exist"):
        encoder.image(Image(Path("/nowhere.jpg")))


def test_sounds_are_wav_or_mp3() -> None:
    wave = np.sin(np.linspace(0, 50, 800)).astype("float32")
    data = wav_bytes(wave, 8000)
    encoder = MediaEncoder()
    found = encoder.audio(Audio(data))
    assert (found.format, base64.b64decode(found.base64)) == ("wav", data)
    assert encoder.audio(Audio(b"ID3 and so on")).format == "mp3"
    made = encoder.audio(Audio({"array": wave, "sampling_rate": 8000}))
    array, rate = samples(base64.b64decode(made.base64))
    assert (made.format, rate) == ("wav", 8000)
    np.testing.assert_allclose(array, wave, atol=1e-4)
    assert encoder.audio(Audio({"array": wave, "sampling_rate": 8000})) is made


@pytest.mark.skipif(util.find_spec("soundfile") is None, reason="the extra [audio] is not installed")
def test_other_sounds_are_transcoded() -> None:
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(400, "float32"), 16000, format="FLAC")
    found = MediaEncoder().audio(Audio(buffer.getvalue()))
    assert found.format == "wav"
    assert samples(base64.b64decode(found.base64))[1] == 16000


def test_frames_of_videos_are_jpegs() -> None:
    shown = [picture((16, 8), colour) for colour in ("red", "lime", "blue", "black", "white")]
    encoder = MediaEncoder(num_frames=3, max_side_px=8)
    found = encoder.frames(Video(shown))
    assert [one.mime for one in found] == ["image/jpeg"] * 3
    assert [opened(one).size for one in found] == [(8, 4)] * 3
    red, blue, white = (opened(one).convert("RGB").getpixel((4, 2)) for one in found)
    assert red[0] > 200 > 50 > red[2]
    assert blue[2] > 200 > 50 > blue[0]
    assert min(white) > 200
    assert encoder.frames(Video(shown)) is not found  # they may be other frames by now


@pytest.mark.skipif(util.find_spec("av") is None, reason="the extra [video] is not installed")
def test_files_of_videos_are_decoded_once(tmp_path: Path) -> None:
    import av

    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv420p"
        for _ in range(5):
            container.mux(stream.encode(av.VideoFrame.from_image(picture((32, 16)))))
        container.mux(stream.encode(None))
    encoder = MediaEncoder(num_frames=2)
    found = encoder.frames(Video(path))
    assert [opened(one).size for one in found] == [(32, 16)] * 2
    assert encoder.frames(Video(path.read_bytes())) is found
    assert encoder.frames(Video(path, end_s=0.5)) is not found


def test_whole_videos(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"\0\0\0\x18ftypmp42")
    found = MediaEncoder().whole_video(Video(path))
    assert (found.mime, base64.b64decode(found.base64)) == ("video/mp4", path.read_bytes())
    assert MediaEncoder().whole_video(Video(b"\x1a\x45\xdf\xa3webm")).mime == "video/webm"
    with pytest.raises(DataError, match="has no encoded bytes to send"):
        MediaEncoder().whole_video(Video([picture()]))
