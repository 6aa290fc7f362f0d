"""A finished run says where its samples look as if its number meant nothing: terminal, results.json and report."""

from __future__ import annotations

import json

import pytest

from polymeter.cli.main import main

YAML = """\
task: quiz
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""
MODEL = """\
from polymeter import BatchModel, ModelTraits, Output, Response, register_model


@register_model("shouter")
class Shouter(BatchModel):
    traits = ModelTraits(family="shouter", requests={"generate": True}, modalities={"text": True})
    identity = {"backend": "shouter"}

    def respond(self, requests):
        texts = [request.text for request in requests]
        return [Response((Output(text=f"so {text}", finish_reason="length"),)) for text in texts]
"""


def quiz(folder, answers, n=20):
    (folder / "quiz.yaml").write_text(YAML)
    rows = [{"question": f"Question {number}?", "answer": answers[number % len(answers)]} for number in range(n)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


CASES = {
    "one letter": ("ABCD", "answers=answers.json,answer=B", "39 of 40 answers are option B, and 25% of the references"),
    "one answer": (["Paris", "Rome"], "answer=London", "all 40 answers that were scored are the same, 'London'"),
    "nothing": (["Paris", "Rome"], "mode=empty", "all 40 answers that were scored are empty"),
    "all wrong": (["Paris", "Rome"], "mode=echo", "all 40 samples score the same, exact_match 0"),
}


def test_answers_of_a_table_are_looked_at_too(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{number}\tQuestion {number}?\tanswer {number}\n" for number in range(20)]
    (tmp_path / "quiz.tsv").write_text("index\tquestion\tanswer\n" + "".join(rows))
    assert main(["run", "-m", "mock", "-a", "answer=London", "-t", "quiz.tsv", "--output", "out", "-q"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Task 'quiz': all 20 answers that were scored are the same, 'London'." in said


@pytest.mark.parametrize("case", CASES)
def test_a_doubtful_number_is_told_everywhere(tmp_path, capsys, monkeypatch, case):
    answers, arguments, words = CASES[case]
    monkeypatch.chdir(tmp_path)
    quiz(tmp_path, answers, 40)
    (tmp_path / "answers.json").write_text(json.dumps({"3": "D"}))
    assert main(["run", "-m", "mock", "-a", arguments, "-t", "quiz.yaml", "--output", "out", "-q"]) == 0
    said = capsys.readouterr().out
    assert words in " ".join(said.split())
    assert [words in note for note in json.loads((tmp_path / "out" / "results.json").read_text())["notes"]] == [True]
    assert words.split(",")[0] in (tmp_path / "out" / "report.html").read_text()
    assert main(["verify", "out"]) == 0


@pytest.mark.parametrize(
    ("answers", "arguments", "n"),
    [
        (["Paris", "Rome"], "mode=gold", 40),  # a model that is right everywhere
        (["Paris", "Rome"], "answer=Paris", 8),  # too few to tell
        (["Paris"], "answer=Paris", 8),
    ],
)
def test_a_demonstration_is_not_doubted(tmp_path, monkeypatch, answers, arguments, n):
    monkeypatch.chdir(tmp_path)
    quiz(tmp_path, answers, n)
    assert main(["run", "-m", "mock", "-a", arguments, "-t", "quiz.yaml", "--output", "out", "-q"]) == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text())["notes"] == []


def test_answers_that_were_all_cut_come_with_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    quiz(tmp_path, ["Paris", "Rome"], 5)
    (tmp_path / "model.py").write_text(MODEL)
    assert main(["run", "-m", "shouter", "--import", "model.py", "-t", "quiz.yaml", "--output", "out", "-q"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "5 of 5 answers ended at the token limit (100.0 %): raise --gen-kwargs max_new_tokens=N" in said


def test_a_run_that_is_scored_again_says_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quiz(tmp_path, ["Paris", "Rome"])
    assert main(["run", "-m", "mock", "-a", "answer=x", "-t", "quiz.yaml", "--output", "out", "-q"]) == 0
    assert main(["score", "out", "--output", "again", "-q"]) == 0
    first, again = (json.loads((tmp_path / name / "results.json").read_text())["notes"] for name in ("out", "again"))
    assert first == again[-1:] != []
