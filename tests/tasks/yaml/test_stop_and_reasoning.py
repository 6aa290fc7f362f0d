"""Stop strings do not count in visible reasoning, whatever tags a task or a run names for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate
from tests.helpers.differences import difference
from tests.tasks.yaml.kit import task_text, write_rows

SAID = "<deep>One.\n\nTwo.</deep>yes\n\nand more"
OWN = '[["<deep>", "</deep>"]]'
STOPS = 'generation_kwargs: {until: ["\\n\\n"]}\nmetric_list: [{metric: exact_match}]\n'


def _score(folder: Path, extra: str = "", said: str = SAID, **options: Any) -> Any:
    write_rows(folder, [{"q": "x", "a": "yes"}])
    (folder / "t.yaml").write_text(task_text(STOPS + extra))
    run = evaluate("mock", str(folder / "t.yaml"), model_args={"answer": said}, output=folder / "run", **options)
    return run.value("t", "exact_match")


def test_tags_of_the_task(tmp_path: Path) -> None:
    assert _score(tmp_path, f"reasoning_tags: {OWN}\n") == 1.0


def test_tags_of_the_run(tmp_path: Path) -> None:
    assert _score(tmp_path, dialect_options={"task_yaml": {"reasoning_tags": OWN}}) == 1.0


@pytest.mark.parametrize("extra", ["", "reasoning_tags: none\n"])
def test_other_tags_are_text(tmp_path: Path, extra: str) -> None:
    assert _score(tmp_path, extra) == 0.0
    assert _score(tmp_path / "again", extra, said="yes\n\n<deep>and</deep>") == 1.0


def test_the_usual_tags_without_any_named(tmp_path: Path) -> None:
    assert _score(tmp_path, said=SAID.replace("deep", "think")) == 1.0


FILTERED = (
    "filter_list: [{name: none, filter: [{function: regex, regex_pattern: '([0-9]+)'}, {function: take_first}]}]\n"
)


@difference("reasoning-after-filters", here=0.0, there=1.0)
def test_a_number_in_reasoning_is_no_answer(tmp_path: Path, parity: str, expected: float) -> None:
    write_rows(tmp_path, [{"q": "x", "a": "540"}])
    (tmp_path / "t.yaml").write_text(task_text("metric_list: [{metric: exact_match}]\n" + FILTERED))
    answers = {"answer": "<think>perhaps 540"}
    run = evaluate("mock", str(tmp_path / "t.yaml"), model_args=answers, output=tmp_path / "run", parity=parity)
    assert run.value("t", "exact_match") == expected


def test_answers_that_ended_inside_their_reasoning_are_counted(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"q": str(number), "a": "yes"} for number in range(3)])
    (tmp_path / "t.yaml").write_text(task_text("metric_list: [{metric: exact_match}]\n"))
    (tmp_path / "answers.json").write_text(json.dumps({"0": "yes", "1": "<think>yes", "2": "hm</think>yes"}))
    answers = {"answers": str(tmp_path / "answers.json")}
    run = evaluate("mock", str(tmp_path / "t.yaml"), model_args=answers, output=tmp_path / "run")
    assert run.value("t", "exact_match") == pytest.approx(2 / 3)
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["tasks"]["t"]["n_unfinished"] == 1
    assert results["tasks"]["t"]["statuses"] == {"ok": 3}
    samples = [json.loads(line) for line in (tmp_path / "run" / "samples" / "t.jsonl").read_text().splitlines()]
    assert [sample.get("n_unfinished") for sample in samples] == [None, 1, None]
    assert [sample["answer"] for sample in samples] == ["yes", "", "yes"]
    received = [sample["exchanges"][0]["response"]["outputs"][0]["text"] for sample in samples]
    assert received == ["yes", "<think>yes", "hm</think>yes"]


def test_the_journal_keeps_what_came_behind_a_stop_string(tmp_path: Path) -> None:
    _score(tmp_path)
    sample = json.loads((tmp_path / "run" / "samples" / "t.jsonl").read_text())
    assert sample["exchanges"][0]["response"]["outputs"][0]["text"] == SAID
