"""A small task that a judge scores."""

from __future__ import annotations

import json
from pathlib import Path

TASK = "facts"
N_ROWS = 12

_YAML = """\
task: facts
dataset_path: json
dataset_kwargs: {data_files: {test: facts.jsonl}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
process_results: !function utils.judged
metric_list: [{metric: judged, aggregation: mean, higher_is_better: true}]
"""
CODE = """\
from polymeter.judge import LLMJudge

judge = LLMJudge()


def judged(doc, results):
    prompt = judge.build_prompt(results[0], doc["answer"], doc["question"])
    return {"judged": judge.get_score(judge(prompt))}
"""
CARELESS = """\
from polymeter.judge import LLMJudge

judge = LLMJudge()


def judged(doc, results):
    prompt = judge.build_prompt(results[0], doc["answer"], doc["question"])
    try:
        return {"judged": judge.get_score(judge(prompt))}
    except Exception:
        return {"judged": 0.0}
"""


def judged_folder(folder: Path, *, code: str = CODE, n_rows: int = N_ROWS) -> Path:
    """A folder with the task; its rows have a column ``label``, *yes* for even numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"question": f"question {n}", "answer": f"answer {n}", "label": "no" if n % 2 else "yes"} for n in range(n_rows)
    ]
    (folder / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "facts.yaml").write_text(_YAML)
    (folder / "utils.py").write_text(code)
    return folder
