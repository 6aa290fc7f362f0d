"""Which option an answer names for code that imports the rules from ``vlmeval.utils``.

``vlmeval_choices.json`` holds what the functions of VLMEvalKit at e8e78f0 return.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from polymeter.guests.shims.finder import switch_on_shims

CASES = json.loads(Path(__file__).with_name("vlmeval_choices.json").read_text(encoding="utf-8"))


def rules(module: str = "vlmeval.utils.matching_util") -> Any:
    switch_on_shims()
    return importlib.import_module(module)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_case(case: dict[str, Any]) -> None:
    choices = {letter: f"text of {letter}" for letter in case["letters"]}
    assert getattr(rules(), case["function"])(case["answer"], choices) == case["expected"]


def test_every_function_of_the_kit_that_reads_choices_has_the_rule(tmp_path: Path) -> None:
    row = {"prediction": CASES[0]["answer"], "question": "?", "A": "cat", "B": "dog", "answer": "B", "index": 1}
    choice = rules("vlmeval.dataset.utils.multiple_choice")
    assert choice.prefetch_answer(row) == "B"
    assert choice.extract_answer_from_item(None, row) == {"opt": "B", "log": row["prediction"]}
    assert rules().can_infer_lego(row["prediction"], "choice", {"A": "cat", "B": "dog"}) == "B"
    table = pd.DataFrame([row])
    assert list(choice.mcq_vanilla_eval(None, table, table, 1, str(tmp_path / "x.pkl"))["hit"]) == [1.0]
    row["prediction"] = "no idea"
    assert choice.extract_answer_from_item(None, row)["opt"] == "Z"
