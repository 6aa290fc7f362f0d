"""Adapters of EvalScope 1.x that check one answer's calls of tools: what is sent, and what their code gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.acting.tools import read_call
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.request import Generate, Output, Request, Response
from polymeter.models.mock import MockBatch
from tests.helpers.adapters_1x import write_rows
from tests.helpers.openai_stub import OpenAIStub, chat

ADAPTER = """\
from evalscope.api.benchmark import BenchmarkMeta, FunctionCallAdapter
from evalscope.api.dataset import Sample
from evalscope.api.messages import dict_to_chat_message
from evalscope.api.metric import Score
from evalscope.api.registry import register_benchmark
from evalscope.api.tool import ToolInfo


@register_benchmark(BenchmarkMeta(name="calls", dataset_id="DATA", eval_split="test", metric_list=["right", "valid"]))
class Calls(FunctionCallAdapter):
    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        return Sample(
            input=[dict_to_chat_message(message) for message in record["messages"]],
            target="",
            tools=[ToolInfo.model_validate(tool["function"]) for tool in record["tools"]],
            metadata={"tools": record["tools"], "calls": record["calls"]},
        )

    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        made = task_state.output.message.tool_calls or []
        valid, why = self.validate_tool_call(made, task_state.metadata["tools"])
        has_called = task_state.output.stop_reason == "tool_calls"
        score = Score(prediction=original_prediction, extracted_prediction=repr([call.function for call in made]))
        score.value = {"right": int(has_called == task_state.metadata["calls"]), "valid": int(valid)}
        score.metadata = {"why": why, "faults": [call.parse_error for call in made]}
        return score
"""
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city"],
}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA}}
USER = {"role": "user", "content": "The weather in Rome?"}
EARLIER = [
    USER,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a", "function": {"name": "weather", "arguments": {"city": "Rome"}}}],
    },
    {"role": "tool", "content": "Rain.", "tool_call_id": "a"},
    {"role": "user", "content": "And in Bari?"},
]


def adapter(folder: Path, *rows: dict[str, Any]) -> Path:
    write_rows(folder / "data" / "default_test.jsonl", rows)
    path = folder / "calls_adapter.py"
    path.write_text(ADAPTER.replace("DATA", str(folder / "data")), encoding="utf-8")
    return path


def row(messages: Any = (USER,), tools: Any = (WEATHER,), calls: bool = True) -> dict[str, Any]:
    return {"messages": list(messages), "tools": list(tools), "calls": calls}


def run(tmp_path: Path, written: dict[str, Output], *rows: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The values of a run and the scores' metadata, with a mock that answers by the last message."""

    def answer(request: Request) -> Response:
        assert isinstance(request.parameters, Generate)
        assert request.parameters.tools[0].name == "weather"
        return Response((written[request.messages[-1].text],))

    model = MockBatch(answer, identity={"backend": "mock"})
    polymeter.evaluate(model, [str(adapter(tmp_path / "task", *rows))], output=tmp_path / "run")
    results = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["calls"]["results"]
    lines = (tmp_path / "run" / "samples" / "calls.jsonl").read_text().splitlines()
    return {one["metric"]: one["value"] for one in results}, [json.loads(line) for line in lines]


def calling(*arguments: str) -> Output:
    calls = tuple(read_call(f"c{n}", "weather", written) for n, written in enumerate(arguments))
    return Output("", calls=calls, finish_reason="tool_calls" if calls else "stop")


def test_calls_are_scored_by_the_authors_code(tmp_path: Path) -> None:
    answers = {
        "The weather in Rome?": calling('{"city": "Rome"}'),
        "Broken?": calling('{"city": "Rome"', '{"city": "Bari"}'),
        "No city?": calling('{"days": [1]}'),
        "Plain?": calling("Rome"),
        "None?": Output("I do not know.", finish_reason="stop"),
    }
    rows = [row([{"role": "user", "content": text}], calls=text != "None?") for text in answers]
    values, samples = run(tmp_path, answers, *rows)
    assert values == {"right": 1.0, "valid": 0.6}  # broken arguments are empty ones there, which lack the city
    assert "'city' is a required property" in json.dumps(samples[1])
    assert "Error parsing the following tool call arguments" in json.dumps(samples[1])
    assert '"weather"' in json.dumps(samples[0]["exchanges"][0]["request"]["ask"]["tools"])


def test_the_tools_and_an_earlier_call_are_sent_as_evalscope_sends_them(tmp_path: Path) -> None:
    by_pythons_names = json.loads(json.dumps(WEATHER).replace('"string"', '"str"').replace('"integer"', '"int"'))
    with OpenAIStub(lambda _: chat("It rains.")) as stub:
        path = adapter(tmp_path / "task", row(EARLIER, [by_pythons_names], calls=False))
        polymeter.evaluate(
            "openai:m", [str(path)], model_args={"base_url": stub.base_url}, output=tmp_path / "run", max_retries=0
        )
        (body,) = [body for body in stub.bodies if "tools" in body]
    function = body["tools"][0]["function"]
    assert function["parameters"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert body["tool_choice"] == "auto"
    _, turn, result, _ = body["messages"]
    assert turn["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    ]
    assert result == {"role": "tool", "content": "Rain.", "tool_call_id": "a"}


def test_a_run_of_calls_is_scored_again_from_its_journal(tmp_path: Path) -> None:
    values, _ = run(tmp_path, {"The weather in Rome?": calling('{"city": "Rome"}')}, row())
    polymeter.score(tmp_path / "run", output=tmp_path / "again")
    results = json.loads((tmp_path / "again" / "results.json").read_text())["tasks"]["calls"]["results"]
    assert {one["metric"]: one["value"] for one in results} == values == {"right": 1.0, "valid": 1.0}


def test_a_model_without_tools_is_unfit_before_the_first_request(tmp_path: Path) -> None:
    path = adapter(tmp_path, row())
    with pytest.raises(UnfitError, match="Task 'calls' offers tools to the model, and 'mock' cannot be offered any"):
        polymeter.evaluate("mock", [str(path)], model_args={"simple": True}, output=tmp_path / "run")


def test_tools_that_share_a_name_are_refused_with_their_sample(tmp_path: Path) -> None:
    path = adapter(tmp_path, row(), row(tools=(WEATHER, WEATHER)))
    with pytest.raises(PlanError, match="Two tools have the name 'weather'") as caught:
        polymeter.evaluate("mock", [str(path)], output=tmp_path / "run")
    assert "calls default/1" in str(caught.value)
