"""Answers are read alike whatever asks for them: YAML, tables, the command line, and stored answers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate, score
from polymeter.cli.main import main
from polymeter.core.request import ChoiceLogprob, Output, Response
from polymeter.models.mock import MockBatch
from tests.tasks.yaml.kit import task_text, write_rows

DEEP = "<deep>the question is hard</deep>Paris"
PAIRS = '[["<deep>", "</deep>"]]'


def yaml(folder: Path, extra: str = "metric_list: [{metric: exact_match}]\n", **row: Any) -> str:
    write_rows(folder, [{"q": "x", "a": "Paris", **row}])
    (folder / "t.yaml").write_text(task_text(extra))
    return str(folder / "t.yaml")


def table(folder: Path) -> str:
    (folder / "t.tsv").write_text("index\tquestion\tanswer\n0\tx\tParis\n")
    return str(folder / "t.tsv")


@pytest.mark.parametrize("write", [yaml, table])
@pytest.mark.parametrize(
    ("said", "options", "value"),
    [
        (DEEP, {}, 0.0),
        (DEEP, {"reasoning_tags": PAIRS}, 1.0),
        ("<think>hm</think>Paris", {}, 1.0),
        ("<think>hm</think>Paris", {"reasoning_tags": "none"}, 0.0),
        ("<think>hm</think>Paris", {"reasoning_tags": PAIRS}, 0.0),
        ("[THINK]Paris", {}, 0.0),
    ],
)
def test_tags_of_a_run_hold_for_every_format(
    tmp_path: Path, write: Any, said: str, options: dict[str, Any], value: float
) -> None:
    run = evaluate("mock", write(tmp_path), model_args={"answer": said}, output=tmp_path / "run", **options)
    assert run.value("t", "exact_match") == value


def test_stored_answers_are_read_by_other_tags(tmp_path: Path) -> None:
    evaluate("mock", table(tmp_path), model_args={"answer": DEEP}, output=tmp_path / "run")
    again = score(tmp_path / "run", output=tmp_path / "again", reasoning_tags=PAIRS)
    assert again.value("t", "exact_match") == 1.0


def test_the_command_line_takes_tags_and_counts_what_was_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--model", "mock", "--model-args", "answer=<deep>the answer is", "--tasks", table(tmp_path)]
    assert main([*words, "--reasoning-tags", PAIRS, "--output", str(tmp_path / "run"), "--quiet"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "WARNING: t: 1 of 1 answer is empty after the reasoning (100.0 %)" in told
    assert main([*words, "--reasoning-tags", '["|", "|"]', "--output", str(tmp_path / "other")]) == 2
    assert "is part of the opening tag" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("logprobs", "why"),
    [((math.nan, -1.0), "not a number"), ((-math.inf, -math.inf), "prefers none"), ((math.inf, -1.0), "infinite")],
)
def test_log_probabilities_that_prefer_nothing_leave_the_sample_unscored(
    tmp_path: Path, logprobs: tuple[float, float], why: str
) -> None:
    extra = "output_type: multiple_choice\ndoc_to_choice: [Paris, Rome]\nmetric_list: [{metric: acc}]\n"
    task = yaml(tmp_path, extra)

    def answer(request: Any) -> Response:
        return Response((Output(logprobs=tuple(ChoiceLogprob(one, False, 1) for one in logprobs)),))

    run = evaluate(MockBatch(answer), task, output=tmp_path / "run")
    (line,) = (tmp_path / "run" / "samples" / "t.jsonl").read_text().splitlines()
    sample = json.loads(line)
    assert sample["status"] == "unscored"
    assert why in sample["error"]["message"]
    assert run.n_failed == 1


ROUNDS = """
output_type: {kind}
doc_to_text: !function hooks.ask
doc_to_visual: !function hooks.show
metric_list: [{{metric: contains}}]
"""
HOOKS = """
def show(doc):
    return []


def ask(doc, previous_output=None, round_idx=None, previous_round_info=None):
    return doc["q"] if previous_output is None else ([], "", True, [previous_output[-1]], None)
"""


@pytest.mark.parametrize("kind", ["generate_until_multi_round", "generate_until_agentic"])
@pytest.mark.parametrize(
    ("said", "options", "value", "n"),
    [
        ("<think>Rome or Paris", {}, 0.0, 1),
        ("<think>Rome</think>Paris", {}, 1.0, None),
        ("<think> Paris </think> Rome", {"reasoning_tags": "none"}, 1.0, None),
        ("<deep> Paris </deep> Rome", {"reasoning_tags": PAIRS}, 0.0, None),
    ],
)
def test_tasks_that_ask_again_are_read_by_the_same_rules(
    tmp_path: Path, kind: str, said: str, options: dict[str, Any], value: float, n: int | None
) -> None:
    (tmp_path / "hooks.py").write_text(HOOKS)
    write_rows(tmp_path, [{"q": "x", "a": "Paris"}])
    lines = task_text(ROUNDS.format(kind=kind)).splitlines()
    named = {line.partition(":")[0]: line for line in lines if line}  # the last of two keys counts
    (tmp_path / "t.yaml").write_text("\n".join(named.values()) + "\n")
    run = evaluate("mock", str(tmp_path / "t.yaml"), model_args={"answer": said}, output=tmp_path / "run", **options)
    assert run.value("t", "contains") == value
    assert run.results["tasks"]["t"].get("n_unfinished") == n
