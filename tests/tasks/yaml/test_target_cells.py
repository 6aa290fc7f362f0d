"""Targets from CSV are what is written there, and a row without a target is not a wrong answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter import RunResult, evaluate
from polymeter.core.errors import PlanError

CELLS = ["007", "12.50", "42", "9.90", "3.00", "850", "1e3"]
YAML = """\
task: t
dataset_path: csv
dataset_kwargs: {data_files: {test: rows.csv}}
test_split: test
doc_to_text: "Read {{question}}"
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""


def task(folder: Path, *lines: str) -> Path:
    """A task with some of its lines replaced, or added."""
    text = YAML
    for line in lines:
        key = line.partition(":")[0]
        text = "".join(old for old in text.splitlines(keepends=True) if not old.startswith(f"{key}:")) + f"{line}\n"
    file = folder / "t.yaml"
    file.write_text(text)
    return file


def table(file: Path, cells: list[str], sep: str = ",", name: str = "question") -> None:
    lines = [f"{number}.png{sep}{cell}" for number, cell in enumerate(cells)]
    file.write_text("\n".join([f"{name}{sep}answer", *lines]) + "\n")


def answered(file: Path, cells: list[str], **options: Any) -> RunResult:
    """A run of a model that reads each cell right."""
    answers = file.parent / "answers.json"
    answers.write_text(json.dumps({str(number): cell for number, cell in enumerate(cells)}))
    return evaluate("mock", str(file), model_args={"answers": str(answers)}, output=file.parent / "run", **options)


def from_data(folder: Path, file: str, cells: list[str], sep: str = ",") -> dict[str, Any]:
    table(folder / file, cells, sep)
    return {"data": {"org/rows": str(folder / file)}}


def csv_of_the_yaml(folder: Path, cells: list[str]) -> dict[str, Any]:
    table(folder / "rows.csv", cells)
    task(folder)
    return {}


def csv_of_data(folder: Path, cells: list[str]) -> dict[str, Any]:
    task(folder, "dataset_path: org/rows", "dataset_kwargs: {}")
    return from_data(folder, "other.csv", cells)


def tsv_of_data(folder: Path, cells: list[str]) -> dict[str, Any]:
    task(folder, "dataset_path: org/rows", "dataset_kwargs: {}")
    return from_data(folder, "other.tsv", cells, "\t")


def csv_in_a_folder(folder: Path, cells: list[str]) -> dict[str, Any]:
    (folder / "rows").mkdir()
    table(folder / "rows/test.csv", cells)
    task(folder, "dataset_path: ./rows", "dataset_kwargs: {}")
    return {}


def csv_that_a_card_describes(folder: Path, cells: list[str]) -> dict[str, Any]:
    (folder / "rows").mkdir()
    table(folder / "rows/some.csv", cells)
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n  - {split: test, path: some.csv}\n---\n"
    (folder / "rows/README.md").write_text(card)
    task(folder, "dataset_path: ./rows", "dataset_kwargs: {}")
    return {}


def folder_of_images(folder: Path, cells: list[str]) -> dict[str, Any]:
    (folder / "photos").mkdir()
    for number in range(len(cells)):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"photos/{number}.png")
    table(folder / "photos/metadata.csv", cells, name="file_name")
    task(
        folder,
        "dataset_path: imagefolder",
        "dataset_kwargs: {data_dir: photos}",
        "test_split: train",
        "doc_to_text: Read it",
        "doc_to_visual: image",
    )
    return {}


PLACES = [
    csv_of_the_yaml,
    csv_of_data,
    tsv_of_data,
    csv_in_a_folder,
    csv_that_a_card_describes,
    folder_of_images,
]


@pytest.mark.parametrize("place", PLACES)
def test_numbers_are_compared_as_they_are_written(tmp_path, place):
    options = place(tmp_path, CELLS)
    run = answered(tmp_path / "t.yaml", CELLS, **options)
    assert run.value("t", "exact_match") == 1.0
    assert [sample.target for sample in run.samples()] == CELLS


@pytest.mark.parametrize("place", [csv_of_the_yaml, tsv_of_data, folder_of_images])
def test_a_word_for_nothing_is_a_word_and_an_empty_cell_is_no_target(tmp_path, place):
    cells = ["NA", "7", "", "null", "None"]
    options = place(tmp_path, cells)
    run = answered(tmp_path / "t.yaml", cells, **options)
    assert (run.value("t", "exact_match"), run.result("t", "exact_match").n) == (1.0, 4)
    [failed] = [sample for sample in run.samples() if sample.status != "ok"]
    assert failed.id == "2"
    assert "Sample 2 has no target: column 'answer' is empty there." in failed.error
    assert failed.prompt == "", "it is not sent to the model"


def test_hooks_get_the_numbers(tmp_path):
    table(tmp_path / "rows.csv", CELLS)
    (tmp_path / "utils.py").write_text(
        "def ask(doc):\n    assert type(doc['answer']) is float\n    return f\"half of {doc['answer'] * 2}\"\n"
        "def score(doc, results):\n    return {'right': float(type(doc['answer']) is float)}\n"
    )
    run = answered(task(tmp_path, "doc_to_text: !function utils.ask"), CELLS)
    assert run.value("t", "exact_match") == 1.0
    own = task(tmp_path, "process_results: !function utils.score", "metric_list: [{metric: right}]", "task: own")
    run = evaluate("mock", str(own), output=tmp_path / "own")
    assert run.value("own", "right") == 1.0
    assert next(iter(run.samples())).target == "7.0"


def test_a_template_of_the_column_is_what_is_written(tmp_path):
    table(tmp_path / "rows.csv", CELLS)
    run = answered(task(tmp_path, "doc_to_target: '{{answer}} EUR'"), [f"{cell} EUR" for cell in CELLS])
    assert run.value("t", "exact_match") == 1.0


def test_a_slice_and_a_limit_keep_rows_and_texts_together(tmp_path):
    table(tmp_path / "rows.csv", CELLS)
    run = answered(task(tmp_path, "test_split: 'test[2:6]'"), CELLS[2:6])
    assert [sample.target for sample in run.samples()] == CELLS[2:6]


def test_numbers_of_choices_stay_numbers(tmp_path):
    for cells, n in ((["1", "0"], 2), (["1", "0", ""], 3)):
        folder = tmp_path / str(n)
        folder.mkdir()
        table(folder / "rows.csv", cells)
        file = task(
            folder, "output_type: multiple_choice", "doc_to_choice: ['no', 'yes']", "metric_list: [{metric: acc}]"
        )
        run = evaluate("mock", str(file), model_args={"mode": "gold"}, output=folder / "run")
        assert [sample.target for sample in run.samples()] == ["yes", "no", None][:n]
        assert (run.result("t", "acc").n, run.n_failed) == (2, n - 2)
        if n == 3:
            with pytest.raises(PlanError, match="1 of 3 samples has no target: column 'answer' is empty in sample 2"):
                evaluate("mock", str(file), output=folder / "strict", is_strict=True)


@pytest.mark.parametrize("value", [None, float("nan")], ids=["null", "NaN"])
def test_a_row_of_json_without_a_target_fails_alone(tmp_path, value):
    rows = [{"question": "a", "answer": 1.5}, {"question": "b", "answer": value}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = task(tmp_path, "dataset_path: json", "dataset_kwargs: {data_files: {test: rows.jsonl}}")
    run = answered(file, ["1.5", "x"])
    assert (run.value("t", "exact_match"), run.result("t", "exact_match").n) == (1.0, 1)


def test_a_column_without_any_target_is_refused(tmp_path):
    table(tmp_path / "rows.csv", ["", ""])
    with pytest.raises(PlanError, match=r"Column 'answer', the target of task 't', is empty in all 2 rows"):
        answered(task(tmp_path), ["", ""])


def test_a_changed_text_is_scored_again(tmp_path):
    table(tmp_path / "rows.csv", ["7.0", "2.5"])
    file = task(tmp_path)
    assert answered(file, ["7", "2.5"]).value("t", "exact_match") == 0.5
    table(tmp_path / "rows.csv", ["7", "2.5"])
    assert answered(file, ["7", "2.5"]).value("t", "exact_match") == 1.0
