"""``demo_zoom``: print that only a tool shows. A scripted mock and an endpoint run it; what the model is shown is the
part of the sheet, by its pixels.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.core.request import Response
from polymeter.library.demo_zoom import utils
from tests.helpers.guides import TINY_VLM
from tests.helpers.openai_stub import OpenAIStub, Received, chat

ROWS = [json.loads(line) for line in (Path(utils.__file__).parent / "rows.jsonl").read_text().splitlines()]
METRICS = ["exact_match", "turns", "call_problems", "tokens_per_success"]


def box_of(row: dict[str, Any]) -> list[float]:
    """The box around the thing that a row asks for, in fractions."""
    (thing,) = [thing for thing in row["things"] if thing[4] == row["answer"]]
    x, y = thing[2], thing[3]
    return [(x - 120) / 2400, (y - 90) / 1800, (x + 120) / 2400, (y + 150) / 1800]


def part_of(row: dict[str, Any]) -> Image.Image:
    """What ``zoom`` returns for this box: 240 by 240 pixels, four times as large."""
    left, top, right, bottom = (
        round(value * size) for value, size in zip(box_of(row), (2400, 1800, 2400, 1800), strict=True)
    )
    part = utils.sheet(row["things"]).crop((left, top, right, bottom))
    return part.resize((960, 960), Image.Resampling.BICUBIC)


def values(folder: Path) -> dict[str, float]:
    results = json.loads((folder / "results.json").read_text())
    return {one["metric"]: one["value"] for one in results["tasks"]["demo_zoom"]["results"]}


def test_every_code_is_on_its_sheet_once() -> None:
    assert len({row["id"] for row in ROWS}) == len(ROWS) == 24
    for row in ROWS:
        codes = [thing[4] for thing in row["things"]]
        assert len(set(codes)) == len(codes)
        assert row["answer"] in codes


def test_a_scripted_mock_reads_by_zooming(tmp_path: Path) -> None:
    script = {
        str(number): [{"text": "", "calls": [{"name": "zoom", "arguments": {"box": box_of(row)}}]}, row["answer"]]
        for number, row in enumerate(ROWS[:3])
    }
    (tmp_path / "script.json").write_text(json.dumps(script))
    args = {"answers": str(tmp_path / "script.json")}
    polymeter.evaluate("mock", "demo_zoom", model_args=args, limit=3, output=tmp_path / "run")
    assert values(tmp_path / "run") | {"tokens_per_success": None} == dict(zip(METRICS, (1, 2, 0, None), strict=True))
    kept = [Image.open(path).tobytes() for path in (tmp_path / "run" / "media").glob("*/*.prompt.png")]
    assert sorted(kept) == sorted(part_of(row).tobytes() for row in ROWS[:3])


def test_a_mock_that_does_not_zoom_has_no_code(tmp_path: Path) -> None:
    polymeter.evaluate("mock", "demo_zoom", limit=2, output=tmp_path / "run")
    found = values(tmp_path / "run")
    assert (found["exact_match"], found["turns"]) == (0, 1)
    assert found["tokens_per_success"] is None


def test_an_endpoint_is_sent_the_part_that_it_asked_for(tmp_path: Path) -> None:
    row = ROWS[0]

    def respond(received: Received) -> Any:
        messages = received.body.get("messages", [])
        if not any("Zoom into" in json.dumps(message) for message in messages):
            return chat()  # the request before the run
        if any(message["role"] == "tool" for message in messages):
            return chat(row["answer"])
        function = {"name": "zoom", "arguments": json.dumps({"box": box_of(row)})}
        return chat("", tool_calls=[{"id": "c1", "type": "function", "function": function}])

    with OpenAIStub(respond) as stub:
        args = {"base_url": stub.base_url}
        polymeter.evaluate("openai:stub", "demo_zoom", model_args=args, limit=1, output=tmp_path / "run")
    assert values(tmp_path / "run")["exact_match"] == 1
    last = stub.bodies[-1]
    assert [tool["function"]["name"] for tool in last["tools"]] == ["zoom"]
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "tool", "user"]
    assert "This is its part" in last["messages"][2]["content"]
    (url,) = [part["image_url"]["url"] for part in last["messages"][3]["content"] if part["type"] == "image_url"]
    shown = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    assert shown.size == (480, 480)  # by the rule of the task, which shows no image larger
    assert len(stub.bodies) - 1 <= 2


@pytest.mark.parametrize("option", [{"sample_tokens": 30}, {"sample_seconds": 0.001}])
def test_a_limit_of_the_user_ends_a_sample_without_a_score(tmp_path: Path, option: dict[str, Any]) -> None:
    (tmp_path / "script.json").write_text(
        json.dumps({"*": [{"text": "", "calls": [{"name": "zoom", "arguments": {"box": [0, 0, 0.1, 0.1]}}]}]})
    )
    args = {"answers": str(tmp_path / "script.json"), "delay_ms": 2}
    polymeter.evaluate("mock", "demo_zoom", model_args=args, limit=1, output=tmp_path / "run", **option)
    task = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["demo_zoom"]
    assert task["statuses"] == {"truncated": 1}
    assert task["n_scored"] == 0
    (line,) = (tmp_path / "run" / "samples" / "demo_zoom.jsonl").read_text().splitlines()
    assert f"--sample-{next(iter(option)).partition('_')[2]}" in json.loads(line)["error"]["message"]
    # A larger limit continues the sample over its stored answers.
    polymeter.resume(tmp_path / "run", **dict.fromkeys(option, 10000))
    task = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["demo_zoom"]
    assert task["statuses"] == {"ok": 1}


def test_a_checkpoint_acts_through_its_chat_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network reads each prompt whole, with the part that the tool returned; what it writes is scripted."""
    pytest.importorskip("transformers")
    from polymeter.models.hf import HfModel
    from polymeter.models.hf import model as hf_model
    from tests.models.hf.test_tools import TEMPLATE

    row, real, prompts = ROWS[0], hf_model.answer, []

    def scripted(loaded: Any, encoder: Any, requests: Any) -> list[Response]:
        said = []
        for request, response in zip(requests, real(loaded, encoder, requests), strict=True):
            assert response.error is None, response.error
            prompts.append(encoder.prompt_text(request))
            call = json.dumps({"name": "zoom", "arguments": {"box": box_of(row)}})
            is_second = any(message.role == "tool" for message in request.messages)
            text = row["answer"] if is_second else f"<tool_call>{call}</tool_call>"
            said.append(replace(response, outputs=(replace(response.outputs[0], text=text),)))
        return said

    monkeypatch.setattr(hf_model, "answer", scripted)
    model = HfModel(str(TINY_VLM), dtype="float32", device="cpu", chat_template=TEMPLATE)
    polymeter.evaluate(model, "demo_zoom", limit=1, output=tmp_path / "run", generation={"max_new_tokens": 4})
    assert values(tmp_path / "run")["exact_match"] == 1
    assert len(prompts) == 2
    assert "[tool zoom]Image 1 is 2400 x 1800 pixels. This is its part" in prompts[1]
    assert prompts[1].count("<image>") == prompts[0].count("<image>") + 1
