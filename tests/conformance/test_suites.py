"""The parts of ``make conformance`` that need no original: rows, scripted answers, and the comparison."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import numpy
import pytest

from conformance.answers import known, scripted
from conformance.comparing import Expected, check_rows, compare, same
from conformance.frame import MODELS, ROOT, Observation, read_observations, write_observation
from conformance.lmms_eval.choosing import chosen_tasks, published_tasks
from conformance.lmms_eval.draws import Draws
from conformance.lmms_eval.expected import EXPECTED
from conformance.made_rows.rows import Shape, make_rows
from conformance.made_rows.schema import columns_of, read_yaml


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task folder: a template with an include, and hooks that read columns in several ways."""
    folder = tmp_path / "birds"
    folder.mkdir()
    (folder / "_default").write_text('dataset_path: org/birds\ntest_split: test\ndoc_to_target: "answer"\n')
    (folder / "birds.yaml").write_text(
        dedent("""
            include: _default
            task: birds
            doc_to_visual: !function utils.to_visual
            doc_to_text: !function utils.to_text
            process_results: !function utils.score
        """)
    )
    (folder / "utils.py").write_text(
        dedent("""
            import json

            KINDS = ["count", "name"]

            def to_visual(doc):
                return [doc["picture"].convert("RGB")]

            def to_text(doc, kwargs=None):
                options = doc["options"]
                lines = [f"{letter}. {text.strip()}" for letter, text in zip("ABCD", options)]
                if doc["kind"] in KINDS:
                    lines.append(doc["kind"])
                return doc["question"].strip() + "\\n".join(lines)

            def score(doc, results):
                return {"acc": _score(doc, results[0])}

            def _score(row, said):
                return float(said == row["answer"]) * json.loads(row["weights"])["all"]
        """)
    )
    return folder / "birds.yaml"


def test_columns_come_from_templates_and_from_the_syntax_tree(task: Path) -> None:
    columns = columns_of(read_yaml(task))
    assert set(columns.keys) == {"answer", "picture", "options", "kind", "question", "weights"}
    assert columns.keys["kind"].literals == ["count", "name"]
    assert ".convert" in columns.keys["picture"].calls


def test_rows_have_the_form_that_the_code_reads_and_depend_on_the_seed(task: Path) -> None:
    shape = Shape(columns_of(read_yaml(task)))
    rows = make_rows(shape, 4, "1:birds")
    assert {row["kind"] for row in rows} <= {"count", "name"}
    assert all(len(row["options"]) == 4 and row["answer"] in "ABCD" for row in rows)
    assert all(row["weights"].startswith("{") and row["picture"].mode == "RGB" for row in rows)
    again = make_rows(shape, 4, "1:birds")
    assert [row["question"] for row in again] == [row["question"] for row in rows]
    assert [row["options"] for row in make_rows(shape, 4, "2:birds")] != [row["options"] for row in rows]


def test_of_tasks_with_equal_hooks_one_is_chosen(task: Path) -> None:
    (task.parent / "twin.yaml").write_text(task.read_text().replace("task: birds", "task: twin"))
    tasks = published_tasks(task.parent.parent)
    assert {one.name for one in tasks} == {"birds", "twin"}
    assert [one.name for one in chosen_tasks(tasks, task.parent.parent)] == ["birds"]


def test_scripted_models_know_fixed_shares_and_answer_the_same_everywhere() -> None:
    shares = {model: len(known(model, 12, ("seed", "task"))) for model in MODELS}
    assert shares == {"right": 10, "wrong": 2, "messy": 8}
    answers = {scripted(model, "A", ["B"], (1, "task", 0), is_known=True, is_bare=True) for model in MODELS}
    assert answers == {"A"}
    assert scripted("wrong", "A", ["B"], (1, "task", 0), is_known=False) == "B"


def _observed(value: float, **more: float) -> dict[tuple[str, str], Observation]:
    values = {"right": value, "wrong": 0.25, "messy": 0.5}
    return {
        ("t", model): Observation("t", model, {"acc,none": one, **more}, {"0": {"acc": one > 0.3}, "1": {"acc": False}})
        for model, one in values.items()
    }


def test_a_value_that_differs_is_found_and_one_with_a_row_is_counted() -> None:
    made = compare(_observed(0.75), _observed(0.7))
    assert [(one.task, one.model, one.name) for one in made.differences] == [("t", "right", "value:acc,none")]
    assert (made.n_values, made.n_between) == (3, 3)
    made = compare(_observed(0.75, err=1.0), _observed(0.75, err=2.0), [Expected("a row", names="value:err")])
    assert not made.differences
    assert made.expected == {"a row": 3}


def test_a_row_may_be_for_what_the_original_shows() -> None:
    ours = _observed(0.7)
    assert not compare(_observed(0.75), ours, [Expected("a row", there="0.75")]).differences
    assert compare(_observed(0.75), ours, [Expected("a row", there="0.9")]).differences


def test_a_task_that_does_not_run_here_is_listed() -> None:
    ours = {**_observed(0.75), ("t", "wrong"): Observation("t", "wrong", failure="PlanError: no")}
    assert compare(_observed(0.75), ours).failures == {"t": "PlanError: no"}


def test_sums_in_another_order_are_the_same_value() -> None:
    assert same([0.1 + 0.2, {"a": 1}], [0.3, {"a": 1.0}])
    assert not same(0.3, 0.3000001)
    assert not same("0.3", 0.3)


def test_observations_survive_their_file(tmp_path: Path) -> None:
    one = Observation("t", "right", {"acc": float("nan")}, {"0": {"acc": 1}}, {"0": "What?"})
    write_observation(tmp_path / "observed.jsonl", one)
    assert read_observations(tmp_path / "observed.jsonl")["t", "right"].values == {"acc": "nan"}


@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (lambda: random.choice("AB"), True),
        (lambda: random.choice("A"), True),  # the guess is the same whatever was drawn
        (lambda: numpy.random.rand(), True),  # noqa: NPY002
        (lambda: random.shuffle([1, 2]) or {}["missing"], True),
        (lambda: random.Random(3).choice("AB"), False),
        (lambda: numpy.random.default_rng(3).random(), False),
        (lambda: (random.seed(3), random.choice("AB")), False),
        (lambda: (random.seed(3), numpy.random.rand()), True),  # noqa: NPY002
        (lambda: (random.seed(), random.choice("AB")), True),
        (lambda: "A", False),
    ],
)
def test_a_hook_that_draws_random_numbers_is_found_whatever_it_makes_of_them(
    monkeypatch: pytest.MonkeyPatch, hook: Callable[[], object], expected: bool
) -> None:
    for module, name in ((random, "seed"), (numpy.random, "seed"), (pytest.importorskip("torch"), "manual_seed")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back what ``Draws`` replaces
    draws = Draws()
    with contextlib.suppress(KeyError):
        draws.watched(hook)()
    assert draws.are_noted == expected


def test_every_expected_difference_has_its_row() -> None:
    assert check_rows(EXPECTED) == []


def test_the_benchmark_of_peers_adds_the_templates_that_a_wheel_leaves_out() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nbench-peers:")[2].splitlines()[1:3]
    assert [line.split(" -m ")[1].split()[0] for line in recipe] == ["conformance.lmms_eval.templates", "benchmarks"]
