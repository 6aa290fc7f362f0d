"""Shapes are found in scenes that somebody else drew: any background, jagged or smooth, compressed, touching."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from tests.helpers.drawn_scenes import BACKGROUNDS, Drawn, draw, random_things

pytest.importorskip("cv2")

from polymeter.library.shapes.recognition import find_shapes
from polymeter.metrics.colours import colour_name, lab

ROUND_AND_ANGULAR = ["circle", "square", "triangle"]


def found(image: Image.Image) -> list[tuple[str, str]]:
    return sorted((shape.label, shape.colour) for shape in find_shapes(np.asarray(image)).shapes)


def wrong_scenes(name: str, n: int, size: int, after: Callable[[Image.Image], Image.Image], **how: Any) -> list[int]:
    """The scenes in which anything at all is seen wrongly."""
    wrong = []
    for number in range(n):
        rng = random.Random(f"{name}{number}")
        background = rng.choice(BACKGROUNDS)
        things = random_things(rng, size, how["shapes"], background, how["apart"])
        image = after(
            draw(
                things,
                size,
                background,
                finer=rng.choice([1, 2, 3, 4]),
                turn=how["turn"],
                jitter=how["jitter"],
                rng=rng,
            )
        )
        if found(image) != sorted((thing.shape, thing.colour) for thing in things):
            wrong.append(number)
    return wrong


def as_is(image: Image.Image) -> Image.Image:
    return image


def as_jpeg(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return Image.open(buffer).convert("RGB")


def grainy(image: Image.Image) -> Image.Image:
    grain = np.random.default_rng(0).normal(0, 4, (image.height, image.width, 3))
    return Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).astype("uint8"))


@pytest.mark.parametrize(
    ("name", "size", "after", "how", "most_wrong"),
    [
        ("apart", 256, as_is, {"apart": 1.3, "turn": 0.0, "jitter": 8}, 0),
        ("turned", 256, as_is, {"apart": 1.3, "turn": 3.1, "jitter": 8, "shapes": [*ROUND_AND_ANGULAR, "star"]}, 0),
        ("touching", 256, as_is, {"apart": 0.9, "turn": 0.2, "jitter": 0}, 1),
        ("large", 1024, as_is, {"apart": 1.1, "turn": 0.3, "jitter": 8}, 0),
        ("small", 128, as_is, {"apart": 1.3, "turn": 0.0, "jitter": 8}, 1),
        ("compressed", 256, as_jpeg, {"apart": 1.3, "turn": 0.2, "jitter": 8}, 1),
        ("grainy", 256, grainy, {"apart": 1.3, "turn": 0.2, "jitter": 8}, 0),
    ],
)
def test_random_scenes_are_read_whole(name: str, size: int, after: Any, how: dict[str, Any], most_wrong: int) -> None:
    how = {"shapes": ROUND_AND_ANGULAR, **how}
    assert len(wrong_scenes(name, 15 if size > 512 else 50, size, after, **how)) <= most_wrong


def test_boxes_are_those_of_the_shapes() -> None:
    things = [Drawn("circle", "red", 60, 70, 30), Drawn("square", "blue", 180, 180, 40)]
    for size, scale in ((256, 1), (1024, 4), (128, 0.5)):
        scaled = [Drawn(t.shape, t.colour, t.x * scale, t.y * scale, t.radius * scale) for t in things]
        circle, square = find_shapes(np.asarray(draw(scaled, size, (255, 255, 255)))).shapes
        assert circle.box == pytest.approx((30 * scale, 40 * scale, 90 * scale, 100 * scale), abs=2 * max(1, scale))
        assert square.box == pytest.approx((144 * scale, 144 * scale, 216 * scale, 216 * scale), abs=2 * max(1, scale))
        assert circle.mask.shape == (size, size) if scale >= 1 else circle.mask.any()


def test_the_background_is_what_fills_the_border() -> None:
    drawing = find_shapes(np.asarray(draw([Drawn("square", "white", 128, 128, 100)], 256, (20, 20, 20))))
    assert drawing.background == (20, 20, 20)
    assert [(shape.label, shape.colour) for shape in drawing.shapes] == [("square", "white")]


def test_shapes_of_one_colour_that_touch_are_parted() -> None:
    things = [Drawn("circle", "green", 90, 128, 40), Drawn("circle", "green", 164, 128, 40)]
    assert found(draw(things, 256, (255, 255, 255), finer=3)) == [("circle", "green")] * 2


def test_a_shape_inside_another_is_seen_and_so_is_the_outer_one() -> None:
    things = [Drawn("square", "black", 128, 128, 90), Drawn("circle", "white", 128, 128, 40)]
    assert found(draw(things, 256, (200, 200, 200))) == [("circle", "white"), ("square", "black")]


def test_a_line_around_a_shape_is_no_shape_and_a_line_alone_is_one() -> None:
    image = Image.new("RGB", (256, 256), "white")
    pen = ImageDraw.Draw(image)
    pen.ellipse((20, 20, 100, 100), fill=(215, 35, 40), outline="black", width=3)
    pen.rectangle((140, 140, 220, 220), outline=(45, 90, 220), width=6)
    assert found(image) == [("circle", "red"), ("square", "blue")]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8])
def test_an_outlined_shape_is_one_shape(width: int) -> None:
    image = Image.new("RGB", (256, 256), "white")
    ImageDraw.Draw(image).polygon([(128, 40), (220, 210), (36, 210)], fill=(45, 165, 65), outline="black", width=width)
    assert found(image) == [("triangle", "green")]


@pytest.mark.parametrize(
    ("box", "label"),
    [((20, 60, 236, 140), "rectangle"), ((20, 60, 236, 160), "rectangle"), ((60, 60, 160, 160), "square")],
)
def test_a_rectangle_is_no_square(box: tuple[int, int, int, int], label: str) -> None:
    image = Image.new("RGB", (256, 256), "white")
    ImageDraw.Draw(image).rectangle(box, fill=(45, 165, 65))
    assert found(image) == [(label, "green")]


def test_an_ellipse_is_no_circle_and_a_cross_no_star() -> None:
    image = Image.new("RGB", (256, 256), "white")
    pen = ImageDraw.Draw(image)
    pen.ellipse((20, 20, 120, 70), fill=(45, 165, 65))
    pen.rectangle((140, 170, 230, 200), fill=(215, 35, 40))
    pen.rectangle((170, 140, 200, 230), fill=(215, 35, 40))
    assert found(image) == [("cross", "red"), ("ellipse", "green")]


def test_what_fits_nothing_is_a_shape() -> None:
    image = Image.new("RGB", (256, 256), "white")
    ImageDraw.Draw(image).polygon([(40, 40), (220, 60), (60, 80), (50, 220), (30, 70)], fill=(215, 35, 40))
    assert found(image) == [("shape", "red")]


@pytest.mark.parametrize("size", [(256, 256), (1, 1), (3, 200)])
def test_an_empty_image_holds_nothing(size: tuple[int, int]) -> None:
    assert found(Image.new("RGB", size, (30, 60, 90))) == []


def test_an_image_without_plain_colours_is_read_to_an_end() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (300, 300, 3)).astype("uint8")
    find_shapes(noise)
    find_shapes(np.asarray(Image.fromarray(noise).filter(ImageFilter.GaussianBlur(6))))


def test_the_colour_space_is_that_of_the_standard() -> None:
    color = pytest.importorskip("skimage.color")
    values = np.random.default_rng(0).integers(0, 256, (100, 3))
    assert np.abs(lab(values) - color.rgb2lab(values / 255)).max() < 0.01


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((255, 0, 0), "red"),
        ((220, 20, 60), "red"),
        ((255, 165, 0), "orange"),
        ((255, 215, 0), "yellow"),
        ((0, 100, 0), "green"),
        ((0, 0, 128), "blue"),
        ((75, 0, 130), "purple"),
        ((255, 192, 203), "pink"),
        ((139, 69, 19), "brown"),
        ((12, 12, 12), "black"),
        ((250, 250, 250), "white"),
        ((128, 128, 128), "gray"),
    ],
)
def test_colours_have_the_names_that_people_give_them(rgb: tuple[int, int, int], name: str) -> None:
    expected = {(75, 0, 130): {"purple", "blue"}}.get(rgb, {name})
    assert colour_name(rgb) in expected
