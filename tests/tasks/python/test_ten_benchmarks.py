"""Ten benchmarks in Python, each of at most twenty lines, on three kinds of models."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.helpers.openai_stub import OpenAIStub, Received, chat, images, png
from tests.tasks.python.kit import BENCHMARKS, NAMES, laid_out, results_of

_JUDGE = {"judge": polymeter.ModelSpec("mock", args={"answer": "A"})}
_CODE = "```python\ndef area(width, height):\n    return width * height\n```"
_ANSWERS = {"dice": "4", "programs": _CODE}
"""Answers to benchmarks that have no reference."""
_FULL = {
    "dice": {"valid mean": 1.0, "valid pass@2": 1.0},
    "editing": {"psnr": 100.0, "ssim": 1.0},
    "guessing": {"exact_match": 1.0},
    "hands": {"acc": 1.0, "acc_norm": 1.0},
    "judged": {"correct": 1.0},
    "letters": {"acc": 1.0, "unparsed": 0.0},
    "plurals": {"exact_match": 1.0},
    "programs": {"signature/defined": 1.0, "signature/parameters": 1.0},
    "shapes": {"exact_match": 1.0, "anls": 1.0},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.chdir(tmp_path)
    return laid_out(tmp_path / "benchmarks")


def test_there_are_ten_of_at_most_twenty_lines() -> None:
    lengths = {file.stem: len(file.read_text().splitlines()) for file in BENCHMARKS.glob("*.py")}
    assert len(lengths) == 10
    assert max(lengths.values()) <= 20, lengths


@pytest.mark.slow
def test_they_are_typed() -> None:
    pytest.importorskip("mypy")
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", *map(str, BENCHMARKS.glob("*.py"))]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", NAMES)
def test_right_answers_get_full_marks_from_a_model_in_this_process(folder: Path, name: str) -> None:
    if name == "editing" and find_spec("cv2") is None:
        pytest.skip("the extra [image-metrics] is not installed")
    args: dict[str, Any] = {"answer": _ANSWERS[name]} if name in _ANSWERS else {"mode": "gold"}
    args = {} if name == "painting" else args
    run = polymeter.evaluate("mock", folder / f"{name}.py", model_args=args, roles=_JUDGE if name == "judged" else None)
    assert run.status == "complete"
    assert run.n_failed == 0
    found = results_of(run, name)
    assert found == pytest.approx(_FULL[name]) if name in _FULL else found == {"coverage": 0.0}


@pytest.mark.parametrize("name", NAMES)
def test_an_endpoint_is_asked(folder: Path, name: str) -> None:
    if name == "editing" and find_spec("cv2") is None:
        pytest.skip("the extra [image-metrics] is not installed")

    def respond(received: Received) -> Any:
        if "/images/" in received.path:
            return images(png("red", (64, 64)))
        return chat("8" if name != "judged" else "A")

    with OpenAIStub(respond) as stub:
        spec = polymeter.ModelSpec("openai", "good", {"base_url": stub.base_url})
        run = polymeter.evaluate(
            spec, folder / f"{name}.py", roles={"judge": spec} if name == "judged" else None, mcq="text"
        )
        asked = [received for received in stub.received if received.raw]
    assert run.status == "complete"
    assert run.n_failed == 0
    found = results_of(run, name)
    if name == "painting":
        assert found == {"coverage": 0.5}
    if name == "guessing":
        assert found == {"exact_match": 0.5}
        of_three = [
            body["messages"] for received in asked if len(body := received.body) and len(received.body["messages"]) > 1
        ]
        assert [message["role"] for message in of_three[-1]] == ["user", "assistant"] * 4 + ["user"]
        assert of_three[-1][-1]["content"] in (
            "It is lower. Guess again.",
            [{"type": "text", "text": "It is lower. Guess again."}],
        )
    if name == "shapes":
        kinds = [part["type"] for part in asked[-1].body["messages"][-1]["content"]]
        assert kinds == ["image_url", "text"]
    if name == "plurals":
        assert asked[-1].body["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("shapes", "tiny_vlm"),
        ("hands", "tiny_vlm"),
        ("letters", "tiny_vlm"),
        ("painting", "shapes"),
        ("editing", "shapes"),
    ],
)
def test_models_that_compute_here_answer(folder: Path, name: str, model: str) -> None:
    if model == "tiny_vlm":
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
    if name == "editing":
        pytest.importorskip("cv2")
    run = polymeter.evaluate(model, folder / f"{name}.py", mcq="text" if name == "letters" else "loglikelihood")
    task = run.results["tasks"][name]
    assert (run.status, task["n_scored"]) == ("complete", task["n_samples"])
    if name == "painting":
        assert 0 < results_of(run, name)["coverage"] < 1
