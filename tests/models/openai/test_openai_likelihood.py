"""Log-likelihood at endpoints: three ways, the right numbers, and which one was used."""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import Any

import pytest

from polymeter.core.content import Image, Text
from polymeter.core.errors import ModelError
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Message, Output, Part, Request, Usage
from polymeter.models.openai import OpenAIModel
from tests.helpers.openai_stub import OpenAIStub, Received, failure

_TOKEN = re.compile(r" ?\w+|\s|[^\w\s]")
ABSENT = failure("There is no such thing here.", 404)
PIXEL = b"\x89PNG\r\n\x1a\n and so on"


def logprob_of(token: str, place: int) -> float:
    """What the toy model thinks of a token: any function of the token and where it stands."""
    return -len(token) / 8 - place / 64


def tokens_of(text: str) -> list[tuple[str, float]]:
    return [(token, logprob_of(token, place)) for place, token in enumerate(_TOKEN.findall(text))]


def is_greedy(token: str) -> bool:
    return "x" not in token


def vllm_chat(received: Received, *, shows: Any = lambda token: token, closes: str = "") -> dict[str, Any]:
    """vLLM with a template: what a conversation is as text, token by token."""
    body = received.body
    text = "<s>" + "".join(f"[{message['role']}]{_text(message['content'])}" for message in body["messages"]) + closes
    if body.get("add_generation_prompt", True):
        text += "[assistant]"
    listed: list[Any] = [None]
    for number, (token, logprob) in enumerate(tokens_of(text)):
        own = {str(number): {"logprob": logprob, "rank": 1 if is_greedy(token) else 7, "decoded_token": shows(token)}}
        best = {} if is_greedy(token) else {"best": {"logprob": -0.01, "rank": 1, "decoded_token": "?"}}
        listed.append({**own, **best})
    return {
        "prompt_logprobs": listed if "prompt_logprobs" in body else None,
        "choices": [{"index": 0, "message": {"content": "!"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": len(listed), "completion_tokens": 1},
    }


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "<img>") for part in content)


def echo(received: Received, *, begin: str = "", shows: Any = lambda token: token) -> dict[str, Any]:
    """Completions that repeat their prompt."""
    prompt = received.body["prompt"]
    found = [*tokens_of(begin + prompt), (" new", -3.0)]
    offsets = [len("".join(token for token, _ in found[:place])) for place in range(len(found))]
    logprobs = {
        "tokens": [shows(token) for token, _ in found],
        "token_logprobs": [None, *(logprob for _, logprob in found[1:])],
        "top_logprobs": [None, *({token: lp} if is_greedy(token) else {"?": -0.01} for token, lp in found[1:])],
        "text_offset": offsets,
    }
    return {"choices": [{"index": 0, "text": "…", "logprobs": logprobs}], "usage": {"completion_tokens": 1}}


def first(*pairs: tuple[str, float]) -> dict[str, Any]:
    """A chat's first token."""
    top = [{"token": token, "logprob": logprob} for token, logprob in pairs]
    logprobs = {"content": [{**top[0], "top_logprobs": top}]}
    return {"choices": [{"index": 0, "message": {"content": "A"}, "logprobs": logprobs}]}


def about(*parts: str | Part, ask: tuple[str, ...], begun: str = "") -> Request:
    user = Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))
    tail = (Message("assistant", (Text(begun),)),) if begun else ()
    return Request((user, *tail), Loglikelihood(ask))


def score(model: OpenAIModel, *requests: Request) -> list[Output]:
    async def run() -> list[Output]:
        try:
            return [response.outputs[0] for response in await asyncio.gather(*map(model.respond, requests))]
        finally:
            await model.aclose()

    return asyncio.run(run())


def at(stub: OpenAIStub, **args: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=stub.base_url, **args)


def expected(text: str, continuation: str) -> ChoiceLogprob:
    """The sum over the tokens that overlap the end of a text, counted by hand."""
    start, place, chosen = len(text) - len(continuation), 0, []
    for token, logprob in tokens_of(text):
        place += len(token)
        if place > start:
            chosen.append((token, logprob))
    logprobs = [logprob for _, logprob in chosen]
    return ChoiceLogprob(math.fsum(logprobs), all(is_greedy(token) for token, _ in chosen), len(chosen))


def test_prompt_logprobs() -> None:
    with OpenAIStub(vllm_chat) as stub:
        [output] = score(at(stub), about("Which?", ask=("red", " deep blue", "xx, no")))
        bodies = stub.bodies
    prompt = "<s>[user]Which?[assistant]"
    assert output.logprobs == (
        expected(f"{prompt}red", "red"),
        expected(f"{prompt}deep blue", "deep blue"),
        expected(f"{prompt}xx, no", "xx, no"),
    )
    assert [choice.n_tokens for choice in output.logprobs] == [1, 2, 3]
    assert [choice.is_greedy for choice in output.logprobs] == [True, True, False]
    assert output.note == "log-probabilities: prompt_logprobs"
    own = next(body for body in bodies if body["messages"][-1]["content"] == "red")
    assert own == {
        "model": "m",
        "messages": [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "red"}],
        "max_tokens": 1,
        "temperature": 1.0,
        "prompt_logprobs": 1,
        "add_generation_prompt": False,
        "continue_final_message": True,
    }


@pytest.mark.parametrize(
    ("silent", "used", "why"),
    [
        ("", Usage(30, 3), "each choice is a call, and all are paid for"),
        ("deep", Usage(None, None), "what one call does not say makes the sum unknown"),
    ],
)
def test_the_calls_for_all_choices_are_counted(silent: str, used: Usage, why: str) -> None:
    def respond(received: Received) -> dict[str, Any]:
        is_silent = bool(silent) and silent in received.raw.decode()
        return {**vllm_chat(received), "usage": None if is_silent else {"prompt_tokens": 10, "completion_tokens": 1}}

    with OpenAIStub(respond) as stub:
        [output] = score(at(stub), about("Which?", ask=("red", " deep blue", "xx, no")))
    assert (output.usage or Usage()) == used, why
    with OpenAIStub(echo) as stub:
        [output] = score(at(stub, api="completions"), about("Which?", ask=("red", "blue")))
    assert output.usage == Usage(None, 2)


def test_prompt_logprobs_with_an_image_and_a_turn_that_has_begun() -> None:
    with OpenAIStub(vllm_chat) as stub:
        [output] = score(at(stub), about(Image(PIXEL), "Which?", ask=(" A", " B"), begun="Answer:"))
        texts = [body["messages"][1]["content"] for body in stub.bodies]
    prompt = "<s>[user]<img>Which?[assistant]Answer:"
    assert output.logprobs == (expected(f"{prompt} A", " A"), expected(f"{prompt} B", " B"))
    assert sorted(texts) == ["Answer: A", "Answer: B"]


def test_a_template_that_closes_the_turn_counts_nothing_behind() -> None:
    with OpenAIStub(lambda received: vllm_chat(received, closes="<end>\n")) as stub:
        [output] = score(at(stub), about("Which?", ask=("red",)))
    assert output.logprobs == (expected("<s>[user]Which?[assistant]red", "red"),)


def test_tokens_that_spell_nothing_are_counted() -> None:
    with OpenAIStub(lambda received: vllm_chat(received, shows=lambda token: "\ufffd")) as stub:
        [output] = score(at(stub), about("Which?", ask=("deep blue",)))
        assert stub.bodies[-1]["messages"] == [{"role": "user", "content": "Which?"}]
    assert output.logprobs == (expected("<s>[user]Which?[assistant]deep blue", "deep blue"),)


def test_echo_sums_exactly_over_the_continuation() -> None:
    for begin in ("", "<s>"):
        with OpenAIStub(lambda received, begin=begin: echo(received, begin=begin)) as stub:
            model = at(stub, api="completions")
            [output] = score(model, about("Sky is", ask=(" blue", " xanadu red")))
            bodies = stub.bodies
        assert output.logprobs == (
            expected(f"{begin}Sky is blue", " blue"),
            expected(f"{begin}Sky is xanadu red", " xanadu red"),
        )
        assert [choice.is_greedy for choice in output.logprobs] == [True, False]
        assert output.note == "log-probabilities: echo, without a chat template"
    own = next(body for body in bodies if body["prompt"] == "Sky is blue")
    assert own == {
        "model": "m",
        "prompt": "Sky is blue",
        "max_tokens": 1,
        "temperature": 1.0,
        "echo": True,
        "logprobs": 1,
    }


def test_a_token_that_joins_context_and_continuation_belongs_to_it() -> None:
    with OpenAIStub(echo) as stub:
        [output] = score(at(stub, logprobs="echo"), about("Q: ", ask=("new",)))
    # " new" is one token that begins in the context, and the model goes on with the same one
    assert output.logprobs == (expected("Q: new", "new"),)
    assert output.logprobs[0].n_tokens == 1


def test_where_characters_are_spread_over_tokens_offsets_decide() -> None:
    with OpenAIStub(lambda received: echo(received, shows=lambda token: "bytes:\\xe4")) as stub:
        [output] = score(at(stub, logprobs="echo"), about("Sky is", ask=(" deep blue",)))
    assert output.logprobs == (expected("Sky is deep blue", " deep blue"),)


def test_a_first_token_without_a_context_has_no_probability() -> None:
    with OpenAIStub(echo) as stub, pytest.raises(ModelError, match="first token of a text without a context"):
        score(at(stub, api="completions"), about("", ask=("Sky",)))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda text: text[-8:], "a server that cuts long prompts from the left"),
        (lambda text: text[:-1], "or from the right"),
        (lambda text: f"[INST] {text} [/INST]", "a template"),
        (lambda text: f"<|user|>\n{text}", "a template that only begins the text"),
        (lambda text: f"You are kind. {text}", "a prompt of the server's own"),
        (str.lower, "a tokenizer for lower case"),
        (lambda text: text.replace("  ", " "), "white space that is made one"),
        (lambda text: "Something else blue", "another text with the same continuation"),
        (lambda text: "", "none at all"),
    ],
)
@pytest.mark.parametrize("is_rolling", [False, True])
def test_an_echo_of_another_text_is_refused(changed: Any, why: str, is_rolling: bool) -> None:
    def server(received: Received) -> Any:
        return echo(stub_request(changed(received.body["prompt"])))

    request = about("The  Sky is", ask=(" blue",))
    if is_rolling:
        request = Request((Message("user", (Text(""),)),), Loglikelihood(("The  Sky is blue",), is_rolling=True))
    with (
        OpenAIStub(server) as stub,
        pytest.raises(ModelError, match=r"another text than was sent|no log-prob") as caught,
    ):
        score(at(stub, api="completions"), request)
    assert caught.value.kind == "permanent", why


@pytest.mark.parametrize(
    ("context", "shown", "why"),
    [
        ("The Sky is", lambda token: token.replace(" ", "▁"), "pieces of a vocabulary"),
        ("The\nSky is", lambda token: token.replace(" ", "Ġ").replace("\n", "Ċ"), "bytes of a vocabulary"),
        ("Caf\u0065\u0301 is", lambda token: token.replace("e\u0301", "é"), "a tokenizer that composes"),
        ("The 天 is", lambda token: token.replace("天", "<0xE5><0xA4><0xA9>"), "bytes"),
        ("天 is", lambda token: token.replace("天", "bytes:\\xe5\\xa4\\xa9"), "bytes at the beginning"),
        ("The 天 is", lambda token: token.replace("天", "\ufffd\ufffd"), "parts of a character"),
    ],
)
@pytest.mark.parametrize("begin", ["", "<s>", "<|begin_of_text|>", "[gMASK]<sop>", "<s> "])
def test_an_echo_may_be_shown_otherwise(context: str, shown: Any, why: str, begin: str) -> None:
    with OpenAIStub(lambda received: echo(received, begin=begin, shows=shown)) as stub:
        [output] = score(at(stub, api="completions"), about(context, ask=(" blue",)))
    assert output.logprobs[0].n_tokens == 1, why


def test_offsets_that_do_not_grow_are_none() -> None:
    def server(received: Received) -> Any:
        answer = echo(received, shows=lambda token: "\ufffd")
        said = answer["choices"][0]["logprobs"]
        said["text_offset"] = [-1] * len(said["tokens"])
        return answer

    with OpenAIStub(server) as stub, pytest.raises(ModelError, match="do not spell the continuation"):
        score(at(stub, api="completions"), about("Sky is", ask=(" deep blue",)))


def test_one_echo_of_another_text_is_an_error_of_its_request() -> None:
    def server(received: Received) -> Any:
        text = received.body["prompt"]
        return echo(stub_request(text[-12:] if text.startswith("A long") else text))

    with OpenAIStub(server) as stub:
        model = at(stub, api="completions")
        [output] = score(model, about("Sky is", ask=(" blue",)))
        assert output.logprobs == (expected("Sky is blue", " blue"),)
        with pytest.raises(ModelError, match="'is said blue', not 'A long story is said blue'"):
            score(model, about("A long story is said", ask=(" blue",)))


def test_a_whole_text_is_echoed_and_its_first_token_is_not_counted() -> None:
    asked = Request((Message("user", (Text(""),)),), Loglikelihood(("Sky is deep blue", ""), is_rolling=True))
    with OpenAIStub(echo) as stub:
        [output] = score(at(stub, api="completions"), asked)
        [body] = stub.bodies
    assert body["prompt"] == "Sky is deep blue"
    assert output.logprobs == (expected("Sky is deep blue", " is deep blue"), ChoiceLogprob(0.0, True, 0))
    assert output.note == "log-probabilities: echo, without the first token of a text"


def test_first_tokens_of_lettered_choices() -> None:
    reply = first(("B", -0.5), (" A", -1.5), ("A", -2.0), ("The", -3.0), ("C", -4.0))
    with OpenAIStub([reply]) as stub:
        [output] = score(at(stub, logprobs="first_token"), about("Which?", ask=(" A", " B", " C", " D")))
        [body] = stub.bodies
    a, b, c, d = output.logprobs
    assert a.logprob == pytest.approx(math.log(math.exp(-1.5) + math.exp(-2.0)))
    assert (b, c, d) == (ChoiceLogprob(-0.5, True, 1), ChoiceLogprob(-4.0, False, 1), ChoiceLogprob(-5.0, False, 1))
    assert output.note == "log-probabilities: first token; not among the likeliest: choice 4"
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)


def test_first_tokens_speak_for_words_that_they_alone_begin() -> None:
    with OpenAIStub([first(("Par", -0.1), ("Lon", -2.0), ("L", -3.0))]) as stub:
        model = at(stub, logprobs="first_token")
        [output] = score(model, about("Where?", ask=("Paris", "London", "Lisbon")))
        assert [choice.logprob for choice in output.logprobs] == [-0.1, -2.0, -4.0]
        with pytest.raises(ModelError, match="None of the 3 likeliest first tokens begins exactly one choice"):
            score(model, about("Where?", ask=("(A)", "(B)")))
        with pytest.raises(ModelError, match="cannot distinguish choices"):
            score(model, about("Where?", ask=("A", " A")))


def test_fewer_likeliest_tokens_where_a_server_allows_fewer() -> None:
    def strict(received: Received) -> Any:
        if received.body["top_logprobs"] > 5:
            return failure("top_logprobs must be at most 5", 400)
        return first(("A", -0.1), ("B", -2.0))

    with OpenAIStub(strict) as stub:
        score(at(stub, logprobs="first_token"), about("Which?", ask=("A", "B")))
        assert [body["top_logprobs"] for body in stub.bodies] == [20, 5]


def test_the_first_way_that_works_is_found_once() -> None:
    def server(received: Received) -> Any:
        if received.path.endswith("/chat/completions"):
            return first(("A", -0.1), ("B", -2.0)) if "top_logprobs" in received.body else {"choices": [{"index": 0}]}
        return echo(received)

    with OpenAIStub(server) as stub:
        model = at(stub)
        texts = score(model, *[about("Which?", ask=(" A", " B"))] * 4)
        assert {output.note for output in texts} == {"log-probabilities: echo, without a chat template"}
        assert sum("prompt_logprobs" in body for body in stub.bodies) == 2
        pictures = score(model, *[about(Image(PIXEL), "Which?", ask=(" A", " B"))] * 2)
        assert {output.note for output in pictures} == {"log-probabilities: first token"}
        assert sum("prompt_logprobs" in body for body in stub.bodies) == 4


def test_a_server_with_none_of_the_ways_says_what_was_tried() -> None:
    def server(received: Received) -> Any:
        return {"choices": [{"index": 0, "message": {"content": "A"}}]} if "chat" in received.path else ABSENT

    with OpenAIStub(server) as stub, pytest.raises(ModelError) as caught:
        score(at(stub), about("Which?", ask=("A", "B")))
    assert caught.value.kind == "permanent"
    assert str(caught.value).startswith(
        "The endpoint returns no log-probabilities. Tried prompt_logprobs: its answer has no prompt_logprobs; "
        "echo: HTTP 404: There is no such thing here.; first_token: its answer has no top_logprobs."
    )


def test_a_failure_that_passes_decides_nothing() -> None:
    replies: list[Any] = [failure("busy", 503)]
    with OpenAIStub(lambda received: replies.pop() if replies else vllm_chat(received)) as stub:
        model = at(stub)
        with pytest.raises(ModelError, match="HTTP 503"):
            score(model, about("Which?", ask=("A",)))
        assert score(model, about("Which?", ask=("A",)))[0].note == "log-probabilities: prompt_logprobs"


def test_what_is_known_of_log_likelihood_before_asking() -> None:
    url = "http://localhost:1/v1"
    assert "loglikelihood" not in OpenAIModel("m", base_url=url).traits.requests
    assert OpenAIModel("m", base_url=url, logprobs="none").traits.requests["loglikelihood"] is False


# --- answers of another form ------------------------------------------------------------------------------------------


def spoiled(key: str, value: Any) -> Any:
    """Completions that repeat their prompt, with one field of the log-probabilities replaced."""

    def respond(received: Received) -> dict[str, Any]:
        answer = echo(received)
        answer["choices"][0]["logprobs"][key] = value
        return answer

    return respond


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("token_logprobs", [None, -1.0], "tokens, 2 log-probabilities"),
        ("token_logprobs", [None, *["-1.0"] * 7], "is not a log-probability"),
        ("token_logprobs", [None, *[math.nan] * 7], "is not a log-probability"),
        ("token_logprobs", [None, *[0.5] * 7], "is not a log-probability"),
        ("token_logprobs", [None] * 8, "no log-probability for the first token"),
        ("tokens", [1] * 8, "the text of a token is not text"),
        ("text_offset", ["0"] * 8, "an offset of a token is not a number"),
    ],
)
def test_an_echo_of_another_form_is_no_answer(key: str, value: Any, what: str) -> None:
    request = about("Which is it? Say", ask=(" red",))
    with OpenAIStub(echo) as stub:
        n = len(echo(stub_request("Which is it? Say red"))["choices"][0]["logprobs"]["tokens"])
        fitted = value if len(value) < 3 else [value[0], *[value[-1]] * (n - 1)]
        stub.respond = spoiled(key, fitted)
        with pytest.raises(ModelError, match=what):
            score(at(stub, api="completions"), request)


def stub_request(prompt: str) -> Received:
    return Received("/v1/completions", {}, json.dumps({"prompt": prompt}).encode())


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"1": {"logprob": math.nan, "rank": 1, "decoded_token": "x"}}, "nan is not a log-probability"),
        ({"1": {"rank": 1, "decoded_token": "x"}}, "None is not a log-probability"),
        ({"1": {"logprob": -1.0, "rank": "1", "decoded_token": "x"}}, "a rank in prompt_logprobs is not a number"),
        ({str(n): {"logprob": -1.0, "rank": n} for n in range(3)}, "does not hold one or two tokens"),
        ({"1": -1.0}, "does not hold one or two tokens"),
        ([-1.0], "does not hold one or two tokens"),
    ],
)
def test_prompt_logprobs_of_another_form_are_no_answer(entry: Any, what: str) -> None:
    reply = {"prompt_logprobs": [None, entry], "choices": [{"message": {"content": "!"}}]}
    with OpenAIStub([reply]) as stub, pytest.raises(ModelError, match=what):
        score(at(stub, logprobs="prompt_logprobs"), about("q", ask=("x",)))


@pytest.mark.parametrize("top", [[None], [{"token": 1, "logprob": -1.0}], [{"token": "A", "logprob": math.nan}]])
def test_first_tokens_of_another_form_are_no_answer(top: Any) -> None:
    reply = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": top}]}}]}
    with OpenAIStub([reply]) as stub, pytest.raises(ModelError, match="malformed"):
        score(at(stub, logprobs="first_token"), about("q", ask=("A", "B")))
