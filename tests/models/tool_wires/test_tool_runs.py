"""One task with a tool over the wires of four APIs: the same conversation, results and journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.helpers.provider_stubs import ProviderStub, Reply, Seen, claude_says, gemini_says
from tests.models.tool_wires.test_tool_wires import openai_says, responses_says

pytest.importorskip("anthropic")
pytest.importorskip("google.genai")

ANSWER = "3L9FH"
ARGUMENTS = {"box": [0.5, 0.75, 0.75, 1.0]}
MODELS = {
    "openai": ("openai:m", {"api": "chat"}),
    "responses": ("openai:m", {"api": "responses"}),
    "anthropic": ("anthropic:claude-test", {}),
    "gemini": ("gemini:gemini-3-flash", {}),
}


def call(wire: str) -> Reply:
    """One call, with what the API wants to have back."""
    written = json.dumps(ARGUMENTS)
    if wire == "openai":
        function = {"name": "zoom", "arguments": written}
        return openai_says(None, reasoning_content="Hm.", tool_calls=[{"id": "c", "function": function}])
    if wire == "responses":
        thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "S"}
        item = {"type": "function_call", "call_id": "c", "name": "zoom", "arguments": written}
        return responses_says(thought, item, text="")
    if wire == "anthropic":
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "S"}
        block = {"type": "tool_use", "id": "c", "name": "zoom", "input": ARGUMENTS}
        return claude_says(content=[thought, block], stop_reason="tool_use")
    part = {"functionCall": {"id": "c", "name": "zoom", "args": ARGUMENTS}, "thoughtSignature": "S"}
    parts = [{"text": "Hm.", "thought": True}, part]
    return gemini_says(candidates=[{"content": {"parts": parts}, "finishReason": "STOP"}])


def scripted(wire: str) -> Callable[[Seen], Reply]:
    """Calls the tool first, and answers when its result is there; the preflight request has no tools."""
    says = {"openai": openai_says, "responses": responses_says, "anthropic": claude_says, "gemini": gemini_says}[wire]

    def reply(seen: Seen) -> Reply:
        is_first = "tools" in seen.body and "600 x 450" not in json.dumps(seen.body)
        return call(wire) if is_first else says(text=ANSWER)

    return reply


def told(run: Path) -> list[Any]:
    """The conversation of the first sample, as the journal holds it."""
    (sample,) = [json.loads(line) for line in (run / "samples" / "demo_zoom.jsonl").read_text().splitlines()]
    return [
        (
            [(message["role"], message["parts"], message.get("calls"), message.get("call_id")) for message in messages],
            output["text"],
            [{key: one[key] for key in ("id", "name", "arguments")} for one in output.get("tool_calls", ())],
        )
        for exchange in sample["exchanges"]
        for messages, output in [(exchange["request"]["messages"], exchange["response"]["outputs"][0])]
    ]


def without_raw(told: list[Any]) -> str:
    """APIs that send objects have no text of the arguments."""
    text = json.dumps(told)
    return text.replace(f', "raw": {json.dumps(json.dumps(ARGUMENTS))}', "")


def test_one_task_is_the_same_over_four_wires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "secret-of-the-tests")
    found, values = {}, {}
    for wire, (model, args) in MODELS.items():
        with ProviderStub(scripted(wire)) as stub:
            base = f"{stub.url}/v1" if model.startswith("openai") else stub.url
            run = tmp_path / wire
            polymeter.evaluate(model, "demo_zoom", model_args={**args, "base_url": base}, limit=1, output=run)
            n_sent = len(stub.posts)
            polymeter.score(run, output=tmp_path / f"{wire}-again")
            assert len(stub.posts) == n_sent == 3, "the preflight request, the call and the answer"
        found[wire] = without_raw(told(run))
        results = [
            json.loads((folder / "results.json").read_text())["tasks"] for folder in (run, tmp_path / f"{wire}-again")
        ]
        values[wire], again = [
            {one["metric"]: one["value"] for one in each["demo_zoom"]["results"]} for each in results
        ]
        assert again == values[wire], "scored again without the tool"
    assert len(set(found.values())) == 1
    assert {(each["exact_match"], each["turns"], each["call_problems"]) for each in values.values()} == {
        (1.0, 2.0, 0.0)
    }
