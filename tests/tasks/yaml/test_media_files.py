"""Files that rows name: where they are looked for, and what is said of those that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from polymeter import evaluate
from polymeter.core.errors import DataError, PlanError

YAML = """\
task: t
dataset_path: csv
dataset_kwargs: {data_files: {test: rows/rows.csv}}
test_split: test
doc_to_text: Read it
doc_to_visual: VISUAL
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""


def task(folder: Path, visual: str, images: str, names: list[str]) -> Path:
    """A task whose rows name images; those that lie in a folder are called 0.png and 1.png."""
    (folder / images).mkdir(parents=True, exist_ok=True)
    (folder / "rows").mkdir(exist_ok=True)
    for number in range(2):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / images / f"{number}.png")
    lines = "".join(f"{name},a{number}\n" for number, name in enumerate(names))
    (folder / "rows/rows.csv").write_text(f"file,answer\n{lines}")
    file = folder / "t.yaml"
    file.write_text(YAML.replace("VISUAL", visual))
    return file


@pytest.mark.parametrize(
    ("visual", "images"),
    [
        ("file", "."),
        ("file", "rows"),
        ('"photos/{{file}}"', "photos"),
        ('"photos/{{file}}"', "rows/photos"),
        ('"{{file}}"', "rows"),
    ],
)
def test_files_beside_the_yaml_and_its_data_are_found(tmp_path, visual, images):
    file = task(tmp_path, visual, images, ["0.png", "1.png"])
    run = evaluate("mock", str(file), model_args={"mode": "gold"}, output=tmp_path / "run")
    assert run.value("t", "exact_match") == 1.0
    assert [len(sample.media) for sample in run.samples()] == [1, 1]


@pytest.mark.parametrize(("visual", "name"), [("file", "7.png"), ('"photos/{{file}}"', "photos/7.png")])
def test_a_file_that_is_not_there_is_told_before_the_run(tmp_path, visual, name):
    images = "photos" if "photos" in visual else "rows"
    run = evaluate("mock", str(task(tmp_path, visual, images, ["0.png", "7.png"])), output=tmp_path / "run")
    [note] = [note for note in run.results["notes"] if "not exist" in note]
    assert f"1 of 2 samples names a file that does not exist (sample 1; {name!r} was looked for in " in note
    assert str(tmp_path / "rows") in note
    assert run.result("t", "exact_match").n == 1


def test_no_file_at_all_is_refused_with_the_folders(tmp_path):
    file = task(tmp_path, "file", "photos", ["0.png", "1.png"])
    with pytest.raises(PlanError, match="None of the files that the rows of task 't' name exists") as raised:
        evaluate("mock", str(file), output=tmp_path / "run")
    assert str(tmp_path / "rows") in raised.value.hint
    assert 'doc_to_visual: "photos/{{file}}"' in raised.value.hint
    assert raised.value.where.endswith("t.yaml:6")


def test_a_template_that_names_no_column_is_refused(tmp_path):
    with pytest.raises(DataError, match="uses 'fiel', which the dataset does not have"):
        evaluate("mock", str(task(tmp_path, '"{{fiel}}"', "rows", ["0.png"])), output=tmp_path / "run")
