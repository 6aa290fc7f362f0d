"""What a prompt shows, a choice offers and a target is, is what is written in the file of the rows, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pytest

from polymeter.core.names.parity import parity_with
from polymeter.core.request import Loglikelihood
from tests.tasks.yaml.kit import ask, logprobs, open_in, score, text_of

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases/values.json").read_text(encoding="utf-8"))[
    "cases"
]
_BUILDERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
_PROMPT, _TARGET = "{{t}}", "{{t}}"


def made(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Write the task of a case, and its rows; returns settings for opening it."""
    file = folder / case["file"]
    file.parent.mkdir(exist_ok=True)
    if file.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow.parquet import write_table

        write_table(pa.table(json.loads(case["text"])), file)
    else:
        file.write_text(case["text"])
    settings: dict[str, Any] = {}
    source = [
        f"dataset_path: {_BUILDERS.get(file.suffix)}",
        f"dataset_kwargs: {{data_files: {{train: {case['file']}}}}}",
    ]
    if file.parent != folder:
        from PIL import Image

        for number in range(2):
            Image.new("RGB", (4, 4), (number, 0, 0)).save(file.parent / f"{number}.png")
        source = ["dataset_path: imagefolder", f"dataset_kwargs: {{data_dir: {file.parent.name}}}"]
    elif file.suffix == ".tsv":
        source, settings = ["dataset_path: org/rows"], {"data": {"org/rows": str(file)}}
    lines = ["task: t", *source, "test_split: train", *_fields(case)]
    (folder / "t.yaml").write_text("\n".join(lines) + "\n")
    return {**settings, "is_mcq_text": case["use"] == "lettered"}


def _fields(case: dict[str, Any]) -> list[str]:
    if case["use"] in ("choice", "lettered"):
        return [
            "output_type: multiple_choice",
            "doc_to_text: Which?",
            f"doc_to_choice: {json.dumps(case.get('choice', 'c'))}",
            f"doc_to_target: {json.dumps(case.get('target', 'l'))}",
            "metric_list: [{metric: acc}]",
        ]
    return [
        f"doc_to_text: {json.dumps(case.get('field', _PROMPT) if case['use'] == 'prompt' else 'What?')}",
        f"doc_to_target: {json.dumps('t' if case['use'] == 'target' else 'x')}",
        "metric_list: [{metric: exact_match}]",
    ]


def found(folder: Path, case: dict[str, Any], **more: Any) -> Any:
    """What each row of a case shows, offers or expects."""
    task = open_in(folder, **{**made(folder, case), **more})
    rows = range(len(case["right"]))
    if case["use"] == "prompt":
        return [text_of(ask(task, index)) for index in rows]
    if case["use"] == "target":
        return [score(task, index, "some answer").target for index in rows]
    if case["use"] == "lettered":
        return [text_of(ask(task, index)).partition("Options:\n")[2] for index in rows]
    asked = [ask(task, index).parameters for index in rows]
    assert all(isinstance(one, Loglikelihood) for one in asked)
    return [[text.removeprefix(" ") for text in one.continuations] for one in asked]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_value_stays_what_was_written(tmp_path: Path, case: dict[str, Any]) -> None:
    values = found(tmp_path, case)
    if case["use"] == "lettered":
        for value, right in zip(values, case["right"], strict=True):
            assert value.startswith(right), case["why"]
        return
    assert values == case["right"], case["why"]


@pytest.mark.parametrize("case", [case for case in CASES if case["use"] == "target"], ids=lambda case: case["name"])
def test_an_answer_that_is_what_was_written_is_right(tmp_path: Path, case: dict[str, Any]) -> None:
    task = open_in(tmp_path, **made(tmp_path, case))
    for index, right in enumerate(case["right"]):
        assert [*score(task, index, right).values.values()] == [1.0], case["why"]


@pytest.mark.parametrize("case", [case for case in CASES if "reference" in case], ids=lambda case: case["name"])
def test_the_right_choice_is_the_one_that_the_target_counts(tmp_path: Path, case: dict[str, Any]) -> None:
    from polymeter.core.task import Rollout

    task = open_in(tmp_path, **made(tmp_path, case))
    for index, right in enumerate(case["reference"]):
        offered = case["right"][index]
        for number, text in enumerate(offered):
            values = [-1.0 if place == number else -2.0 for place in range(len(offered))]
            scored = task.score(task.samples[index], Rollout((logprobs(*values),)))
            assert (scored.target, scored.answer) == (right, text), case["why"]
            assert [*scored.values.values()] == [float(text == right)], case["why"]


_THERE = {
    "jsonl_day_in_prompt": ["1969-07-20 00:00:00"],
    "whole_beside_fraction_target": ["5.0", "2.5"],
    "text_of_digits_beside_number_target": ["7", "2"],
    "csv_leading_zero_in_prompt": ["7", "12"],
    "csv_true_in_prompt": ["True", "False"],
    "csv_empty_text": ["abc", "None"],
    "jsonl_null_in_prompt": ["<abc>", "<None>"],
    "parquet_null_in_prompt": ["<abc>", "<None>"],
    "csv_no_third_and_fourth_option": [["6", "7", "None", "None"], ["6", "7", "8.0", "9.0"]],
    "json_empty_options": [["cat", "", "None", "dog"]],
}


@pytest.mark.parametrize("name", _THERE)
def test_parity_gives_what_the_library_reads(tmp_path: Path, name: str) -> None:
    if name == "text_of_digits_beside_number_target" and int(datasets.__version__.partition(".")[0]) < 5:
        pytest.skip("older versions of datasets cannot read it")
    case = next(case for case in CASES if case["name"] == name)
    assert found(tmp_path, case, parity=parity_with("lmms_eval")) == _THERE[name]
