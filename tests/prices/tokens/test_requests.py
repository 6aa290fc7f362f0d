"""The tokens of requests before they are sent."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.media.showing import ImageRule, VideoRule
from polymeter.core.model import ModelSpec, ModelTraits
from polymeter.core.request import Generate, Loglikelihood, Message, Origin, OwnPrompt, Request
from polymeter.models.mock import MockEndpoint
from polymeter.prices.tokens import TokenCount, TokenRule, request_tokens, token_rule
from polymeter.prices.tokens.texts import TextRule


def png(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    pil.new("L", (width, height)).save(buffer, "PNG")
    return buffer.getvalue()


def asked(*parts: Part, **extra: Any) -> Request:
    return Request((Message("user", parts),), Generate(extra=extra))


def model(name: str, **args: Any) -> MockEndpoint:
    made = MockEndpoint(lambda request: "", ModelTraits("mock", is_endpoint=True))
    made.made_from = ModelSpec("openai", name, args)
    return made


def test_text_counts_by_characters_with_a_wide_range() -> None:
    count = request_tokens(asked(Text("word " * 400)), TokenRule())
    assert 400 <= count.expected <= 600
    assert count.low < 400 < 900 < count.high
    assert count.upper >= 2000
    assert not count.assumed


def test_a_tokenizer_makes_text_exact() -> None:
    rule = TokenRule(text=TextRule(count=lambda text: len(text.split())))
    short, long = (request_tokens(asked(Text("word " * n)), rule) for n in (1, 401))
    assert long.expected - short.expected == long.low - short.low == 400


def test_a_measured_factor_narrows_the_range() -> None:
    text = "some text in plain English, of no great length"
    plain, measured = TextRule().of(text), TextRule(factor=1.1, spread=0.1).of(text)
    assert measured.expected == pytest.approx(plain.expected * 1.1)
    assert measured.high / measured.low == pytest.approx(1.1 / 0.9)


@given(st.text(max_size=200))
def test_no_text_has_more_tokens_than_its_bound(text: str) -> None:
    """A tokenizer that knows nothing but bytes is the worst of all; the compatibility form may be longer."""
    count = TextRule().of(text)
    assert count.low <= count.expected <= count.high <= count.upper
    assert count.upper >= len(text.encode("utf-8", "surrogatepass"))


def test_the_compatibility_form_of_a_character_may_be_longer() -> None:
    assert TextRule().of("\ufdfa").upper >= 18


def test_an_image_counts_from_its_header_as_it_is_shown() -> None:
    rule = token_rule(model("gpt-4o"))
    whole = Image(png(1500, 1500))
    small = Image(png(1500, 1500), rule=ImageRule(max_side=512))
    text = request_tokens(asked(Text("a")), rule).expected
    assert request_tokens(asked(Text("a"), whole), rule).expected - text == 765
    assert request_tokens(asked(Text("a"), small), rule).expected - text == 255
    assert not whole.is_decoded
    assert request_tokens(asked(Text("a"), whole), token_rule(model("gpt-4o", max_image_side=400))).expected - text == (
        255
    )
    assert request_tokens(asked(Text("a"), whole), token_rule(model("gpt-4o", image_detail="low"))).expected - text == (
        85
    )


@pytest.mark.parametrize("source", ["https://example.org/a.png", Path("/nowhere/a.png"), b"no image"])
def test_an_image_that_cannot_be_read_widens_the_range(source: Any) -> None:
    count = request_tokens(asked(Image(source)), token_rule(model("gpt-4o")))
    assert count.assumed == {"image"}
    assert count.high > 2 * count.low
    assert count.upper >= 85 + 170 * 8


def test_frames_of_a_video_count_like_images() -> None:
    frames = [pil.new("RGB", (400, 300))] * 20
    rule = token_rule(model("gpt-4o", num_frames=4))
    one = request_tokens(asked(Image(png(400, 300))), rule).expected - request_tokens(asked(), rule).expected
    four = request_tokens(asked(Video(frames)), rule).expected - request_tokens(asked(), rule).expected
    two = request_tokens(asked(Video(frames, rule=VideoRule(frames=2))), rule).expected
    assert four == 4 * one == 4 * 255
    assert two - request_tokens(asked(), rule).expected == 2 * 255


def test_audio_counts_by_seconds() -> None:
    import numpy as np

    sound = Audio({"array": np.zeros(16_000 * 10, np.float32), "sampling_rate": 16_000})
    empty = request_tokens(asked(), TokenRule())
    count = request_tokens(asked(sound), token_rule(model("gemini-2.5-flash")))
    assert count.expected - empty.expected == pytest.approx(320)
    unknown = request_tokens(asked(sound), TokenRule())
    assert unknown.assumed == {"audio"}
    assert unknown.upper > unknown.high > 5 * (unknown.low - empty.low)


def test_continuations_count_with_their_context_where_they_are_sent_apart() -> None:
    request = Request((Message("user", (Text("context " * 100),)),), Loglikelihood(("yes", "no", "maybe")))
    prompt = request_tokens(asked(Text("context " * 100)), TokenRule())
    apart = request_tokens(request, TokenRule())
    together = request_tokens(request, TokenRule(scores_apart=False))
    assert apart.expected > 3 * prompt.expected
    assert apart.low == prompt.low
    assert together.expected < 1.1 * prompt.expected


def test_tools_are_read_by_the_model() -> None:
    tools = [{"type": "function", "function": {"name": "look", "description": "words " * 200}}]
    plain = request_tokens(asked(Text("a")), TokenRule())
    assert request_tokens(asked(Text("a"), tools=tools), TokenRule()).expected > plain.expected + 200
    assert request_tokens(asked(Text("a"), top_k=3), TokenRule()) == plain


def test_an_own_prompt_is_unknown() -> None:
    assert request_tokens(OwnPrompt(Origin("task", "0")), TokenRule()) == TokenCount()


def test_a_known_bound_of_pixels_holds() -> None:
    tight = token_rule(model("Qwen/Qwen2.5-VL-7B-Instruct", max_pixels=256 * 28 * 28))
    assert tight.image_of((3000, 3000)).expected <= 258
