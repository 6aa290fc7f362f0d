"""The built-in image tools: their pixels are those of the image, and their texts say which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from polymeter.core.acting.episodes import EpisodeScene
from polymeter.core.acting.schemas import argument_problem, check_tools
from polymeter.core.acting.tools import Call
from polymeter.core.content import Image, Text
from polymeter.core.media.showing import ImageRule
from polymeter.tasks.acting.image_tools import IMAGE_TOOLS, ImageTool


def gradient(width: int = 200, height: int = 100) -> Picture.Image:
    return Picture.frombytes(
        "RGB", (width, height), bytes(b for y in range(height) for x in range(width) for b in (x % 256, y % 256, 7))
    )


def used(tool: ImageTool, *images: Any, **arguments: Any) -> tuple[str, Picture.Image]:
    text, image = tool.use(EpisodeScene({}, tuple(Image(one) for one in images)), arguments)
    assert isinstance(text, Text)
    assert isinstance(image, Image)
    return text.text, image.open()


@pytest.mark.parametrize(
    ("coordinates", "box", "said"),
    [
        ("fractions", [0.25, 0.5, 0.5, 1], "[0.250, 0.500, 0.500, 1.000]"),
        ("thousandths", [250, 500, 500, 1000], "[250, 500, 500, 1000]"),
        ("pixels", [50, 50, 100, 100], "[50, 50, 100, 100]"),
    ],
)
def test_a_crop_is_the_pixels_of_its_box(coordinates: Any, box: list[float], said: str) -> None:
    text, image = used(ImageTool("crop", coordinates), gradient(), box=box)
    assert image.tobytes() == gradient().crop((50, 50, 100, 100)).tobytes()
    assert text == f"Image 1 is 200 x 100 pixels. This is its part {said}, 50 x 50 pixels."


def test_a_zoom_enlarges_what_is_small() -> None:
    text, image = used(ImageTool("zoom", "pixels"), gradient(), box=[0, 0, 100, 50])
    assert image.size == (800, 400)  # 8 times, the most
    assert image.tobytes() == gradient().crop((0, 0, 100, 50)).resize((800, 400), Picture.Resampling.BICUBIC).tobytes()
    assert text.endswith("100 x 50 pixels, enlarged 8 times.")


def test_a_zoom_leaves_what_is_large() -> None:
    _, image = used(ImageTool("zoom", "pixels"), gradient(1300, 10), box=[0, 0, 1300, 10])
    assert image.tobytes() == gradient(1300, 10).tobytes()


def test_what_lies_outside_is_left_out_and_said() -> None:
    text, image = used(ImageTool("crop", "pixels"), gradient(), box=[150, -10, 900, 40])
    assert image.size == (50, 40)
    assert "[150, 0, 200, 40], 50 x 40 pixels" in text


def test_the_whole_image_is_read_although_a_smaller_one_is_shown(tmp_path: Path) -> None:
    gradient().save(tmp_path / "one.png")
    shown = Image(tmp_path / "one.png", rule=ImageRule(max_side=20))
    _, image = ImageTool("crop", "pixels").use(EpisodeScene({}, (shown,)), {"box": [0, 0, 200, 100]})
    assert image.open().size == (200, 100)  # type: ignore[union-attr]


def test_images_are_chosen_by_number() -> None:
    text, image = used(ImageTool("rotate"), gradient(), gradient(40, 20), image=2, degrees=90)
    assert image.tobytes() == gradient(40, 20).transpose(Picture.Transpose.ROTATE_270).tobytes()
    assert text == "Image 2 is 40 x 20 pixels. This is the whole of it, turned by 90 degrees clockwise, 20 x 40 pixels."


def test_a_grid_is_drawn_over_the_image() -> None:
    text, image = used(ImageTool("grid", "thousandths"), Picture.new("RGB", (400, 300), "white"), lines=4)
    assert image.size == (400, 300)
    assert [image.getpixel((x, 37)) == (255, 0, 0) for x in (0, 50, 100, 200, 299)] == [True, False, True, True, True]
    assert "a grid of 4 x 4 cells" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"box": [0, 0, 1, 1], "image": 2}, "There is no image 2: the sample has 1."),
        ({"box": [0.5, 0, 0.5, 1]}, "with left < right"),
        ({"box": [2, 2, 3, 3]}, "Nothing of the image lies in this box."),
        ({"box": [0.0001, 0.0001, 0.0002, 0.0002]}, "Nothing of the image lies in this box."),
    ],
)
def test_a_wrong_box_is_a_problem(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("[", r"\[")):
        ImageTool("crop").use(EpisodeScene({}, (Image(gradient()),)), arguments)


@pytest.mark.parametrize("kind", IMAGE_TOOLS)
def test_their_schemas_hold(kind: str) -> None:
    tool = ImageTool(kind).tool
    check_tools([tool])
    assert argument_problem(tool, Call("", kind, {"image": 0, "box": [0, 0, 1, 1], "degrees": 3}, ""))
    assert argument_problem(tool, Call("", kind, {"colour": "red"}, ""))
