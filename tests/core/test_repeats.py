"""Repeats of one prompt: made, told apart from other neighbours, and known by their fingerprints."""

from __future__ import annotations

from dataclasses import replace

from polymeter.core.content import Text
from polymeter.core.identity import joint_fingerprint, request_fingerprint
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Origin, Parameters, Request
from polymeter.core.settings.repeats import group_repeats, repeats_of, seed_of

MESSAGES = (Message("user", (Text("what?"),)),)
TEXT = Generate(5, 0.5, None, ("x",), extra={"top_k": 3})
IMAGE = GenerateImage((4, 4))


def asked(parameters: Parameters, sample: str = "0", text: str = "") -> Request:
    messages = (Message("user", (Text(text),)),) if text else MESSAGES
    return Request(messages, parameters, Origin("t", sample))


def test_repeats_are_equal_but_for_seed_and_number() -> None:
    repeats = repeats_of(asked(TEXT), (7, 8))
    assert [(one.parameters.seed, one.parameters.repeat) for one in repeats] == [(7, 0), (8, 1)]  # type: ignore[union-attr]
    assert {replace(one, parameters=TEXT).text for one in repeats} == {"what?"}
    assert all(one.messages is repeats[0].messages for one in repeats)


def test_a_request_without_a_seed_has_the_number_of_the_repeat() -> None:
    assert (seed_of(Generate(seed=7, repeat=2)), seed_of(Generate(repeat=2)), seed_of(IMAGE)) == (7, 2, 0)


def test_repeats_of_one_prompt_are_found_again() -> None:
    first = repeats_of(asked(TEXT), (1, 2, 3))
    others = [asked(TEXT, "1"), asked(replace(TEXT, repeat=1), "2"), asked(replace(TEXT, top_p=0.5, repeat=2), "2")]
    others += [asked(replace(TEXT, repeat=3), "2", text="who?"), asked(Loglikelihood(("a",))), asked(IMAGE)]
    assert group_repeats([*first, *others]) == [list(first), *([one] for one in others)]


def test_two_equal_prompts_of_a_sample_stay_apart_and_what_is_left_of_one_is_joined() -> None:
    repeats = list(repeats_of(asked(TEXT), (1, 2, 3)))
    assert group_repeats([*repeats, *repeats[:2]]) == [repeats, repeats[:2]]
    assert group_repeats([repeats[0], repeats[2]]) == [[repeats[0], repeats[2]]]


def test_fingerprints_are_those_of_earlier_journals() -> None:
    """As they were when a request had a number of answers and a list of seeds."""
    texts, images = (repeats_of(asked(parameters), (7, 8, 9)) for parameters in (TEXT, IMAGE))
    assert request_fingerprint(texts[0]) == "25317dd6894b40f282bf4d47ba820700"
    assert joint_fingerprint(texts) == "c32f2239ae1d3d98c9aa8857ab78c900"
    assert request_fingerprint(images[0]) == "415ff06e659cd21f50fce2fd65e2776a"
    assert joint_fingerprint(images) == "56b64716ab0c45c134a99fad51abfb20"
    assert request_fingerprint(asked(Generate())) == "481b8fe1a86275e0e47c796c348fd194"
    assert request_fingerprint(asked(Generate(repeat=5))) == request_fingerprint(asked(Generate()))
