"""The prediction file holds no pixels, and ``evaluate`` reads it in a world of one process."""

import os
import shutil
from pathlib import Path

import pytest

from polymeter.core.errors import DataError
from polymeter.core.stored_image import StoredImage
from polymeter.data.formats import load
from polymeter.interop.ulmeval.tasks.results.evaluate import single_process
from tests.helpers.toy_datasets import run_toy, write_class


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
