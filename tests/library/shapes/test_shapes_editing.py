"""Images that are changed: by what is seen in them, and nowhere else."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image as PILImage

pytest.importorskip("cv2")
pytest.importorskip("skimage")

from polymeter.core.errors import ModelError, PlanError
from polymeter.library.shapes.editing import edited, taken_apart
from polymeter.library.shapes.reading import read_edit
from polymeter.metrics.detectors import make_detector
from polymeter.metrics.image import psnr
from tests.helpers.drawn_scenes import Drawn, draw

WHITE = (255, 255, 255)
THINGS = [
    Drawn("circle", "red", 60, 70, 30),
    Drawn("square", "blue", 190, 170, 34),
    Drawn("star", "green", 190, 60, 34),
]


def scene(things: list[Drawn] = THINGS, background: tuple[int, int, int] = WHITE, finer: int = 3) -> PILImage.Image:
    return draw(things, 256, background, finer=finer)


def seen(image: PILImage.Image) -> list[str]:
    return sorted(f"{thing.colour} {thing.label}" for thing in make_detector().detect(image))


def changed(prompt: str, image: PILImage.Image | None = None) -> PILImage.Image:
    return edited(image or scene(), read_edit(prompt))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("make the circle yellow", ["blue square", "green star", "yellow circle"]),
        ("remove the star", ["blue square", "red circle"]),
        (
            "add a small orange triangle in the bottom left corner",
            ["blue square", "green star", "orange triangle", "red circle"],
        ),
        ("add a star in the center", ["blue square", "green star", "red circle", "red star"]),
        ("move the star to the center", ["blue square", "green star", "red circle"]),
        ("swap the circle and the square", ["blue square", "green star", "red circle"]),
        ("swap the colors of the circle and the square", ["blue circle", "green star", "red square"]),
        ("make the background black", ["blue square", "green star", "red circle"]),
    ],
)
def test_the_change_is_made(prompt: str, expected: list[str]) -> None:
    assert seen(changed(prompt)) == expected


def test_what_is_not_changed_stays_as_it_was() -> None:
    before, after = np.asarray(scene()).astype(int), np.asarray(changed("make the circle yellow")).astype(int)
    away = np.ones((256, 256), dtype=bool)
    away[35:105, 25:95] = False
    assert np.abs(before - after)[away].max() <= 1
    assert np.abs(before - after)[70, 60].max() > 50


@pytest.mark.parametrize("finer", [1, 3])
@pytest.mark.parametrize("background", [WHITE, (20, 20, 20), (200, 200, 200)])
def test_an_image_that_is_taken_apart_goes_together_again(finer: int, background: tuple[int, int, int]) -> None:
    image = scene(background=background, finer=finer)
    layers = taken_apart(np.asarray(image))
    assert layers.background == background
    assert len(layers.shapes) == 3
    assert psnr(layers.image(256, 256), image, 100) > 45


def test_a_change_of_colour_is_the_image_drawn_in_that_colour() -> None:
    yellow = [Drawn("circle", "yellow", 60, 70, 30), *THINGS[1:]]
    drawn_so = scene(yellow)
    ours = np.asarray(changed("make the circle yellow")).astype(int)
    inside = ours[70, 60]
    assert seen(PILImage.fromarray(ours.astype("uint8"))) == seen(drawn_so)
    # The model's yellow is another shade; the edge is as soft as if it had been drawn.
    edge = ours[70, 29:33, 2]
    assert inside[2] <= edge.min() + 1
    assert edge.max() <= 255


def test_removing_leaves_the_background() -> None:
    after = np.asarray(changed("remove the circle"))
    assert (after[35:105, 25:95] == 255).all()


def test_moving_is_by_whole_pixels_and_swapping_twice_is_nothing() -> None:
    once = changed("swap the circle and the square")
    assert psnr(once, scene()) < 25
    assert psnr(changed("swap the circle and the square", once), scene(), 100) > 30


def test_words_choose_by_colour_and_number() -> None:
    two = [Drawn("circle", "red", 60, 70, 30), Drawn("circle", "blue", 190, 170, 34)]
    assert seen(changed("remove the red circle", scene(two))) == ["blue circle"]
    assert seen(changed("make the circles green", scene(two))) == ["green circle", "green circle"]


@pytest.mark.parametrize("prompt", ["remove the triangle", "make the blue circle red", "swap the star and the cross"])
def test_what_is_not_there_cannot_be_changed(prompt: str) -> None:
    with pytest.raises(ModelError, match=r"sees no .* in the image, but (blue|red|green)"):
        changed(prompt)


def test_in_an_empty_image_there_is_nothing() -> None:
    with pytest.raises(ModelError, match="sees no star in the image, but nothing"):
        changed("remove the star", PILImage.new("RGB", (64, 64), "white"))


def test_images_of_any_mode_and_size_are_taken() -> None:
    wide = PILImage.new("RGBA", (400, 200), "white")
    wide.paste(scene().crop((0, 0, 256, 200)))
    assert "yellow circle" in seen(changed("make the circle yellow", wide))
    assert changed("make the circle yellow", wide).size == (400, 200)


def test_without_opencv_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        PlanError, match=r"'opencv-python-headless', needed by editing by the model 'shapes'.*image-metrics"
    ):
        changed("remove the star")
