"""A malformed answer of an endpoint is an error of its sample, and never a wrong answer."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat, images, png
from tests.helpers.provider_stubs import ProviderStub, claude_says, gemini_says
from tests.helpers.provider_stubs import Reply as ProviderReply
from tests.regressions.endpoints import Ended, polymeter, run, task_folder

QUICK = ("--max-retries", "0", "--concurrency", "1")


def choice(message: Any, reason: Any = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": reason, "message": message}]}


BROKEN: Mapping[str, Any] = {
    "an empty choice": {"choices": [{}]},
    "no message": {"choices": [{"index": 0, "finish_reason": "stop"}]},
    "a message that is null": choice(None),
    "a message that is text": choice("right"),
    "an empty message": choice({}),
    "content null and no end": choice({"role": "assistant", "content": None}, None),
    "content that is a number": choice({"content": 4}),
    "content that is an object": choice({"content": {"text": "right"}}),
    "parts that are numbers": choice({"content": [4]}),
    "parts of no known type": choice({"content": [{"type": "poem", "lines": ["right"]}]}),
    "a part without text": choice({"content": [{"type": "text", "text": None}]}),
    "tool calls only": choice({"content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]}, "tool_calls"),
    "a function call only": choice({"content": None, "function_call": {"name": "f"}}, "function_call"),
    "a chunk of a stream": {"choices": [{"index": 0, "delta": {"content": "right"}, "finish_reason": None}]},
    "a stream": Reply('data: {"choices": [{"delta": {"content": "right"}}]}\n\n'),
    "no choices": {"choices": []},
    "choices that are an object": {"choices": {"0": choice({"content": "right"})}},
    "choices that are null": {"choices": [None]},
    "an error with status 200": {"error": {"message": "the worker died", "type": "server_error"}},
    "a page": Reply("<html>Sign in</html>", headers={"Content-Type": "text/html"}),
    "half an answer": Reply('{"choices": [{"message": {"content": "ri'),
    "no object": Reply('["right"]'),
    "a text": Reply('"right"'),
    "null": Reply("null"),
    "nested without end": Reply("[" * 100_000),
    "nothing": Reply(""),
    "an interrupted answer": choice({"content": "rig"}, "insufficient_system_resource"),
}
ANSWERS: Mapping[str, Any] = {
    "right": chat("right"),
    "wrong": chat("wrong"),
    "silent": chat(""),
    "silent, null": chat(None),
    "silent, thinking": choice({"content": None, "reasoning_content": "hm"}, "length"),
    "right, in parts": chat([{"type": "text", "text": "rig"}, {"type": "text", "text": "ht"}]),  # type: ignore[arg-type]
    "right, usage of another type": {**chat("right"), "usage": "many"},
    "right, counts of another type": {**chat("right"), "usage": {"prompt_tokens": [], "completion_tokens": "4"}},
}


def asked(received: Received) -> str:
    return str(received.body["messages"][-1]["content"])


def errors_of(ended: Ended, broken: Mapping[str, Any]) -> None:
    """Every broken answer is an error, and the score rests on the others."""
    failed = {question for question, row in ended.rows.items() if row["status"] != "ok"}
    assert failed == set(broken), ended.said
    assert {ended.rows[question]["error"]["kind"] for question in broken} <= {"permanent", "transient"}
    assert ended.code == 1
    assert ended.task["n_scored"] == ended.task["n_samples"] - len(broken)


def test_malformed_chats_are_errors_and_silence_is_an_answer(tmp_path: Path) -> None:
    said = {**BROKEN, **ANSWERS}
    tasks = task_folder(tmp_path / "tasks", list(said))
    with OpenAIStub(lambda received: said.get(asked(received), chat())) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *QUICK)
    errors_of(ended, BROKEN)
    assert ended.task["results"][0]["value"] == pytest.approx(4 / len(ANSWERS))


def test_malformed_answers_of_anthropic_are_errors(tmp_path: Path) -> None:
    broken = {
        "no end": claude_says(content=[], stop_reason=None),
        "a block that is null": claude_says(content=[None]),
        "a text that is a number": claude_says(content=[{"type": "text", "text": 4}]),
        "a text that is missing": claude_says(content=[{"type": "text"}]),
        "tool calls only": claude_says(content=[{"type": "tool_use", "id": "1", "name": "f"}], stop_reason="tool_use"),
        "blocks of no known type": claude_says(content=[{"type": "poem", "lines": []}]),
        "content that is text": claude_says(content="right"),
        "no content": claude_says(content=None),
        "an error with status 200": ProviderReply({"type": "error", "error": {"type": "api_error", "message": "x"}}),
        "a page": ProviderReply("<html></html>", content_type="text/html"),
        "no object": ProviderReply("[1]"),
    }
    answers = {"right": claude_says("right"), "silent": claude_says(content=[]), "usage": claude_says("right", usage=4)}
    said = {**broken, **answers}
    tasks = task_folder(tmp_path / "tasks", list(said))
    with ProviderStub(lambda seen: said.get(_text(seen.body["messages"][-1]["content"]), claude_says())) as stub:
        arguments = ("--model-args", f"base_url={stub.url}", *QUICK)
        ended = run("anthropic:m", tasks, tmp_path / "run", *arguments, ANTHROPIC_API_KEY="k")
    errors_of(ended, broken)
    assert ended.task["results"][0]["value"] == pytest.approx(2 / 3)


def test_malformed_answers_of_gemini_are_errors(tmp_path: Path) -> None:
    def candidate(*parts: Any, reason: Any = "STOP") -> ProviderReply:
        return gemini_says(candidates=[{"content": {"role": "model", "parts": list(parts)}, "finishReason": reason}])

    broken = {
        "an empty candidate": gemini_says(candidates=[{}]),
        "a candidate that is null": gemini_says(candidates=[None]),
        "no end": candidate(reason=None),
        "an unknown end": candidate(reason="MALFORMED_FUNCTION_CALL"),
        "a text that is a number": candidate({"text": 4}),
        "parts of no known type": candidate({"executableCode": {"code": "1"}}),
        "a function call only": candidate({"functionCall": {"name": "f"}}),
        "content that is text": gemini_says(candidates=[{"content": "right", "finishReason": "STOP"}]),
        "no candidates": gemini_says(candidates=[]),
        "an error with status 200": ProviderReply({"error": {"code": 500, "message": "x", "status": "INTERNAL"}}),
        "no object": ProviderReply("[1]"),
    }
    answers = {"right": gemini_says("right"), "silent": candidate(reason="MAX_TOKENS")}
    answers["usage"] = gemini_says("right", usageMetadata={"promptTokenCount": "many", "candidatesTokenCount": []})
    said = {**broken, **answers}
    tasks = task_folder(tmp_path / "tasks", list(said))
    with ProviderStub(lambda seen: said.get(_text(seen.body["contents"][-1]["parts"]), gemini_says())) as stub:
        arguments = ("--model-args", f"base_url={stub.url}", *QUICK)
        ended = run("gemini:m", tasks, tmp_path / "run", *arguments, GEMINI_API_KEY="k")
    errors_of(ended, broken)
    assert ended.task["results"][0]["value"] == pytest.approx(2 / 3)


def test_malformed_log_probabilities_are_errors(tmp_path: Path) -> None:
    def top(*pairs: tuple[Any, Any]) -> dict[str, Any]:
        listed = [{"token": token, "logprob": logprob} for token, logprob in pairs]
        return {
            "choices": [{"index": 0, "message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": listed}]}}]
        }

    right = top(("A", -0.1), ("B", -2.0))
    broken = {
        "not a number": top(("A", math.nan), ("B", -2.0)),
        "null": top(("A", None), ("B", -2.0)),
        "text": top(("A", "-0.1"), ("B", -2.0)),
        "probabilities": top(("A", 0.9), ("B", 0.1)),
        "tokens that are numbers": top((65, -0.1), ("B", -2.0)),
        "an object": {"choices": [{"message": {"content": "A"}, "logprobs": {"content": {"top_logprobs": []}}}]},
        "no choices": {"choices": []},
    }
    said = {"right": right, **broken}
    tasks = task_folder(tmp_path / "tasks", list(said), choices=True)
    with OpenAIStub(lambda received: said.get(asked(received), right)) as stub:
        arguments = ("--base-url", stub.base_url, "--model-args", "logprobs=first_token", *QUICK)
        ended = run("openai:m", tasks, tmp_path / "run", *arguments)
    errors_of(ended, broken)
    assert ended.task["results"][0]["value"] == 1.0


def test_what_is_no_image_is_an_error_and_is_drawn_again(tmp_path: Path) -> None:
    broken = [images({}), images({"b64_json": "@@@"}), images({"b64_json": "bm8gaW1hZ2U="}), images({"b64_json": 4})]

    def respond(received: Received) -> Any:
        if not received.raw:  # the list of models
            return {"data": []}
        prompt = received.body["prompt"]
        n_tries[prompt] = n_tries.get(prompt, 0) + 1
        is_hopeless = prompt == next(iter(n_tries))
        return broken[len(n_tries) % 4] if is_hopeless or n_tries[prompt] == 1 else images(png())

    n_tries: dict[str, int] = {}
    with OpenAIStub(respond) as stub:
        arguments = ["run", "--model", "openai:dall-e-2", "--base-url", stub.base_url, "--tasks", "demo_t2i"]
        arguments += ["--limit", "5", "--output", str(tmp_path / "run"), "--max-retries", "1", "--concurrency", "1"]
        ended = polymeter(*arguments, folder=tmp_path / "run")
    lines = "".join(file.read_text() for file in (tmp_path / "run" / "samples").glob("*.jsonl")).splitlines()
    assert sorted(json.loads(line)["status"] for line in lines) == ["error", "ok", "ok", "ok", "ok"], ended.said
    assert ended.code == 1


def test_a_judge_that_answers_malformed_leaves_the_sample_unscored(tmp_path: Path) -> None:
    from tests.helpers.judged import judged_folder

    tasks = judged_folder(tmp_path / "tasks", n_rows=4)
    (tasks / "said.yaml").write_text((tasks / "facts.yaml").read_text().replace("task: facts", "task: said"))
    (tasks / "facts.yaml").unlink()
    broken_off = choice({"content": "A"}, "insufficient_system_resource")
    replies = [BROKEN["an empty choice"], broken_off, BROKEN["tool calls only"]]

    def respond(received: Received) -> Any:
        if received.body["model"] == "m" or received.body.get("max_tokens") == 1:
            return chat("answer")
        return replies[len(stub.received) % len(replies)]

    with OpenAIStub(respond) as stub:
        judge = ("--judge", "openai:j", "--judge-args", f"base_url={stub.base_url}")
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *judge, *QUICK)
    assert ended.task["n_scored"] == 0, ended.said
    assert {row["status"] for row in ended.rows.values()} == {"unscored"}
    assert ended.code == 1


def test_a_body_is_read_up_to_a_limit_after_decompression(tmp_path: Path) -> None:
    bomb = gzip.compress(json.dumps(chat("x" * (65 << 20))).encode(), 1)
    said = {"large": Reply(bomb, headers={"Content-Encoding": "gzip"}), "right": chat("right")}
    tasks = task_folder(tmp_path / "tasks", list(said))
    with OpenAIStub(lambda received: said.get(asked(received), chat())) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *QUICK)
    errors_of(ended, {"large": bomb})
    assert "larger than 64 MB" in ended.rows["large"]["error"]["message"]


def _text(parts: Any) -> str:
    return str(parts[0]["text"]) if isinstance(parts, list) else str(parts)
