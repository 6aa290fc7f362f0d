"""The embedded default model reads text, and says what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont, ImageOps

from polymeter.core.content import Image, Text, Video
from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Request, Response
from polymeter.models import ocr
from polymeter.models.ocr import OcrModel

pytestmark = pytest.mark.skipif(util.find_spec("rapidocr") is None, reason="the extra [ocr] is not installed")


@pytest.fixture(scope="module")
def model() -> Iterator[OcrModel]:
    made = OcrModel(n_threads=1)
    made.load()
    yield made
    made.close()


def page(*lines: str) -> Pictures.Image:
    """Lines of text in Pillow's own font, big."""
    picture = Pictures.new("RGB", (320, 320), "white")
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        draw.text((30, 30 + 80 * number), line, fill="black", font=ImageFont.load_default(size=48))
    return picture


def shown(*pictures: Any, ask: Any = None) -> Request:
    return Request((Message("user", (*map(Image, pictures), Text("What does it say?"))),), ask or Generate())


def read(model: OcrModel, *requests: Request) -> list[Response]:
    return model.respond(list(requests))


def test_it_reads_words_and_answers_each_request_in_order(model: OcrModel) -> None:
    word, nothing, pages = read(model, shown(page("Polymeter")), shown(), shown(page("FIRST", "SECOND"), page("THIRD")))
    assert [output.text for output in word.outputs] == ["Polymeter"]
    assert word.outputs[0].usage is not None
    assert word.outputs[0].usage.output_tokens == 1
    assert nothing.error is not None
    assert pages.text == "FIRST\nSECOND\n\nTHIRD", "line by line, and image after image"


def test_text_is_read_from_images_of_every_kind(model: OcrModel, tmp_path: Path) -> None:
    dark = page("BAKERY").convert("L")
    levels = np.asarray(dark)
    clear = Pictures.new("RGBA", dark.size, (0, 0, 0, 0))
    clear.putalpha(ImageOps.invert(dark))
    black_only = dark.point(lambda level: 0 if level < 128 else 1).convert("P")
    black_only.putpalette([0, 0, 0, 0, 0, 0])
    for name, picture in {
        "rgba.png": clear,
        "la.png": clear.convert("LA"),
        "rgba.webp": clear,
        "palette.png": black_only,
        "16 bits.png": Pictures.fromarray(levels.astype(np.uint16) * 257),
        "12 bits.tiff": Pictures.fromarray(levels.astype(np.uint16) * 16),
        "32 bits.tiff": Pictures.fromarray(levels.astype(np.int32) * 257),
        "float.tiff": Pictures.fromarray(levels / np.float32(255)),
        "printed.jpg": dark.convert("CMYK"),
    }.items():
        picture.save(tmp_path / name, **({"transparency": 1} if name == "palette.png" else {}))
        assert read(model, shown(tmp_path / name))[0].text == "BAKERY", name


def test_images_read_side_by_side_keep_their_order() -> None:
    words = ["ONE", "TWO", "SIX", "TEN"]
    model = OcrModel(n_threads=3)
    model.load()
    try:
        answers = read(model, *(shown(page(word)) for word in words * 2))
    finally:
        model.close()
    assert [answer.text for answer in answers] == words * 2
    assert model.batch_hint > 3, "several images for each thread"


def test_an_image_is_read_once_for_all_questions_about_it(model: OcrModel, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read(model, shown(page("KEPT")))
    monkeypatch.setattr(model, "_readers", None)
    assert read(model, shown(page("KEPT"), ask=Generate(max_new_tokens=7)))[0].text == first[0].text == "KEPT"


def test_nothing_spins_and_memory_is_kept(model: OcrModel) -> None:
    reader = model._readers.get()
    model._readers.put(reader)
    for part in (reader.text_det, reader.text_rec, reader.text_cls):
        options = part.session.session.get_session_options()
        assert options.intra_op_num_threads == 1, "with one thread there is no pool that could spin"
        assert options.inter_op_num_threads == 1
        assert options.enable_cpu_mem_arena


@pytest.mark.parametrize(
    ("n_cores", "n_bytes", "n_threads"), [(2, 8e9, 2), (64, 512e9, 8), (16, 4e9, 2), (4, 1e9, 1), (4, None, 1)]
)
def test_cores_and_memory_bound_its_threads(
    monkeypatch: pytest.MonkeyPatch, n_cores: int, n_bytes: float | None, n_threads: int
) -> None:
    monkeypatch.setattr(ocr, "available_cores", lambda: n_cores)
    monkeypatch.setattr(ocr, "memory_bytes", lambda: n_bytes)
    assert OcrModel()._n_threads == n_threads


@pytest.mark.parametrize("mode", ["RGBA", "1"])
def test_it_reads_images_of_any_mode(model: OcrModel, mode: str) -> None:
    assert read(model, shown(page("MODE").convert(mode)))[0].text.strip() == "MODE"


def test_a_video_is_read_frame_by_frame_and_what_stays_is_written_once(model: OcrModel) -> None:
    clip = [page("FIRST"), page("FIRST"), page("SECOND"), page(), page("THIRD")]
    (response,) = read(model, Request((Message("user", (Video(clip), Text("?"))),), Generate()))
    assert response.text == "FIRST\n\nSECOND\n\nTHIRD"


def test_frames_are_enlarged_less_than_images_before_text_is_searched_in_them(model: OcrModel) -> None:
    (response,) = read(model, Request((Message("user", (Image(page("PAGE")), Video([page("FRAME")]))),), Generate()))
    assert response.text == "PAGE\n\nFRAME"
    sides = []
    for readers in (model._readers, model._frame_readers):
        reader = readers.get_nowait()
        readers.put(reader)
        sides.append(reader.text_det.limit_side_len)
    assert sides == [736, 384]


def test_frames_are_its_identity_unless_they_are_the_usual_number() -> None:
    assert "video_frames" not in OcrModel(video_frames=8).identity, "as in runs from before it read videos"
    assert OcrModel(video_frames=16).identity["video_frames"] == 16
    with pytest.raises(PlanError, match="at least one frame"):
        OcrModel(video_frames=0)


def test_a_blank_image_is_read_as_no_text(model: OcrModel) -> None:
    (response,) = read(model, shown(Pictures.new("RGB", (200, 100), "white")))
    assert response.error is None
    assert response.text == ""


def test_text_alone_is_an_error_and_no_answer(model: OcrModel) -> None:
    (response,) = read(model, shown())
    assert response.error is not None
    assert response.error.kind == "permanent"
    assert "was shown no image" in response.error.message


@pytest.mark.parametrize("ask", [Loglikelihood(("a",)), GenerateImage()], ids=lambda ask: ask.kind)
def test_what_it_cannot_do_is_an_error(model: OcrModel, ask: Any) -> None:
    (response,) = read(model, shown(page("A"), ask=ask))
    assert response.error is not None
    assert f"cannot answer '{ask.kind}'" in response.error.message
    assert model.traits.requests[ask.kind] is False, "and planning knows it"


def test_versions_and_thresholds_are_its_identity_and_threads_are_not() -> None:
    identity = OcrModel().identity
    assert identity["rapidocr"] == metadata.version("rapidocr")
    assert identity["onnxruntime"] == metadata.version("onnxruntime")
    assert OcrModel(n_threads=2).identity == identity
    assert OcrModel(text_score=0.3).identity != identity
    assert OcrModel(box_score=0.3).identity != identity


def test_without_its_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda name: None if name == "onnxruntime" else object())
    with pytest.raises(PlanError, match=r"'onnxruntime', needed by model 'ocr'.*\[ocr\]"):
        OcrModel()


def test_it_says_that_it_reads_no_question_and_ends_at_no_limit(model: OcrModel) -> None:
    assert model.traits.ignores_text == "it returns the text in the image"
    assert model.ignores(Generate(max_new_tokens=8)) == {"max_new_tokens": "it returns all text in the image."}
    assert model.ignores(Generate(max_new_tokens=64)) == model.ignores(Generate()) == {}
