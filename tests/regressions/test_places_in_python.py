"""A place that nothing can have, and values that nothing can write down, are Polymeter's own errors in Python too."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.e2e.kit import capitals

LONG = "x" * 300
DEEP = "/".join(["d"] * 1_000)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LMUData", str(tmp_path / "tables"))
    capitals(tmp_path / "tasks")
    return tmp_path


def evaluate(home: Path, **options: Any) -> polymeter.api.RunResult:
    settings = {"include_paths": [home / "tasks"], "output": home / "run", **options}
    return polymeter.evaluate("mock", settings.pop("tasks", "capitals"), **settings)


def refused(home: Path, **options: Any) -> polymeter.PolymeterError:
    """The error of an evaluation; any other than Polymeter's own fails the test, without its thousand frames."""
    try:
        evaluate(home, **options)
    except polymeter.PolymeterError as error:
        return error
    except (OSError, ValueError, RecursionError) as error:
        other = f"{type(error).__name__}"
    else:
        other = "nothing"
    pytest.fail(f"It raised {other}.", pytrace=False)


@pytest.mark.parametrize("name", [LONG, DEEP, "a\0b"], ids=["long", "deep", "null"])
@pytest.mark.parametrize("option", ["cache_dir", "output", "journal_dir"])
def test_a_folder_that_cannot_be_is_refused_with_its_place(home: Path, option: str, name: str) -> None:
    error = refused(home, **{option: home / name})
    assert str(home) in str(error)
    assert error.hint
    assert not any(home.glob("x*")), "nothing was made"


@pytest.mark.parametrize("variable", ["POLYMETER_CACHE_DIR", "LMUData"])
def test_a_folder_of_the_environment_that_cannot_be_is_refused(
    home: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(home / LONG))
    assert "File name too long" in str(refused(home))


@pytest.mark.parametrize(
    "options",
    [{"tasks": f"{LONG}.yaml"}, {"data": {"id": LONG}}, {"weights": {"id": LONG}}],
    ids=["tasks", "data", "weights"],
)
def test_a_file_that_cannot_be_is_refused(home: Path, options: dict[str, Any]) -> None:
    assert "File name too long" in str(refused(home, **options))


def test_a_data_file_of_a_task_whose_name_is_too_long_is_refused(home: Path) -> None:
    task = "task: long\ndataset_path: json\ndataset_kwargs: {data_files: {test: NAME.jsonl}}\ntest_split: test\n"
    rest = "doc_to_text: '{{q}}'\ndoc_to_target: a\nmetric_list: [{metric: exact_match}]\n"
    (home / "tasks" / "long.yaml").write_text(task.replace("NAME", LONG) + rest)
    assert "File name too long" in str(refused(home, tasks="long"))


def test_a_task_with_a_long_name_is_measured_and_its_files_have_shorter_ones(home: Path) -> None:
    text = (home / "tasks" / "capitals.yaml").read_text()
    for name in (f"{LONG}1", f"{LONG}2"):
        (home / "tasks" / f"{name[-1]}.yaml").write_text(text.replace("task: capitals", f"task: {name}"))
    done = evaluate(home, tasks=[f"{LONG}1", f"{LONG}2"], output=None)
    assert done.status == "complete"
    assert len([*done.folder.samples.glob("*.jsonl")]) == 2
    assert set(done.results["tasks"]) == {f"{LONG}1", f"{LONG}2"}


def test_a_thousand_folders_inside_one_another_are_searched(home: Path) -> None:
    place = home / "deep"
    place.mkdir()
    here = os.getcwd()
    os.chdir(place)
    for _ in range(1_200):
        os.mkdir("q")
        os.chdir("q")
    os.chdir(here)
    try:
        done = evaluate(home, include_paths=[home / "tasks", place])
    except RecursionError:
        pytest.fail("It raised RecursionError.", pytrace=False)
    else:
        assert done.status == "complete"
    finally:
        shutil.move(place, home / "away")  # pytest removes it call by call
        os.system(f"rm -rf {home / 'away'}")


@pytest.mark.parametrize("depth", [150, 3_000])
def test_values_that_lie_too_deep_inside_one_another_are_refused(home: Path, depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    assert "inside one another" in str(refused(home, generation={"extra": value}))
    with pytest.raises(polymeter.PlanError, match="inside one another"):
        polymeter.evaluate("mock", "capitals", model_args={"answer": value}, include_paths=[home / "tasks"])
    assert not (home / "run").exists()
