"""Whole runs with a small checkpoint, as a user starts them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError


def answers(folder: Path) -> dict[str, list[Any]]:
    """What the model said in a run, by sample."""
    rows = [json.loads(line) for file in (folder / "samples").glob("*.jsonl") for line in file.read_text().splitlines()]
    return {row["id"]: [row["answer"], row["status"]] for row in rows}


@pytest.mark.parametrize(
    "generation",
    [
        {"max_new_tokens": 6},
        {"max_new_tokens": 6, "temperature": 0.9, "do_sample": True},
        {"max_new_tokens": 12, "eos_token_id": list(range(2, 480, 9))},  # answers of many lengths
    ],
)
def test_batch_size_changes_no_answer(
    checkpoint: Callable[..., Path], tmp_path: Path, generation: dict[str, Any]
) -> None:
    model = f"hf:{checkpoint('llava')}"
    found = {}
    for size in (1, 2, 8):
        output = tmp_path / f"run{size}"
        polymeter.evaluate(model, ["demo_signs"], limit=10, generation=generation, batch_size=size, output=output)
        found[size] = answers(output)
    assert len(found[1]) == 10
    assert {status for _, status in found[1].values()} == {"ok"}
    assert found[1] == found[2] == found[8]


def test_sampled_answers_come_from_the_seed_of_the_run(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    model = f"hf:{checkpoint('llava')}"
    said = []
    for number, seed in enumerate((0, 0, 1)):
        generation = {"max_new_tokens": 6, "temperature": 1.0, "do_sample": True}
        output = tmp_path / str(number)
        polymeter.evaluate(model, ["demo_signs"], output=output, generation=generation, limit=2, seed=seed)
        said.append(answers(tmp_path / str(number)))
    assert said[0] == said[1] != said[2]


def test_model_that_sees_nothing_is_refused_before_anything_is_spent(
    checkpoint: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match="shows image to the model"):
        polymeter.evaluate(f"hf:{checkpoint('llama')}", ["demo_signs"], output=tmp_path / "run")
    assert not (tmp_path / "run").exists()
