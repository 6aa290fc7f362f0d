"""What a pipeline draws: an image depends on its request and its seed, whatever it is drawn with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from polymeter.core.content import Audio, Image
from polymeter.core.errors import ModelError
from polymeter.core.request import Generate, GenerateImage, Request, Response
from tests.helpers.mixed_requests import picture, request

STEPS = {"num_inference_steps": 3}
PROMPTS = ("a red circle", "two blue squares left of a triangle, and a star in four colours", "star", "a red circle")
WAYS = [
    pytest.param("stable_diffusion", False, id="text to image"),
    pytest.param("stable_diffusion", True, id="image to image"),
    pytest.param("pix2pix", True, id="instruct-pix2pix"),
    pytest.param("flux", False, id="flow matching"),
    pytest.param("flux", True, id="flow matching, image to image"),
]


def ask(seed: int = 0, size: tuple[int, int] | None = (32, 32), **extra: Any) -> GenerateImage:
    return GenerateImage(size, seed, extra={**STEPS, **extra})


def asked(shows: bool, n: int = 1, **extra: Any) -> list[Request]:
    shown = (picture(32, 32),) if shows else ()
    return [
        request(*shown, prompt, ask=ask(10 * place + number, **extra))
        for place, prompt in enumerate(PROMPTS)
        for number in range(n)
    ]


def pixels(response: Response) -> list[np.ndarray[Any, Any]]:
    assert response.error is None, response.error
    return [np.asarray(output.images[0]) for output in response.outputs]


def equal(one: Response, other: Response) -> bool:
    pairs = zip(pixels(one), pixels(other), strict=True)
    return all(np.array_equal(first, second) for first, second in pairs)


@pytest.mark.parametrize(("name", "shows"), WAYS)
@pytest.mark.parametrize("images_per_call", [1, 3])
def test_an_image_is_the_same_whatever_is_drawn_with_it(
    loaded: Callable[..., Any], name: str, shows: bool, images_per_call: int
) -> None:
    model = loaded(name, images_per_call=images_per_call)
    requests = asked(shows, n=2)
    together = model.respond(requests)
    alone = [model.respond([one])[0] for one in requests]
    backwards = model.respond(requests[::-1])[::-1]
    assert all(map(equal, together, alone))
    assert all(map(equal, together, backwards))
    first, *others = [one for response in together for one in pixels(response)]
    assert first.shape == (32, 32, 3)
    assert not any(np.array_equal(first, other) for other in others)  # another prompt, or another seed


@pytest.mark.parametrize("scheduler", ["EulerAncestralDiscreteScheduler", "LCMScheduler", "DDPMScheduler"])
def test_noise_between_the_steps_is_each_images_own(loaded: Callable[..., Any], scheduler: str) -> None:
    model = loaded("stable_diffusion", scheduler=scheduler, images_per_call=4)
    requests = asked(False)
    assert all(map(equal, model.respond(requests), [model.respond([one])[0] for one in requests]))


def test_noise_for_all_rows_at_once_is_found_out_and_they_are_drawn_apart(loaded: Callable[..., Any]) -> None:
    model = loaded("flux", scheduler_args={"stochastic_sampling": True}, images_per_call=4)
    requests = asked(False)
    together = model.respond(requests)
    assert all(map(equal, together, [model.respond([one])[0] for one in requests]))
    assert not equal(together[0], loaded("flux").respond(requests[:1])[0])


def test_the_processes_own_random_numbers_are_left_alone(loaded: Callable[..., Any]) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    loaded("stable_diffusion").respond([request("a star", ask=ask())])
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("changed", "shows"),
    [
        ({"negative_prompt": "yellow triangles"}, False),
        ({"guidance_scale": 2.0}, False),
        ({"num_inference_steps": 5}, False),
        ({"guidance_rescale": 0.7}, False),
        ({"strength": 0.4}, True),
    ],
)
def test_settings_reach_the_pipeline(loaded: Callable[..., Any], changed: dict[str, Any], shows: bool) -> None:
    model = loaded("stable_diffusion")
    shown = (picture(32, 32),) if shows else ()
    plain, other = model.respond([request(*shown, "a star", ask=ask(**extra)) for extra in ({}, changed)])
    assert not equal(plain, other)


def test_a_size_is_drawn_and_an_image_is_brought_to_it(loaded: Callable[..., Any]) -> None:
    model = loaded("stable_diffusion")
    wide, edited, own = model.respond(
        [
            request("a star", ask=ask(size=(48, 32))),
            request(picture(20, 30), "a star", ask=ask(size=(32, 48))),
            request(picture(64, 48), "a star", ask=ask(size=None)),
        ]
    )
    assert [one.outputs[0].images[0].size for one in (wide, edited, own)] == [(48, 32), (32, 48), (64, 48)]


def test_images_of_several_sizes_in_one_batch_keep_their_own(loaded: Callable[..., Any]) -> None:
    model = loaded("pix2pix", images_per_call=3)
    requests = [request(picture(*size), "a star", ask=ask(size=None)) for size in ((32, 32), (48, 32), (32, 32))]
    together = model.respond(requests)
    assert [one.outputs[0].images[0].size for one in together] == [(32, 32), (48, 32), (32, 32)]
    assert all(map(equal, together, [model.respond([one])[0] for one in requests]))


def test_one_that_cannot_be_read_fails_alone(loaded: Callable[..., Any], tmp_path: Path) -> None:
    model = loaded("stable_diffusion", images_per_call=3)
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    fine = request(picture(32, 32), "a star", ask=ask())
    before, failed, after = model.respond([fine, request(Image(broken), "a star", ask=ask()), fine])
    assert failed.error.kind == "data"
    assert "broken.png" in failed.error.message
    assert equal(before, after)


@pytest.mark.parametrize(
    ("name", "parts", "told"),
    [
        ("pix2pix", ("a star",), "InstructPix2PixPipeline edits images, but the request has none"),
        ("pix2pix", (picture(8, 8), picture(8, 8), "a star"), "accepts one image, but the request has 2"),
        ("stable_diffusion", (), "neither a prompt nor an image"),
        ("stable_diffusion", (Audio(b"x"), "a star"), "the request holds audio"),
    ],
)
def test_what_a_pipeline_cannot_draw_is_said(
    loaded: Callable[..., Any], name: str, parts: tuple[Any, ...], told: str
) -> None:
    (response,) = loaded(name).respond([request(*parts, ask=ask())])
    assert told in response.error.message
    assert response.error.kind == "permanent"


def test_it_answers_no_other_ask(loaded: Callable[..., Any]) -> None:
    (response,) = loaded("stable_diffusion").respond([request("a star", ask=Generate())])
    assert "cannot answer 'generate'; it makes images" in response.error.message


def test_a_setting_that_nobody_knows_is_an_error_that_names_the_nearest(loaded: Callable[..., Any]) -> None:
    (response,) = loaded("stable_diffusion").respond([request("a star", ask=ask(guidence_scale=3.0))])
    assert "Unknown generation setting 'guidence_scale'" in response.error.message
    assert "'guidance_scale'" in response.error.message


class Stand:
    """A pipeline that is not one: gives what a function makes of its call's arguments."""

    def __init__(self, give: Callable[[dict[str, Any]], Any]) -> None:
        self.give = give
        self.calls: list[list[str]] = []

    def __call__(self, **given: Any) -> Any:
        self.calls.append(given["prompt"])
        return self.give(given)


@pytest.fixture
def stand(loaded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Stand]]:
    """A function that puts a stand-in for the pipeline into a model of three images a call."""

    def put(give: Callable[[dict[str, Any]], Any]) -> tuple[Any, Stand]:
        model = loaded("stable_diffusion", images_per_call=3)
        made = Stand(give)
        artist = model._artists["StableDiffusionPipeline"]
        monkeypatch.setattr(artist, "_pipeline", made)
        monkeypatch.setattr(artist, "_is_tried", True)
        return model, made

    return put


def blank(given: dict[str, Any], **further: Any) -> Any:
    from PIL import Image as Pictures

    return SimpleNamespace(images=[Pictures.new("RGB", (4, 4)) for _ in given["prompt"]], **further)


def test_calls_are_filled_up_to_their_size(stand: Callable[..., tuple[Any, Stand]]) -> None:
    model, pipeline = stand(blank)
    responses = model.respond([request(prompt, ask=ask()) for prompt in "abcd"])
    assert pipeline.calls == [["a", "b", "c"], ["d", "d", "d"]]
    assert [len(response.outputs) for response in responses] == [1, 1, 1, 1]
    assert model.batch_hint == 3


def test_what_the_safety_checker_blacks_out_is_refused(stand: Callable[..., tuple[Any, Stand]]) -> None:
    model, _ = stand(lambda given: blank(given, nsfw_content_detected=[text == "nude" for text in given["prompt"]]))
    fine, refused = model.respond([request(prompt, ask=ask()) for prompt in ("star", "nude")])
    assert fine.error is None
    assert refused.error.kind == "refused"
    assert "safety checker" in refused.error.message


def test_a_call_that_fails_is_tried_one_by_one(stand: Callable[..., tuple[Any, Stand]]) -> None:
    def give(given: dict[str, Any]) -> Any:
        if "bad" in given["prompt"]:
            raise ValueError("cannot draw this")
        return blank(given)

    model, _ = stand(give)
    responses = model.respond([request(prompt, ask=ask()) for prompt in ("a", "bad", "c")])
    assert [response.error is None for response in responses] == [True, False, True]
    assert "StableDiffusionPipeline raised ValueError: cannot draw this" in responses[1].error.message


def test_memory_that_runs_out_is_told_apart(stand: Callable[..., tuple[Any, Stand]]) -> None:
    def give(given: dict[str, Any]) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model, _ = stand(give)
    with pytest.raises(ModelError, match="images_per_call") as caught:
        model.respond([request("a", ask=ask())])
    assert caught.value.kind == "out_of_memory"
    model.relieve()


def test_a_pipeline_that_gives_too_few_images_is_found_out(stand: Callable[..., tuple[Any, Stand]]) -> None:
    model, _ = stand(lambda given: SimpleNamespace(images=[]))
    (response,) = model.respond([request("a", ask=ask())])
    assert "returned 0 images, but 3 images were requested" in response.error.message
