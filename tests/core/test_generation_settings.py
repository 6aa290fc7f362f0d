"""Generation settings as people write them."""

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, GenerateImage
from polymeter.core.settings.generation import image_parameters, text_parameters


@pytest.mark.parametrize("name", ["n", "num_generations", "num_images_per_prompt", "num_return_sequences"])
def test_how_many_has_many_names(name: str) -> None:
    assert image_parameters({name: 3}, n_default=4)[1] == 3
    assert text_parameters({name: 3})[1] == 3


def test_a_settings_own_name_wins_and_defaults_fill_what_is_left() -> None:
    assert image_parameters({"n": 2, "num_generations": 3})[1] == 2
    assert image_parameters({}, n_default=4) == (GenerateImage(), 4)
    assert text_parameters({"max_tokens": 9}, {"max_new_tokens": 5, "temperature": 0.5}) == (Generate(9, 0.5), 1)


@pytest.mark.parametrize(
    ("told", "size"),
    [
        ({"size": "1024x768"}, (1024, 768)),
        ({"size": "1024 × 768"}, (1024, 768)),
        ({"size": [640, 480]}, (640, 480)),
        ({"width": 512}, (512, 512)),
        ({"width": "512", "height": 256, "size": "1x1"}, (512, 256)),
        ({"width": 512.0}, (512, 512)),
        ({"size": "auto"}, None),
        ({}, None),
    ],
)
def test_sizes(told: dict, size: tuple[int, int] | None) -> None:
    assert image_parameters(told)[0].size == size


def test_a_runs_size_wins_over_a_tasks_width_and_height() -> None:
    assert image_parameters({"size": "16x24"}, defaults={"width": 64, "height": 32})[0].size == (16, 24)
    assert image_parameters({"size": ""}, defaults={"width": 64, "height": 32})[0].size == (64, 32)
    assert image_parameters({"width": 16}, defaults={"size": "64x32"})[0].size == (16, 16)


def test_the_rest_keeps_the_fields_names() -> None:
    told = {"steps": 20, "guidance_scale": 4.5, "negative_prompt": "blur", "seed": 3, "strength": None}
    assert image_parameters(told)[0].extra == {
        "num_inference_steps": 20,
        "guidance_scale": 4.5,
        "negative_prompt": "blur",
    }


def test_several_texts_are_sampled_and_greedy_ones_have_no_temperature() -> None:
    assert text_parameters({"n": 2})[0].extra == {"do_sample": True}
    assert text_parameters({}, {"do_sample": False})[0].temperature == 0.0
    assert text_parameters({"stop": "X"})[0].stop == ("X",)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"n": "many"}, "'n' must be a number, not 'many'"),
        ({"n": -1}, "'n' must be 1 or more, not -1"),
        ({"n": 0}, "'n' must be 1 or more, not 0"),
        ({"n": 2.5}, "'n' must be a whole number, not 2.5"),
        ({"n": float("inf")}, "'n' must be a whole number, not inf"),
        ({"size": "0x0"}, "'size' must be 1 or more, not '0'"),
        ({"width": 0}, "'width' must be 1 or more, not 0"),
        ({"size": "large"}, "width and height, not 'large'"),
        ({"size": [1, 2, 3]}, "width and height"),
        ({"width": "wide"}, "'width' must be a number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(told: dict, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        image_parameters(told)


@pytest.mark.parametrize("stop", [5, ["a", 5], {"a": 1}])
def test_a_text_to_stop_at_is_a_text(stop: object) -> None:
    with pytest.raises(PlanError, match="'stop' must be a text or a list of texts"):
        text_parameters({"stop": stop})
    assert text_parameters({"stop": ""})[0].stop == text_parameters({"stop": ["", "b"]})[0].stop[1:] == ()
