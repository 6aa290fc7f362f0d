"""Mistakes that used to end with exit 0 and a number that means nothing: each has an exit code, a message, a place and
an advice, and is found before anything is asked where it can be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from polymeter.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: Its exit code.
        out: What it printed.
        err: What it said.
        run: Its run folder, if it wrote one.
    """

    code: int
    out: str
    err: str
    run: Path

    @property
    def results(self) -> dict[str, Any]:
        return json.loads((self.run / "results.json").read_text())

    def value(self, task: str, metric: str) -> float:
        return next(each["value"] for each in self.results["tasks"][task]["results"] if each["metric"] == metric)


Polymeter = Callable[..., Ended]


@pytest.fixture
def polymeter(tmp_path, monkeypatch, capsys) -> Polymeter:
    """Runs ``polymeter run … --output run`` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, model: Sequence[str] = ("mock",), command: str = "run") -> Ended:
        code = main([command, "--model", *model, *words, "--output", "run", "--quiet"])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err, tmp_path / "run")

    return run


def refuses(ended: Ended, *texts: str) -> None:
    """The command was refused before anything was asked: exit 2, these texts, and no run folder."""
    assert ended.code == 2, ended.out + ended.err
    for text in texts:
        assert text in ended.err, ended.err
    assert not ended.run.exists()


# Multiple choice: a target that names no choice.

CITIES = ["Paris", "Rome", "Oslo"]
CHOICES = """\
task: cities
dataset_path: json
dataset_kwargs: {{data_files: rows.jsonl}}
test_split: train
output_type: multiple_choice
doc_to_text: question
doc_to_choice: choices
doc_to_target: {target}
metric_list: [acc]
"""
GOLD = ("mock", "--model-args", "mode=gold")


def cities(*answers: Any, target: str = "answer", choices: Sequence[Any] = (CITIES,)) -> list[str]:
    """A task with a row for each answer; returns the words that run it."""
    lists = [*choices, *[choices[-1]] * len(answers)]
    rows = [
        {"question": f"Which one ({i})?", "choices": lists[i], "answer": answer} for i, answer in enumerate(answers)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("cities.yaml").write_text(CHOICES.format(target=target))
    return ["--tasks", "cities.yaml"]


@pytest.mark.parametrize(
    ("answers", "target", "choices"),
    [
        ((0, 1, 2), "answer", (CITIES,)),
        ((2.0, 0.0), "answer", (CITIES,)),
        (("0", "2"), '"{{answer}}"', (CITIES,)),
        ((1, 3), '"{{answer|int - 1}}"', (CITIES,)),
        (("Paris", "Oslo"), "answer", (CITIES,)),
        ((" Paris", "Oslo\n"), "answer", (CITIES,)),
        (("Paris", "Oslo"), "answer", (["Paris ", " Rome", " Oslo"],)),
        (("A", "B", "C"), "answer", (CITIES,)),
        (("a", "c"), "answer", (CITIES,)),
        (("(B)", "(a)", "[C]"), "answer", (CITIES,)),
        (("B.", "A)", "c:"), "answer", (CITIES,)),
        (("B", "A"), "answer", (["(B)", "(A)", "(C)"],)),
        (("A", "B"), "answer", (["B", "A", "C"],)),
        (([0, 2], [1]), "answer", (CITIES,)),
        ((["A", "Oslo"], ["b"]), "answer", (CITIES,)),
        (("2", "4"), "answer", (["4", "3", "2"],)),
    ],
    ids=repr,
)
def test_a_target_names_a_choice(polymeter, answers, target, choices):
    ended = polymeter(*cities(*answers, target=target, choices=choices), model=GOLD)
    assert ended.code == 0, ended.err
    assert ended.value("cities", "acc") == 1.0


@pytest.mark.parametrize(
    ("answer", "right", "choices"),
    [
        ("B", "Rome", CITIES),
        ("Rome", "Rome", CITIES),
        (1, "Rome", CITIES),
        ("A", "A", ["B", "A"]),
        ("a", "a", ["b", "a"]),
    ],
)
def test_index_before_text_before_letter(polymeter, answer, right, choices):
    polymeter(*cities(answer, choices=[choices]))
    (line,) = map(json.loads, (Path("run") / "samples" / "cities.jsonl").read_text().splitlines())
    assert line["target"] == right


@pytest.mark.parametrize(
    ("answers", "target", "says", "advice"),
    [
        (("D",), "answer", "'D' names none of the 3 choices: A 'Paris', B 'Rome', C 'Oslo'", "letter"),
        (("Pariss",), "answer", "'Pariss' names none", "Did you mean 'Paris'"),
        (("paris",), "answer", "'paris' names none", "Did you mean 'Paris'"),
        (("",), "answer", "'' names none", "Write the index of a choice (from 0)"),
        ((-1,), "answer", "-1 names none", "Indices count from 0"),
        ((1, 2, 3), "answer", "Sample 2 of task 'cities' (row 3): The target 3", '"{{ answer|int - 1 }}"'),
        ((1, 2, 3), '"{{answer}}"', "(row 3): The target 3", "COLUMN|int - 1"),
        (("1", "2"), "answer", "'1' names none", '"{{ answer }}"; for numbers that count from 1'),
        ((0.5,), "answer", "0.5 names none", "Write the index"),
        (([],), "answer", "[] names none", "Write the index"),
        (([5, 7],), "answer", "[5, 7] names none", "the last one is 2"),
        (("0", "1", "Bern"), "answer", "'0' names none", "For an index from 0"),
    ],
    ids=repr,
)
def test_a_target_that_names_no_choice_is_refused(polymeter, answers, target, says, advice):
    ended = polymeter(*cities(*answers, target=target), model=GOLD)
    refuses(ended, says, advice, "cities.yaml:8")


def test_a_row_beyond_the_limit_is_not_looked_at(polymeter):
    words = cities("A", "B", "Bern")
    assert polymeter(*words, "--limit", "2", model=GOLD).code == 0


def test_a_number_that_is_the_text_of_a_choice_is_an_index_first(polymeter):
    ended = polymeter(*cities(1, 12, choices=(["7", "1", "12"],)), model=GOLD)
    refuses(ended, "The target 12 names none", "store it as text ('12')")


def test_a_target_from_code_is_refused_before_its_own_request(polymeter):
    words = cities("A", "B", "Bern", "C", "A", "B", "C", "A", "B", target="!function code.target")
    Path("code.py").write_text("def target(doc):\n    return doc['answer']\n")
    ended = polymeter(*words, model=GOLD)
    assert ended.code == 1
    assert ended.results["tasks"]["cities"]["statuses"] == {"ok": 8, "error": 1}
    (line,) = [each for each in (ended.run / "samples" / "cities.jsonl").read_text().splitlines() if "Bern" in each]
    failed = json.loads(line)
    assert "Sample 2 of task 'cities' (row 3): The target 'Bern' names none" in str(failed["error"])
    assert failed["exchanges"] == []


def test_a_target_from_code_that_never_names_a_choice_is_refused(polymeter):
    words = cities("x", "y", "z", target="!function code.target")
    Path("code.py").write_text("def target(doc):\n    return doc['answer']\n")
    refuses(polymeter(*words), "(row 1): The target 'x' names none", "cities.yaml:8")


def test_a_task_that_scores_itself_says_what_its_target_is(polymeter):
    words = cities("none of them")
    Path("code.py").write_text("def score(doc, results):\n    return {'acc': 1.0}\n")
    with Path("cities.yaml").open("a") as file:
        file.write("process_results: !function code.score\n")
    assert polymeter(*words).code == 0


def test_the_right_context_may_be_named_by_its_index_alone(polymeter):
    words = cities("stands in Italy", target="answer")
    text = Path("cities.yaml").read_text()
    Path("cities.yaml").write_text(text.replace("doc_to_text: question", "doc_to_text: 7"))
    refuses(polymeter(*words), "The target 7 names none of the 3 choices")
    Path("cities.yaml").write_text(text.replace("doc_to_text: question", "doc_to_text: 1"))
    assert polymeter(*words).code == 0
