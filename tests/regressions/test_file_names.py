"""A file is found whose name has another normal form of Unicode on the disk than in the data."""

from __future__ import annotations

import json
import unicodedata
import wave
from pathlib import Path

import pytest
from PIL import Image

import polymeter

_TASK = """\
task: names
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: VISUAL
doc_to_text: "?"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
_FOLDER = """\
task: names
dataset_path: imagefolder
dataset_kwargs: {data_dir: DIR}
test_split: train
doc_to_visual: image
doc_to_text: "?"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
_UTILS = """\
from pathlib import Path


def visual(doc):
    return [str(Path(__file__).parent / doc["file"])]
"""
_FORMS = [("NFC", "NFD"), ("NFD", "NFC")]


def save(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".wav":
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", "NONE"))
            file.writeframes(bytes(1600))
    else:
        Image.new("RGB", (8, 8), "teal").save(path)


def only_sample(task: Path) -> polymeter.SampleRecord:
    (found,) = polymeter.evaluate("mock", str(task), output=task.parent / "run").samples()
    return found


@pytest.mark.parametrize("visual", ["file", '"{{file}}"', "!function utils.visual"])
@pytest.mark.parametrize("name", ["Größe.png", "Été/Größe.png", "Été/Ton.wav"])
@pytest.mark.parametrize(("on_disk", "in_data"), _FORMS)
def test_rows_of_a_task(on_disk: str, in_data: str, name: str, visual: str, tmp_path: Path) -> None:
    save(tmp_path / unicodedata.normalize(on_disk, name))  # type: ignore[arg-type]
    row = {"file": unicodedata.normalize(in_data, name), "a": "mock"}  # type: ignore[arg-type]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "utils.py").write_text(_UTILS)
    (tmp_path / "names.yaml").write_text(_TASK.replace("VISUAL", visual))
    found = only_sample(tmp_path / "names.yaml")
    assert (found.status, found.error) == ("ok", "")
    assert len(found.media) == 1


@pytest.mark.parametrize(("on_disk", "in_data"), _FORMS)
def test_a_table_with_paths_of_images(on_disk: str, in_data: str, tmp_path: Path) -> None:
    save(tmp_path / unicodedata.normalize(on_disk, "Größe.png"))  # type: ignore[arg-type]
    cell = unicodedata.normalize(in_data, "Größe.png")  # type: ignore[arg-type]
    text = f"index\timage_path\tquestion\tanswer\tA\tB\n1\t{cell}\tWhich?\tA\tone\ttwo\n"
    (tmp_path / "sizes.tsv").write_text(text, encoding="utf-8")
    found = only_sample(tmp_path / "sizes.tsv")
    assert (found.status, found.error) == ("ok", "")
    assert len(found.media) == 1


@pytest.mark.parametrize(("on_disk", "in_data"), _FORMS)
def test_a_folder_of_images(on_disk: str, in_data: str, tmp_path: Path) -> None:
    save(tmp_path / "photos" / unicodedata.normalize(on_disk, "Größe.png"))  # type: ignore[arg-type]
    name = unicodedata.normalize(in_data, "Größe.png")  # type: ignore[arg-type]
    (tmp_path / "photos" / "metadata.csv").write_text(f"file_name,a\n{name},mock\n", encoding="utf-8")
    (tmp_path / "names.yaml").write_text(_FOLDER.replace("DIR", str(tmp_path / "photos")))
    found = only_sample(tmp_path / "names.yaml")
    assert (found.status, found.error) == ("ok", "")
    assert len(found.media) == 1


@pytest.mark.control
@pytest.mark.parametrize(
    ("visual", "said"),
    [
        ("file", "None of the files that the rows of task 'names' name exists"),
        ('"{{file}}"', "None of the files that the rows of task 'names' name exists"),
        ("!function utils.visual", "x.png' does not exist."),
    ],
)
def test_a_text_that_is_no_path_is_the_name_of_no_file(visual: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"file": "é\0/x.png", "a": "mock"}))
    (tmp_path / "utils.py").write_text(_UTILS)
    (tmp_path / "names.yaml").write_text(_TASK.replace("VISUAL", visual))
    try:
        error = only_sample(tmp_path / "names.yaml").error
    except polymeter.PlanError as refused:
        error = refused.what
    assert said in error
