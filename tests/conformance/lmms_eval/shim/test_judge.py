"""Judges that a task's own code asks: through the run, journaled, and never a no where there was no verdict."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core import request as core
from polymeter.core.errors import ModelError, PlanError, UnscoredError
from polymeter.core.guest_context import answering_through
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_asking import build_client, has_endpoint_support
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_prompts import ResponseParser
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_servers import ProviderFactory, Request, ServerConfig, get_server
from polymeter.interop.lmms_eval.shim.lmms_eval.verification import (
    OpenAIVerifier,
    VerificationPipeline,
    build_verification_pipeline,
)
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers import StripReasoningExtractor
from polymeter.judge.verdict import read_correctness as parse_binary_response
from polymeter.store.exports.export import read_samples
from tests.conformance.lmms_eval.shim.kit import folder_of, run

BINARY = """
    import os
    from lmms_eval.llm_judge import ServerConfig, get_server

    config = ServerConfig(model_name="gpt-4o", max_tokens=16)
    server = get_server(server_name=os.getenv("API_TYPE", "openai"), config=config)

    def process_results(doc, results):
        found = server.evaluate_binary(question=doc["q"], answer=doc["a"], prediction=results[0], output_format="0/1")
        return {"score": found["result"] if found["success"] else 0}
"""


def test_a_task_asks_the_run_s_judge(tmp_path: Path) -> None:
    asked: list[core.Request] = []

    def judge(request: core.Request) -> str:
        asked.append(request)
        return "0" if "question 2" in request.text else "Score: 1"

    folder = folder_of(tmp_path / "tasks", BINARY)
    found = run(folder, tmp_path / "run", judge=judge)
    assert found.exit_code == 0
    assert found.value("judged", "score") == 0.75
    assert len(asked) == 4
    assert asked[0].parameters == core.Generate(16, 0.0, None)
    assert "question 0" in asked[0].text
    assert "answer 0" in asked[0].text
    again = run(folder, tmp_path / "run", judge=judge)
    assert again.value("judged", "score") == 0.75
    assert len(asked) == 4, "the journal knows the verdicts"


def test_without_a_judge_the_error_says_how_to_name_one(tmp_path: Path) -> None:
    found = run(folder_of(tmp_path / "tasks", BINARY), tmp_path / "run")
    assert found.n_failed == 4
    assert all("--judge" in json.dumps(row) for row in read_samples(found.folder, "judged"))


def test_a_judge_that_fails_leaves_the_sample_without_a_score(tmp_path: Path) -> None:
    def judge(request: core.Request) -> str:
        if "question 1" in request.text:
            raise ModelError("no")
        return "1"

    found = run(folder_of(tmp_path / "tasks", BINARY), tmp_path / "run", judge=judge)
    result = found.result("judged", "score")
    assert (result.value, result.n) == (1.0, 3)


def test_a_verdict_that_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    found = run(
        folder_of(tmp_path / "tasks", BINARY),
        tmp_path / "run",
        judge=lambda request: "10 out of 10" if "question 1" in request.text else "1",
    )
    result = found.result("judged", "score")
    assert (result.value, result.n) == (1.0, 3)


def test_a_task_that_takes_an_unusable_verdict_for_a_zero_has_no_score_either(tmp_path: Path) -> None:
    careless = BINARY.replace(
        '    return {"score": found["result"] if found["success"] else 0}',
        """
        try:
            return {"score": found["result"]}
        except Exception:
            return {"score": 0}""",
    )
    assert "except" in careless
    found = run(
        folder_of(tmp_path / "tasks", careless),
        tmp_path / "run",
        judge=lambda request: "10 out of 10" if "question 1" in request.text else "1",
    )
    result = found.result("judged", "score")
    assert (result.value, result.n) == (1.0, 3)


class PendingRequest:
    """An asker that answers from a list and remembers the questions."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[core.Request] = []

    def __call__(self, role: str, request: core.Request) -> core.Response:
        assert role == "judge"
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return core.Response.failed(answer) if isinstance(answer, ModelError) else core.Response.of_text(answer)


@pytest.fixture
def picture() -> bytes:
    buffer = io.BytesIO()
    pil.new("RGB", (3, 2), "red").save(buffer, "PNG")
    return buffer.getvalue()


def sizes(request: core.Request) -> Iterator[tuple[int, int]]:
    return (image.open().size for image in request.images())


@pytest.mark.parametrize("name", ["openai", "azure", "async_openai", "async_azure", "bedrock", "local"])
def test_every_type_of_server_asks_the_judge(name: str) -> None:
    asker = PendingRequest(" fine ")
    with answering_through(asker):
        response = get_server(name, ServerConfig("m", system_prompt="Be strict.", top_p=0.5)).evaluate(
            Request([{"role": "user", "content": "Well?"}])
        )
    assert (response.content, response.success, response.model_used) == ("fine", True, "judge")
    assert [turn.role for turn in asker.requests[0].messages] == ["system", "user"]
    assert asker.requests[0].parameters == core.Generate(1024, 0.0, 0.5)


def test_a_server_needs_no_judge_until_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = get_server("openai", ServerConfig(model_name="gpt-4o"))
    assert server.is_available()
    with pytest.raises(PlanError, match="--judge"):
        server.evaluate(Request([{"role": "user", "content": "Well?"}]))


def test_the_dummy_asks_nobody_and_unknown_types_are_named() -> None:
    assert get_server("dummy").evaluate(Request([])).content == "dummy"
    with pytest.raises(ValueError, match=r"no type of judge 'opena'.*'openai'"):
        get_server("opena")
    with pytest.raises(TypeError):
        ProviderFactory.register_provider("mine", dict)  # type: ignore[arg-type]


def test_images_go_with_the_last_message_of_the_user(picture: bytes, tmp_path: Path) -> None:
    path = tmp_path / "p.png"
    path.write_bytes(picture)
    packed = base64.b64encode(picture)
    shown = [str(path), picture, packed, packed.decode(), pil.new("RGB", (3, 2))]
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{packed.decode()}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "See"}, url]},
        {"role": "assistant", "content": "yes"},
    ]
    asker = PendingRequest("1")
    with answering_through(asker):
        get_server("openai").evaluate(Request(messages, images=shown))
    assert [len(turn.parts) for turn in asker.requests[0].messages] == [7, 1]
    assert list(sizes(asker.requests[0])) == [(3, 2)] * 6


def test_a_failing_judge_is_no_success() -> None:
    with answering_through(PendingRequest(ModelError("overloaded"))):
        found = get_server("openai").evaluate_binary("q", "a", "p")
    assert (found["success"], found["result"], found["error_message"]) == (False, None, "overloaded")


def test_a_task_may_read_an_unusual_answer_itself() -> None:
    with answering_through(PendingRequest("CORRECT")):
        found = get_server("openai").evaluate_binary(
            "q", "a", "p", custom_prompt="{question} {answer} {pred} {hint}", hint="h"
        )
    assert (found["raw_response"], found["prompt"], found["success"]) == ("CORRECT", "q a p h", True)
    with pytest.raises(UnscoredError, match="'CORRECT'"):
        found["result"]


def test_comparing_rubrics_and_awaiting() -> None:
    server = get_server("async_openai")
    with answering_through(PendingRequest("8, 6.5\nbecause")):
        assert server.evaluate_comparative("q", "one", "two")["scores"] == (8.0, 6.5)
    with answering_through(PendingRequest('Here: {"tone": 3}')):
        assert server.evaluate_with_rubric("q", "p", {"tone": "kind"})["scores"] == {"tone": 3}
    with answering_through(PendingRequest("Yes.")):
        found = asyncio.run(server.evaluate_binary_batch_async(["q"] * 3, ["a"] * 3, ["p"] * 3, "yes/no"))  # type: ignore[union-attr]
    assert [item["result"] for item in found] == [True] * 3


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("1", 1),
        ("0", 0),
        ("[[1]]", 1),
        ("Score: 0", 0),
        ("**1**", 1),
        ("1.", 1),
        ("1.0", 1),
        ("Right: 3 of 3.\n1", 1),
        ("1\nIt is right, although 0 would be strict.", 1),
        ("10", None),
        ("-1", None),
        ("0.5", None),
        ("Final score = 0", 0),
        ("1\n0", None),
        ("0 or 1", None),
        ("", None),
        ("1/1", None),
        ("dummy", None),
    ],
)
def test_zero_or_one(text: str, verdict: int | None) -> None:
    if verdict is None:
        with pytest.raises(UnscoredError):
            ResponseParser.parse_binary_response(text)
    else:
        assert ResponseParser.parse_binary_response(text) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("Yes", True), ("yes, it is", True), ("No.", False), ("Not sure", None), ("Yes and no", None), ("nobody", None)],
)
def test_yes_or_no(text: str, verdict: bool | None) -> None:
    if verdict is None:
        with pytest.raises(UnscoredError):
            ResponseParser.parse_binary_response(text, "yes/no")
    else:
        assert ResponseParser.parse_binary_response(text, "yes/no") is verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("CORRECT", True),
        ("Judgement: INCORRECT", False),
        ("NOT_ATTEMPTED", False),
        ("yes", True),
        ("0", False),
        ("not correct", False),
        ("not incorrect", True),
        ("correct, then incorrect", None),
        ("perhaps", None),
        ("11", None),
    ],
)
def test_words_of_a_verifier(text: str, verdict: bool | None) -> None:
    if verdict is None:
        with pytest.raises(UnscoredError):
            parse_binary_response(text)
    else:
        assert parse_binary_response(text) is verdict


def test_numbers_and_objects_are_read_or_refused() -> None:
    assert ResponseParser.parse_score_response("about 12", (0, 10)) == 10
    for read in (
        ResponseParser.parse_score_response,
        ResponseParser.parse_comparative_response,
        ResponseParser.parse_json_response,
    ):
        with pytest.raises(UnscoredError):
            read("none")


def test_a_pipeline_strips_reasoning_and_asks() -> None:
    pipeline = VerificationPipeline([StripReasoningExtractor()], OpenAIVerifier(model="gpt-4o"))
    asker = PendingRequest("1")
    with answering_through(asker):
        result = pipeline("Which colour?", "<think>hm 0</think>Blue", "blue")
    assert (result.score, result.is_correct) == (1.0, True)
    assert result.metadata["extracted_prediction"] == "Blue"
    assert "hm 0" not in asker.requests[0].text


def test_verifiers_with_prompts_scores_and_comparisons() -> None:
    with answering_through(PendingRequest("7")):
        scored = OpenAIVerifier(custom_prompt="{question}|{prediction}|{ground_truth}", response_format="score")
        assert scored.verify("q", "p", "g").score == 0.7
    with answering_through(PendingRequest("9 4")):
        result = OpenAIVerifier(judge_type="comparative").verify("q", "p", "g")
    assert (result.score, result.is_correct) == (0.9, True)
    with answering_through(PendingRequest(ModelError("down"))):
        assert OpenAIVerifier().verify("q", "p", "g").metadata == {"judge_failed": True}
    with pytest.raises(ValueError, match="judge_type"):
        OpenAIVerifier(judge_type="custom")


def test_a_chain_asks_the_judge_only_when_a_rule_is_unsure() -> None:
    pipeline = build_verification_pipeline(
        {
            "extractors": [{"type": "strip"}],
            "verifier": {"type": "composite", "verifiers": [{"type": "exact_match"}, {"type": "openai"}]},
        }
    )
    asker = PendingRequest("0")
    with answering_through(asker):
        assert pipeline("q", "Paris</s>", "paris").is_correct
        assert not asker.requests
        assert not pipeline("q", "the capital", "paris").is_correct
    assert len(asker.requests) == 1
    with pytest.raises(KeyError, match="exact_match"):
        build_verification_pipeline({"verifier": {"type": "exactmatch"}})


def test_the_client_of_azure_openai_compat_asks_the_judge() -> None:
    assert has_endpoint_support()
    client, model = build_client()
    with answering_through(PendingRequest("True")):
        made = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "?"}], max_tokens=16, temperature=0
        )
    assert made.choices[0].message.content == "True"
    with answering_through(PendingRequest(ModelError("down"))), pytest.raises(ModelError, match="down"):
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": "?"}])
