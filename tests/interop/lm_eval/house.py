"""Task folders and an ``LM`` for tests of lm-eval's command line, files and scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODEL = """\
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model


@register_model("counts-letters")
class CountsLetters(LM):
    def __init__(self, bonus=0.0, batch_size=1):
        super().__init__()
        self.bonus = bonus

    def loglikelihood(self, requests):
        return [(self.bonus - len(r.args[1]), len(r.args[1]) < 5) for r in requests]

    def loglikelihood_rolling(self, requests):
        return [-float(len(r.args[0])) for r in requests]

    def generate_until(self, requests):
        return [f"I say {r.args[0].split()[-1]}" for r in requests]

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        turns = "".join(f"<{turn['role']}>{turn['content']}" for turn in chat_history)
        return turns + ("<assistant> " if add_generation_prompt else "")
"""
CHOICE = """\
task: choice
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "Is {{word}} short?"
doc_to_target: "{{short}}"
doc_to_choice: ["no way", "yes"]
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
metadata: {version: 2.0}
"""
SAYS = """\
task: says
task_alias: Says
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
test_split: test
output_type: generate_until
process_docs: !function utils.as_they_are
doc_to_text: "Say {{word}}"
doc_to_target: "{{word}}"
filter_list:
  - name: last
    filter: [{function: regex, regex_pattern: '(\\w+)$'}, {function: take_first}]
  - name: raw
    filter: [{function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
generation_kwargs: {until: ["\\n"], max_gen_toks: 5}
metadata: {version: 1}
"""
ROLLS = """\
task: rolls
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{word}}"
metric_list: [{metric: word_perplexity, aggregation: weighted_perplexity, higher_is_better: false}]
metadata: {version: 1}
"""
RUNS_CODE = """\
task: runs_code
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
test_split: test
unsafe_code: true
output_type: generate_until
doc_to_text: "Say {{word}}"
doc_to_target: "{{word}}"
metric_list: [{metric: !function utils.runs, aggregation: mean, higher_is_better: true}]
metadata: {version: 1}
"""
GROUP = """\
group: both
group_alias: Both
task: [choice, says]
aggregate_metric_list: [{metric: acc, weight_by_size: true}]
metadata: {version: 3}
"""
UTILS = """\
def as_they_are(dataset):
    return dataset


def runs(references, predictions):
    from polymeter.metrics.code import code_eval

    values, _ = code_eval(["assert x == 1"], [["x = 1"]], k=1)
    return values["pass@1"]
"""
ROWS = [{"word": "cat", "short": 1}, {"word": "elephant", "short": 0}, {"word": "dog", "short": 1}]


def write_house(folder: Path) -> None:
    """Write a folder ``tasks`` with the tasks, and ``model.py``."""
    tasks = folder / "tasks"
    tasks.mkdir()
    (tasks / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    files = {"choice": CHOICE, "says": SAYS, "rolls": ROLLS, "runs_code": RUNS_CODE, "both": GROUP}
    for name, text in files.items():
        (tasks / f"{name}.yaml").write_text(text.replace("FOLDER", str(tasks)), encoding="utf-8")
    (tasks / "utils.py").write_text(UTILS, encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")


def results(folder: Path) -> dict[str, Any]:
    """The only file of results below a folder."""
    (file,) = (path for path in folder.rglob("results_*.json") if path.name != "results.json")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def samples(folder: Path, task: str) -> list[dict[str, Any]]:
    """The samples of a task in the only file of them below a folder."""
    (file,) = folder.rglob(f"samples_{task}_*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def runs(folder: Path) -> Iterator[Path]:
    """The run folders of ours below a folder."""
    return (path.parent for path in folder.rglob("run.json"))
