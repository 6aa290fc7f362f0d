"""The prediction file: its name, its place, and that it holds no pixels."""

import os
import shutil
from pathlib import Path

import pytest

from polymeter.core.errors import DataError
from polymeter.core.stored_image import StoredImage
from polymeter.data.formats import load
from polymeter.formats.table.rows import holds_image
from polymeter.interop.ulmeval.tasks.prediction_file import model_name, prediction_path, single_process
from tests.helpers.toy_datasets import png_base64, run_toy, write_class


@pytest.mark.parametrize(
    ("display", "name"),
    [
        ("mock", "mock"),
        ("ulm:Janus-Pro-1B", "Janus-Pro-1B"),
        ("hf:Qwen/Qwen2.5-VL-3B", "Qwen2.5-VL-3B"),
        ("diffusers:/models/sd-tiny/", "sd-tiny"),
        ("openai:llama3:8b", "llama3:8b"),
    ],
)
def test_a_models_name_is_the_last_part_of_its_own(display: str, name: str) -> None:
    assert model_name(display) == name


def test_the_file_is_called_after_model_and_dataset(tmp_path: Path) -> None:
    assert prediction_path(tmp_path, "m", "D") == tmp_path / "D" / "m_D.pkl"
    odd = prediction_path(tmp_path, "llama3:8b", "a/b")
    assert (odd.name, odd.parent.parent) == ("llama3_8b_a_b.pkl", tmp_path)
    assert odd.parent != prediction_path(tmp_path, "llama3:8b", "a_b").parent
    assert prediction_path(tmp_path, "m", "..").parent.resolve().parent == tmp_path.resolve()


def test_a_world_of_one_is_left_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with single_process():
        assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("0", "1")
    assert os.environ["RANK"] == "3"
    assert "WORLD_SIZE" not in os.environ


def test_images_are_references_to_the_runs_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.chdir(tmp_path)
    body = "def evaluate(self, eval_file, **kw):\n    return None\n"
    settings = {"size": "640x480", "n": 2}
    run = run_toy(write_class(tmp_path / "lib", body), Path("run"), generation=settings)
    file = run.folder.artifacts.resolve() / "Toy" / "mock_Toy.pkl"
    assert file.stat().st_size < 8000
    monkeypatch.chdir("/")
    pictures = [picture for cell in load(str(file))["prediction"] for picture in cell]
    assert len(pictures) == 6
    assert all(isinstance(picture, StoredImage) and picture.size == (640, 480) for picture in pictures)
    assert len({picture.getpixel((0, 0)) for picture in pictures}) == 6


@pytest.mark.parametrize(
    ("cell", "is_image"),
    [
        (png_base64("red"), True),
        (f"['{png_base64('red')}', '{png_base64('blue')}']", True),
        ([png_base64("red")], True),
        (f"data:image/png;base64,{png_base64('red')}", True),
        ("a red circle " * 20, False),
        ("7", False),
        (7, False),
        (None, False),
        ([], False),
    ],
)
def test_which_cells_hold_images(cell: object, is_image: bool) -> None:
    assert holds_image(cell) is is_image


def test_a_run_that_was_moved_keeps_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    body = "def evaluate(self, eval_file, **kw):\n    return None\n"
    run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    file = tmp_path / "elsewhere/artifacts/Toy/mock_Toy.pkl"
    link = tmp_path / "link.pkl"
    link.symlink_to(file)
    for place in (file, link):
        pictures = [cell[0] for cell in load(str(place))["prediction"]]
        assert len({picture.getpixel((0, 0)) for picture in pictures}) == 3
        assert all(picture.path.is_relative_to(tmp_path / "elsewhere/media") for picture in pictures)


def test_a_picture_that_is_gone_is_missed_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    body = "def evaluate(self, eval_file, **kw):\n    return None\n"
    run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    shutil.rmtree(tmp_path / "run/media")
    picture = load(str(tmp_path / "run/artifacts/Toy/mock_Toy.pkl"))["prediction"][0][0]
    with pytest.raises(DataError, match=r"run/media/\w\w/\w+\.png does not exist"):
        picture.load()
