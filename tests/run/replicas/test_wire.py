"""What crosses to replicas and back: media as it is, pixels exactly, and nothing that is code."""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.acting.tools import Call
from polymeter.core.content import Audio, Given, Image, Text, Video, is_subtitle_text
from polymeter.core.errors import DataError, ModelError
from polymeter.core.media.showing import VideoRule
from polymeter.core.request import (
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
from polymeter.core.stored_image import open_stored
from polymeter.core.task import SampleStatus
from polymeter.data.media import open_image
from polymeter.run.dispatch.replicas.wire import packed, unpacked


def crossed(value: Any, **how: Any) -> Any:
    data, beside = packed(value, **how)
    return unpacked(data, [bytes(piece) for piece in beside])


def jpeg(side: int = 256) -> bytes:
    buffer = io.BytesIO()
    pil.effect_noise((side, side), 80).convert("RGB").save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def shown(*parts: Any) -> Request:
    return Request((Message("user", parts),), Generate(max_new_tokens=3))


@pytest.mark.parametrize(
    "request_",
    [
        Request(
            (Message("system", (Text("Be brief."),)), Message("user", (Text("Hi", {"type": "text", "more": 1}),))),
            Generate(3, 0.5, 0.9, ("\n",), 7, 2, {"top_k": 4}),
            Origin("t", "s", "test", 3, "multi_round", {"until": ["a"]}, {"m": 1}, {"native": [1]}),
        ),
        Request((Message("user", (Text("Hi"),)),), Loglikelihood((" a", " b"), "none")),
        Request((Message("user", (Text("Hi"),)),), GenerateImage((8, 9), 1, 2, MappingProxyType({"steps": 2}))),
        OwnPrompt(Origin("t", "s")),
    ],
)
def test_requests_come_out_as_they_went_in(request_: Request | OwnPrompt) -> None:
    again = crossed(request_)
    assert again == request_
    origin = request_.origin
    if origin is not None:
        assert (again.origin.prompt, again.origin.reasoning_tags) == (origin.prompt, origin.reasoning_tags)
    for message, before in zip(again.messages, request_.messages, strict=True):
        assert [part.item for part in message.parts] == [part.item for part in before.parts]


def test_an_image_of_a_row_crosses_as_its_bytes_and_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    data, reads = jpeg(), []

    class Cell:
        file = "photos/one.jpg"

        def __call__(self) -> bytes:
            reads.append(1)
            return data

    image = Image(Cell(), "k:1:picture")
    monkeypatch.setattr("polymeter.core.content._decode", lambda *_: pytest.fail("nothing is decoded"))
    head, beside = packed([shown(image), shown(image)])
    monkeypatch.undo()
    assert len(beside) == 1, "once, although two requests show it"
    assert beside[0] == data
    assert len(head) < 2000
    assert reads == [1]
    first, second = unpacked(head, [bytes(beside[0])])
    (again,) = first.images()
    assert again is next(second.images())
    assert (again.original_bytes(), again.key, again.file_name()) == (data, "k:1:picture", "one.jpg")
    assert again.place() == "photos/one.jpg"
    assert again.open().tobytes() == image.open().tobytes()


def test_a_pillow_image_of_a_dataset_keeps_its_bytes_its_file_and_its_format() -> None:
    opened = open_image({"bytes": jpeg(), "path": "a/b.jpg"})
    (image,) = crossed(shown(Image(opened))).images()
    assert image.source.polymeter_bytes == opened.polymeter_bytes
    assert image.source.tile, "it is not decoded"
    assert (image.source.format, image.file_name()) == ("JPEG", "b.jpg")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "F", "CMYK"])
def test_drawn_images_come_back_exactly(mode: str) -> None:
    drawn = pil.effect_noise((40, 30), 90).convert("RGB").convert("L" if mode == "I;16" else mode)
    drawn = drawn.convert(mode) if mode != "I;16" else pil.frombytes("I;16", (40, 30), bytes(range(240)) * 10)
    response = Response((Output(images=(drawn,), usage=Usage(1, 2), finish_reason="stop"),), latency_ms=3.5)
    again = crossed(response)
    (image,) = again.outputs[0].images
    assert (image.mode, image.size, image.getpalette()) == (drawn.mode, drawn.size, drawn.getpalette())
    assert image.tobytes() == drawn.tobytes()
    assert (again.outputs[0].usage, again.latency_ms) == (Usage(1, 2), 3.5)


def test_a_changed_image_keeps_the_change(tmp_path: Path) -> None:
    opened = open_image({"bytes": jpeg()})
    opened.putpixel((0, 0), (1, 2, 3))
    (image,) = crossed(shown(Image(opened))).images()
    assert image.open().tobytes() == opened.tobytes()


def test_files_are_named_where_they_can_be_read_and_carried_where_not(tmp_path: Path) -> None:
    file = tmp_path / "one.jpg"
    file.write_bytes(jpeg())
    stored = open_stored(file)
    request = shown(Image(file), Image(str(file)), Image(stored), Audio(file), Video(str(file), None, 1.0, 2.0))
    near = list(crossed(request).media())
    assert [medium.source for medium in near[:2]] == [file, str(file)]
    assert (near[2].source.path, near[3].source, near[4].source) == (file, file, str(file))
    far = list(crossed(request, is_readable=lambda path: False).media())
    file.unlink()
    assert [image.open().size for image in far[:3]] == [(256, 256)] * 3
    assert far[0].place() == str(file)
    assert far[3].original_bytes() == far[0].original_bytes()
    assert (far[4].source, far[4].start_s, far[4].end_s) == (far[0].original_bytes(), 1.0, 2.0)


def test_a_video_takes_its_subtitles_along(tmp_path: Path) -> None:
    file = tmp_path / "a.srt"
    file.write_text("00:00:01,000 --> 00:00:02,000\nHello\n")
    rule = VideoRule(subtitles="whole")
    request = shown(Video("a.mp4", rule=rule, subtitles=file), Video("a.mp4", subtitles=file))
    near, unshown = crossed(request).media()
    assert (near.subtitles, unshown.subtitles) == (file, None)
    (far, _) = crossed(request, is_readable=lambda path: path.name == "a.mp4").media()
    assert far.subtitles == file.read_text()
    assert far.content_hash() != near.content_hash() or file.read_text() == far.subtitles


@pytest.mark.parametrize("text", ["00:00:01,000 --> 00:00:02,000\nHello\n", "Hello", ""])
def test_subtitles_whose_path_is_a_string_are_taken_along(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.srt"
    file.write_text(text)
    request = shown(Video("a.mp4", rule=VideoRule(subtitles="whole"), subtitles=str(file)))
    (far,) = crossed(request, is_readable=lambda path: path.name == "a.mp4").media()
    assert is_subtitle_text(far.subtitles)  # a line alone would be taken for a path there
    assert far.subtitles.strip() == text.strip()


def test_an_image_at_a_url_takes_the_bytes_along_that_were_fetched() -> None:
    image = Image("https://example.org/a.jpg")
    image.supply(jpeg())
    (again,) = crossed(shown(image)).images()
    assert (again.source, again.open().size) == (image.source, (256, 256))


def test_samples_of_a_recording_can_be_changed_where_they_arrive() -> None:
    numpy = pytest.importorskip("numpy")
    audio = Audio({"array": numpy.zeros(40_000, numpy.float32), "sampling_rate": 8000}, given=Given({"path": "a.wav"}))
    (again,) = crossed(shown(audio)).media()
    again.source["array"][0] = 1
    assert (again.given, audio.source["array"][0]) == (Given({"path": "a.wav"}), 0)


def test_what_cannot_be_read_or_sent_is_said() -> None:
    def broken() -> bytes:
        raise DataError("The row is torn.")

    with pytest.raises(DataError, match="The row is torn"):
        packed(shown(Image(broken)))
    with pytest.raises(ModelError, match="cannot be sent to another process"):
        packed(Request((), Generate(extra={"hook": lambda text: text})))


def test_texts_and_numbers_of_an_answer_lose_their_classes_and_keep_their_values() -> None:
    class Loud(str):
        def __str__(self) -> str:
            return self.upper()

    class Grade(int, Enum):
        GOOD = 3

    class Odd(float):
        def __float__(self) -> float:
            return 0.0

    response = Response(
        (Output(Loud("a"), calls=(Call("1", "f", {"grade": Grade.GOOD, Loud("odd"): Odd(2.5), "is": True}, ""),)),)
    )
    again = crossed(response, is_made_plain=True).outputs[0]
    assert (again.text, type(again.text)) == ("a", str)
    call = again.calls[0].arguments
    assert call == {"grade": 3, "odd": 2.5, "is": True}
    assert [type(value) for value in [*call, *call.values()]] == [str, str, str, int, float, bool]


def test_what_is_polymeters_own_keeps_its_class() -> None:
    again = crossed((SampleStatus.OK, "ok"), is_made_plain=True)
    assert [type(value) for value in again] == [SampleStatus, str]
