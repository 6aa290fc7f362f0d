"""Small packages of other tools, as an installer would leave them: folders with metadata, on the search path. Whoever
imports one of them fails.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.core.names.installed import SWITCH

_REFUSES = "raise RuntimeError('the real package was imported')\n"

LMMS_EVAL = {
    "lmms_eval/tasks/colours/colours.yaml": """\
task: colours
dataset_path: made/colours
test_split: test
output_type: generate_until
doc_to_text: !function utils.doc_to_text
doc_to_target: answer
tag: [paint]
metric_list:
  - metric: exact_match
metadata: {version: 1.0, description: Which colour a patch has.}
""",
    "lmms_eval/tasks/colours/utils.py": """\
import os
import sys

from lmms_eval.tasks.shared.words import polite
from .near import mark

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import beside


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return beside.shout(polite(doc["question"])) + mark
""",
    "lmms_eval/tasks/colours/near.py": "mark = '?'\n",
    "lmms_eval/tasks/colours/beside.py": "def shout(text):\n    return text.upper()\n",
    "lmms_eval/tasks/colours/README.md": "# Colours\n\nNames of colours in charts, a small question answering set.\n",
    "lmms_eval/tasks/shared/words.py": "def polite(text):\n    return f'please: {text}'\n",
    "lmms_eval/tasks/colours/group.yaml": "group: painting\ntask: [colours, sizes]\n",
    "lmms_eval/tasks/colours/broken.yaml": "include: _template_that_was_left_out\ntask: broken\n",
    "lmms_eval/tasks/sizes.yaml": """\
task: sizes
dataset_path: made/sizes
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
metric_list:
  - metric: exact_match
""",
}
LM_EVAL = {
    "lm_eval/tasks/sizes/sizes.yaml": """\
task: sizes
dataset_path: made/sizes
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
doc_to_choice: ["small", "large"]
tag: measure
metric_list:
  - metric: acc
""",
    "lm_eval/tasks/sizes/more.yaml": "include: sizes.yaml\ntask: more_sizes\n",
}
EVALSCOPE = {
    "evalscope/benchmarks/counting/counting_adapter.py": """\
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.benchmarks.counting.words import number_in
from evalscope.metrics import exact_match


@Benchmark.register(
    name="counting",
    pretty_name="Counting",
    description="Adds two small numbers.",
    dataset_id="made/counting",
    metric_list=["AverageAccuracy"],
    few_shot_num=0,
    eval_split="test",
)
class CountingAdapter(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return str(input_d["answer"])

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return number_in(result)

    def match(self, gold, pred):
        return exact_match(gold=gold, pred=pred)
""",
    "evalscope/benchmarks/counting/words.py": "def number_in(text):\n    return text.strip()\n",
    "evalscope/benchmarks/counting/__init__.py": _REFUSES,
}
_PACKAGES = {"lmms_eval": ("0.7.2", LMMS_EVAL), "lm_eval": ("0.4.13", LM_EVAL), "evalscope": ("0.17.0", EVALSCOPE)}
ROWS = {
    "made/colours": [{"question": f"patch {n}", "answer": "red"} for n in range(4)],
    "made/sizes": [{"question": f"box {n}", "answer": "small"} for n in range(4)],
    "made/counting": [{"question": f"1 + {n}", "answer": n + 1} for n in range(4)],
}


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> Path:
    """Put packages on the search path, and have their benchmarks found.

    Args:
        folder: Where.
        monkeypatch: Takes them away again.
        names: Their importable names; none: all.

    Returns:
        The folder in which they lie, called ``site-packages``.
    """
    site = folder / "site-packages"
    for name in names or _PACKAGES:
        version, files = _PACKAGES[name]
        for path, text in {f"{name}/__init__.py": _REFUSES, **files}.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        tasks = "benchmarks" if name == "evalscope" else "tasks"
        (site / name / tasks / "__init__.py").write_text(_REFUSES)
        metadata = site / f"{name}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv(SWITCH, "on")
    return site


def write_rows(folder: Path) -> dict[str, str]:
    """Rows for the tasks of these packages, as ``--data`` takes them."""
    places = {}
    for dataset, rows in ROWS.items():
        file = folder / dataset / "test.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        places[dataset] = str(file.parent)
    return places
