"""``--permute-choices`` for dataset classes: those that score sample by sample get rows in each order."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.core.errors import UnfitError
from polymeter.models.mock import MockModel
from tests.helpers.toy_datasets import write_class
from tests.run.permuting import kit

_PROMPT = """
def build_prompt(self, line):
    listed = "\\n".join(f"{x}. {line[x]}" for x in "ABCD")
    return [dict(type="text", value=f"{line['question']}\\n{listed}\\nAnswer:")]
"""
_BY_SAMPLE = """
def evaluate_sample(self, line, prediction, **kwargs):
    return {"hit": float(prediction.strip()[:1] == line["answer"])}
"""
_BY_FILE = """
def evaluate(self, eval_file, **kwargs):
    return {"hit": 1.0}
"""


def toy(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMUData", str(folder / "LMUData"))
    names = ("question", "A", "B", "C", "D", "answer")
    columns = {"index": range(kit.N), **{name: [row[name] for row in kit.rows()] for name in names}}
    return write_class(folder / "lib", _PROMPT + body, columns=columns, type_="MCQ")


def test_the_right_answer_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = toy(tmp_path, _BY_SAMPLE, monkeypatch)
    for name, model, wanted in (
        ("gold", MockModel(mode="gold"), [1, 1, 1, 1]),
        ("first", kit.Chooser(kit.first), [kit.RIGHT_AT.count(-shift % 4) / kit.N for shift in range(4)]),
    ):
        found = kit.values(kit.evaluate(model, "Toy", tmp_path / name, include_paths=(file,)), "hit")
        assert [found[f"order {number}"] for number in range(1, 5)] == pytest.approx(wanted)


def test_a_file_of_all_answers_has_the_choices_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = kit.Chooser(kit.first)
    file = toy(tmp_path, _BY_FILE, monkeypatch)
    with pytest.raises(UnfitError, match="is scored by its class from one file with all answers"):
        kit.evaluate(model, "Toy", tmp_path / "run", include_paths=(file,))
    assert not model.asked
