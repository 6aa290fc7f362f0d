"""Tools that raise, hang, die or return what nobody can be shown: an observation with a problem, or a failed sample
with its reason. Nothing crashes, and no process is left.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError

TOOLS = """\
import os
import subprocess
import sys
import time

from PIL import Image as Picture
from polymeter.extend import Image


def raises(x: int) -> str:
    raise RuntimeError("broken tool")


def leaves(x: int) -> str:
    sys.exit("gone")


def hangs(x: int) -> str:
    while True:
        time.sleep(0.01)


def is_large(x: int) -> str:
    return "x" * 5_000_000


def broken(x: int):
    return Image(b"this is not an image")


def missing(x: int):
    return Image("/no/such/file.png")


def odd(x: int):
    return object()


def dies(x: int):
    os._exit(7)


def forks(x: int):
    return str(subprocess.Popen(["sleep", "3600"]).pid)


def draws(x: int):
    return ["here", Picture.new("RGB", (30, 20), "red")]
"""
NAMES = ("raises", "leaves", "hangs", "is_large", "broken", "missing", "odd", "dies", "forks", "draws")
_YAML = """\
task: odd
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
output_type: generate_with_tools
doc_to_text: "{{{{id}}}}"
doc_to_target: answer
metric_list: [exact_match, calls, call_problems]
{acts}
"""


def called(name: str, arguments: Any, n: int = 1) -> dict[str, Any]:
    return {"text": "", "calls": [{"name": name, "arguments": arguments}] * n}


TURNS: dict[str, list[Any]] = {name: [called(name, {"x": 1}), "a"] for name in NAMES} | {
    "unknown": [called("draw", {"x": 1}), "a"],
    "no JSON": [called("draws", '{"x": '), "a"],
    "other type": [called("draws", {"x": "one"}), "a"],
    "hundred": [called("draws", {"x": 1}, 100), "a"],
    "never": [called("draws", {"x": 1})],
}


def write(folder: Path, acts: str) -> str:
    (folder / "mine.py").write_text(TOOLS)
    rows = [{"id": name, "answer": "a"} for name in TURNS]
    (folder / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "answers.json").write_text(json.dumps({str(n): turns for n, turns in enumerate(TURNS.values())}))
    (folder / "odd.yaml").write_text(_YAML.format(acts=acts))
    return str(folder / "odd.yaml")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("odd")
    file = write(folder, f"tools: [{', '.join(f'!function mine.{name}' for name in NAMES)}]")
    args = {"answers": str(folder / "answers.json")}
    result = polymeter.evaluate("mock", [file], model_args=args, output=folder / "run", tool_timeout_s=6.0)
    assert result.status == "complete"
    lines = (folder / "run" / "samples" / "odd.jsonl").read_text().splitlines()
    return {sample["doc"]["id"]: sample for sample in map(json.loads, lines)}


def seen(sample: dict[str, Any]) -> str:
    """The last message that the model was shown."""
    parts = sample["exchanges"][-1]["request"]["messages"][-1]["parts"]
    return "".join(part.get("text", "<image>") for part in parts)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("raises", "Error: RuntimeError: broken tool"),
        ("leaves", "Error: SystemExit: gone"),
        ("is_large", "Error: The tool returned 5,000,000 characters, more than the 1,000,000 that are passed on."),
        ("broken", "Error: The tool returned an image that cannot be read: Cannot read the image"),
        ("missing", "Error: The tool returned an image that cannot be read: The media file '/no/such/file.png'"),
        ("odd", "Error: a tool returns texts, images or plain data, not an object of the type object"),
        ("unknown", "Error: There is no tool 'draw'. Did you mean 'draws'?"),
        ("no JSON", "Error: The call of 'draws' was not made: its arguments are not JSON"),
        ("other type", "Error: The call of 'draws' was not made: its arguments do not fit the schema: 'one' is not"),
    ],
)
def test_a_problem_is_an_observation(samples: dict[str, dict[str, Any]], name: str, problem: str) -> None:
    sample = samples[name]
    assert sample["status"] == "ok"
    assert seen(sample).startswith(problem)
    assert sample["log"]["problems"] == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [("hangs", "The tool 'hangs' took longer than 6 s."), ("dies", "The tool 'dies' ended its process with status 7.")],
)
def test_a_tool_that_does_not_return_fails_its_sample(samples: dict[str, dict[str, Any]], name: str, why: str) -> None:
    assert samples[name]["status"] == "error"
    assert why in samples[name]["error"]["message"]


def test_images_are_shown_in_place(samples: dict[str, dict[str, Any]]) -> None:
    assert seen(samples["draws"]) == "here<image>"


def test_limits_of_the_protocol_are_ordinary_ends(samples: dict[str, dict[str, Any]]) -> None:
    assert samples["hundred"]["log"]["end"] == "calls"
    assert samples["hundred"]["log"]["calls"] == 64
    assert samples["never"]["log"]["end"] == "turns"
    assert samples["never"]["log"]["turns"] == 16
    assert samples["never"]["status"] == samples["hundred"]["status"] == "ok"


def test_what_a_tool_has_started_ends_with_the_run(samples: dict[str, dict[str, Any]]) -> None:
    stat = Path("/proc") / seen(samples["forks"]) / "stat"
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"  # nobody may have waited for it


@pytest.mark.parametrize(
    ("acts", "message"),
    [
        ("tools: [zom]", "There is no tool 'zom'. [odd.yaml:9] Did you mean 'zoom'?"),
        ("tools: [python]", "The tool 'python' is not supported yet."),
        ("tools: [mcp: {command: ls}]", "The tool 'mcp' is not supported yet."),
        ("tools: [zoom: {scale: 2}]", "The tool 'zoom' has no setting 'scale'."),
        ("tools: [zoom: {coordinates: inches}]", "The tool 'zoom' has no coordinates 'inches'."),
        ("tools: [zoom, zoom]", "Two tools have the name 'zoom'."),
        ("tools: [!function mine.nothing]", "defines no 'nothing'."),
        ("tools: [zoom]\nenvironment: !function mine.Shop", "A task names tools or an environment, not both."),
        ("environment: !function mine.raises", "has no method 'act'."),
        ("max_turns: 3", "The task names neither tools nor an environment."),
        ("tools: [zoom]\nmax_turns: 0", "max_turns"),
    ],
)
def test_mistakes_are_found_before_anything_is_asked(tmp_path: Path, acts: str, message: str) -> None:
    file = write(tmp_path, acts)
    with pytest.raises(PlanError) as raised:
        polymeter.evaluate("mock", [file], output=tmp_path / "run")
    assert message in str(raised.value).replace(f"{tmp_path}/", "")
    assert not (tmp_path / "run" / "journal.db").exists()
