"""``--permute-choices`` in every format with choices: the right answer moves, and what was chosen is seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polymeter.models.mock import MockModel
from tests.run.permuting import kit

LETTERS = {"mcq": "text"}
FORMATS: dict[str, tuple[Callable[[Path], str], str, dict[str, Any]]] = {
    "yaml, generated": (kit.generated, "exact_match", {}),
    "yaml, likelihood": (kit.likelihood, "acc", {}),
    "yaml, functions": (kit.hooked, "acc", {}),
    "yaml, letters": (kit.unlisted, "acc", LETTERS),
    "yaml, constant choices": (kit.constant, "acc", LETTERS),
    "table": (kit.table, "acc", {}),
    "guessed table": (kit.guessed, "acc", LETTERS),
    "python, letters": (kit.python_letters, "acc", {}),
    "python, prompt": (kit.python_prompt, "same", {}),
}


@pytest.fixture(params=FORMATS)
def quiz(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str, dict[str, Any]]:
    write, metric, options = FORMATS[request.param]
    return write(tmp_path), metric, options


def test_the_reference_is_right_in_all_orders(quiz: tuple[str, str, dict[str, Any]], tmp_path: Path) -> None:
    task, metric, options = quiz
    run = kit.evaluate(MockModel(mode="gold"), task, tmp_path / "run", **options)
    found = kit.values(run, metric)
    assert found["none"] == found["order 1"] == found["order 4"] == found["all orders"] == 1
    assert (found["order sd"], found["order spread"]) == (0, 0)
    chosen = kit.values(run, "choice")
    assert chosen["consistency"] == 1
    assert chosen["unread"] == 0
    assert [chosen[f"at {letter}"] for letter in "ABCD"] == [0.25] * 4


def test_a_model_that_answers_a_scores_the_share_of_keys_there(
    quiz: tuple[str, str, dict[str, Any]], tmp_path: Path
) -> None:
    task, metric, options = quiz
    run = kit.evaluate(kit.Chooser(kit.first), task, tmp_path / "run", **options)
    found = kit.values(run, metric)
    shares = [kit.RIGHT_AT.count(-shift % 4) / kit.N for shift in range(4)]
    assert [found[f"order {number}"] for number in range(1, 5)] == pytest.approx(shares)
    assert found["none"] == pytest.approx(0.25)
    assert found["all orders"] == 0
    chosen = kit.values(run, "choice")
    assert chosen["consistency"] == 0
    assert [chosen[f"at {letter}"] for letter in "ABCD"] == [1, 0, 0, 0]
    assert [*kit.values(run, "choice_bias").values()] == pytest.approx([0.75, -0.25, -0.25, -0.25])


def test_a_model_that_chooses_by_content_is_consistent(quiz: tuple[str, str, dict[str, Any]], tmp_path: Path) -> None:
    task, metric, options = quiz
    model = kit.Chooser(kit.by_content)
    run = kit.evaluate(model, task, tmp_path / "run", **options)
    assert len(model.asked) == len({request.text for request in model.asked}) == 4 * kit.N
    found = kit.values(run, metric)
    assert found["order 1"] == found["order 2"] == found["none"] == found["all orders"]
    chosen = kit.values(run, "choice")
    assert chosen["consistency"] == 1
    assert [*kit.values(run, "choice_bias").values()] == pytest.approx([0] * 4)
