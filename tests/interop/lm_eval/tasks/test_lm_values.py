"""Rows of lm-eval's tasks without code hold what is written in their files; at parity, what the library reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.names.parity import parity_with
from polymeter.core.task import Rollout
from tests.helpers.differences import difference
from tests.interop.lm_eval.tasks.folders import ask, context_of, instances_of, logprobs, open_in
from tests.reading.test_values import CASES, made

NOT_THERE = ("absent_key_of_three",)
"""lm-eval refuses a dictionary as choices."""


def found(folder: Path, case: dict[str, Any], **more: Any) -> Any:
    settings = {key: value for key, value in made(folder, case).items() if key != "is_mcq_text"}
    task = open_in(folder, **{**settings, **more})
    rows = range(len(case["right"]))
    if case["use"] == "prompt":
        return [context_of(task, index) for index in rows]
    if case["use"] == "target":
        return [str(task.row_functions.target(index)) for index in rows]
    return [
        [text.removeprefix(" ") for request in ask(task, index) for text in request.parameters.continuations]
        for index in rows
    ]


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if case["use"] != "lettered" and "photos" not in case["file"] and case["name"] not in NOT_THERE
    ],
    ids=lambda case: case["name"],
)
def test_a_value_stays_what_was_written(tmp_path: Path, case: dict[str, Any]) -> None:
    assert found(tmp_path, case) == case["right"], case["why"]


def named(name: str) -> dict[str, Any]:
    return next(case for case in CASES if case["name"] == name)


@difference("written-rows", here=["007", "12"], there=["7", "12"])
def test_numbers_of_a_csv_are_those_of_pandas(tmp_path: Path, parity: str, expected: list[str]) -> None:
    case = named("csv_leading_zero_in_prompt")
    assert found(tmp_path, case, parity=parity_with(parity)) == expected


@difference("written-rows", here=["<abc>", "<>"], there=["<abc>", "<None>"])
def test_a_null_in_a_prompt_is_the_word_none(tmp_path: Path, parity: str, expected: list[str]) -> None:
    assert found(tmp_path, named("jsonl_null_in_prompt"), parity=parity_with(parity)) == expected


@difference("written-rows", here=[["cat", "dog"]], there=[["cat", "", "None", "dog"]])
def test_an_empty_option_is_an_option(tmp_path: Path, parity: str, expected: list[list[str]]) -> None:
    assert found(tmp_path, named("json_empty_options"), parity=parity_with(parity)) == expected


def test_an_option_that_is_not_asked_is_never_chosen(tmp_path: Path) -> None:
    case = named("csv_no_second_option")
    made(tmp_path, case)
    task = open_in(tmp_path)
    for values, right in (((-1.0, -2.0), 0.0), ((-2.0, -1.0), 1.0)):
        answers = (logprobs(*values),)
        scored = task.score(task.samples[0], Rollout(answers, instances_of(task, 0, *answers)))
        assert next(iter(scored.values.values())) == right
        assert scored.answer == ("dog" if right else "cat")


def test_code_gets_what_the_library_reads(tmp_path: Path) -> None:
    case = named("csv_leading_zero_in_prompt")
    made(tmp_path, case)
    (tmp_path / "utils.py").write_text("def ask(doc):\n    assert type(doc['t']) is int\n    return f\"{doc['t']}\"\n")
    text = (tmp_path / "t.yaml").read_text()
    (tmp_path / "t.yaml").write_text(text.replace('"{{t}}"', "!function utils.ask", 1))
    assert context_of(open_in(tmp_path)) == "7"


@pytest.mark.parametrize(("cells", "n"), [('["a", "b", "a"]', 1), ('["a", "A"]', 0), ('["a", "", " "]', 0)])
def test_choices_that_are_the_same_text_are_reported(tmp_path: Path, cells: str, n: int) -> None:
    text = f'{{"c": ["yes", "no"], "l": 1}}\n{{"c": {cells}, "l": 0}}\n'
    settings = made(tmp_path, {"file": "rows.jsonl", "text": text, "use": "choice"})
    del settings["is_mcq_text"]
    task = open_in(tmp_path, **settings)
    said = "1 of the 2 rows looked at have equal choices (the first is sample 1)"
    assert sum(said in finding.text for finding in task.findings) == n
