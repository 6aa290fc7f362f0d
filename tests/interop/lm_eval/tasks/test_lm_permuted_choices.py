"""``--permute-choices`` for tasks of lm-eval: letters whose prompt lists the choices, and answers as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.core.errors import UnfitError
from polymeter.models.mock import MockModel
from tests.run.permuting import kit

_LISTED = "{{question}}\\nA. {{options[0]}}\\nB. {{options[1]}}\\nC. {{options[2]}}\\nD. {{options[3]}}\\nAnswer:"
_YAML = """\
task: quiz
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
{fields}
"""
LETTERS = f"""\
output_type: multiple_choice
doc_to_text: "{_LISTED}"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: answer_index
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]"""
GENERATED = f"""\
output_type: generate_until
doc_to_text: "{_LISTED}"
doc_to_target: answer
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]"""
CONTEXTS = """\
output_type: multiple_choice
doc_to_text: answer_index
doc_to_choice: options
doc_to_target: question
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]"""


def permuted(folder: Path, fields: str, model: object, name: str = "run") -> Path:
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in kit.rows()), encoding="utf-8")
    (folder / "quiz.yaml").write_text(_YAML.format(rows=rows, fields=fields), encoding="utf-8")
    return kit.evaluate(model, "quiz", folder / name, include_paths=[f"lm_eval:{folder}"])


@pytest.mark.parametrize(("fields", "metric"), [(LETTERS, "acc"), (GENERATED, "exact_match")])
def test_the_right_answer_moves(tmp_path: Path, fields: str, metric: str) -> None:
    gold = kit.values(permuted(tmp_path, fields, MockModel(mode="gold"), "gold"), metric)
    assert gold["none"] == gold["all orders"] == 1
    first = kit.values(permuted(tmp_path, fields, kit.Chooser(kit.first), "first"), metric)
    shares = [kit.RIGHT_AT.count(-shift % 4) / kit.N for shift in range(4)]
    assert [first[f"order {number}"] for number in range(1, 5)] == pytest.approx(shares)
    run = permuted(tmp_path, fields, kit.Chooser(kit.by_content), "content")
    assert kit.values(run, "choice")["consistency"] == 1


def test_contexts_are_never_listed(tmp_path: Path) -> None:
    model = kit.Chooser(kit.first)
    with pytest.raises(UnfitError, match="are contexts of one continuation, and are never listed"):
        permuted(tmp_path, CONTEXTS, model)
    assert not model.asked
