"""The tiny model and the benchmarks that it was made for: far above chance, whatever the batch, and only if each
question meets its own picture.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from polymeter.api import RunResult, evaluate
from polymeter.core.content import Image
from polymeter.core.model import BatchModel
from polymeter.core.request import Request, Response
from polymeter.models.tiny_vlm import TinyVlm

needs_torch = pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("torch", "transformers")), reason="the extra [hf] is not installed"
)
TASKS = ("demo_vlm_generate", "demo_vlm_choice", "demo_vlm_loglikelihood", "demo_vlm_rounds")
SIZES = {"demo_vlm_generate": 120, "demo_vlm_choice": 100, "demo_vlm_loglikelihood": 120, "demo_vlm_rounds": 60}
CHANCE = {"demo_vlm_generate": 0.23, "demo_vlm_choice": 0.25, "demo_vlm_loglikelihood": 0.23, "demo_vlm_rounds": 0.03}
"""What guessing among the answers of each kind would score."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    if util.find_spec("torch") is None:
        yield
        return
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def batches_of_eight(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(tmp_path_factory.mktemp("demo_vlm") / "eight", TinyVlm(device="cpu"), batch_size=8)


def run(folder: Path, model: Any, **options: Any) -> RunResult:
    result = evaluate(model, "demo_vlm", output=folder, **options)
    assert result.status == "complete"
    assert result.n_failed == 0
    return result


def accuracies(result: RunResult) -> dict[str, float]:
    return {task: result.value(task, "acc") for task in TASKS}


def rows_of(result: RunResult, task: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (result.folder.path / "samples" / f"{task}.jsonl").read_text().splitlines()]


def answers(result: RunResult) -> dict[str, list[list[str | None]]]:
    """The texts of each sample, task by task."""
    return {
        task: [
            [output.get("text") for exchange in row["exchanges"] for output in exchange["response"]["outputs"]]
            for row in rows_of(result, task)
        ]
        for task in TASKS
    }


class OtherPictures(BatchModel):
    """A model that is shown the pictures of the next request in its batch, as a mistaken wrapper would."""

    def __init__(self, inner: BatchModel) -> None:
        self._inner = inner
        self.traits = inner.traits

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "other-pictures"}

    def load(self) -> None:
        self._inner.load()

    def close(self) -> None:
        self._inner.close()

    def respond(self, requests: list[Request]) -> list[Response]:
        shown = [next(request.images()) for request in requests]
        shown = shown[1:] + shown[:1]
        return self._inner.respond([_with_picture(*pair) for pair in zip(requests, shown, strict=True)])


def _with_picture(request: Request, picture: Image) -> Request:
    messages = tuple(
        replace(message, parts=tuple(picture if isinstance(part, Image) else part for part in message.parts))
        for message in request.messages
    )
    return replace(request, messages=messages)


def test_the_gold_answer_scores_full_marks_and_an_empty_one_none(tmp_path: Path) -> None:
    gold = run(tmp_path / "gold", "mock", model_args={"mode": "gold"})
    empty = run(tmp_path / "empty", "mock", model_args={"mode": "empty"})
    for task in TASKS:
        assert gold.result(task, "acc").value == 1.0
        assert gold.result(task, "acc").n == SIZES[task]
        if task != "demo_vlm_loglikelihood":
            assert empty.value(task, "acc") == 0.0
    assert gold.value("demo_vlm", "acc") == 1.0


def test_models_that_take_no_conversation_play_both_rounds(tmp_path: Path) -> None:
    result = run(tmp_path / "simple", "mock", model_args={"mode": "gold", "simple": True})
    assert result.value("demo_vlm_rounds", "acc") == 1.0


@pytest.mark.parametrize(
    ("answer", "right"),
    [("It is a red circle.", {"red", "circle"}), ("Red or blue.", set()), ("There are three!", {"3"}), ("No", {"no"})],
)
def test_an_answer_may_be_a_sentence_but_names_one_word_of_its_kind(
    tmp_path: Path, answer: str, right: set[str]
) -> None:
    result = evaluate("mock", "demo_vlm_generate", model_args={"answer": answer}, output=tmp_path / "run")
    marked = [(row["target"], row["scores"][0]["value"]) for row in rows_of(result, "demo_vlm_generate")]
    assert all(value == float(target in right) for target, value in marked)


@pytest.mark.parametrize(("answer", "right"), [("A red one, so it is (B).", "B"), ("c", "C"), ("A closer look", "")])
def test_of_lettered_options_the_announced_letter_counts(tmp_path: Path, answer: str, right: str) -> None:
    result = evaluate("mock", "demo_vlm_choice", model_args={"answer": answer}, output=tmp_path / "run")
    marked = [(row["target"], row["scores"][0]["value"]) for row in rows_of(result, "demo_vlm_choice")]
    assert all(value == float(target == right) for target, value in marked)


@needs_torch
def test_the_tiny_model_is_far_above_chance(batches_of_eight: RunResult) -> None:
    found = accuracies(batches_of_eight)
    assert found["demo_vlm_generate"] >= 0.85
    assert found["demo_vlm_choice"] >= 0.85
    assert found["demo_vlm_loglikelihood"] >= 0.85
    assert found["demo_vlm_rounds"] >= 0.7


@needs_torch
@pytest.mark.parametrize("batch_size", [1, "auto"])
def test_scores_and_answers_do_not_depend_on_the_batch(
    batches_of_eight: RunResult, tmp_path: Path, batch_size: int | str
) -> None:
    other = run(tmp_path / "other", TinyVlm(device="cpu"), batch_size=batch_size)
    assert accuracies(other) == accuracies(batches_of_eight)
    assert answers(other) == answers(batches_of_eight)


@needs_torch
def test_with_pictures_of_other_questions_it_falls_to_about_chance(tmp_path: Path) -> None:
    result = run(tmp_path / "mixed", OtherPictures(TinyVlm(device="cpu")), batch_size=8)
    for task, accuracy in accuracies(result).items():
        assert accuracy <= CHANCE[task] + 0.2, task
