"""More requests than are computed at a time: rows leave and enter, and every answer is that of its request alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from polymeter.core.content import Image
from polymeter.core.request import Generate, Request, Response
from polymeter.models.hf.answers import in_turn, roomy_layer
from polymeter.models.hf.answers.refill import Refiller
from tests.helpers.checkpoints import ARCHITECTURES
from tests.helpers.mixed_requests import mixed_requests, picture, request

ENDS = {"eos_token_id": list(range(2, 480, 9))}
"""So many tokens end an answer that lengths differ."""
ASKS: dict[str, Callable[[int], Generate]] = {
    "greedy": lambda _: Generate(24, 0.0, extra=ENDS),
    "sampled": lambda row: Generate(24, 0.9, 0.95, seed=row, extra={"top_k": 40, **ENDS}),
    "stopped": lambda _: Generate(24, 0.0, stop=("e", "is"), extra={"num_beams": 1}),
    "penalised": lambda row: Generate(
        16, 1.0, seed=row, extra={"repetition_penalty": 1.3, "no_repeat_ngram_size": 2, **ENDS}
    ),
}


@pytest.fixture
def at_once(model: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A function from an architecture and a number of rows to a model that computes no more at a time."""
    changed = []

    def make(architecture: str, n_rows: int | None) -> Any:
        made = model(architecture)
        made.at_once, made._refiller = n_rows, Refiller(made._loaded)
        changed.append(made)
        return made

    yield make
    for made in changed:
        made.at_once = None


def alone(made: Any, requests: Sequence[Request]) -> list[Response]:
    """Each answered by ``generate``."""
    return [made.respond([one])[0] for one in requests]


def asked(made: Any, ask: Callable[[int], Generate]) -> list[Request]:
    some = mixed_requests(made.traits.modalities)
    more = [request("Say" * (2 * row), *one.messages[-1].parts) for row, one in enumerate(some[::-1])]
    return [replace(one, parameters=ask(row)) for row, one in enumerate([*some, *more])]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "whisper"])
def test_answers_are_those_of_each_request_alone(
    at_once: Callable[..., Any], architecture: str, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = at_once(architecture, 3)
    requests = asked(made, ASKS[ask])
    expected = alone(made, requests)
    monkeypatch.setattr(in_turn, "answers_together", None)  # it is not needed
    monkeypatch.setattr(roomy_layer, "COLUMNS_OF_ROOM", 5)
    assert [one.error for one in expected] == [None] * len(requests)
    for n_rows in (3, 2, None):
        made.at_once = n_rows
        assert [one.outputs for one in made.respond(requests)] == [one.outputs for one in expected]


class Widths:
    """How many rows each forward had."""

    def __init__(self, network: Any) -> None:
        self.seen: list[int] = []
        self._handle = network.register_forward_pre_hook(self._note, with_kwargs=True)

    def __enter__(self) -> list[int]:
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._handle.remove()

    def _note(self, _: Any, args: Any, given: Any) -> None:
        self.seen.append(len(given["input_ids"]))


def test_rows_that_have_finished_make_room(at_once: Callable[..., Any]) -> None:
    made = at_once("llama", 4)
    requests = asked(made, ASKS["greedy"]) * 3
    made.respond(requests)  # the first time, some prompts are begun twice
    with Widths(made._loaded.network) as in_turn_widths:
        answers = made.respond(requests)
    lengths = [answer.outputs[0].usage.output_tokens for answer in answers]
    assert len(set(lengths)) > 3
    assert max(in_turn_widths) == 4
    assert sum(in_turn_widths) == sum(lengths)  # no token is computed for an answer that has ended


def test_what_cannot_be_read_or_is_too_long_fails_alone(at_once: Callable[..., Any]) -> None:
    made = at_once("llava", 2)
    requests = [
        request(picture(40, 30, 1), "What?"),
        request(Image(b"no picture"), "What?"),
        request("square " * 1100),
        request("Which?"),
        request("And " * 9, picture(40, 30, 2)),
    ]
    requests = [replace(one, parameters=Generate(9, 0.0)) for one in requests]
    answers = made.respond(requests)
    assert [one.error and one.error.kind for one in answers] == [None, "data", "permanent", None, None]
    for place in (0, 3, 4):
        assert answers[place].outputs == made.respond([requests[place]])[0].outputs


def test_settings_that_only_generate_knows_are_left_to_it(at_once: Callable[..., Any]) -> None:
    made = at_once("llama", 2)
    beams = [replace(one, parameters=Generate(6, 0.0, extra={"num_beams": 3})) for one in asked(made, ASKS["greedy"])]
    assert made.batches_at_once(beams[0]) == 1
    assert made.batches_at_once(asked(made, ASKS["greedy"])[0]) > 1
    with Widths(made._loaded.network) as widths:
        answers = made.respond(beams)
    assert max(widths) == 2 * 3
    assert [one.outputs for one in answers] == [one.outputs for one in alone(made, beams)]


@pytest.mark.parametrize("how", ["refused", "other logits", "no numbers"])
def test_a_model_that_goes_on_otherwise_is_left_to_generate(
    at_once: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    made = at_once("llama", 3)
    requests = asked(made, ASKS["greedy"])
    expected = alone(made, requests)
    step = Refiller.step

    def wrong(self: Any, rows: Any, tokens: Any) -> Any:
        if how == "refused":
            raise TypeError("step() takes no such thing")
        logits = step(self, rows, tokens)
        return logits.flip(-1) if how == "other logits" else logits * float("nan")

    monkeypatch.setattr(Refiller, "step", wrong)
    assert [one.outputs for one in made.respond(requests)] == [one.outputs for one in expected]


@pytest.mark.parametrize("fields", [{"suppress_tokens": [5]}, {"forced_eos_token_id": 2}])
def test_a_checkpoint_that_forces_tokens_is_left_to_generate(
    at_once: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    made = at_once("llama", 3)
    for name, value in fields.items():
        monkeypatch.setattr(made._loaded.network.generation_config, name, value)
    requests = asked(made, ASKS["greedy"])
    assert [one.outputs for one in made.respond(requests)] == [one.outputs for one in alone(made, requests)]
