"""Responses and scores come back from the journal as they were; requests are written for people."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.acting.tools import read_call
from polymeter.core.content import Image, Media, Text, Video
from polymeter.core.request import (
    ChoiceLogprob,
    Error,
    Generate,
    GenerateImage,
    Loglikelihood,
    Message,
    Output,
    Request,
    Response,
    Usage,
)
from polymeter.core.task import Score
from polymeter.store.wire import read_response, read_score, write_request, write_response, write_score
from tests.core.test_codec import is_same, json_values, values

texts = st.text(max_size=12)
counts = st.none() | st.integers(0, 10**6)
choices = st.builds(ChoiceLogprob, st.floats(allow_nan=False), st.booleans(), st.integers(0, 99))
arguments = st.dictionaries(texts, st.none() | st.integers() | texts | st.lists(texts, max_size=2), max_size=3)
calls = st.builds(read_call, texts, texts, st.none() | texts | arguments | arguments.map(json.dumps))
outputs = st.builds(
    Output,
    text=st.none() | texts,
    logprobs=st.lists(choices, max_size=3).map(tuple),
    reasoning=st.none() | texts,
    calls=st.lists(calls, max_size=2).map(tuple),
    finish_reason=st.none() | st.sampled_from(["stop", "length"]),
    usage=st.none() | st.builds(Usage, counts, counts, counts, counts, counts),
    note=st.none() | texts,
    carried=st.none() | st.dictionaries(texts, arguments, min_size=1, max_size=2),
)
responses = st.builds(
    Response, st.lists(outputs, max_size=3).map(tuple), latency_ms=st.none() | st.floats(0, 1e6, allow_nan=False)
)


def refuse(_: Any) -> Any:
    raise AssertionError("there is no image here")


@settings(deadline=None)
@given(responses)
def test_a_response_comes_back_as_it_was(response: Response) -> None:
    back = read_response(write_response(response, refuse), refuse)
    rounded = None if response.latency_ms is None else round(response.latency_ms, 3)
    assert back == replace(response, latency_ms=rounded)
    assert back.is_cached


def test_infinite_and_missing_log_probabilities_come_back() -> None:
    response = Response((Output(logprobs=tuple(ChoiceLogprob(v, False, 1) for v in (-math.inf, math.nan))),))
    low, missing = read_response(write_response(response, refuse), refuse).outputs[0].logprobs
    assert low.logprob == -math.inf
    assert math.isnan(missing.logprob)


def test_numbers_of_numpy_in_an_answer_become_pythons() -> None:
    choice = ChoiceLogprob(np.float32(-0.1), np.bool_(True), np.int64(3))  # type: ignore[arg-type]
    response = Response((Output(logprobs=(choice,), usage=Usage(np.int64(7))),), latency_ms=np.float32(2.5))
    back = read_response(write_response(response, refuse), refuse)
    assert back.outputs[0].logprobs == (ChoiceLogprob(float(np.float32(-0.1)), True, 3),)
    assert type(back.outputs[0].logprobs[0].logprob) is float
    assert back.outputs[0].usage == Usage(7)
    assert back.latency_ms == 2.5


@pytest.mark.parametrize(
    "usage",
    [
        Usage(7, 2, cost=0.25),
        Usage(7, 2, 1, 3, 4, audio_tokens=5, image_tokens=0, image_output_tokens=1, cost=0.0, service_tier="flex"),
        Usage(service_tier="standard"),
    ],
)
def test_what_a_provider_charges_comes_back(usage: Usage) -> None:
    body = write_response(Response((Output("four", usage=usage),), latency_ms=2.5), refuse)
    assert read_response(body, refuse).outputs[0].usage == usage
    assert json.loads(body)["outputs"][0]["usage"][:2] == [usage.input_tokens, usage.output_tokens]


def test_an_answer_without_a_price_is_written_as_before() -> None:
    body = write_response(Response((Output("four", usage=Usage(7, 2)),), latency_ms=2.5), refuse)
    assert body == '{"outputs":[{"text":"four","usage":[7,2,null]}],"latency_ms":2.5}'


def test_generated_images_travel_by_name() -> None:
    kept: dict[str, Any] = {}

    def keep(image: Any) -> str:
        kept[f"{len(kept)}.png"] = image
        return f"{len(kept) - 1}.png"

    images = tuple(pil.new("RGB", (2, 2), colour) for colour in ("red", "blue"))
    body = write_response(Response((Output(images=images),)), keep)
    assert json.loads(body)["outputs"][0]["images"] == ["0.png", "1.png"]
    assert read_response(body, kept.__getitem__).outputs[0].images == images


def test_an_error_is_never_written_as_an_answer() -> None:
    with pytest.raises(ValueError, match="not an answer"):
        write_response(Response(error=Error("transient", "busy")), refuse)


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be part of an answer"):
        write_response(Response((Output(text=object()),)), refuse)  # type: ignore[arg-type]


# --- scores -----------------------------------------------------------------------------------------------------------

notes = st.none() | texts
score_values = st.dictionaries(st.tuples(texts, texts), values, max_size=4)


@settings(deadline=None)
@given(score_values, notes, notes, notes, st.lists(texts, max_size=2).map(tuple))
def test_a_score_comes_back_as_it_was(
    found: dict[tuple[str, str], Any], target: str | None, answer: str | None, why: str | None, calls: tuple[str, ...]
) -> None:
    score = Score(found, target, answer, why, judge_calls=calls, judge_rules=calls)
    written = write_score(score)
    assert written.is_exact
    back = read_score(written.body)
    assert is_same(dict(back.values), found)
    assert replace(back, values={}) == replace(score, values={})


@settings(deadline=None)
@given(st.dictionaries(texts, json_values, max_size=3))
def test_a_log_of_json_comes_back(log: dict[str, Any]) -> None:
    back = read_score(write_score(Score({}, log=log)).body)
    assert json.dumps(back.log) == json.dumps(log)


@pytest.mark.parametrize("value", [{1, 2}, object(), np.arange(2)], ids=["set", "object", "array"])
def test_a_score_that_cannot_be_held_says_so_and_leaves_a_likeness(value: Any) -> None:
    written = write_score(Score({("exact", "none"): 0.5, ("odd", "none"): value}, "gold", "said"))
    assert not written.is_exact
    likeness = read_score(written.body)
    assert likeness.values["exact", "none"] == 0.5
    assert ("odd", "none") in likeness.values
    assert (likeness.target, likeness.answer) == ("gold", "said")


def test_targets_are_kept_as_text() -> None:
    assert read_score(write_score(Score({}, target=3)).body).target == "3"  # type: ignore[arg-type]


# --- requests ---------------------------------------------------------------------------------------------------------


def describe(medium: Media) -> dict[str, Any]:
    return {"file": medium.key}


def written(ask: Any, *parts: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(write_request(Request((Message("user", parts),), ask), describe))
    return body


def test_a_request_is_written_with_references_to_its_media() -> None:
    body = written(Generate(), Image(b"", key="i"), Text("what? ✓"), Video(b"", key="v"))
    assert body["messages"] == [
        {"role": "user", "parts": [{"image": {"file": "i"}}, {"text": "what? ✓"}, {"video": {"file": "v"}}]}
    ]


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (Generate(), {"kind": "generate"}),
        (
            Generate(5, 0.0, 0.9, ("END",), 2, 1, {"top_k": np.int64(3)}),
            {
                "kind": "generate",
                "max_new_tokens": 5,
                "temperature": 0.0,
                "top_p": 0.9,
                "stop": ["END"],
                "seeds": [2],
                "extra": {"top_k": 3},
            },
        ),
        (Loglikelihood(("a", "b")), {"kind": "loglikelihood", "continuations": ["a", "b"]}),
        (GenerateImage((64, 32), 7, 3), {"kind": "generate_image", "size": [64, 32], "seeds": [7]}),
    ],
    ids=["plain", "generate", "loglikelihood", "image"],
)
def test_an_ask_is_written_with_what_differs_from_the_default(ask: Any, expected: dict[str, Any]) -> None:
    assert written(ask)["ask"] == expected


@settings(deadline=None)
@given(
    st.builds(Output, text=texts, finish_reason=st.sampled_from([None, "stop"]), usage=outputs.map(lambda o: o.usage))
)
def test_an_answer_of_text_is_written_as_one_that_holds_more(output: Output) -> None:
    plain = Response((output,), latency_ms=0.25)
    more = Response((replace(output, note="said"),), latency_ms=0.25)
    assert write_response(plain, refuse) == write_response(more, refuse).replace(',"note":"said"', "", 1)
