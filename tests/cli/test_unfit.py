"""``--skip-unfit``: one task that a model cannot do does not end the plan, and is listed with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import Typing

TEXT = """\
task: text
dataset_path: csv
dataset_kwargs: {data_files: {test: rows.csv}}
test_split: test
doc_to_text: "What is the capital of {{country}}?"
doc_to_target: capital
metric_list: [{metric: exact_match}]
"""
CHOICE = """\
task: choice
dataset_path: csv
dataset_kwargs: {data_files: {test: rows.csv}}
test_split: test
output_type: multiple_choice
doc_to_text: "What is the capital of {{country}}?"
doc_to_choice: [Paris, Tokyo]
doc_to_target: capital
metric_list: [{metric: acc}]
"""
MODEL = """\
import polymeter


@polymeter.register_model("NAME")
class Own(polymeter.BatchModel):
    def __init__(self):
        self.traits = polymeter.ModelTraits(family="own"TRAITS)

    @property
    def identity(self):
        return {}

    def respond(self, requests):
        return [polymeter.Response.of_text("Paris") for request in requests]
"""
KNOWN, UNKNOWN = ', requests={"generate": True, "loglikelihood": False}', ""


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write(
        {
            "mine/text.yaml": TEXT,
            "mine/choice.yaml": CHOICE,
            "mine/both.yaml": "group: both\ntask: [text, choice]\naggregate_metric_list: [{metric: acc}]\n",
            "mine/rows.csv": "country,capital\nFrance,Paris\nJapan,Tokyo\n",
        }
    )
    return typing


def command(typing: Typing, name: str, traits: str, tasks: str = "text,choice") -> str:
    typing.write({"own.py": MODEL.replace("NAME", name).replace("TRAITS", traits)})
    return f"run --import own.py --model {name} --tasks {tasks} --include-path mine -q -o run"


@pytest.mark.parametrize("traits", [KNOWN, UNKNOWN], ids=["known", "tried"])
def test_without_the_flag_the_error_names_it(typing: Typing, traits: str) -> None:
    done = typing(command(typing, f"told_{len(traits)}", traits))
    assert done.code == 2
    assert "'choice'" in done.err
    assert "--skip-unfit" in done.err


@pytest.mark.parametrize("traits", [KNOWN, UNKNOWN], ids=["known", "tried"])
def test_with_it_the_rest_is_run_and_the_others_are_listed(typing: Typing, traits: str) -> None:
    words = command(typing, f"skipping_{len(traits)}", traits) + " --skip-unfit"
    done = typing(words)
    assert done.code == 0, done.said
    assert "SKIPPED: choice: " in done.out
    assert "scored   2 samples of 1 task; 1 task skipped" in done.out
    results = json.loads((typing.folder / "run/results.json").read_text())
    assert list(results["tasks"]) == ["text"]
    assert "'choice'" in results["skipped"]["choice"]
    assert "SKIPPED: choice" in (typing.folder / "run/report.html").read_text()
    manifest = json.loads((typing.folder / "run/run.json").read_text())
    assert [task["name"] for task in manifest["tasks"]] == ["text"]
    assert [*manifest["skipped"]] == ["choice"]
    before = (typing.folder / "run/results.json").read_bytes()
    for again in (words, "resume run -q"):
        assert typing(again).code == 0
        assert (typing.folder / "run/results.json").read_bytes() == before
    assert typing("score run -q -o scored").code == 0
    assert json.loads((typing.folder / "scored/results.json").read_text())["skipped"] == results["skipped"]
    assert typing("verify run -q").code == 0


def test_a_group_says_which_member_it_lacks(typing: Typing) -> None:
    done = typing(command(typing, "grouping", KNOWN, "both") + " --skip-unfit")
    assert done.code == 0, done.said
    assert "SKIPPED: choice" in done.out


@pytest.mark.parametrize("traits", [KNOWN, UNKNOWN], ids=["known", "tried"])
def test_if_nothing_is_left_it_is_an_error(typing: Typing, traits: str) -> None:
    done = typing(command(typing, f"none_left_{len(traits)}", traits, "choice") + " --skip-unfit")
    assert done.code == 2
    assert "'choice'" in done.err


def test_the_settings_file_can_say_it(typing: Typing) -> None:
    typing.write({"polymeter.yaml": "skip_unfit: true\n"})
    done = typing(command(typing, "by_settings", KNOWN))
    assert done.code == 0, done.said
    assert "SKIPPED: choice" in done.out
