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
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule
from polymeter.core.records.shown_media import ShownMedium
from polymeter.data import showing
from polymeter.data.audio import samples, wav_bytes
from polymeter.models.endpoint import media as endpoint_media
from polymeter.models.endpoint.media import Encoded, MediaEncoder, fetched_there
from tests.helpers.clips import clip


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
    real = showing.encoded_image

    def counted(*args: Any) -> tuple[bytes, str]:
        encodings.append(1)
        return real(*args)

    monkeypatch.setattr(showing, "encoded_image", counted)
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
    (found,) = encoder.audio(Audio(data))
    assert (found.format, base64.b64decode(found.base64)) == ("wav", data)
    assert encoder.audio(Audio(b"ID3 and so on"))[0].format == "mp3"
    pieces = encoder.audio(Audio({"array": wave, "sampling_rate": 8000}))
    (made,) = pieces
    array, rate = samples(base64.b64decode(made.base64))
    assert (made.format, rate) == ("wav", 8000)
    np.testing.assert_allclose(array, wave, atol=1e-4)
    assert encoder.audio(Audio({"array": wave, "sampling_rate": 8000})) is pieces


@pytest.mark.skipif(util.find_spec("soundfile") is None, reason="the extra [audio] is not installed")
def test_other_sounds_are_transcoded() -> None:
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(400, "float32"), 16000, format="FLAC")
    (found,) = MediaEncoder().audio(Audio(buffer.getvalue()))
    assert found.format == "wav"
    assert samples(base64.b64decode(found.base64))[1] == 16000


def test_frames_of_videos_are_jpegs() -> None:
    shown = [picture((16, 8), colour) for colour in ("red", "lime", "blue", "black", "white")]
    encoder = MediaEncoder(num_frames=3, max_side_px=8)
    found = encoder.video(Video(shown))
    assert [one.mime for one in found] == ["image/jpeg"] * 3
    assert [opened(one).size for one in found] == [(8, 4)] * 3
    red, blue, white = (opened(one).convert("RGB").getpixel((4, 2)) for one in found)
    assert red[0] > 200 > 50 > red[2]
    assert blue[2] > 200 > 50 > blue[0]
    assert min(white) > 200
    assert encoder.video(Video(shown)) is not found  # they may be other frames by now


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
    found = encoder.video(Video(path))
    assert [opened(one).size for one in found] == [(32, 16)] * 2
    assert encoder.video(Video(path.read_bytes())) is found
    assert encoder.video(Video(path, end_s=0.5)) is not found


def test_whole_videos(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"\0\0\0\x18ftypmp42")
    found = MediaEncoder().whole_video(Video(path))
    assert (found.mime, base64.b64decode(found.base64)) == ("video/mp4", path.read_bytes())
    assert MediaEncoder().whole_video(Video(b"\x1a\x45\xdf\xa3webm")).mime == "video/webm"
    with pytest.raises(DataError, match="has no encoded bytes to send"):
        MediaEncoder().whole_video(Video([picture()]))


AV = pytest.mark.skipif(util.find_spec("av") is None, reason="the extra [video] is not installed")
TRACK = VideoRule(rule="cut", frames=2, timestamps="text", audio="track")


def pieces(found: Any) -> list[str]:
    return [one if isinstance(one, str) else one.mime for one in found]


@AV
def test_frames_have_their_times_and_the_sound_stands_behind_them(tmp_path: Path) -> None:
    film, silent = clip(tmp_path / "a.mp4"), clip(tmp_path / "b.mp4", sound=False)
    encoder = MediaEncoder()
    frames = ["<0.0 seconds>", "image/jpeg", "<1.8 seconds>", "image/jpeg"]
    assert pieces(encoder.video(Video(film, rule=TRACK))) == [*frames, "audio/wav"]
    assert pieces(encoder.video(Video(silent, rule=TRACK))) == frames
    assert pieces(MediaEncoder(accepts_sound=False).video(Video(film, rule=TRACK))) == frames
    listed = encoder.video(Video(film, rule=VideoRule(frames=2, timestamps="prefix")))
    assert pieces(listed) == [
        "The next 2 images are frames of a video, at these seconds: 0.00, 1.75.",
        "image/jpeg",
        "image/jpeg",
    ]
    undated = [picture(), picture()]
    assert pieces(encoder.video(Video(undated, rule=VideoRule(timestamps="text")))) == ["image/jpeg"] * 2


CUES = "00:00:00,000 --> 00:00:00,500\nfirst\n\n00:00:01,000 --> 00:00:01,500\nsecond\n"


@AV
def test_subtitles_stand_between_frames_or_behind_them(tmp_path: Path) -> None:
    film, encoder = clip(tmp_path / "a.mp4"), MediaEncoder()

    def shown(cues: Any, **rule: Any) -> tuple[list[str], Any, Any]:
        video = Video(film, rule=VideoRule(rule="cut", frames=2, **rule), subtitles=cues)
        found = pieces(encoder.video(video))
        assert video.sent is not None
        return found, video.sent.sent.get("subtitles"), video.sent.notes

    found, facts, _ = shown(CUES, subtitles="interleaved", timestamps="text", audio="track")
    frames = ["<0.0 seconds>", "image/jpeg", "first\nsecond\n", "<1.8 seconds>", "image/jpeg"]
    assert (found, facts["show"], facts["cues"]) == ([*frames, "audio/wav"], "interleaved", 2)
    found, facts, _ = shown(CUES, subtitles="whole")
    assert found == ["image/jpeg", "image/jpeg", "Subtitles of the video:\nfirst\nsecond\n"]
    assert facts["show"] == "whole"
    other = shown(CUES.replace("second", "third"), subtitles="whole")
    assert "third" in other[0][-1], "what was encoded before is not sent again with other subtitles"
    assert other[1]["digest"] != facts["digest"]
    assert shown(None, subtitles="whole") == (
        ["image/jpeg"] * 2,
        {"show": "whole", "cues": 0},
        ("It has no subtitles.",),
    )
    assert shown(CUES) == (["image/jpeg"] * 2, None, ())
    found, facts, notes = shown(CUES, subtitles="at_frames")
    assert (found[2:], facts["cues"], notes) == (["Subtitles of the video:\nfirst\n"], 1, ())
    found, facts, notes = shown(CUES.replace("00:00:00,000", "00:00:00,100"), subtitles="at_frames")
    assert (found[2:], facts["cues"], notes) == ([], 0, ("None of its subtitles is on screen at a shown frame.",))
    part = Video(film, start_s=0.8, rule=VideoRule(frames=1, subtitles="whole"), subtitles=CUES)
    assert pieces(encoder.video(part)) == ["image/jpeg", "Subtitles of the video:\nsecond\n"]
    undated = Video([picture()], rule=VideoRule(frames=1, subtitles="interleaved"), subtitles=CUES)
    with pytest.raises(DataError, match="have no times, so that its subtitles cannot be shown by them"):
        encoder.video(undated)


@AV
def test_what_was_shown_is_known_also_of_media_that_were_encoded_before(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.mp4")
    encoder = MediaEncoder()
    first, again = Video(path, rule=TRACK), Video(path, rule=TRACK)
    found = encoder.video(first)
    assert encoder.video(again) is found
    assert again.sent is not None
    assert again.sent == first.sent
    sent = again.sent.sent
    assert (again.sent.numbers, sent["frames"], sent["format"], sent["sound"]["format"]) == ((0, 7), 2, "jpeg", "wav")
    assert sent["bytes"] == sum(
        len(base64.b64decode(one.base64)) for one in found if getattr(one, "mime", "")[:1] == "i"
    )
    other = Video(path, rule=VideoRule(frames=4))
    assert len(encoder.video(other)) == 4, "another rule shows something else"
    one, two = Image(encoded("BMP"), key="k"), Image(encoded("BMP"), key="k")
    assert encoder.image(one) is encoder.image(two)
    assert two.sent is not None
    assert two.sent.sent["format"] == "png"
    heard, same = (Audio({"array": np.zeros(80), "sampling_rate": 8000}) for _ in range(2))
    assert encoder.audio(heard) is encoder.audio(same)
    assert same.sent is not None


def test_the_record_beside_encoded_bytes_is_that_of_their_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"array": np.zeros(80), "sampling_rate": 8000}
    audio, other = Audio(source, "k"), Audio(source, "k")
    encode = endpoint_media._encode_audio

    def interrupted(medium: Audio) -> tuple[Encoded, ...]:
        made = encode(medium)
        audio.record_sent(ShownMedium("audio", "of a judge that is shown it at this moment"))
        return made

    monkeypatch.setattr(endpoint_media, "_encode_audio", interrupted)
    encoder = MediaEncoder()
    encoder.audio(audio)
    encoder.audio(other)
    for one in (audio, other):
        assert one.sent is not None
        assert (one.sent.source, one.sent.sent["format"]) == ("k", "wav")


def test_a_remembered_record_has_the_name_of_the_medium(tmp_path: Path) -> None:
    encoder = MediaEncoder()
    for name in ("one.bmp", "two.bmp"):
        (tmp_path / name).write_bytes(encoded("BMP"))
        image = Image(tmp_path / name)
        encoder.image(image)
        assert image.sent is not None
        assert image.sent.source == str(tmp_path / name)


def test_rules_of_images_win_over_the_models_settings() -> None:
    encoder = MediaEncoder(max_side_px=100)
    wide = encoded("JPEG", (400, 200))
    assert opened(encoder.image(Image(wide, rule=ImageRule(max_side=200)))).size == (200, 100)
    assert opened(encoder.image(Image(wide))).size == (100, 50)
    assert encoder.image(Image(wide, rule=ImageRule(format="png"))).mime == "image/png"


def test_a_rule_for_an_image_that_the_endpoint_fetches_is_an_error() -> None:
    far = Image("https://example.org/a.png")
    assert fetched_there(far, ("https://",)) == "https://example.org/a.png"
    assert far.sent is not None
    assert far.sent.by == "the endpoint"
    ruled = Image("https://example.org/a.png", rule=ImageRule(max_side=9))
    with pytest.raises(DataError, match=r"https://example.org/a.png has a rule, and only the endpoint"):
        fetched_there(ruled, ("https://",))
    ruled.supply(encoded("PNG", (40, 20)))
    assert fetched_there(ruled, ("https://",)) is None
    assert opened(MediaEncoder().image(ruled)).size == (9, 4)
    assert fetched_there(Video("https://example.org/a.mp4", rule=VideoRule(frames=2)), ("https://",)) is None


def test_long_audio_is_sent_in_pieces() -> None:
    wave = np.zeros(2000, "float32")
    rule = AudioRule(max_seconds=0.1, long="chunk")
    found = MediaEncoder().audio(Audio({"array": wave, "sampling_rate": 8000}, rule=rule))
    assert len(found) == 3
