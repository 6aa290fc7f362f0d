"""What the model reads out of prompts, and what it refuses to guess."""

from __future__ import annotations

import pytest

from polymeter.core.errors import ModelError
from polymeter.library.shapes.reading import DescribedDrawing, Edit, ShapeGroup, read_edit, read_order

RED_TWO = ShapeGroup("circle", 2, "red")
BLUE = ShapeGroup("square", 1, "blue")


@pytest.mark.parametrize(
    ("prompt", "order"),
    [
        ("two red circles left of a blue square", DescribedDrawing((RED_TWO, BLUE), "left of", 1)),
        ("Two red circles to the left of a blue square.", DescribedDrawing((RED_TWO, BLUE), "left of", 1)),
        ("2 red circles are on the right of the blue square", DescribedDrawing((RED_TWO, BLUE), "right of", 1)),
        ("a photo of a star over a cross", DescribedDrawing((ShapeGroup("star"), ShapeGroup("cross")), "above", 1)),
        (
            "Please draw a star under crosses",
            DescribedDrawing((ShapeGroup("star"), ShapeGroup("cross", 2)), "below", 1),
        ),
        ("three green triangles", DescribedDrawing((ShapeGroup("triangle", 3, "green"),))),
        (
            "a big grey disc and a tiny dot",
            DescribedDrawing((ShapeGroup("circle", 1, "gray", "large"), ShapeGroup("circle", 1, "", "small"))),
        ),
        (
            "a star, a cross, and two squares",
            DescribedDrawing((ShapeGroup("star"), ShapeGroup("cross"), ShapeGroup("square", 2))),
        ),
        (
            "a large red circle on a black background",
            DescribedDrawing((ShapeGroup("circle", 1, "red", "large"),), background="black"),
        ),
        (
            "a star and a cross above two squares against a white background",
            DescribedDrawing((ShapeGroup("star"), ShapeGroup("cross"), ShapeGroup("square", 2)), "above", 2, "white"),
        ),
    ],
)
def test_prompts_of_scenes(prompt: str, order: DescribedDrawing) -> None:
    assert read_order(prompt) == order


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("a dog", "does not understand 'a dog' in the prompt 'a dog'.*It knows circle, square"),
        ("a furry circle", "does not understand 'furry'"),
        ("a red blue circle", "does not understand 'blue'"),
        ("twenty circles", "does not understand 'twenty'"),
        ("eight circles and eight squares", "at most 12 shapes, not 16"),
        ("a circle on a mauve background", "does not understand 'mauve'"),
        ("a star above a circle left of a square", "does not understand more than one relation"),
        ("", "does not understand ''"),
        ("left of", "does not understand"),
    ],
)
def test_what_it_does_not_understand_it_says(prompt: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read_order(prompt)


@pytest.mark.parametrize(
    ("prompt", "edit"),
    [
        ("make the square red", Edit("recolour", ShapeGroup("square"), colour="red")),
        ("Turn the blue squares green.", Edit("recolour", ShapeGroup("square", 2, "blue"), colour="green")),
        ("change the color of the star to pink", Edit("recolour", ShapeGroup("star"), colour="pink")),
        ("change the colour of all stars to pink", Edit("recolour", ShapeGroup("star", 2), colour="pink")),
        ("remove the triangle", Edit("remove", ShapeGroup("triangle"))),
        ("erase the red crosses", Edit("remove", ShapeGroup("cross", 2, "red"))),
        (
            "add a small blue circle in the top left corner",
            Edit("add", ShapeGroup("circle", 1, "blue", "small"), place="top left"),
        ),
        ("add a star in the centre", Edit("add", ShapeGroup("star"), place="center")),
        ("put a star at the upper-right corner", Edit("add", ShapeGroup("star"), place="top right")),
        ("move the star to the middle", Edit("move", ShapeGroup("star"), place="center")),
        ("swap the circle and the square", Edit("swap", ShapeGroup("circle"), ShapeGroup("square"))),
        ("swap the red circle with the square", Edit("swap", ShapeGroup("circle", 1, "red"), ShapeGroup("square"))),
        ("swap the colors of the star and the cross", Edit("swap colours", ShapeGroup("star"), ShapeGroup("cross"))),
        ("make the background black", Edit("background", colour="black")),
        ("change the background color to white", Edit("background", colour="white")),
    ],
)
def test_prompts_of_changes(prompt: str, edit: Edit) -> None:
    assert read_edit(prompt) == edit


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("make it nicer", "does not understand 'it'"),
        ("paint the sky blue", "does not understand 'the sky'"),
        ("make the square transparent", "does not understand 'transparent'"),
        ("move the star to the far left", "does not understand 'far left'"),
        ("two red circles", "no change that it can make"),
    ],
)
def test_changes_that_it_does_not_understand(prompt: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read_edit(prompt)
