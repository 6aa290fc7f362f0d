"""The key of a request: whatever changes what is sent changes it, and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule
from polymeter.core.request import (
    Generate,
    GenerateImage,
    Loglikelihood,
    Message,
    Origin,
    OwnPrompt,
    Parameters,
    Request,
)
from polymeter.models.mock import MockBatch
from tests.helpers.openai_stub import png
from tests.helpers.reused import key_of, seen_by

PIXELS = pil.new("RGB", (5, 4), (9, 8, 7))
SOUND = {"array": [0.0, 0.5, -0.5], "sampling_rate": 8000}
FRAMES = [pil.new("RGB", (4, 4), (level, 0, 0)) for level in (0, 100, 200)]
SYSTEM = Message("system", (Text("Be brief."),))


def other_pixel() -> pil.Image:
    image = PIXELS.copy()
    image.putpixel((2, 3), (9, 8, 6))
    return image


def request(
    *parts: Part,
    parameters: Parameters | None = None,
    before: tuple[Message, ...] = (SYSTEM,),
    is_listed: bool = False,
    origin: Origin | None = None,
) -> Request:
    shown = parts or (Text("one"), Text("two"))
    return Request((*before, Message("user", shown, is_listed=is_listed)), parameters or Generate(16, 0.0), origin)


def generate(**changes: Any) -> Request:
    return request(Text("q"), parameters=replace(Generate(16, 0.0, 0.9, ("x",), 5, 0, {"top_k": 3}), **changes))


def video(**changes: Any) -> Request:
    return request(Video(FRAMES, rule=VideoRule(**{"frames": 4, **changes})), Text("q"))


INGREDIENTS: dict[str, tuple[Request, Request]] = {
    "a letter": (request(Text("q")), request(Text("Q"))),
    "the system prompt": (request(Text("q")), request(Text("q"), before=(Message("system", (Text("Be long."),)),))),
    "no system prompt": (request(Text("q")), request(Text("q"), before=())),
    "the role of a message": (request(Text("q")), request(Text("q"), before=(Message("user", SYSTEM.parts),))),
    "an earlier answer": (request(Text("q")), request(Text("q"), before=(SYSTEM, Message("assistant", (Text("a"),))))),
    "two texts instead of one": (request(Text("onetwo")), request(Text("one"), Text("two"))),
    "texts as a list": (request(), request(is_listed=True)),
    "an item beside a text": (request(Text("q")), request(Text("q", item={"cache_control": {"type": "ephemeral"}}))),
    "max_new_tokens": (generate(), generate(max_new_tokens=17)),
    "temperature": (generate(), generate(temperature=0.1)),
    "top_p": (generate(), generate(top_p=0.8)),
    "stop": (generate(), generate(stop=("x", "y"))),
    "seed": (generate(), generate(seed=6)),
    "no seed": (generate(), generate(seed=None)),
    "a further setting": (generate(), generate(extra={"top_k": 4})),
    "reasoning": (generate(), generate(extra={"top_k": 3, "reasoning_effort": "low"})),
    "tools": (generate(), generate(extra={"top_k": 3, "tools": [{"type": "function", "function": {"name": "f"}}]})),
    "template": (generate(), generate(template="none")),
    "tags in which stop strings do not count": (
        request(Text("q"), parameters=Generate(stop=("x",))),
        request(
            Text("q"), parameters=Generate(stop=("x",)), origin=Origin("t", "0", reasoning_tags=(("<a>", "</a>"),))
        ),
    ),
    "one pixel": (request(Image(PIXELS), Text("q")), request(Image(other_pixel()), Text("q"))),
    "one pixel under the same key": (
        request(Image(PIXELS, key="k"), Text("q")),
        request(Image(other_pixel(), key="k"), Text("q")),
    ),
    "the encoding of an image": (request(Image(png("red")), Text("q")), request(Image(PIXELS), Text("q"))),
    "the order of parts": (request(Image(PIXELS), Text("q")), request(Text("q"), Image(PIXELS))),
    "another image besides": (request(Image(PIXELS), Text("q")), request(Image(PIXELS), Image(PIXELS), Text("q"))),
    "no image": (request(Image(PIXELS), Text("q")), request(Text("q"))),
    "the largest side of images": (
        request(Image(PIXELS, rule=ImageRule(max_side=4)), Text("q")),
        request(Image(PIXELS, rule=ImageRule(max_side=3)), Text("q")),
    ),
    "a rule for images": (
        request(Image(PIXELS), Text("q")),
        request(Image(PIXELS, rule=ImageRule(max_side=3)), Text("q")),
    ),
    "the frames of a video": (video(), video(frames=5)),
    "the rule of a video": (video(), video(rule="fps")),
    "one frame": (
        request(Video(FRAMES), Text("q")),
        request(Video([*FRAMES[:2], pil.new("RGB", (4, 4), "white")]), Text("q")),
    ),
    "the part of a video": (
        request(Video(png("red"), None, 0.0, 2.0), Text("q")),
        request(Video(png("red"), None, 0.0, 3.0), Text("q")),
    ),
    "a sample of a recording": (
        request(Audio(SOUND), Text("q")),
        request(Audio({**SOUND, "array": [0.0, 0.5, 0.5]}), Text("q")),
    ),
    "the rate of a recording": (
        request(Audio(SOUND), Text("q")),
        request(Audio({**SOUND, "sampling_rate": 16000}), Text("q")),
    ),
    "the rate that is shown": (
        request(Audio(SOUND, rule=AudioRule(rate=16000)), Text("q")),
        request(Audio(SOUND, rule=AudioRule(rate=8000)), Text("q")),
    ),
    "the kind of request": (request(Text("q")), request(Text("q"), parameters=GenerateImage())),
    "a continuation": (
        request(Text("q"), parameters=Loglikelihood(("a", "b"))),
        request(Text("q"), parameters=Loglikelihood(("a", "c"))),
    ),
    "the order of continuations": (
        request(Text("q"), parameters=Loglikelihood(("a", "b"))),
        request(Text("q"), parameters=Loglikelihood(("b", "a"))),
    ),
    "the reading of a context": (
        request(Text("q"), parameters=Loglikelihood(("a",))),
        request(Text("q"), parameters=Loglikelihood(("a",), is_last_token=True)),
    ),
    "the size of an image": (
        request(Text("q"), parameters=GenerateImage((8, 8), 1)),
        request(Text("q"), parameters=GenerateImage((8, 9), 1)),
    ),
    "a setting of an image": (
        request(Text("q"), parameters=GenerateImage((8, 8), 1, extra={"guidance_scale": 3})),
        request(Text("q"), parameters=GenerateImage((8, 8), 1, extra={"guidance_scale": 4})),
    ),
}


@pytest.mark.parametrize("ingredient", INGREDIENTS)
def test_whatever_is_sent_is_in_the_key(ingredient: str) -> None:
    one, other = INGREDIENTS[ingredient]
    assert key_of(one) == key_of(one) != ""
    assert key_of(one) != key_of(other)


def test_equal_pixels_in_any_place_have_one_key(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png("red"))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c.png").write_bytes(png("red"))
    sources: list[Any] = [tmp_path / "a.png", str(tmp_path / "b/c.png"), png("red"), lambda: png("red")]
    keys = {key_of(request(Image(source, key=f"k{n}"), Text("q"))) for n, source in enumerate(sources)}
    assert len(keys) == 1
    sounds = {key_of(request(Audio(dict(SOUND), key=key), Text("q"))) for key in ("a", "b", None)}
    assert len(sounds) == 1


def test_the_row_counts_only_for_a_model_that_reads_rows() -> None:
    one, other = (request(Text("q"), origin=Origin(f"task{n}", str(n), "test", n)) for n in (1, 2))
    assert key_of(one, index=1, task="a") == key_of(other, index=2, task="b")
    reader = MockBatch(lambda r: "x", identity={}, reads_rows=True)
    keys = [key_of(one, model=reader, **where) for where in ({}, {"index": 1}, {"task": "b"}, {"source": "v2"})]
    assert len({*keys, key_of(one)}) == 5
    assert key_of(one, model=reader) == keys[0]
    assert key_of(one, model=reader, system_prompt="Be kind.") != keys[0]
    assert key_of(one, model=reader, limit=7) == keys[0]


@pytest.mark.parametrize(
    "part",
    [
        Image("https://example.org/a.png"),
        Image("https://example.org/a.png", key="k"),
        Video("https://example.org/a.mp4"),
        Audio("https://example.org/a.wav"),
        Audio({"path": "https://example.org/a.wav"}),
        Video("/missing/clip.mp4"),
        Image("/missing/image.png", key="k"),
        Video(type("Reader", (), {"__repr__": lambda self: "reader"})()),
        Video(FRAMES, rule=VideoRule(subtitles="show"), subtitles="/missing/a.srt"),
    ],
    ids=lambda part: str(part.source)[:30],
)
def test_what_is_not_known_by_its_content_has_no_key(part: Any) -> None:
    assert key_of(request(part, Text("q"))) == ""


def test_a_models_own_prompt_has_no_key() -> None:
    asked = seen_by(MockBatch(lambda r: "x", identity={}), OwnPrompt(Origin("t", "0")))
    assert asked.content_key == ""


_TEXTS = st.text(max_size=6)
_PARAMETERS = st.builds(
    Generate,
    st.none() | st.integers(1, 9),
    st.none() | st.sampled_from([0.0, 0.5]),
    st.none() | st.just(0.9),
    st.lists(_TEXTS, max_size=2).map(tuple),
    st.none() | st.integers(0, 3),
    st.just(0),
    st.dictionaries(st.sampled_from(["top_k", "tools"]), st.integers(0, 2) | st.lists(st.integers(0, 2)), max_size=2),
)
_PARTS = st.one_of(
    _TEXTS.map(Text),
    st.sampled_from(["red", "blue"]).map(lambda colour: Image(png(colour))),
)
_REQUESTS = st.builds(
    lambda texts, parameters: Request(tuple(Message("user", tuple(parts)) for parts in texts), parameters),
    st.lists(st.lists(_PARTS, max_size=3), max_size=3),
    _PARAMETERS,
)


def plain(one: Request) -> Any:
    parts = [
        [part.text if isinstance(part, Text) else part.content_hash() for part in message.parts]
        for message in one.messages
    ]
    kinds = [[part.modality for part in message.parts] for message in one.messages]
    return parts, kinds, repr(one.parameters)


@given(_REQUESTS, _REQUESTS)
def test_keys_are_equal_if_and_only_if_the_requests_are(one: Request, other: Request) -> None:
    assert (key_of(one) == key_of(other)) == (plain(one) == plain(other))


def test_no_two_of_these_requests_share_a_key() -> None:
    distinct = {plain_of(one): key_of(one) for pair in INGREDIENTS.values() for one in pair}
    assert len({*distinct.values()}) == len(distinct)


def plain_of(one: Request) -> str:
    rules = [repr(getattr(part, "rule", None)) for part in one.media()]
    times = [(getattr(part, "start_s", None), getattr(part, "end_s", None)) for part in one.media()]
    listed = [message.is_listed and len(message.parts) > 1 for message in one.messages]
    items = [part.item for message in one.messages for part in message.parts if isinstance(part, Text)]
    tags = one.origin.reasoning_tags if one.origin else None
    return repr((plain(one), rules, times, listed, items, tags, [message.role for message in one.messages]))
