"""What the viewer shows of media: images with boxes, recordings, videos, generated images; and what it refuses."""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter.report.content import RunMedia
from tests.helpers.shown import Elements, html, made, picture, put
from tests.report.drawn import DrawnRun
from tests.report.synthetic import exchange, sample


@pytest.fixture
def media(tmp_path: Path) -> RunMedia:
    return RunMedia(tmp_path, lambda name: f"/media/{name}")


def test_a_preview_keeps_the_true_size_of_its_image(media):
    name = picture(media, "ab.preview.jpg", (768, 512))
    shown = media.picture({"file": name, "width": 3000, "height": 2000, "name": "a.jpg"})
    assert (shown.width, shown.height, shown.kept, shown.size) == (3000, 2000, (768, 512), "3000 × 2000 px")
    whole = media.picture({"file": picture(media), "width": 400, "height": 300})
    assert (whole.width, whole.kept) == (400, None)


def test_a_turned_photograph_has_the_size_that_browsers_show(media):
    image = Image.new("RGB", (40, 30))
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", exif=exif)
    shown = media.picture({"file": put(media, "cd.jpg", buffer.getvalue())})
    assert (shown.width, shown.height) == (30, 40)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ab.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>"),
        ("ab.html", b"<script>window.hacked = 1</script>"),
        ("ab.png", b"\x89PNG\r\n\x1a\nbroken"),
    ],
)
def test_what_is_no_image_is_not_shown_as_one(media, name, data):
    shown = media.picture({"file": put(media, name, data)})
    assert shown.url == ""
    assert shown.why_absent


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a\0b.png", "x" * 5000, "", "ab01.png/../../s.png"])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    media = RunMedia(tmp_path / "media", lambda name: f"/media/{name}")
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    assert media.picture({"file": name}).url == ""
    assert media.clip("audio", {"file": name}).url == ""


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    media = RunMedia(tmp_path / "media", lambda name: f"/media/{name}")
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    (tmp_path / "media" / "ab").mkdir(parents=True)
    (tmp_path / "media" / "ab" / "ab.png").symlink_to(tmp_path / "secret.png")
    assert media.picture({"file": "ab.png"}).url == ""


def test_a_url_is_told_and_not_fetched(media):
    shown = media.picture({"url": "https://example.org/a.png"})
    assert shown.url == ""
    assert "https://example.org/a.png" in shown.why_absent


def wav(seconds: float) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(int(16000 * seconds)))
    return buffer.getvalue()


def test_a_recording_has_a_player_and_its_length(media):
    name = put(media, "ab.wav", wav(2.5))
    clip = media.clip("audio", {"file": name, "source": "a.wav"})
    assert (clip.url, clip.seconds) == ("/media/ab.wav", 2.5)
    asked = exchange(None, "how many?", "two")
    asked["request"]["messages"][0]["parts"].insert(0, {"audio": {"file": name, "source": "a.wav"}})
    page = Elements(html(media, sample(0, exchanges=[asked])))
    # Beside the texts it can be played; in the chat it is named.
    (player,) = page.all("audio")
    assert "autoplay" not in player
    assert player["preload"] == "metadata"


def test_a_video_is_a_strip_and_a_player_where_it_is_kept(media):
    strip = picture(media, "ab.strip.jpg", (852, 160))
    note = {"file": strip, "source": "v.mp4", "width": 320, "height": 240, "duration_s": 3.0, "start_s": 1.0}
    clip = media.clip("video", note)
    assert (clip.url, clip.strip.size, clip.span) == ("", "852 × 160 px", (1.0, None))
    assert "frames" in clip.why_absent
    kept = put(media, "cd.mp4", b"\0\0\0\x18ftypisom" + bytes(50))
    played = media.clip("video", {**note, "clip": kept})
    assert (played.url, played.strip.url, played.why_absent) == (
        "/media/cd.mp4#t=1",
        "/media/ab.strip.jpg",
        "",
    )


def shown_image(media: RunMedia, prompt: str, target: Any, answer: str, **more: Any) -> Any:
    file = picture(media)
    asked = exchange(file, prompt, answer)
    asked["request"]["messages"][0]["parts"][0]["image"] = {"file": file, "width": 400, "height": 300}
    (figure,) = made(media, sample(0, target=target, answer=answer, exchanges=[asked], **more))["pictures"].data
    return figure


def test_boxes_of_target_and_answer_are_drawn_with_their_scale(media):
    figure = shown_image(media, "Where is it?", "[40, 30, 200, 180]", "<box>(100,100),(500,600)</box>")
    target, answer = figure.layers
    assert (target.owner, target.readings[0][0], target.readings[0][2][0].numbers) == (
        "target",
        "pixels",
        (40.0, 30.0, 160.0, 150.0),
    )
    assert (answer.owner, answer.readings[0][0], answer.readings[0][2][0].numbers) == (
        "answer",
        "thousand",
        (40.0, 30.0, 160.0, 150.0),
    )
    assert "read as pixels: all numbers lie within the image." in target.why
    assert "read as 0–1000: <box> usually counts in thousandths." in answer.why
    assert figure.iou == "1.000"


def test_a_box_of_the_row_is_drawn_where_the_target_has_none_and_xywh_is_said(media):
    doc = {"bbox": [40, 30, 160, 150], "bbox_format": "xywh"}
    figure = shown_image(media, "Which animal?", "cat", "cat", doc=doc)
    (layer,) = figure.layers
    assert layer.readings[0][2][0].numbers == (40.0, 30.0, 160.0, 150.0)
    assert layer.why.startswith("from the row's 'bbox'; left, top, width and height, as the row says; read as pixels")


def test_an_answer_is_read_as_corners_and_that_is_said_where_the_row_has_sizes(media):
    doc = {"bbox": [40, 30, 160, 150], "bbox_format": "xywh"}
    figure = shown_image(media, "Where is the cat?", "cat", "[40, 30, 200, 180]", doc=doc)
    assert figure.iou == "1.000"
    assert figure.layers[1].why.startswith(
        "boxes read as corners, though the row's have width and height; read as pixels"
    )


def test_lists_of_a_question_about_numbers_are_not_drawn(media):
    assert shown_image(media, "Sort these numbers.", "[1, 2, 3, 4]", "[1, 2, 3, 4]").layers == ()


def test_drawn_shapes_are_in_words_too(media):
    file = picture(media)
    stored = sample(
        0, target="[40, 30, 200, 180]", answer="none", exchanges=[exchange(file, "Where is the box?", "none")]
    )
    page = html(media, stored)
    assert 'role="img" aria-label="Drawn over the image: target: 1 shape"' in page
    assert "box 40, 30 to 200, 180" in page


@pytest.fixture
def edited(media) -> dict[str, Any]:
    run = DrawnRun()
    for name, data in run.files.items():
        put(media, name, data)
    return run.by_task["edits"][0]


def test_an_edit_stands_between_input_and_reference_with_a_slider(media, edited):
    shown = made(media, edited)
    assert [drawing.label for drawing in shown["drawn"].data.drawings] == ["Input", "Output", "Reference"]
    slider = shown["compare"].data
    assert (slider.shown[slider.left].label, slider.shown[slider.right].label) == ("Input", "Output")
    assert "pictures" not in shown
    page = Elements(html(media, edited))
    (bar,) = [one for one in page.all("input") if one.get("type") == "range"]
    assert (bar["min"], bar["max"]) == ("0", "100")
    # Without a script the slider is not there, and the images stand side by side.
    assert "hidden" in next(one for one in page.all("div") if "data-c-compare" in one)


def test_several_images_have_their_seeds_and_no_slider(media):
    run = DrawnRun()
    for name, data in run.files.items():
        put(media, name, data)
    shown = made(media, run.by_task["paint"][1])
    facts = [drawing.facts[0] for drawing in shown["drawn"].data.drawings]
    assert facts == ["seed 1000", "seed 1001", "seed 1002"]
    assert "compare" not in shown


def test_an_image_that_is_gone_is_said_to_be(media, edited):
    (media.folder / "bl" / "blue.png").unlink()
    shown = made(media, edited)
    assert "compare" not in shown
    assert "missing from the run" in shown["drawn"].data.drawings[1].picture.why_absent


def test_two_samples_on_a_page_share_no_choice_of_scale(media):
    file = picture(media)
    asked = exchange(file, "Where is the box?", "[40, 30, 200, 180]")
    stored = sample(0, target="[40, 30, 200, 180]", answer="[40, 30, 200, 180]", exchanges=[asked])
    pages = [Elements(html(media, stored, key=key)) for key in ("a", "b")]
    names = [{one["name"] for one in page.all("input") if one.get("type") == "radio"} for page in pages]
    assert all(len(own) == 2 for own in names)
    assert not names[0] & names[1]


def test_the_row_and_the_log_are_there_without_images(media, edited):
    tables = made(media, edited)["row"].data
    assert [table.title for table in tables] == ["Row of the dataset", "Log of the scoring"]
    assert [name for name, _ in tables[1].rows] == ["steps"]


def test_the_row_is_unfolded_where_nothing_was_answered(media):
    assert made(media, sample(0))["row"].data[0].is_open
    assert not made(media, sample(0, exchanges=[exchange(None, "q", "a")]))["row"].data[0].is_open
