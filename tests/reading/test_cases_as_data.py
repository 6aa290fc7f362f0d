"""Read the answers of ``cases/`` as a user has them read: by whole runs over small tasks with canned answers.

The right values come from the rules alone, so nothing here looks at the code that reads. One run measures all cases
that can stand in one task; a test looks up the row of its case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import polymeter
from polymeter.core.errors import UnscoredError
from polymeter.judge import read_grade, read_rating

CASES = Path(__file__).parent / "cases"
CHOICES = ("choices_english", "choices_languages", "choices_shapes")
TRIMMED = {"metric": "exact_match", "regexes_to_ignore": [r"^\s+|\s+$"]}
"""Equality of texts without the white space around them, which these cases do not state."""

Case: TypeAlias = dict[str, Any]
Scores: TypeAlias = Mapping[str, Any]


def cases(name: str) -> list[Case]:
    """Load a file of cases."""
    loaded: list[Case] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return loaded


def each(*names: str) -> pytest.MarkDecorator:
    """Make a test of each case of the files, named by its file and position from 1."""
    numbered = [(name, place) for name in names for place in range(len(cases(name)))]
    return pytest.mark.parametrize(("name", "place"), numbered, ids=[f"{name}:{n + 1}" for name, n in numbered])


class Runs:
    """Whole runs over cases, each made when a test first looks at one of its rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: dict[str, list[Scores] | Exception] = {}

    def scores(self, name: str, key: str, make: Callable[[Path], list[Scores]]) -> list[Scores]:
        """Return the scores of all rows of a run; a run that failed fails every test that looks at it."""
        run = f"{name} {key}"
        if run not in self._made:
            folder = self.folder / str(len(self._made))
            folder.mkdir()
            try:
                self._made[run] = make(folder)
            except Exception as error:
                self._made[run] = error
        made = self._made[run]
        if isinstance(made, Exception):
            raise AssertionError(f"the run of this case failed: {made}") from made
        return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Runs that the tests of this module share."""
    return Runs(tmp_path_factory.mktemp("cases"))


def measured(folder: Path, task: Path, answers: Sequence[str], **options: Any) -> list[Scores]:
    """Run a task with one canned answer for each row; return the scores of the rows in their order."""
    canned = folder / "answers.json"
    canned.write_text(json.dumps({str(row): answer for row, answer in enumerate(answers)}), encoding="utf-8")
    result = polymeter.evaluate(
        "mock", [str(task)], model_args={"answers": str(canned)}, output=str(folder / "run"), **options
    )
    assert result.is_complete, result.reason
    found = {}
    for path in (folder / "run" / "samples").glob("*.jsonl"):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            assert row["status"] == "ok", row["error"]
            found[row["index"]] = {score["metric"]: score["value"] for score in row["scores"]}
    return [found[row] for row in range(len(answers))]


def written(folder: Path, rows: Sequence[Case], **fields: Any) -> Path:
    """Write a task in YAML over rows in JSON."""
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    source = {"dataset_path": "json", "dataset_kwargs": {"data_files": str(data)}, "test_split": "train"}
    task = folder / "cases.yaml"
    # JSON is YAML, and quotes every text.
    task.write_text(json.dumps({"task": "cases", **source, "doc_to_text": "q", **fields}, indent=1), encoding="utf-8")
    return task


# Choices


def askings(chosen: Sequence[Case]) -> Iterator[tuple[Case, int]]:
    """Yield every case once for each of its options as the right one."""
    for case in chosen:
        for option in range(len(case["options"])):
            yield case, option


def ask_choices(chosen: Sequence[Case]) -> Callable[[Path], list[Scores]]:
    """Make the run that asks every case once for each of its options."""

    def make(folder: Path) -> list[Scores]:
        rows = [{"q": "What is it?", "c": case["options"], "t": option} for case, option in askings(chosen)]
        fields = {"output_type": "multiple_choice", "doc_to_choice": "c", "doc_to_target": "t"}
        task = written(folder, rows, **fields, metric_list=[{"metric": "acc"}])
        return measured(folder, task, [case["answer"] for case, _ in askings(chosen)], mcq="text")

    return make


def has_equal_options(case: Case) -> bool:
    """Return whether two options of a case are one text: such cases have a run of their own."""
    return len(set(case["options"])) < len(case["options"])


@each(*CHOICES)
def test_choice(runs: Runs, name: str, place: int) -> None:
    case = cases(name)[place]
    alike = [other for other in cases(name) if has_equal_options(other) == has_equal_options(case)]
    scores = runs.scores(name, str(has_equal_options(case)), ask_choices(alike))
    values = [
        row["acc"] for (other, _), row in zip(askings(alike), scores, strict=True) if other is alike[alike.index(case)]
    ]
    read = {option for option, value in enumerate(values) if value}
    if case["read"] is None:
        assert read == set(), case
    else:
        right = ord(case["read"]) - ord("A")
        assert right in read, case
        # An option with the text of the right one may count as well.
        assert {case["options"][option] for option in read} == {case["options"][right]}, case


# Reasoning and stop strings


@each("reasoning", "stops")
def test_text_that_is_compared(runs: Runs, name: str, place: int) -> None:
    case = cases(name)[place]
    setting = (case["tags"], case.get("stop"))
    alike = [other for other in cases(name) if (other["tags"], other.get("stop")) == setting]

    def make(folder: Path) -> list[Scores]:
        fields: dict[str, Any] = {"doc_to_target": "t", "metric_list": [TRIMMED]}
        if case["tags"] is not None:
            fields["reasoning_tags"] = case["tags"]
        if "stop" in case:
            fields["generation_kwargs"] = {"until": case["stop"]}
        task = written(folder, [{"q": "Which?", "t": other["read"]} for other in alike], **fields)
        return measured(folder, task, [other["answer"] for other in alike])

    scores = runs.scores(name, repr(setting), make)
    assert scores[alike.index(case)]["exact_match"] == 1.0, case


# Equality


@each("equality")
def test_equality(runs: Runs, name: str, place: int) -> None:
    case = cases(name)[place]

    def key(other: Case) -> tuple[Any, ...]:
        return other["metric"], other["kwargs"], len(other["references"]) > 1

    alike = [other for other in cases(name) if key(other) == key(case)]

    def make(folder: Path) -> list[Scores]:
        several = len(case["references"]) > 1
        rows = [{"q": "Which?", "t": other["references"] if several else other["references"][0]} for other in alike]
        metric = {"metric": case["metric"], **case["kwargs"]}
        task = written(folder, rows, doc_to_target="t", metric_list=[metric])
        return measured(folder, task, [other["answer"] for other in alike])

    scores = runs.scores(name, repr(key(case)), make)
    assert scores[alike.index(case)][case["metric"]] == case["value"], case


# Tables


@each("tables")
def test_table(runs: Runs, name: str, place: int) -> None:
    case = cases(name)[place]

    def make(folder: Path) -> list[Scores]:
        rows = [f"{row}\tWhich?\t{other['references']}\n" for row, other in enumerate(cases(name))]
        (folder / "cases.tsv").write_text("index\tquestion\tanswer\n" + "".join(rows), encoding="utf-8")
        return measured(folder, folder / "cases.tsv", [other["answer"] for other in cases(name)])

    assert runs.scores(name, "", make)[place]["exact_match"] == case["exact_match"], case


VQA = [place for place, case in enumerate(cases("tables")) if case["vqa_match"] is not None]


@pytest.mark.parametrize("place", VQA, ids=[f"tables:{place + 1}" for place in VQA])
def test_rule_of_the_vqa_challenge(runs: Runs, place: int) -> None:
    case = cases("tables")[place]

    def make(folder: Path) -> list[Scores]:
        rows = [{"q": "Which?", "t": other["references"]} for other in cases("tables")]
        task = written(folder, rows, doc_to_target="t", metric_list=[{"metric": "vqa_match"}])
        return measured(folder, task, [other["answer"] for other in cases("tables")])

    assert runs.scores("tables", "vqa_match", make)[place]["vqa_match"] == case["vqa_match"], case


# Verdicts


@each("verdicts")
def test_verdict(name: str, place: int) -> None:
    case = cases(name)[place]

    def read() -> str | float:
        if case["kind"] == "letter":
            return read_grade(case["reply"], case["choices"])
        return read_rating(case["reply"], bounds=(case["low"], case["high"]))

    if case["read"] is None:
        with pytest.raises(UnscoredError):
            read()
    else:
        assert read() == case["read"], case


def test_cases_are_many_and_say_why() -> None:
    every = [case for path in sorted(CASES.glob("*.json")) for case in cases(path.stem)]
    assert len(every) >= 400
    assert all(case["why"].strip() for case in every)
    assert len({case["language"] for name in CHOICES for case in cases(name)}) >= 10
