"""Text-to-image and editing: prompts, settings, and the columns that say how images are scored."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from polymeter.core.errors import DataError, PlanError, UnscoredError
from polymeter.core.guest_context import answering_through, weights_from
from tests.tasks.table.classes.kit import Judge, played, results, served


def circles(colour: str, n: int = 1, size: int = 128) -> Image.Image:
    image = Image.new("RGB", (size, size), "white")
    draw = ImageDraw.Draw(image)
    for place in range(n):
        left = size * (0.08 + 0.45 * place)
        draw.ellipse((left, size * 0.3, left + size * 0.32, size * 0.62), fill=colour)
    return image


def encoded(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def scene(count: int, colour: str | None = None, label: str = "circle") -> str:
    clause = {"class": label, "count": count, **({"color": colour} if colour else {})}
    return json.dumps({"include": [clause]})


def test_prompt_and_settings(root: Path) -> None:
    row = {"index": 0, "prompt": "a dog", "negative_prompt": "blurry", "width": 64, "guidance_scale": 2.5, "height": ""}
    dataset = served(root, [row, {"index": 1, "prompt": "a cat"}])
    assert dataset.build_prompt(0) == [{"type": "text", "value": "a dog"}]
    settings = dataset.generation_settings(dataset.data.iloc[0])
    assert settings == {"negative_prompt": "blurry", "width": 64, "guidance_scale": 2.5}
    assert isinstance(settings["width"], int)
    assert dataset.generation_settings(dataset.data.iloc[1]) == {}


def test_a_setting_that_is_no_number_is_that_rows_error(root: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "a dog", "width": "wide"}])
    with pytest.raises(DataError, match="'wide' is not a number"):
        dataset.generation_settings(dataset.data.iloc[0])


@pytest.mark.parametrize("width", ["64.5", "0", "inf", "-8"])
def test_a_size_that_is_no_count_of_pixels_is_that_rows_error(root: Path, width: str) -> None:
    dataset = served(root, [{"index": 0, "prompt": "a dog", "width": width}])
    with pytest.raises(DataError, match=rf"'{width}' is not a (whole )?number.*row '0', column 'width'"):
        dataset.generation_settings(dataset.data.iloc[0])


def test_editing_shows_the_image_first(root: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "make it blue", "image": encoded(circles("red"))}])
    image, text = dataset.build_prompt(0)
    assert (image["type"], text) == ("image", {"type": "text", "value": "make it blue"})


def test_a_row_without_an_image_to_edit_is_that_rows_error(root: Path) -> None:
    rows = [{"index": 0, "prompt": "a", "image": ""}, {"index": 1, "prompt": "b", "image": encoded(circles("red"))}]
    dataset = served(root, rows)
    with pytest.raises(DataError, match=r"This row has no image to edit.*row '?0'?, column 'image'"):
        dataset.build_prompt(0)
    assert len(dataset.build_prompt(1)) == 2


def test_a_scene_is_looked_for_in_the_pixels(root: Path, tmp_path: Path) -> None:
    rows = [
        {"index": 0, "prompt": "a red circle", "scene": scene(1, "red"), "tag": "colors"},
        {"index": 1, "prompt": "two circles", "scene": scene(2), "tag": "counting"},
        {"index": 2, "prompt": "a blue circle", "scene": scene(1, "blue"), "tag": "colors"},
    ]
    dataset = served(root, rows)
    drawn = [[circles("red")], [circles("green", 2)], [circles("red")]]
    scored = played(dataset, drawn)
    assert scored[1].score is not None
    assert ("colour", "none") not in scored[1].score.values
    found = results(dataset, scored, tmp_path)
    assert found["correct"].value == pytest.approx(2 / 3)
    assert (found["colour"].value, found["colour"].n, found["colour"].n_planned) == (0.5, 2, 2)
    assert found["correct tag/counting"].value == 1
    assert "position" not in found
    explanation = dataset.evaluate_sample(dataset.data.iloc[2], drawn[2])["explanation"]
    assert explanation.startswith("Expected circle in blue, found red.")


def test_gold_images_have_full_marks_and_empty_ones_none(root: Path, tmp_path: Path) -> None:
    reference = circles("blue")
    rows = [
        {"index": 0, "prompt": "x", "scene": scene(1, "blue"), "reference": encoded(reference)},
    ]
    dataset = served(root, rows)
    gold = results(dataset, played(dataset, [[reference]]), tmp_path)
    assert {name: found.value for name, found in gold.items()} == {
        "correct": 1,
        "count": 1,
        "colour": 1,
        "psnr": 100,
        "ssim": pytest.approx(1),
    }
    empty = results(dataset, played(dataset, [[Image.new("RGB", (128, 128), "black")]]), tmp_path)
    assert (empty["correct"].value, empty["count"].value) == (0, 0)
    assert empty["psnr"].value < 10


def test_several_images_of_a_prompt_are_averaged(root: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "a red circle", "scene": scene(1, "red")}])
    drawn = [circles("red"), circles("green"), circles("red"), circles("red", 2)]
    found = dataset.evaluate_sample(dataset.data.iloc[0], drawn)
    assert found["correct"] == 0.75
    assert found["colour"] == 0.75
    assert [line[:2] for line in found["explanation"].splitlines()] == ["1:", "2:", "3:", "4:"]


def test_things_that_are_no_shapes_need_a_detector(root: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "a dog", "scene": scene(1, label="dog")}])
    with pytest.raises(PlanError, match=r"'shapes' knows drawn shapes, but not 'dog'.*tsv.detector=hf:"):
        dataset.evaluate_sample(dataset.data.iloc[0], [circles("red")])
    dataset.detector = "shapes"
    with pytest.raises(PlanError, match="knows drawn shapes, but not 'dog'"):
        dataset.evaluate_sample(dataset.data.iloc[0], [circles("red")])
    dataset.detector = "eyes"
    with pytest.raises(PlanError, match="There is no detector 'eyes'"):
        dataset.evaluate_sample(dataset.data.iloc[0], [circles("red")])


def test_a_broken_scene_names_row_and_column(root: Path) -> None:
    dataset = served(root, [{"index": 5, "prompt": "a dog", "scene": "{}"}])
    with pytest.raises(DataError, match=r"A scene asks for nothing.*row '?5'?, column 'scene'"):
        dataset.evaluate_sample(dataset.data.iloc[0], [circles("red")])


def test_a_reference_may_be_a_file_beside_the_table(root: Path) -> None:
    circles("blue").save(root / "wanted.png")
    dataset = served(root, [{"index": 0, "prompt": "x", "reference": "wanted.png"}])
    found = dataset.evaluate_sample(dataset.data.iloc[0], [circles("blue", size=64)])
    assert 0.5 < found["ssim"] < 1
    assert found["explanation"].endswith("resized to the reference's size first")


@pytest.mark.parametrize("cell", ["missing.png", "aGVsbG8=", "!" * 2000])
def test_a_reference_that_is_no_image_names_row_and_column(root: Path, cell: str) -> None:
    dataset = served(root, [{"index": 3, "prompt": "x", "reference": cell}])
    with pytest.raises(DataError, match=r"row '?3'?, column 'reference'"):
        dataset.evaluate_sample(dataset.data.iloc[0], [circles("blue")])


def test_a_checklist_is_gone_through_by_the_judge(root: Path, tmp_path: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "x", "checklist": '["It is red.", "It is round."]'}])
    answers = [{"item": 1, "holds": True, "why": "red"}, {"item": 2, "holds": False, "why": "square"}]
    judge = Judge(json.dumps({"answers": answers}))
    with answering_through(judge):
        scored = played(dataset, [[circles("red")]])
    found = results(dataset, scored, tmp_path)
    assert dataset.notes() == ("Its checklists are used only if the run has a judge.",)
    assert (found["checklist"].value, found["checklist_all"].value) == (0.5, 0)
    assert [image.open().size for image in judge.asked[0].images()] == [(128, 128)]
    scores = dataset.evaluate_sample(dataset.data.iloc[0], [circles("red")])
    assert scores == {"explanation": "The checklist of this row needs a judge, but the run has none."}


def test_without_scoring_columns_a_judge_gives_a_number(root: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"index": 0, "prompt": "make it blue", "image": encoded(circles("red"))}]
    dataset = served(root, rows)
    judge = Judge("Fine.\nRating: [[7]]")
    with answering_through(judge):
        scored = played(dataset, [[circles("blue")]])
    assert results(dataset, scored, tmp_path)["judge_score"].value == 7
    assert len(list(judge.asked[0].images())) == 2
    with answering_through(Judge("Lovely!")), pytest.raises(UnscoredError):
        dataset.evaluate_sample(dataset.data.iloc[0], [circles("blue")])


def test_with_neither_nothing_is_scored_and_it_is_said(root: Path, tmp_path: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "a dog"}])
    found = results(dataset, played(dataset, [[circles("red")]]), tmp_path)
    assert [(name, result.value, result.n) for name, result in found.items()] == [("judge_score", None, 0)]
    assert "only if the run has a judge" in dataset.notes()[0]
    scores = dataset.evaluate_sample(dataset.data.iloc[0], [circles("red")])
    assert scores["explanation"].startswith("Nothing scores this image")
    scored = served(root, [{"index": 0, "prompt": "a dog", "scene": scene(1)}], "other")
    assert scored.notes() == ()


def test_lpips_is_measured_where_its_weights_are_named(root: Path, tmp_path: Path) -> None:
    from tests.helpers.perceptual import make_perceptual_weights

    reference = circles("blue")
    dataset = served(root, [{"index": 0, "prompt": "x", "reference": encoded(reference)}])
    drawn = [[reference], [circles("red")]]
    assert "lpips" not in dataset.evaluate_sample(dataset.data.iloc[0], drawn[0])
    with weights_from({"lpips": str(make_perceptual_weights(tmp_path))}):
        same, other = (dataset.evaluate_sample(dataset.data.iloc[0], images)["lpips"] for images in drawn)
        found = results(dataset, played(dataset, drawn[:1]), tmp_path)["lpips"]
    assert same == 0 < other
    assert (found.value, found.n, found.n_planned, found.higher_is_better) == (0, 1, 1, False)


def test_weights_that_are_not_there_are_reported_before_anything_is_drawn(root: Path, tmp_path: Path) -> None:
    dataset = served(root, [{"index": 0, "prompt": "x", "reference": encoded(circles("blue"))}])
    with weights_from({"lpips": str(tmp_path)}), pytest.raises(PlanError, match=r"alexnet\*\.pth is missing"):
        dataset.check_scoring()
