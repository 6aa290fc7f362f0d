"""The model that comes with Polymeter answers about a picture, and only from the picture it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import util
from typing import Any

import pytest
from PIL import Image as Pictures
from PIL import ImageDraw

from polymeter.core.content import Image, Text
from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, Loglikelihood, Message, Request
from polymeter.models import tiny_vlm
from polymeter.models.tiny_vlm import FOLDER, TinyVlm

needs_torch = pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("torch", "transformers")), reason="the extra [hf] is not installed"
)
COLOURS = ("red", "green", "blue", "yellow")
RGB = {"red": (215, 35, 40), "green": (45, 165, 65), "blue": (45, 90, 220), "yellow": (240, 220, 50)}


@pytest.fixture(scope="module")
def model() -> Iterator[TinyVlm]:
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    made = TinyVlm(device="cpu")
    made.load()
    yield made
    made.close()
    torch.set_num_threads(n_threads)


def circle(colour: str, side: int = 64) -> Pictures.Image:
    picture = Pictures.new("RGB", (side, side), (235, 235, 235))
    box = [side * share for share in (0.25, 0.25, 0.75, 0.75)]
    ImageDraw.Draw(picture).ellipse(box, fill=RGB[colour])
    return picture


def asked(picture: Any, question: str, ask: Any = None) -> Request:
    return Request((Message("user", (Image(picture), Text(question))),), ask or Generate(max_new_tokens=8))


def test_what_is_shipped_is_small_and_says_where_it_comes_from() -> None:
    assert (FOLDER / "model.safetensors").stat().st_size <= 4_000_000
    assert json.loads((FOLDER / "config.json").read_text())["architectures"] == ["LlavaForConditionalGeneration"]
    card = (FOLDER / "README.md").read_text()
    for word in ("train_tiny_vlm.py", "--seed", "Apache-2.0", "CC BY 4.0"):
        assert word in card


@needs_torch
@pytest.mark.parametrize("side", [64, 200])
def test_it_names_a_colour_whatever_the_size_of_the_picture(model: TinyVlm, side: int) -> None:
    question = "What colour is the circle?\nAnswer with one word."
    responses = model.respond([asked(circle(colour, side), question) for colour in COLOURS])
    assert [response.text.strip() for response in responses] == list(COLOURS)
    assert all(response.outputs[0].finish_reason == "stop" for response in responses)


@needs_torch
def test_the_likeliest_choice_is_the_greedy_answer(model: TinyVlm) -> None:
    choices = tuple(f" {colour}" for colour in COLOURS)
    question = "What colour is the circle?\nAnswer with one word."
    requests = [asked(circle(colour), question, Loglikelihood(choices)) for colour in COLOURS]
    for place, response in enumerate(model.respond(requests)):
        logprobs = response.outputs[0].logprobs
        assert max(range(4), key=lambda number: logprobs[number].logprob) == place
        assert [one.is_greedy for one in logprobs] == [number == place for number in range(4)]


@needs_torch
def test_the_second_turn_of_a_dialogue_rests_on_the_first_answer(model: TinyVlm) -> None:
    picture = Pictures.new("RGB", (64, 64), (235, 235, 235))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((4, 20, 26, 42), fill=RGB["red"])
    draw.rectangle((40, 22, 58, 40), fill=RGB["blue"])
    first = Message("user", (Image(picture), Text("Which shape is on the left?\nAnswer with one word.")))
    follow_up = Message("user", (Text("What colour is it?\nAnswer with one word."),))
    told = [
        Request((first, Message("assistant", (Text(shape),)), follow_up), Generate(max_new_tokens=8))
        for shape in ("circle", "square")
    ]
    assert [response.text.strip() for response in model.respond(told)] == ["red", "blue"]


@needs_torch
def test_every_text_survives_its_tokenizer() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)
    for text in ("Which shape is red?", " naïve — 数 \n\t\x07", "A. red\nB. blue", " 42"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


@needs_torch
def test_its_weights_are_its_identity_and_the_device_is_not() -> None:
    assert TinyVlm(device="cpu").identity == TinyVlm().identity
    assert TinyVlm().identity["dtype"] == "float32"


def test_without_its_packages_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny_vlm, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(PlanError, match=r"'torch', needed by model 'tiny_vlm'.*\[hf\]"):
        TinyVlm()
