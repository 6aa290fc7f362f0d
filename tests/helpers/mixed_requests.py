"""Requests that differ in everything that a batch has to even out: length, number of media, and their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image as Pictures

from polymeter.core.content import Audio, Image, Modality, Part, Text
from polymeter.core.request import Generate, Message, Parameters, Request


def picture(width: int, height: int, seed: int = 0) -> Image:
    """An image of noise."""
    pixels = np.random.default_rng([seed, width, height]).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image(Pictures.fromarray(pixels))


def sound(n_samples: int, seed: int = 0) -> Audio:
    """A sound of noise at 16 kHz."""
    samples = np.random.default_rng([seed, n_samples]).standard_normal(n_samples).astype(np.float32)
    return Audio({"array": samples, "sampling_rate": 16_000})


def request(*parts: Part | str, ask: Parameters | None = None, system: str = "", begun: str = "") -> Request:
    """One question; ``begun``: the beginning of its answer."""
    content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    messages = [Message("user", content)]
    if system:
        messages.insert(0, Message("system", (Text(system),)))
    if begun:
        messages.append(Message("assistant", (Text(begun),)))
    return Request(tuple(messages), ask or Generate(8, 0.0))


def mixed_requests(modalities: Mapping[Modality, bool], *, is_speech: bool = False) -> list[Request]:
    """Requests for a model of these modalities: none, one, two and three media, short and long texts."""
    if is_speech:
        return [request(sound(n)) for n in (4000, 16_000, 9000)]
    first = [request("How many circles are there?")]
    if modalities["image"]:
        return [
            *first,
            request(picture(40, 30), "What is it?"),
            request("Compare", picture(100, 30), "and", picture(30, 90), "please."),
            request(picture(64, 64), picture(20, 20), picture(55, 31), "Which of the three shows a triangle, please?"),
        ]
    if modalities["audio"]:
        return [
            *first,
            request(sound(4000), "What do you hear?"),
            request(sound(9000), "Listen, and then say which is left of the other:", sound(16_000)),
        ]
    return [
        *first,
        request("Which of the choices is right? A. square B. circle C. star D. none. Answer directly."),
        request("Hi"),
        request("Describe it.", system="You answer in one sentence."),
    ]


def texts(responses: Any) -> list[list[str | None]]:
    """The texts of responses, all of which must be answers."""
    assert [response.error for response in responses] == [None] * len(responses)
    return [[output.text for output in response.outputs] for response in responses]
