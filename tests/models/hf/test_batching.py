"""Batch size changes no answer: a batch of mixed requests answers as each request does alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polymeter.core.request import Generate, Request
from tests.helpers.checkpoints import ARCHITECTURES
from tests.helpers.mixed_requests import mixed_requests, picture, request, texts

ASKS: dict[str, Callable[[int], Generate]] = {
    "greedy": lambda _: Generate(10, 0.0),
    "sampled": lambda row: Generate(10, 0.9, 0.95, seed=row, extra={"top_k": 40}),
    "stopped": lambda _: Generate(10, 0.0, stop=("e", "is")),
    "beams": lambda _: Generate(6, 0.0, extra={"num_beams": 3}),
    "sampled beams": lambda row: Generate(6, 0.8, seed=row, extra={"num_beams": 2}),
}


def asked(requests: list[Request], ask: Callable[[int], Generate]) -> list[Request]:
    return [replace(one, parameters=ask(row)) for row, one in enumerate(requests)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("ask", ASKS)
def test_batch_answers_as_each_request_alone(model: Callable[..., Any], architecture: str, ask: str) -> None:
    made = model(architecture)
    requests = asked(mixed_requests(made.traits.modalities, is_speech=architecture == "whisper"), ASKS[ask])
    together = made.respond(requests)
    alone = [made.respond([one])[0] for one in requests]
    backwards = made.respond(requests[::-1])[::-1]
    assert [one.error for one in together] == [None] * len(requests)
    assert [one.outputs for one in together] == [one.outputs for one in alone] == [one.outputs for one in backwards]


@pytest.mark.parametrize("architecture", ["llava", "llava_next", "idefics3", "gemma3"])
def test_images_are_seen_and_told_apart(model: Callable[..., Any], architecture: str) -> None:
    """Answers depend on what is shown and on its order, so equality above is no accident."""
    made = model(architecture)
    one, other = picture(40, 30, 1), picture(40, 30, 2)
    shown = [request(one, "and", other), request(other, "and", one), request(one, "and", one), request("and")]
    requests = asked(shown, lambda row: Generate(12, 1.0, seed=0))
    assert len({answer for (answer,) in texts(made.respond(requests))}) == 4


@pytest.mark.parametrize("has_template", [True, False])
@pytest.mark.parametrize("architecture", ["llama", "qwen2", "llava", "llava_next"])
def test_models_without_a_chat_template_batch_too(
    model: Callable[..., Any], architecture: str, has_template: bool
) -> None:
    made = model(architecture, has_template=has_template)
    assert made.traits.is_completion is not has_template
    requests = mixed_requests(made.traits.modalities)
    assert texts(made.respond(requests)) == [texts(made.respond([one]))[0] for one in requests]


def test_what_differs_in_its_settings_is_computed_apart(model: Callable[..., Any]) -> None:
    made = model("llama")
    requests = [
        request("Hi", ask=Generate(3, 0.0)),
        request("Hello", ask=Generate(7, 0.0)),
        request("Hi", ask=Generate(3, 0.0)),
    ]
    lengths = [response.outputs[0].usage.output_tokens for response in made.respond(requests)]
    assert lengths == [3, 7, 3]
