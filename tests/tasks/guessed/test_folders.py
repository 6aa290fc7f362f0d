"""Folders that are a task by themselves: media with a table, and a folder of images for each class."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.api import evaluate
from polymeter.core.errors import PlanError
from tests.tasks.guessed.kit import draw, selected, spec_of, write_table
from tests.tasks.guessed.test_guess import prompts, value_of

ROWS = [
    {"file_name": "a.png", "question": "What colour?", "answer": "red"},
    {"file_name": "sub/b b.png", "question": "And this?", "answer": "blue"},
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def photos(name: str = "photos", table: str = "metadata.csv") -> Path:
    draw(Path(name, "a.png"))
    draw(Path(name, "sub/b b.png"), "blue")
    write_table(Path(name, table), ROWS)
    return Path(name)


@pytest.mark.parametrize("table", ["metadata.csv", "metadata.jsonl", "metadata.parquet"])
def test_images_with_a_table_are_a_task(table: str) -> None:
    folder = photos(table=table)
    assert prompts(folder) == [(("image", "What colour?"), "red"), (("image", "And this?"), "blue")]
    assert selected(folder).guesses == (
        "photos: question → prompt, answer → target, image → image, exact_match (ignore_case)",
    )
    assert value_of(folder) == 1


@pytest.mark.parametrize("name", ["my photos", "fotos ä", "deep/down/photos"])
def test_the_folder_may_have_any_name_and_lie_anywhere(name: str) -> None:
    assert value_of(photos(name)) == 1
    assert spec_of(name).name == Path(name).name.replace(" ", "_")


def test_sounds_with_a_table_are_a_task() -> None:
    Path("calls").mkdir()
    Path("calls/a.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt ")
    write_table(Path("calls/metadata.csv"), [{"file_name": "a.wav", "question": "What?", "answer": "x"}])
    config = spec_of("calls").config
    assert (config["dataset_path"], config["doc_to_visual"]) == ("audiofolder", "audio")


def test_options_in_the_table_make_multiple_choice() -> None:
    folder = photos()
    rows = [{**row, "A": "red", "B": "blue"} for row in ROWS]
    write_table(folder / "metadata.csv", rows)
    assert spec_of(folder).config["output_type"] == "multiple_choice"
    assert value_of(folder) == 1


def test_a_missing_image_is_named() -> None:
    folder = photos()
    (folder / "sub/b b.png").unlink()
    run = evaluate("mock", [str(folder)], output="run")
    assert run.n_failed == 1
    assert any("b b.png" in note for note in run.results["notes"])


def test_a_table_without_usual_columns_is_refused() -> None:
    folder = photos()
    write_table(folder / "metadata.csv", [{"file_name": "a.png", "text": "A red square."}])
    with pytest.raises(PlanError, match=r"metadata\.csv has no column for the reference answer") as refused:
        selected(folder)
    assert refused.value.where.endswith("photos/metadata.csv:1")
    assert "init --from photos" in str(refused.value)


def test_a_table_that_names_no_files_is_refused() -> None:
    folder = photos()
    write_table(folder / "metadata.csv", [{"question": "What?", "answer": "x"}])
    with pytest.raises(PlanError, match="has no column 'file_name'"):
        selected(folder)


def test_a_folder_for_each_class_is_a_task() -> None:
    for number in range(2):
        draw(Path("pets", "a dog", f"{number}.png"))
        draw(Path("pets", "cat", f"{number}.jpg"))
    assert selected("pets").guesses == (
        "pets: 'What does this image show?' → prompt, folders (a dog, cat) → options and target, image → image, acc",
    )
    assert spec_of("pets").config["doc_to_choice"] == ["a dog", "cat"]
    shown = ("image", "What does this image show?")
    assert prompts(Path("pets")) == [(shown, 0), (shown, 0), (shown, 1), (shown, 1)]
    assert value_of(Path("pets")) == 1
    assert value_of(Path("pets"), mcq="text") == 1


def test_folders_called_like_splits_are_no_classes() -> None:
    draw(Path("pets/train/a.png"))
    draw(Path("pets/test/a.png"))
    with pytest.raises(PlanError, match=r"called like splits of a data set \(test, train\)"):
        selected("pets")


@pytest.mark.parametrize(
    "files",
    [["pets/cat/a.png"], ["pets/a.png", "pets/cat/a.png", "pets/dog/a.png"], ["pets/cat/a.png", "pets/notes/n.txt"]],
    ids=["one folder", "images beside the folders", "a folder of something else"],
)
def test_other_folders_are_no_task(files: list[str]) -> None:
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        draw(Path(file)) if file.endswith(".png") else Path(file).touch()
    with pytest.raises(PlanError, match="There is no task in the folder 'pets'"):
        selected("pets")
