"""``mode=gold`` of the mock gives full marks, also where references begin with a space."""

from __future__ import annotations

import json
from pathlib import Path

from tests.regressions.copies import command

ROWS = [
    {
        "word": f" word{n}",
        "line": f"\n word{n} ",
        "options": [" red", " blue"],
        "number": n % 2,
        "letter": " AB"[n % 2 + 1],
    }
    for n in range(4)
]
TASKS = {
    "text": "doc_to_target: word\nmetric_list: [{metric: exact_match}, {metric: anls}]",
    "template": 'doc_to_target: " {{word}}"\nmetric_list: [{metric: exact_match}]',
    "line": 'doc_to_target: line\ngeneration_kwargs: {until: ["\\n"]}\nmetric_list: [{metric: exact_match}]',
    "option": "doc_to_target: number\ndoc_to_choice: options\nmetric_list: [{metric: exact_match}]",
    "letter": 'doc_to_target: " {{letter}}"\ndoc_to_choice: ["A", "B"]\noutput_type: multiple_choice\n'
    "metric_list: [{metric: acc}]",
    "choice": "doc_to_target: number\ndoc_to_choice: options\noutput_type: multiple_choice\n"
    "metric_list: [{metric: acc}, {metric: acc_norm}]",
    "likelihood": "doc_to_target: word\noutput_type: loglikelihood\nmetric_list: [{metric: acc}]",
}


def test_references_that_begin_with_a_space_are_met(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    for name, rest in TASKS.items():
        data = "dataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test"
        (tmp_path / f"{name}.yaml").write_text(f'task: of_{name}\n{data}\ndoc_to_text: "Say it."\n{rest}\n')
    names = ",".join(f"of_{name}" for name in TASKS)
    words = ["--include-path", ".", "--tasks", names, "--model", "mock", "--model-args", "mode=gold"]
    ended = command("run", *words, "--output", "run", "--quiet", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    tasks = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]
    values = {name: [result["value"] for result in task["results"]] for name, task in tasks.items()}
    assert len(values) == len(TASKS)
    assert {name: found for name, found in values.items() if {*found} != {1.0}} == {}
