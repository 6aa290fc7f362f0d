"""One model at several addresses of endpoints that others run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, Loglikelihood, Message, Request
from polymeter.models.openai import OpenAIModel
from polymeter.run.finish.sessions import shown_address
from tests.helpers.checkpoint_folders import N, write_task
from tests.helpers.openai_stub import OpenAIStub, Received, chat, failure

NOBODY = "http://127.0.0.1:9/v1"


def sums(received: Received) -> Any:
    question = received.body["messages"][-1]["content"]
    return chat(str(2 * int(question.split()[-1].rstrip("?"))) if "+" in question else "ok")


def model(*urls: str, **args: Any) -> OpenAIModel:
    return OpenAIModel("toy", base_url=",".join(urls), **args)


def run(folder: Path, *urls: str, **options: Any) -> polymeter.RunResult:
    args = {"base_url": ",".join(urls)}
    task = write_task(folder)
    return polymeter.evaluate("openai:toy", str(task), model_args=args, output=folder / "run", **options)


def test_one_address_is_the_model_itself() -> None:
    one = model("http://a/v1")
    assert list(one.instances) == [one]
    assert one.address == "http://a/v1"


def test_several_are_the_same_model_each_somewhere_else() -> None:
    several = model("http://b:1/v1", "http://a:2/v1")
    assert [one.address for one in several.instances] == ["http://b:1/v1", "http://a:2/v1"]
    assert [one.place for one in several.instances] == ["toy at b:1", "toy at a:2"]
    assert several.identity == model("http://c/v1").identity
    assert several.address == "http://a:2/v1,http://b:1/v1", "the order does not matter to a run that goes on"


def test_the_environment_may_name_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1, http://b/v1")
    assert len(OpenAIModel("toy").instances) == 2


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        (["http://a/v1", ""], r"An address in .* is empty"),
        (["http://a/v1", "http://a/v1/"], "listed twice"),
        (["http://a/v1", "a:80"], "base URL 'a:80' is not valid"),
        (["http://a/v1", "https://api.openai.com/v1"], "cannot serve the same model"),
    ],
)
def test_addresses_that_cannot_be_meant_are_refused(
    urls: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with pytest.raises(PlanError, match=message):
        model(*urls)


def test_what_one_server_does_not_accept_is_not_sent_to_the_others_either() -> None:
    def strict(received: Received) -> Any:
        return failure("Unsupported parameter: 'seed'", 400) if "seed" in received.body else chat()

    with OpenAIStub(strict) as a, OpenAIStub() as b:
        one, other = model(a.base_url, b.base_url).instances
        request = Request((Message("user", (Text("Hi"),)),), Generate(seed=3))

        async def ask() -> None:
            await one.respond(request)
            await other.respond(request)
            await one.aclose()
            await other.aclose()

        asyncio.run(ask())
        assert "seed" not in b.bodies[-1], "else an answer would depend on where it comes from"


def test_log_probabilities_are_had_in_one_way_everywhere() -> None:
    def first_token(received: Received) -> Any:
        body = received.body
        if not body.get("top_logprobs"):
            return failure("There is no such thing here.", 404)
        top = [{"token": token, "logprob": -1.0 - n} for n, token in enumerate("AB")]
        choice = {
            "message": {"content": "A"},
            "finish_reason": "stop",
            "logprobs": {"content": [{"top_logprobs": top}]},
        }
        return {"choices": [choice]}

    with OpenAIStub(first_token) as a, OpenAIStub(first_token) as b:
        one, other = model(a.base_url, b.base_url).instances
        request = Request((Message("user", (Text("Which?"),)),), Loglikelihood(("A", "B")))

        async def ask() -> list[Any]:
            found = [await one.respond(request), await other.respond(request)]
            await one.aclose()
            await other.aclose()
            return found

        first, second = asyncio.run(ask())
        assert first.outputs[0].note == second.outputs[0].note
        assert len(b.received) == 1, "the way was found at the other address"


def test_a_run_uses_all_and_says_who_answered_how_much(tmp_path: Path) -> None:
    with OpenAIStub(sums) as a, OpenAIStub(sums) as b:
        result = run(tmp_path, a.base_url, b.base_url, concurrency=4)
        pings = 1
        counts = [len(a.received) - pings, len(b.received) - pings]
    assert sum(counts) == N
    assert all(count > N // 4 for count in counts), counts
    manifest = result.folder.read_manifest()
    found = manifest["requests_by_address"]["model"]
    assert [one["requests"] for one in found.values()] == counts
    assert list(found) == [a.base_url, b.base_url]
    (note,) = [note for note in result.results["notes"] if "2 addresses" in note]
    assert note.startswith("The model was asked at 2 addresses: ")
    assert f"% from {a.base_url} ({counts[0]} answered)" in note
    assert manifest["sessions"][-1]["endpoints"]["model"] == ",".join(sorted([a.base_url, b.base_url]))
    report = result.report.read_text(encoding="utf-8")
    assert "Addresses of the role model" in report
    assert f"from {a.base_url}" in report


def test_an_address_that_is_out_of_reach_is_told_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with OpenAIStub(sums) as a:
        result = run(tmp_path, a.base_url, NOBODY, concurrency=4)
    assert (result.status, result.n_failed) == ("complete", 0)
    assert "The other addresses are used." in caplog.text
    found = result.folder.read_manifest()["requests_by_address"]["model"]
    assert (found[a.base_url]["requests"], found[NOBODY]["requests"]) == (N, 0)


def test_a_run_whose_addresses_are_all_out_of_reach_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be reached"):
        run(tmp_path, NOBODY, "http://127.0.0.1:10/v1")


def test_an_address_that_can_never_answer_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    with OpenAIStub(sums) as a, OpenAIStub(lambda received: failure("Invalid key", 401)) as b:
        with pytest.raises(PlanError, match="requires a key") as refused:
            run(tmp_path, a.base_url, b.base_url)
        assert refused.value.where == b.base_url


def test_a_run_goes_on_at_other_addresses(tmp_path: Path) -> None:
    def grumpy(received: Received) -> Any:
        return sums(received) if received.body["messages"][-1]["content"] == "ping" else failure("no more", 402)

    with OpenAIStub(grumpy) as a:
        assert run(tmp_path, a.base_url).status == "stopped"
    with OpenAIStub(sums) as b, OpenAIStub(sums) as c:
        args = {"base_url": f"{b.base_url},{c.base_url}"}
        result = polymeter.resume(tmp_path / "run", model_args=args)
        assert (result.status, result.n_failed) == ("complete", 0)
        found = result.folder.read_manifest()["requests_by_address"]["model"]
    assert sum(one["requests"] for one in found.values()) == N


def test_several_addresses_are_shown_without_secrets() -> None:
    shown = shown_address("http://me:secret@a/v1?key=x,http://b/v1")
    assert shown == "http://a/v1,http://b/v1"
