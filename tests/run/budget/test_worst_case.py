"""The most that a request can cost, and what an answer cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from polymeter.core.acting.tools import Tool
from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.model import Model
from polymeter.core.records.rates import Rates
from polymeter.core.request import (
    Error,
    Generate,
    GenerateImage,
    Loglikelihood,
    Message,
    Origin,
    Output,
    OwnPrompt,
    Request,
    Response,
    Usage,
)
from polymeter.models.mock import MockBatch, MockEndpoint
from polymeter.models.openai.model import OpenAIModel
from polymeter.run.budget.amounts import PER_DOLLAR, Amount
from polymeter.run.budget.caps import Caps
from polymeter.run.budget.worst_case import Tariff

CAPS = Caps(cost=PER_DOLLAR)
RATES = Rates(input=1.0, cached_read=0.1, cached_write=1.25, output=10.0)
"""A token of a prompt costs a millionth of a dollar, so its picodollars are a million."""
MILLIONTH = PER_DOLLAR // 1_000_000


def asked(parameters: Any, text: str = "What is it?") -> Request:
    return Request((Message("user", (Text(text),)),), parameters, Origin("t", "1"))


def tariff(model: Model | None = None, caps: Caps = CAPS, rates: Rates | None = RATES) -> Tariff:
    return Tariff.of(model or MockEndpoint(lambda request: "x"), "m", caps, {} if rates is None else {"": rates})


def openai(**args: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url="http://localhost:1/v1", **args)


def answer(**usage: int) -> Response:
    return Response((Output(text="x", usage=Usage(**usage)),))


def test_the_input_is_taken_at_its_dearest_price_and_the_output_at_its_limit() -> None:
    own = tariff()
    worst = own.worst_of([asked(Generate(max_new_tokens=100))])
    n_input = worst.tokens - 100
    assert n_input >= len("What is it?")
    assert worst.cost == n_input * MILLIONTH * 5 // 4 + 100 * 10 * MILLIONTH


def test_repeats_that_are_sent_together_count_each() -> None:
    own, request = tariff(), asked(Generate(max_new_tokens=8))
    assert own.worst_of([request] * 3) == own.worst_of([request]).scaled(3)


@pytest.mark.parametrize(
    ("args", "parameters", "limit"),
    [
        ({}, Generate(max_new_tokens=7), 7),
        ({}, Generate(), None),
        ({"omit": "max_tokens"}, Generate(max_new_tokens=7), None),
        ({"extra_body": {"max_tokens": 900}}, Generate(max_new_tokens=7), 900),
        ({"extra_body": {"max_completion_tokens": 900}}, Generate(), 900),
        ({"extra_body": {"n": 3}}, Generate(max_new_tokens=7), 21),
        ({}, Generate(max_new_tokens=7, extra={"extra_body": {"max_tokens": 50}}), 50),
    ],
)
def test_the_limit_is_that_which_is_sent(args: dict[str, Any], parameters: Generate, limit: int | None) -> None:
    assert openai(**args).token_limit(parameters) == limit


def test_tools_and_calls_count_by_their_length() -> None:
    tool = Tool("look", "Look at a place. " * 50, {"type": "object", "properties": {"x": {"type": "integer"}}})
    plain, with_tool = asked(Generate(max_new_tokens=8)), asked(Generate(max_new_tokens=8, tools=(tool,)))
    own = tariff()
    assert own.worst_of([with_tool]).tokens - own.worst_of([plain]).tokens > len(tool.description)


def test_a_request_without_limit_names_its_task_and_the_setting() -> None:
    with pytest.raises(PlanError) as caught:
        tariff().worst_of([asked(Generate())])
    assert "Task 't' asks m for an answer of any length" in caught.value.what
    assert (caught.value.where, "--gen-kwargs max_new_tokens=N" in caught.value.hint) == ("max_new_tokens", True)


def test_an_image_needs_a_price_of_its_own() -> None:
    with pytest.raises(PlanError, match="an image, whose tokens have no limit"):
        tariff().worst_of([asked(GenerateImage())])
    worst = tariff(rates=replace(RATES, output=0.0, image_made=0.04)).worst_of([asked(GenerateImage())])
    assert worst.cost >= PER_DOLLAR // 25
    assert tariff(rates=replace(RATES, output=0.0, image_made=0.04, image_sent=0.01)).small().cost < PER_DOLLAR // 25
    with pytest.raises(PlanError, match="and --max-tokens cannot hold"):
        tariff(caps=Caps(tokens=5), rates=None).worst_of([asked(GenerateImage())])


def test_log_probabilities_at_an_endpoint_may_take_several_calls() -> None:
    model = openai()
    one = tariff(model).worst_of([asked(Loglikelihood((" a",)))])
    four = tariff(model).worst_of([asked(Loglikelihood((" a", " b", " c", " d")))])
    assert four.tokens > 3 * one.tokens
    own = tariff(model)
    declined = Response(error=Error("rate_limit", "slow", retryable=True, is_unpaid=True))
    assert own.spent_by([asked(Loglikelihood((" a",)))], [declined]) is None, "other calls of it may have been answered"


def test_a_model_on_this_machine_costs_tokens_alone() -> None:
    own = tariff(MockBatch(lambda request: "x"), Caps(tokens=5000, cost=PER_DOLLAR), None)
    worst = own.worst_of([asked(Generate(max_new_tokens=5))])
    assert (worst.cost, worst.tokens > 5) == (0, True)
    free = tariff(MockBatch(lambda request: "x"), CAPS, None)
    assert free.worst_of([asked(Generate())]) == Amount(), "its time is what costs, and needs no token limit"
    assert own.worst_of([OwnPrompt(Origin("t", "1"))]) == Amount()


def test_nothing_is_counted_for_a_cap_on_time() -> None:
    assert tariff(caps=Caps(time_s=1.0), rates=None).worst_of([asked(Generate())]) == Amount()


@pytest.mark.parametrize(
    ("responses", "spent"),
    [
        ([answer(input_tokens=10, output_tokens=2)], Amount(12, 30 * MILLIONTH)),
        ([answer(input_tokens=10, output_tokens=2, cached_tokens=10)], Amount(12, 21 * MILLIONTH)),
        ([answer(input_tokens=10)], None),
        ([Response((Output(text="x"),))], None),
        ([Response(error=Error("rate_limit", "slow", retryable=True, is_unpaid=True))], Amount()),
        ([Response(error=Error("transient", "500", retryable=True))], None),
        (
            [
                answer(input_tokens=10, output_tokens=2),
                replace(answer(input_tokens=0), is_joined=True),
            ],
            Amount(12, 30 * MILLIONTH),
        ),
        ([answer(input_tokens=10, output_tokens=2), Response(error=Error("transient", "500"))], None),
    ],
)
def test_an_answer_costs_what_it_states(responses: list[Response], spent: Amount | None) -> None:
    request = asked(Generate(max_new_tokens=4))
    assert tariff().spent_by([request] * len(responses), responses) == spent
