"""One quiz of four choices in the formats that users write, and models that choose by content or by place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polymeter
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Output, Request, Response
from polymeter.models.mock import MockBatch
from tests.helpers.toy_datasets import write_table

N = 16
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
RIGHT_AT = [(0, 0, 1, 2, 0, 3, 0, 0)[number % 8] for number in range(N)]
"""The places of the right choices, most of them the first."""
_LISTED = re.compile(r"^[ ]*[(]?([A-H])[).:][ ]*(\S.*?)[ ]*$", re.MULTILINE)


def options(number: int) -> list[str]:
    """The choices of a question."""
    return [WORDS[(number + step) % len(WORDS)] for step in range(4)]


def rows() -> list[dict[str, Any]]:
    """The questions, with the right choice as a letter, a number and a text."""
    found = []
    for number, place in enumerate(RIGHT_AT):
        choices = options(number)
        found.append(
            {
                "question": f"Which word is number {number}?",
                "options": choices,
                **dict(zip("ABCD", choices, strict=True)),
                "answer": "ABCD"[place],
                "answer_index": place,
                "answer_text": choices[place],
            }
        )
    return found


_LISTING = "{% for one in options %}{{'ABCD'[loop.index0]}}. {{one}}\\n{% endfor %}"
_YAML = """\
task: quiz
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
{fields}
"""


def write_yaml(folder: Path, fields: str, code: str = "") -> str:
    """A task YAML over the quiz."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    if code:
        (folder / "utils.py").write_text(code, encoding="utf-8")
    (folder / "quiz.yaml").write_text(_YAML.format(fields=fields), encoding="utf-8")
    return str(folder / "quiz.yaml")


def generated(folder: Path) -> str:
    """A task YAML that asks for the letter."""
    return write_yaml(
        folder,
        f'output_type: generate_until\ndoc_to_text: "{{{{question}}}}\\n{_LISTING}Answer with the letter."\n'
        "doc_to_target: answer\nmetric_list: [{metric: exact_match}]",
    )


def likelihood(folder: Path) -> str:
    """A task YAML that compares the likelihood of letters, which its prompt lists with the choices."""
    return write_yaml(
        folder,
        f'output_type: multiple_choice\ndoc_to_text: "{{{{question}}}}\\n{_LISTING}Answer:"\n'
        "doc_to_choice: \"{{ ['A', 'B', 'C', 'D'] }}\"\ndoc_to_target: answer_index\nmetric_list: [{metric: acc}]",
    )


def hooked(folder: Path) -> str:
    """A task YAML whose prompt, target and score are functions, as in lmms-eval."""
    code = """
def text(doc):
    return doc["question"] + "\\n" + "\\n".join(f"{x}. {doc[x]}" for x in "ABCD") + "\\nAnswer with the letter."

def target(doc):
    return doc["answer"]

def process(doc, results):
    return {"acc": float(results[0].strip()[:1] == doc["answer"])}
"""
    return write_yaml(
        folder,
        "output_type: generate_until\ndoc_to_text: !function utils.text\ndoc_to_target: !function utils.target\n"
        "process_results: !function utils.process\nmetric_list: [{metric: acc}]",
        code,
    )


def unlisted(folder: Path) -> str:
    """A task YAML whose prompt does not list its choices: ``--mcq text`` does."""
    return write_yaml(
        folder,
        'output_type: multiple_choice\ndoc_to_text: "{{question}}"\ndoc_to_choice: options\n'
        "doc_to_target: answer_text\nmetric_list: [{metric: acc}]",
    )


def constant(folder: Path) -> str:
    """The same with choices that stand in the YAML."""
    return write_yaml(
        folder,
        'output_type: multiple_choice\ndoc_to_text: "{{question}} Or is it?"\ndoc_to_choice: [up, down, left, right]\n'
        "doc_to_target: answer_index\nmetric_list: [{metric: acc}]",
    )


def table(folder: Path) -> str:
    """A TSV table with columns A to D."""
    names = ("question", "A", "B", "C", "D", "answer")
    columns = {"index": range(N), **{name: [row[name] for row in rows()] for name in names}}
    return str(write_table(folder / "quiz.tsv", columns))


def guessed(folder: Path) -> str:
    """A table without a YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = ("question", "options", "answer")
    lines = [json.dumps({name: row[name] for name in kept}) for row in rows()]
    (folder / "quiz.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "quiz.jsonl")


def python_letters(folder: Path) -> str:
    """A Python task with choices."""
    return _python(folder, "choices='options', reference='answer', choices_as='letters'", "row['question']")


def python_prompt(folder: Path) -> str:
    """A Python task whose prompt function lists the choices, with a scorer of its own."""
    listed = "row['question'] + chr(10) + chr(10).join(f'{x}. {row[x]}' for x in 'ABCD')"
    return _python(folder, "reference='answer', scorers=[same]", listed)


def _python(folder: Path, settings: str, prompt: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "quiz.py").write_text(
        "import polymeter\n"
        "@polymeter.scorer\n"
        "def same(answer, reference): return answer.strip() == reference\n"
        f"@polymeter.task(rows={rows()!r}, {settings})\n"
        f"def quiz(row): return {prompt}\n",
        encoding="utf-8",
    )
    return str(folder / "quiz.py")


class Chooser(MockBatch):
    """Chooses by the text of the request: from its listed choices to the place of one. Remembers the requests.

    Args:
        choose: Choices → place.
        shape: The answer, with the letter in braces.
    """

    def __init__(self, choose: Callable[[list[str]], int], shape: str = "{}") -> None:
        super().__init__(self._answer, identity={"backend": "chooser"}, batch_size=8)
        self._choose, self._shape = choose, shape
        self.asked: list[Request] = []

    def _answer(self, request: Request) -> str | Response:
        self.asked.append(request)
        listed = _LISTED.findall(request.text)[-4:]
        place = self._choose([text for _, text in listed])
        if isinstance(request.parameters, Loglikelihood):
            n = len(request.parameters.continuations)
            logprobs = [ChoiceLogprob(-0.1 if one == place else -9.0, one == place, 1) for one in range(n)]
            return Response((Output(logprobs=tuple(logprobs)),))
        return self._shape.format(listed[place][0])


def by_content(choices: list[str]) -> int:
    """The first in the alphabet, wherever it stands."""
    return choices.index(min(choices))


def first(choices: list[str]) -> int:
    """The first, whatever it is."""
    return 0


def values(run: Path, metric: str) -> dict[str, Any]:
    """The values of a metric's results of the whole task, by filter."""
    (task,) = json.loads((run / "results.json").read_text())["tasks"].values()
    return {one["filter"]: one["value"] for one in task["results"] if one["metric"] == metric and not one["subset"]}


def evaluate(model: Any, task: str, run: Path, k: int = 4, **options: Any) -> Path:
    """Measure a model with permuted choices."""
    polymeter.evaluate(model, [task], output=run, permute_choices=k, **options)
    return run
