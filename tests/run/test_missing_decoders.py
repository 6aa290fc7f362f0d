"""A package without which media cannot be shown is named before the first request."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures
from PIL import features

import polymeter
from polymeter.core.content import Audio, Image, Media, Video
from polymeter.core.errors import DataError, MissingPackageError, PlanError
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule
from polymeter.core.model import ModelTraits
from polymeter.core.request import Request
from polymeter.data.showing.needed import check_packages_for
from polymeter.models.endpoint.media import MediaEncoder
from polymeter.models.gemini.wire import PartWriter
from polymeter.models.mock import MockBatch
from polymeter.models.openai.content import ContentWriter
from polymeter.models.openai.settings import OpenAISettings

FLOAT_WAV = b"RIFF\x32\0\0\0WAVEfmt \x12\0\0\0\x03\0\x01\0\x80\x3e\0\0\0\xfa\0\0\x04\0\x20\0\0\0data\0\0\0\0"
MP4 = b"\0\0\0\x18ftypmp42" + bytes(16)
M4A = b"\0\0\0\x18ftypM4A " + bytes(16)


def webp() -> bytes:
    content = io.BytesIO()
    Pictures.new("RGB", (2, 2)).save(content, "WEBP")
    return content.getvalue()


class Watcher(MockBatch):
    """Says that it decodes what it is shown, and counts its requests."""

    def __init__(self) -> None:
        self.asked = 0
        everything: Any = dict.fromkeys(("text", "image", "audio", "video"), True)
        super().__init__(self._answered, ModelTraits("mock", requests={"generate": True}, modalities=everything))

    def decodes(self, medium: Media) -> bool:
        return True

    def _answered(self, request: Request) -> str:
        self.asked += 1
        return "a"


def written(folder: Path, prompt: str) -> Path:
    """A file with one task. In a file of its own it has no state of other tests, for which planning calls no prompt."""
    file = folder / "shown.py"
    file.write_text(
        f"""
import polymeter
from polymeter import Audio, Image, Video
from polymeter.data.video import frames

task = polymeter.PythonTask(
    lambda row: {prompt}, rows=[{{"n": number}} for number in range(3)], reference="n", name="shown"
)
"""
    )
    return file


@pytest.mark.parametrize(
    ("medium", "absent", "words"),
    [
        (f"Video({MP4!r})", ["av"], ["'av'", "video"]),
        (f"Audio({FLOAT_WAV!r})", ["soundfile"], ["'soundfile'", "audio"]),
        (f"Audio({b'ID3' + bytes(20)!r})", ["soundfile", "av"], ["'soundfile'", "audio"]),
        (f"Audio({M4A!r})", ["av"], ["'av'", "video"]),
    ],
)
def test_a_missing_decoder_is_a_plan_error_with_its_extra(
    medium: str, absent: list[str], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    file = written(tmp_path, f'["What is it?", {medium}]')
    model = Watcher()
    with pytest.raises(MissingPackageError) as missing:
        polymeter.evaluate(model, [str(file)], output=tmp_path / "run")
    assert model.asked == 0
    assert missing.value.where == "task 'shown'"
    what, hint = missing.value.what, missing.value.hint
    assert words[0] in what
    assert f"[{words[1]}]" in hint or words[0].strip("'") in hint


def test_ocr_names_the_extra_of_videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rapidocr")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(PlanError, match="The package 'av', needed by videos, is not installed") as missing:
        polymeter.evaluate("ocr", ["demo_video"], output=tmp_path / "run")
    assert "demo_video" in missing.value.where


def test_a_pillow_without_a_format_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    image = Image(webp())
    check_packages_for(image, "task 't'")
    monkeypatch.setattr(features, "check", lambda name: name != "webp")
    with pytest.raises(MissingPackageError, match="cannot read WebP images"):
        check_packages_for(image, "task 't'")


def test_what_is_decoded_or_broken_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("av", "soundfile"):
        monkeypatch.setitem(sys.modules, name, None)
    frames = [Pictures.new("RGB", (2, 2))]
    for medium in (Video(frames), Audio({"array": [0.0], "sampling_rate": 8000}), Audio("no.mp3"), Audio(b"")):
        check_packages_for(medium, "task 't'")


def test_a_prompt_that_needs_a_missing_package_is_a_plan_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    file = written(tmp_path, f'["?", *map(Image, frames({MP4!r}, n=1))]')
    model = Watcher()
    with pytest.raises(MissingPackageError, match="'av'"):
        polymeter.evaluate(model, [str(file)], output=tmp_path / "run")
    assert model.asked == 0


def test_models_say_what_they_decode() -> None:
    encoder = MediaEncoder()
    whole = ContentWriter(OpenAISettings("m", video="url"), encoder)
    gemini = PartWriter(encoder, sends_frames=False, fps=None)
    png = io.BytesIO()
    Pictures.new("RGB", (2, 2)).save(png, "PNG")
    wav = b"RIFF\0\0\0\0WAVE"
    for writer in (whole, gemini):
        assert not writer.decodes(Video(MP4))
        assert writer.decodes(Video(MP4, rule=VideoRule(frames=3)))
        assert not writer.decodes(Image(png.getvalue()))
        assert not writer.decodes(Audio(wav))
        assert writer.decodes(Audio(M4A))
    assert encoder.decodes(Video(MP4))
    assert encoder.decodes(Audio(wav, rule=AudioRule(rate=8000)))
    assert encoder.decodes(Image(png.getvalue(), rule=ImageRule(max_side=1)))
    mock = MockBatch(lambda request: "a")
    assert not mock.decodes(Video(MP4))
    assert mock.decodes(Video(MP4, rule=VideoRule(frames=3)))
    with pytest.raises(DataError):
        encoder.decodes(Audio("no.mp3"))
