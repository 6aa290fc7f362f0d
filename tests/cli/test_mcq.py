"""``--mcq text``: multiple choice of task YAML on a model without log-probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.tasks.yaml.outputs.lettered import chosen
from tests.cli.kit import Typing

YAML = """\
task: choice
dataset_path: csv
dataset_kwargs: {data_files: {test: rows.csv}}
test_split: test
output_type: multiple_choice
doc_to_text: "What is the capital of {{country}}?"
doc_to_choice: [Paris, Tokyo, Lima]
doc_to_target: capital
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
ROWS = "country,capital\nFrance,Paris\nJapan,Tokyo\nPeru,Lima\n"
MODEL = """\
import polymeter

ANSWERS = {"France": "A", "Japan": "The answer is (B).", "Peru": "Paris"}


@polymeter.register_model("NAME")
class Letters(polymeter.BatchModel):
    def __init__(self):
        self.traits = polymeter.ModelTraits(family="own", requests={"generate": True, "loglikelihood": False})

    @property
    def identity(self):
        return {}

    def respond(self, requests):
        told = [next(answer for name, answer in ANSWERS.items() if name in request.text) for request in requests]
        return [polymeter.Response.of_text(text) for text in told]
"""


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write({"mine/choice.yaml": YAML, "mine/rows.csv": ROWS})
    return typing


def command(typing: Typing, name: str) -> str:
    typing.write({"own.py": MODEL.replace("NAME", name)})
    return f"run --import own.py --model {name} --tasks choice --include-path mine -q -o run"


def test_the_options_get_letters_and_the_answer_names_one(typing: Typing) -> None:
    done = typing(command(typing, "letters") + " --mcq text")
    assert done.code == 0, done.said
    (task,) = json.loads((typing.folder / "run/results.json").read_text())["tasks"].values()
    found = [(result["metric"], result["value"], result["n"]) for result in task["results"]]
    assert found == [("acc", pytest.approx(2 / 3), 3), ("unparsed", 0, 3)]
    shown = typing("show run --sample 1").out
    assert "What is the capital of Japan?\nOptions:\nA. Paris\nB. Tokyo\nC. Lima\nPlease select" in shown
    assert "read as B. Tokyo" in shown


def test_table_report_results_and_manifest_name_the_way(typing: Typing) -> None:
    said = "multiple choice asked as text with letters (--mcq text), not by log-probabilities. Without acc_norm"
    assert said in typing(command(typing, "named") + " --mcq text").out
    assert said in (typing.folder / "run/report.html").read_text()
    assert said in (typing.folder / "run/results.json").read_text()
    manifest = json.loads((typing.folder / "run/run.json").read_text())
    assert manifest["options"]["identity"]["mcq"] == "text"


def test_without_the_flag_the_error_names_it(typing: Typing) -> None:
    done = typing(command(typing, "unnamed"))
    assert (done.code, "--mcq text" in done.err) == (2, True)


def test_the_two_ways_are_never_mixed_in_a_run(typing: Typing) -> None:
    words = "run --model mock --tasks choice --include-path mine -q -o run"
    assert typing(words).code == 0
    assert "mcq" not in json.loads((typing.folder / "run/run.json").read_text())["options"]["identity"]
    done = typing(words + " --mcq text")
    assert (done.code, "mcq differs" in done.err) == (2, True)
    assert typing(words + " --mcq text --restart").code == 0
    assert (typing(words).code, typing("resume run -q").code) == (2, 0)


@pytest.mark.parametrize(
    ("old", "new", "said", "line"),
    [
        ("metric_list: [{metric: acc}, {metric: acc_norm}]", "metric_list: [{metric: acc_norm}]", "no metric that", 9),
        ("metric_list:", "process_results: !function utils.score\nmetric_list:", "its own process_results", 9),
        ('doc_to_text: "What is the capital of {{country}}?"', "doc_to_text: 1", "contexts of one continuation", 6),
    ],
)
def test_what_a_letter_cannot_answer_is_refused(typing: Typing, old: str, new: str, said: str, line: int) -> None:
    text = YAML.replace(old, new)
    typing.write({"mine/choice.yaml": text, "mine/utils.py": "def score(doc, results):\n    return {'acc': 1.0}\n"})
    done = typing("run --model mock --tasks choice --include-path mine -q -o run --mcq text")
    assert done.code == 2
    assert said in done.err
    assert f"choice.yaml:{line}" in done.err


def test_choices_that_are_letters_are_not_listed_again(typing: Typing) -> None:
    typing.write(
        {"mine/choice.yaml": YAML.replace("[Paris, Tokyo, Lima]", "[A, B, C]").replace(": capital\n", ": 0\n")}
    )
    assert (
        typing("run --model mock --model-args answer=A --tasks choice --include-path mine -q -o run --mcq text").code
        == 0
    )
    shown = typing("show run --sample 0").out
    assert "Options:" not in shown
    assert "Please select the correct answer" in shown
    assert "acc = 1.0000" in shown


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("B", 1),
        ("b", 1),
        ("(B)", 1),
        ("**B.**", 1),
        ("B. a dog", 1),
        ("The answer is B", 1),
        ("a dog", 1),
        ("A Dog.", 1),
        ("A horse and a goat", None),
        ("none of these", None),
        ("", None),
    ],
)
def test_which_choice_an_answer_names(answer: str, number: int | None) -> None:
    assert chosen(answer, ["a cat", "a dog", "a cow"]).index == number


def test_answers_that_name_no_option_are_counted(typing: Typing) -> None:
    words = "run --model mock --model-args answer=Undetermined. --tasks choice --include-path mine"
    assert typing(f"{words} -q -o run --mcq text").code == 0
    (task,) = json.loads((typing.folder / "run/results.json").read_text())["tasks"].values()
    found = {result["metric"]: (result["value"], result["higher_is_better"]) for result in task["results"]}
    assert found == {"acc": (0, True), "unparsed": (1, False)}
    assert "no option was found in the answer" in typing("show run --sample 0").out


def test_equal_options_are_noted_before_anything_is_asked(typing: Typing) -> None:
    typing.write({"mine/choice.yaml": YAML.replace("[Paris, Tokyo, Lima]", "[Paris, Tokyo, Lima, ' Lima ']")})
    said = typing("run --model mock --model-args answer=Lima --tasks choice --include-path mine -o run --mcq text").out
    assert "3 of the 3 rows looked at have equal choices" in said
    (task,) = json.loads((typing.folder / "run/results.json").read_text())["tasks"].values()
    assert [(result["metric"], result["value"]) for result in task["results"]] == [("acc", 0), ("unparsed", 1)]


def test_more_than_26_options_get_two_letters(typing: Typing) -> None:
    cities = ", ".join(f"city{number}" for number in range(27))
    typing.write(
        {
            "mine/choice.yaml": YAML.replace("[Paris, Tokyo, Lima]", f"[Paris, Tokyo, Lima, {cities}]"),
            "mine/rows.csv": "country,capital\nX,city26\n",
        }
    )
    words = "run --model mock --tasks choice --include-path mine -q --mcq text"
    assert typing(f"{words} --model-args answer=(AD) -o run").code == 0
    shown = typing("show run --sample 0").out
    assert "\nZ. city22\nAA. city23\n" in shown
    assert "read as AD. city26" in shown
    assert "acc = 1.0000" in shown
