"""``polymeter init``: what it writes runs at once, and it overwrites nothing."""

from __future__ import annotations

import json
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.cli.starters import drawing, name_for, starters

OWN = {"vqa", "python", "mcq", "t2i", "judge", "multi-round", "model"}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_is_a_starter_of_every_kind() -> None:
    assert set(starters()) >= OWN


@pytest.mark.needs_system("evalscope", "ulmeval")
def test_systems_bring_theirs() -> None:
    assert set(starters()) - OWN == {"adapter", "dataset-class"}


@pytest.mark.parametrize("kind", sorted(starters()))
def test_what_it_writes_checks_clean_and_gives_a_number(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    if kind == "t2i" and find_spec("cv2") is None:
        pytest.skip("the extra [image-metrics] is not installed")
    assert main(["init", "my things", "--kind", kind]) == 0
    printed = capsys.readouterr().out
    commands = [shlex.split(line.partition("polymeter ")[2]) for line in printed.splitlines() if line.startswith("  ")]
    assert [words[0] for words in commands] == (["run"] if kind == "model" else ["check", "run"])
    for words in commands:
        assert main([*words, *(["-o", "run"] if words[0] == "run" else [])]) == 0, words
        said = capsys.readouterr()
        if words[0] == "check":
            assert "no problems found" in said.out + said.err
    results = json.loads(Path("run", "results.json").read_text())
    (task,) = results["tasks"].values()
    assert task["n_scored"] == task["n_samples"] > 1
    assert task["results"][0]["value"] > 0
    name = "demo_vlm_choice" if kind == "model" else "my_things"
    assert list(results["tasks"]) == [name], "the folder's name is the benchmark's"
    left = [file for file in Path("my things").rglob("*") if file.is_file() and b"@NAME@" in file.read_bytes()]
    assert left == []


@pytest.mark.parametrize("kind", sorted(starters()))
def test_it_tells_what_may_be_changed(kind: str) -> None:
    assert main(["init", "mine", "--kind", kind]) == 0
    text = "\n".join(
        file.read_text() for file in Path("mine").rglob("*") if file.suffix in {".yaml", ".py", ".md", ".tsv"}
    )
    assert "docs/" in text or "You may change" in text


def test_it_overwrites_nothing_and_then_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine", "images").mkdir(parents=True)
    Path("mine", "images", "metadata.csv").write_text("mine")
    assert main(["init", "mine", "--kind", "vqa"]) == 2
    said = capsys.readouterr().err
    assert str(Path("mine", "images", "metadata.csv")) in said
    assert "another folder" in said
    assert [file.name for file in Path("mine").rglob("*") if file.is_file()] == ["metadata.csv"]
    assert Path("mine", "images", "metadata.csv").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").write_text("")
    assert main(["init", "mine", "--kind", "judge"]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [(["--kind", "mqc"], "mcq"), ([], "No kind is named")])
def test_a_kind_that_is_not_there_gets_the_list(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "mine", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert all(f"--kind {kind}" in error for kind in OWN)
    assert not Path("mine").exists()


@pytest.mark.parametrize(
    ("folder", "name"),
    [("mine", "mine"), ("My-Set 2", "my_set_2"), ("2024", "my_2024"), ("übung", "bung"), ("-", "my"), ("a/b/..", "a")],
)
def test_the_name_of_a_folder_becomes_one_that_python_can_spell(folder: str, name: str) -> None:
    assert name_for(Path(folder)) == name
    assert name.isidentifier()


def test_every_image_that_a_starter_names_is_drawn() -> None:
    drawing.draw_shapes(Path("drawn"))
    drawn = {file.relative_to("drawn").as_posix() for file in Path("drawn").rglob("*.png")}
    named = {image for starter in starters().values() if starter.draw for image in starter.images}
    assert drawn == named
