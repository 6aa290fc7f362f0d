"""The mock in each of its modes: it answers like any other provider, in either shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Image, Text
from polymeter.core.errors import ErrorKind, ModelError, PlanError
from polymeter.core.identity import fingerprint
from polymeter.core.model import ALL_READY, AsyncModel, BatchModel, Model
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Origin, Request, Response
from polymeter.core.rows import RowFunctions, RowView
from polymeter.models.mock import MockBatch, MockEndpoint, MockModel

Answer = Callable[..., list[Response]]


@pytest.fixture(params=[False, True], ids=["batch", "endpoint"])
def answer(request: pytest.FixtureRequest) -> Answer:
    """Makes a mock of one shape and answers requests with it."""

    def respond(*requests: Request, **arguments: Any) -> list[Response]:
        model = MockModel(is_async=request.param, **arguments)
        assert isinstance(model, AsyncModel if request.param else BatchModel)
        return answers_of(model, *requests)

    return respond


def row_of(origin: Origin) -> RowView | None:
    target = origin.metadata["target"]
    functions = RowFunctions(lambda index: {}, None if target is None else lambda index: target)
    return RowView(origin.index, functions, lambda step: nullcontext())


def answers_of(model: Model, *requests: Request) -> list[Response]:
    model.rows = row_of
    if isinstance(model, BatchModel):
        return model.respond(list(requests))

    async def gather() -> list[Response]:
        return await asyncio.gather(*(model.respond(request) for request in requests))

    return asyncio.run(gather())


def question(text: str = "what?", ask: Any = None, *, sample: str = "1", target: Any = None) -> Request:
    origin = Origin("task", sample, metadata={"target": target})
    messages = (Message("user", (Text("an earlier turn"),)), Message("user", (Image(b""), Text(text))))
    return Request(messages, ask or Generate(), origin)


def test_canned_answers_all_alike(answer: Answer) -> None:
    responses = answer(question("a"), question("b"), answer="forty-two")
    assert [response.text for response in responses] == ["forty-two"] * 2
    assert responses[0].outputs[0].finish_reason == "stop"
    usage = responses[0].outputs[0].usage
    assert usage is not None
    assert usage.output_tokens == 2


def test_echo_says_the_last_message(answer: Answer) -> None:
    assert [r.text for r in answer(question("a"), question("b"), mode="echo")] == ["a", "b"]


def test_empty_says_nothing(answer: Answer) -> None:
    assert answer(question(), mode="empty")[0].text == ""


@pytest.mark.parametrize(("target", "said"), [("Paris", "Paris"), (["Paris", "paris"], "Paris"), (3, "3")])
def test_gold_says_what_the_task_expects(answer: Answer, target: Any, said: str) -> None:
    assert answer(question(target=target), mode="gold")[0].text == said


@pytest.mark.parametrize(("target", "best"), [(1, 1), ("b", 1), (["a", "c"], 0)])
def test_gold_finds_the_right_choice_likeliest(answer: Answer, target: Any, best: int) -> None:
    (response,) = answer(question(ask=Loglikelihood((" a", " b", " c")), target=target), mode="gold")
    logprobs = response.outputs[0].logprobs
    assert max(range(3), key=lambda place: logprobs[place].logprob) == best
    assert logprobs[best].is_greedy


@pytest.mark.parametrize("target", ["Paris", ["Paris", "Rome"], "A", 7, "qw"])
def test_wrong_says_something_else(answer: Answer, target: Any) -> None:
    said = answer(question(target=target), mode="wrong")[0].text
    assert said
    assert said not in [str(item) for item in (target if isinstance(target, list) else [target])]
    assert (said in "ABCD") == (target == "A")


@pytest.mark.parametrize("target", [1, " b", ["b"]])
def test_wrong_finds_the_right_choice_least_likely(answer: Answer, target: Any) -> None:
    (response,) = answer(question(ask=Loglikelihood((" a", " b", " c")), target=target), mode="wrong")
    logprobs = [item.logprob for item in response.outputs[0].logprobs]
    assert logprobs.index(min(logprobs)) == 1
    assert not response.outputs[0].logprobs[1].is_greedy


def test_gold_is_an_error_where_nobody_tells_the_target(answer: Answer) -> None:
    (response,) = answer(question(), mode="gold")
    assert response.error is not None
    assert "does not know the reference answer" in response.error.message


def test_answers_come_from_a_file_by_sample(answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"1": "one", "2": 2}))
    requests = [question(sample=name) for name in "123"]
    responses = answer(*requests, answers=str(file), answer="other")
    assert [response.text for response in responses] == ["one", "2", "other"]


def test_log_likelihoods_are_given_for_each_continuation_and_repeat(answer: Answer) -> None:
    ask = Loglikelihood(("yes", "no way"))
    first, second = answer(question(ask=ask), question(ask=ask))
    assert first.outputs == second.outputs
    yes, no = first.outputs[0].logprobs
    assert yes.logprob != no.logprob
    assert (yes.n_tokens, no.n_tokens) == (1, 2)
    assert yes.logprob < 0


def test_images_have_the_size_that_was_asked_for(answer: Answer) -> None:
    responses = answer(*[question(ask=GenerateImage((10, 6), repeat=number)) for number in range(2)])
    pictures = [response.outputs[0].images[0] for response in responses]
    assert [picture.size for picture in pictures] == [(10, 6)] * 2
    assert pictures[0].tobytes() != pictures[1].tobytes()


KINDS: list[tuple[ErrorKind, bool]] = [
    ("transient", True),
    ("rate_limit", True),
    ("permanent", False),
    ("refused", False),
]


@pytest.mark.parametrize(("kind", "is_retryable"), KINDS)
def test_it_fails_in_the_way_it_is_told(answer: Answer, kind: str, is_retryable: bool) -> None:
    (response,) = answer(question(), failure=kind)
    assert response.error is not None
    assert (response.error.kind, response.error.retryable) == (kind, is_retryable)
    assert response.outputs == ()


@pytest.mark.parametrize(("kind", "is_retryable"), KINDS)
def test_a_passing_failure_passes_and_a_lasting_one_lasts(kind: str, is_retryable: bool) -> None:
    model = MockModel(failure=kind, failures_per_request=2)
    failed = [answers_of(model, question())[0].error is not None for _ in range(4)]
    assert failed == ([True, True, False, False] if is_retryable else [True] * 4)


def test_a_share_of_requests_fails_and_it_is_always_the_same_ones(answer: Answer) -> None:
    requests = [question(str(number)) for number in range(200)]
    first, second = ([r.error is not None for r in answer(*requests, failure_rate=0.3)] for _ in range(2))
    assert first == second
    assert 30 < sum(first) < 90
    assert first != [r.error is not None for r in answer(*requests, failure_rate=0.3, seed=1)]


@pytest.mark.parametrize(("name", "value"), [("mode", "golden"), ("failure", "explode")])
def test_an_unknown_mode_or_failure_names_the_known_ones(name: str, value: str) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(PlanError, match=f"Unknown {name} '{value}'.*Known: .*(gold|refused)"):
        MockModel(**arguments)


@pytest.mark.parametrize("content", [None, "{", "\xff"])
def test_a_file_of_answers_that_cannot_be_read_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "answers.json"
    if content is not None:
        file.write_text(content, encoding="latin-1")
    with pytest.raises(PlanError, match="answers file cannot be read") as caught:
        MockModel(answers=str(file))
    assert caught.value.where == str(file)


def test_what_can_change_an_answer_is_identity_and_the_rest_is_not(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text("{}")
    base = fingerprint(MockModel().identity)
    identity: list[dict[str, Any]] = [
        {"mode": "echo"},
        {"answer": "x"},
        {"answers": str(file)},
        {"simple": True},
        {"seed": 1},
    ]
    runtime: list[dict[str, Any]] = [{"delay_ms": 1.0}, {"batch_size": 3}, {"is_async": True}, {"failure_rate": 0.5}]
    assert len({fingerprint(MockModel(**arguments).identity) for arguments in identity} | {base}) == 6
    assert {fingerprint(MockModel(**arguments).identity) for arguments in runtime} == {base}
    before = fingerprint(MockModel(answers=str(file)).identity)
    file.write_text('{"1": "a"}')
    assert fingerprint(MockModel(answers=str(file)).identity) != before, "the file counts by its content"


def test_traits_and_batches_are_as_told() -> None:
    simple, plain = MockModel(simple=True, batch_size=3), MockModel()
    assert (simple.traits.kind, plain.traits.kind) == ("simple", "chat")
    assert isinstance(simple, BatchModel)
    assert isinstance(plain, BatchModel)
    assert (simple.batch_hint, plain.batch_hint) == (3, ALL_READY)


def test_a_mock_of_a_function_takes_what_it_gives() -> None:
    def compute(request: Request) -> Any:
        if request.text.endswith("whole"):
            return Response.of_text("a response")
        if request.text.endswith("several"):
            return ["a", "b"]
        raise ModelError("not this one", kind="refused")

    several = [question("several", Generate(repeat=number)) for number in range(3)]
    whole, *texts, failed = answers_of(MockBatch(compute), question("whole"), *several, question("x"))
    assert whole.text == "a response"
    assert [response.text for response in texts] == ["a", "b", "a"]
    assert failed.error is not None
    assert failed.error.kind == "refused"


def test_other_exceptions_are_for_the_engine_to_attribute() -> None:
    def compute(request: Request) -> str:
        raise KeyError("bug")

    for model in (MockBatch(compute), MockEndpoint(compute)):
        with pytest.raises(KeyError):
            answers_of(model, question())


def test_an_endpoint_counts_what_is_in_flight() -> None:
    model = MockEndpoint(lambda request: "x")
    answers_of(model, *[question() for _ in range(5)])
    assert (model.n_requests, model.n_in_flight, model.most_in_flight) == (5, 0, 5)
