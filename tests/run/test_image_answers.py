"""A model that gives something other than the images it was asked for: that sample's error says what came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.request import Generate, GenerateImage, Message, Origin, Output, Request, Response
from polymeter.run.dispatch.answers import checked

RED = pil.new("RGB", (4, 4), "red")


def given(*outputs: Any, ask: Any = None) -> Response:
    request = Request((Message("user", ()),), ask or GenerateImage(), Origin("t", "0"))
    return checked(request, Response(tuple(outputs)))


def complaint(*outputs: Any, ask: Any = None) -> str:
    response = given(*outputs, ask=ask)
    assert response.error is not None
    assert response.error.kind == "permanent"
    assert not response.outputs
    return response.error.message


def test_images_pass() -> None:
    assert given(Output(images=(RED,))).error is None
    assert given(Output(images=(RED, RED), text="Here.")).error is None


def test_a_wrong_number_is_told() -> None:
    assert "gave 3 outputs where 1 image(s) were asked for" in complaint(*[Output(images=(RED,))] * 3)


def test_text_in_place_of_an_image_is_told() -> None:
    assert "the model gave text and no image: 'I cannot draw that.'" in complaint(Output(text="I cannot\ndraw that."))
    assert complaint(Output(text="x" * 400)).endswith("…'.")
    assert "neither an image nor text" in complaint(Output())
    assert "neither an image nor text" in complaint(Output(text=""))
    assert "text and no image" in complaint(Output(images=(RED,)), Output(text="no"))


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (("/tmp/a.png",), "gave a str in place of an image"),
        ((b"\x89PNG",), "gave a bytes in place of an image"),
        ((np.zeros((4, 4, 3)),), "gave a ndarray in place of an image"),
        ((RED, None), "gave a NoneType in place of an image"),
        (RED, "gave a Image in place of the images of an output"),
        ("/tmp/a.png", "gave a str in place of the images of an output"),
        ((pil.new("RGB", (0, 5)),), "an empty image of 0 x 5 pixels"),
    ],
)
def test_what_is_no_picture_is_told(images: Any, words: str) -> None:
    assert words in complaint(Output(images=images))


def test_an_image_in_place_of_text_is_told() -> None:
    assert "The request asked for text, but the model gave 1 image(s) and no text" in complaint(
        Output(images=(RED,)), ask=Generate()
    )
    assert given(Output(text="yes", images=(RED,)), ask=Generate()).error is None


def test_rounds_that_a_model_drives_may_hold_anything() -> None:
    request = Request((), GenerateImage(), Origin("t", "0", protocol="multi_round"))
    assert checked(request, Response((Output(text="a"), Output(images=(RED,))))).error is None
