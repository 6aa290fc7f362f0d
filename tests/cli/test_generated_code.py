"""``--allow-generated-code``: tasks that run what a model writes, by our metrics or by ``code_eval`` in their code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import Typing

NATIVE = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
unsafe_code: true
doc_to_text: "{{prompt}}"
doc_to_target: "{{test}}"
repeats: 2
filter_list: [{name: program, filter: [{function: code, prefix: prompt}]}]
metric_list: [{metric: pass@1}]
"""
GUEST = """\
task: guest
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
unsafe_code: true
doc_to_text: "{{prompt}}"
doc_to_target: "{{test}}"
process_results: !function utils.judge
metric_list: [{metric: passed}]
"""
UTILS = """\
import evaluate

checker = evaluate.load("code_eval")
checker.compute(references=["assert True"], predictions=[["x = 1"]], k=[1])


def judge(doc, results):
    values, _ = checker.compute(references=[doc["test"]], predictions=[[doc["prompt"] + "    " + results[0]]], k=[1])
    return {"passed": values["pass@1"]}
"""
EVALUATE = """\
def load(name):
    raise OSError("the hub is not there")
"""
ROWS = [
    {"prompt": "def one():\n", "test": "assert one() == 1"},
    {"prompt": "def two():\n", "test": "assert two() == 2"},
]
ANSWER = "    return 1\n"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write(
        {
            "mine/sums.yaml": NATIVE,
            "guest/guest.yaml": GUEST,
            "guest/utils.py": UTILS,
            "mine/rows.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
            "guest/rows.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
            "answers.json": json.dumps({"0": ANSWER, "1": f"So:\n```python\n{ROWS[1]['prompt']}    return 2\n```\n"}),
        }
    )
    return typing


RUN = "run --model mock --model-args answers=answers.json --tasks sums --include-path mine -q -o run"


def values(folder: Path, task: str) -> dict[str, float]:
    results = json.loads((folder / "results.json").read_text())["tasks"][task]["results"]
    return {result["metric"]: result["value"] for result in results}


def test_a_task_that_runs_code_is_refused_before_anything_is_spent(typing: Typing) -> None:
    done = typing(RUN)
    assert done.code == 2
    assert "Task 'sums' runs the code that the model writes, and this run does not allow it." in done.said
    assert "--allow-generated-code" in done.said
    assert "sums.yaml" in done.said
    assert not (typing.folder / "run").exists()


def test_allowed_it_counts_the_programs_that_pass(typing: Typing) -> None:
    done = typing(f"{RUN} --allow-generated-code")
    assert done.code == 0, done.said
    assert values(typing.folder / "run", "sums") == {"pass@1": 1.0}, "a continuation, and a block with all of it"
    manifest = json.loads((typing.folder / "run/run.json").read_text())
    assert any(note.startswith("Code that the model writes runs ") for note in manifest["notes"]), manifest["notes"]


@pytest.mark.parametrize("command", ["rerun run", "score run"])
def test_a_run_folder_does_not_say_that_code_may_run(typing: Typing, command: str) -> None:
    assert typing(f"{RUN} --allow-generated-code").code == 0
    done = typing(f"{command} -q")
    assert done.code == 2, done.said
    assert "this run does not allow it" in done.said
    allowed = typing(f"{command} -q --allow-generated-code")
    assert allowed.code == 0, allowed.said


def test_a_run_that_goes_on_is_allowed_it_again(typing: Typing) -> None:
    failing = RUN.replace("answers=answers.json", "answers=answers.json,failure=permanent,failure_rate=1")
    assert typing(f"{failing} --allow-generated-code").code == 1
    done = typing("resume run -q")
    assert done.code == 2, done.said
    assert "this run does not allow it" in done.said
    assert typing("resume run -q --allow-generated-code").code == 1, "it is tried, and fails again"


def test_a_guests_code_eval_is_ours(typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    typing.write({"site/evaluate.py": EVALUATE})
    monkeypatch.syspath_prepend(str(typing.folder / "site"))
    done = typing("run --model mock --model-args answers=answers.json --tasks guest --include-path guest -q -o run")
    assert done.code == 2, "its own trial of the metric does not run either"
    done = typing(
        "run --model mock --model-args answers=answers.json --tasks guest --include-path guest -q -o run "
        "--allow-generated-code"
    )
    assert done.code == 0, done.said
    assert values(typing.folder / "run", "guest") == {"passed": 0.5}, "the second answer is no continuation"


def test_a_metric_that_runs_code_needs_no_mark_of_its_task(typing: Typing) -> None:
    typing.write({"mine/sums.yaml": NATIVE.replace("unsafe_code: true\n", "")})
    done = typing(RUN)
    assert done.code == 2
    assert "runs the code that the model writes" in done.said


def test_check_shows_the_prompts_without_the_flag(typing: Typing) -> None:
    done = typing("check mine/sums.yaml --prompts 1")
    assert done.code == 0, done.said
    assert "def one():" in done.out
