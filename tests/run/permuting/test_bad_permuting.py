"""Permuted choices that make no sense are refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError, UnfitError
from tests.run.permuting import kit


@pytest.fixture
def model() -> kit.Chooser:
    return kit.Chooser(kit.first)


@pytest.mark.parametrize("k", [1, 0, -3])
def test_fewer_than_two_orders(tmp_path: Path, model: kit.Chooser, k: int) -> None:
    with pytest.raises(PlanError, match=rf"Option 'permute_choices' must be at least 2, not {k}"):
        kit.evaluate(model, kit.generated(tmp_path), tmp_path / "run", k=k)
    assert not model.asked


def test_more_orders_than_the_choices_have(tmp_path: Path, model: kit.Chooser) -> None:
    with pytest.raises(PlanError, match=r"have at most 4 choices, which have 24 orders and not 25") as error:
        kit.evaluate(model, kit.generated(tmp_path), tmp_path / "run", k=25)
    assert error.value.hint == "Ask for 24 at most."
    assert not model.asked


def _open_question(folder: Path) -> str:
    return kit.write_yaml(
        folder, 'output_type: generate_until\ndoc_to_text: "{{question}}"\ndoc_to_target: answer_text'
    )


def _likelihood_of_texts(folder: Path) -> str:
    fields = 'output_type: multiple_choice\ndoc_to_text: "{{question}}"\ndoc_to_choice: options\n'
    return kit.write_yaml(folder, fields + "doc_to_target: answer_index")


def _prompt_made_before(folder: Path) -> str:
    code = """
def docs(dataset):
    return dataset.map(lambda row: {"query": row["question"] + "".join(f"\\n{x}. {row[x]}" for x in "ABCD")})
"""
    fields = (
        "output_type: generate_until\nprocess_docs: !function utils.docs\n"
        'doc_to_text: "{{query}} Answer with a letter."\ndoc_to_target: answer'
    )
    return kit.write_yaml(folder, fields, code)


def _prompt_with_the_answer(folder: Path) -> str:
    fields = (
        "output_type: generate_until\ndoc_to_text: \"{{question}} {{options|join(', ')}} (it is not {{answer}})\"\n"
        "doc_to_target: answer"
    )
    return kit.write_yaml(folder, fields)


def _rounds(folder: Path) -> str:
    code = """
def text(doc, model_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    listed = "".join(f"\\n{x}. {doc[x]}" for x in "ABCD")
    return doc["question"] + listed if round_idx is None else ([], None, True, previous_output, None)

def process(doc, results):
    return {"acc": 1.0}
"""
    fields = (
        "output_type: generate_until_multi_round\ndoc_to_text: !function utils.text\ndoc_to_target: answer\n"
        "process_results: !function utils.process\nmetric_list: [{metric: acc}]"
    )
    return kit.write_yaml(folder, fields, code)


def _key_that_does_not_move(folder: Path) -> str:
    code = """
def docs(dataset):
    return dataset.map(lambda row: {"solved": f"option {row['answer']}"})

def process(doc, results):
    return {"acc": float(results[0].strip() == doc["solved"][-1])}
"""
    fields = (
        "output_type: generate_until\nprocess_docs: !function utils.docs\nprocess_results: !function utils.process\n"
        'doc_to_text: "{{question}}\\nA. {{A}}\\nB. {{B}}\\nC. {{C}}\\nD. {{D}}"\ndoc_to_target: answer\n'
        "metric_list: [{metric: acc}]"
    )
    return kit.write_yaml(folder, fields, code)


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (_open_question, "in another order: they have no choices"),
        (_likelihood_of_texts, "in another order: they list no choices in their prompt"),
        (_prompt_with_the_answer, "have choices in their prompt that do not follow those in their row"),
        (_key_that_does_not_move, r"as {'acc': 1.0}, and as {'acc': 0.0} in another order: it reads a key"),
        (_rounds, "asks by generate_until_multi_round, so that the order of its choices cannot be changed"),
    ],
)
def test_tasks_whose_order_cannot_matter_or_be_changed(
    tmp_path: Path, model: kit.Chooser, write: Callable[[Path], str], why: str
) -> None:
    task = write(tmp_path)
    with pytest.raises(UnfitError, match=why) as error:
        kit.evaluate(model, task, tmp_path / "run")
    assert "--skip-unfit" in error.value.hint
    assert not model.asked


def test_a_prompt_that_was_made_before_moves_with_its_own_lines(tmp_path: Path, model: kit.Chooser) -> None:
    run = kit.evaluate(model, _prompt_made_before(tmp_path), tmp_path / "run")
    shares = [kit.RIGHT_AT.count(-shift % 4) / kit.N for shift in range(4)]
    found = kit.values(run, "exact_match")
    assert [found[f"order {number}"] for number in range(1, 5)] == pytest.approx(shares)


@pytest.mark.parametrize("write", [kit.generated, kit.guessed, kit.table, kit.python_prompt])
def test_an_answer_that_is_no_choice(
    tmp_path: Path, model: kit.Chooser, write: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = kit.rows()
    rows[2] |= {"answer": "river"}
    monkeypatch.setattr(kit, "rows", lambda: rows)
    options: dict[str, Any] = {"mcq": "text"} if write is kit.guessed else {}
    with pytest.raises(PlanError, match=r"'river'.* (?:none of|names none)"):
        kit.evaluate(model, write(tmp_path), tmp_path / "run", **options)
    assert not model.asked


def test_numbers_that_count_from_an_unknown_number(tmp_path: Path, model: kit.Chooser) -> None:
    task = kit.generated(tmp_path)
    rows = [json.loads(line) | {"answer": 1} for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(UnfitError, match="have numbers as answers that may count from 0 or from 1"):
        kit.evaluate(model, task, tmp_path / "run")
    assert not model.asked


def test_a_table_of_rotations(tmp_path: Path, model: kit.Chooser) -> None:
    with pytest.raises(UnfitError, match=r"asks the rotations of its questions already \(tsv.circular"):
        kit.evaluate(model, kit.table(tmp_path), tmp_path / "run", dialect_options={"tsv": {"circular": True}})
    assert not model.asked


def test_scores_of_people(tmp_path: Path, model: kit.Chooser) -> None:
    verdicts = {"quiz": {"values": {"0": {"exact_match": 1.0}}, "excluded": {}}}
    with pytest.raises(PlanError, match="Scores of people are about one answer, and this run has 4 to each question"):
        kit.evaluate(model, kit.generated(tmp_path), tmp_path / "run", verdicts=verdicts)
    assert not model.asked


def test_unfit_tasks_may_be_left_out(tmp_path: Path, model: kit.Chooser) -> None:
    fit, unfit = kit.generated(tmp_path / "a"), _open_question(tmp_path / "b")
    text = Path(unfit).read_text().replace("task: quiz", "task: open")
    Path(unfit).write_text(text)
    run = polymeter.evaluate(model, [fit, unfit], output=tmp_path / "run", permute_choices=2, skip_unfit=True)
    assert [*run.results["tasks"]] == ["quiz"]
