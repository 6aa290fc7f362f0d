"""Texts compared with references: every case of ``cases/equal_*.json`` has the value that its reason says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import ScoreError
from polymeter.core.names.registries import METRICS
from polymeter.metrics.as_written import AS_WRITTEN
from polymeter.metrics.as_written import share_equal as equal_as_written
from polymeter.reading import text
from polymeter.reading.lists import PrintedList, texts_in
from polymeter.tasks.table.classes.cells import list_of, references_of
from polymeter.tasks.table.classes.questions.scoring import by_published_rules, by_rules
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.prompts.forms import Binding, target_form
from polymeter.tasks.yaml.scoring.metrics import bind_metrics, call_score
from polymeter.tasks.yaml.scoring.readings import as_text, default_scorer

CASES = Path(__file__).parent / "cases"
METRIC_FILES = ("equal_always", "equal_options", "equal_distances", "equal_contains")
Case = dict[str, Any]


def cases(*names: str) -> list[Any]:
    """The cases of files, named by their file, number and reason."""
    found = []
    for name in names:
        loaded: list[Case] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["cases"]
        found += [pytest.param(case, id=f"{name}:{number}") for number, case in enumerate(loaded, 1)]
    return found


@pytest.mark.parametrize("case", cases(*METRIC_FILES))
def test_a_metric_of_a_task(case: Case) -> None:
    score = METRICS.get(case["metric"]).score
    assert score is not None
    found = score(references=case["references"], predictions=[case["answer"]], **case["kwargs"])
    assert found == pytest.approx(case["value"]), case["why"]


@pytest.mark.parametrize("case", [one for one in cases(*METRIC_FILES) if "as_written" in one.values[0]])
def test_the_same_metric_without_our_reading(case: Case) -> None:
    score = AS_WRITTEN.get(case["metric"], equal_as_written)
    found = score(references=case["references"], predictions=[case["answer"]], **case["kwargs"])
    assert found == pytest.approx(case["as_written"]), case["why"]


@pytest.mark.parametrize("case", cases("equal_tables"))
def test_an_open_question_of_a_table(case: Case) -> None:
    found = by_rules(references_of({"answer": case["cell"]}, "answer"), case["answer"])
    assert found["exact_match"] == case["exact_match"], case["why"]
    assert found["vqa_match"] == case.get("vqa_match", found["vqa_match"]), case["why"]


@pytest.mark.parametrize("case", [one for one in cases("equal_tables") if "published" in one.values[0]])
def test_an_open_question_at_parity(case: Case) -> None:
    found = by_published_rules(list_of({"answer": case["cell"]}, "answer"), case["answer"])
    assert found["exact_match"] == found["vqa_match"] == case["published"], case["why"]


@pytest.mark.parametrize("splits", [False, True], ids=["here", "there"])
@pytest.mark.parametrize("case", cases("equal_lists"))
def test_a_target_that_looks_like_a_list(case: Case, splits: bool) -> None:
    binding = Binding("t", tuple(case["row"]), frozenset(), None, None, False, lambda field: field)
    config = YamlFields.model_validate({"task": "t", "metric_list": ["exact_match"]})
    target = target_form(case["doc_to_target"], binding)
    scorer = default_scorer(bind_metrics(config, str), target, None, splits_printed=splits)
    expected = case["printed" if splits else "value"]
    if expected is None:  # no target is left
        with pytest.raises(ScoreError):
            scorer(case["row"], [case["answer"]])
    else:
        assert scorer(case["row"], [case["answer"]])["exact_match"] == expected, case["why"]


def test_spaces_are_those_of_python() -> None:
    assert set(text._SPACES) == {one for one in map(chr, range(sys.maxunicode)) if one.isspace()}


@given(st.text(max_size=20))
def test_reading_twice_changes_nothing(written: str) -> None:
    for rule in (text.compared, text.open_answer, text.with_folded_case, text.with_folded_width):
        assert rule(rule(written)) == rule(written)


@given(st.text(min_size=1, max_size=20))
def test_nothing_is_read_as_nothing(written: str) -> None:
    assert text.compared(written)
    assert text.open_answer(written)


@given(st.text("aé5", min_size=1, max_size=8), st.text("\u200b\ufeff \u200e\u2067\xa0", max_size=3))
def test_what_stands_around_an_answer_does_not_count(answer: str, around: str) -> None:
    for metric in ("exact_match", "acc", "anls", "contains"):
        score = METRICS.get(metric).score
        assert score is not None
        assert score(references=[answer], predictions=[around + answer + around]) == 1


def test_a_list_shows_its_texts_or_what_was_printed() -> None:
    assert as_text(PrintedList([0.5, 1], "[0.5,1]")) == "[0.5,1]"
    assert as_text(PrintedList(["a", "b"], "['a', 'b']")) == "a | b"
    assert texts_in("[" * 10_000 + "]" * 10_000) is None


def test_a_task_may_ask_for_folded_width() -> None:
    for metric in ("exact_match", "anls", "anls_paper", "cer", "wer", "contains"):
        config = YamlFields.model_validate({"task": "t", "metric_list": [{"metric": metric, "fold_width": True}]})
        (bound,) = bind_metrics(config, str)
        assert call_score(bound, ["Ａ"], "A") == (0 if metric in ("cer", "wer") else 1)
