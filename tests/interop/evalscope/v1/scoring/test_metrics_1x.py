"""Filters and metrics by their names, with values seen from the wheel 1.14.1."""

import json
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.v1 import scoring
from polymeter.interop.evalscope.v1.registries import get_filter, get_metric
from polymeter.interop.evalscope.v1.scoring import math_answers
from polymeter.interop.evalscope.v1.scoring.error_rates import normalize_text, word_errors
from polymeter.interop.evalscope.v1.scoring.filters import build_filter_ensemble
from polymeter.interop.evalscope.v1.scoring.functions import (
    calculate_pass_at_k,
    calculate_pass_hat_k,
    compute_rouge_score_one_sample,
    compute_rouge_score_one_sample_zh,
    levenshtein_distance,
)
from polymeter.interop.evalscope.v1.scoring.metric_base import SingletonMetric
from polymeter.interop.evalscope.v1.scoring.rouge_scorer import RougeScorer
from polymeter.interop.evalscope.v1.types.state import Target


def test_importing_the_scores_registers_them() -> None:
    assert scoring.__all__
    assert get_metric("acc") is get_metric("accuracy")
    assert get_filter("extract") is not get_filter("regex")


@pytest.mark.parametrize(
    ("name", "setting", "text", "filtered"),
    [
        ("regex", {}, "a #### 1,200\n#### 7.", "1,200"),
        ("regex", {"group_select": -1}, "a #### 1,200\n#### 7.", "7."),
        ("regex", [r"(\d+)|(cat)", 1, "no"], "12 cat", "cat"),
        ("regex", r"x+", "none", "[invalid]"),
        ("extract", {"regex_pattern": "c(a)t", "fallback": "no"}, "dog", "no"),
        ("regex_pos", {}, "[('a', 'DET'), ('b', 'N')]", "['DET', 'N']"),
        ("regex_pos", {}, "none", "['invalid']"),
        ("remove_whitespace", {}, "  a ", "a "),
        ("remove_until", "</think>", "x</think>y</think>z", "y</think>z"),
        ("remove_until", "</think>", "xyz", "xyz"),
        ("take_first", {}, "a", "a"),
        ("take_first_k", {"k": 1}, "a", "a"),
        ("majority_vote", {}, "a", "a"),
    ],
)
def test_a_filter_changes_the_text(name: str, setting: Any, text: str, filtered: str) -> None:
    assert build_filter_ensemble(filters={name: setting})(text) == filtered


def test_filters_work_in_their_order() -> None:
    ensemble = build_filter_ensemble(filters={"remove_until": ":", "remove_whitespace": {}, "regex": r"\w"})
    assert ensemble("no: yes") == "y"
    with pytest.raises(ValueError, match="needs 2"):
        build_filter_ensemble(filters={"take_first_k": {"k": 2}})("a")


@pytest.mark.parametrize(
    ("name", "settings", "prediction", "reference", "value"),
    [
        ("exact_match", {}, " Yes", "yes\n", 1.0),
        ("acc", {}, "yes.", "yes", 0.0),
        ("acc", {"allow_inclusion": True}, "B", ["a", "b"], 1.0),
        ("acc", {"allow_inclusion": True}, "", ["", "b"], 0.0),
        ("acc", {"allow_inclusion": True}, "ye", "yes", 0.0),
        ("numeric_match", {}, "1.0", "1", 0.0),
        ("multi_choice_acc", {}, "ab", "ABCD", 0.5),
        ("multi_choice_acc", {}, "ABE", "ABCD", 0.0),
        ("multi_choice_acc", {}, "", "", 0.0),
        ("anls", {}, "hello world", json.dumps(["Hello  World", "x"]), 1.0),
        ("anls", {}, "abcd", "abxy", 0.5),
        ("anls", {}, "abcde", "abxyz", 0.0),
        ("anls", {"thresh_hold": 0.2}, "abcde", "abxyz", 0.4),
        ("anls", {}, "a", "[]", 0.0),
        ("anls", {}, "", "", 1.0),
        ("anls", {}, "12", "12", 1.0),
        ("wer", {}, "the cat sat", "the cat sat down", 0.25),
        ("wer", {"language": "cmn_hans"}, "你好", "你们好", 1 / 3),
        ("cer", {"language": "fr"}, "Abc!", "abd", 1 / 3),
        ("cer", {"language": "fr"}, "abc", "", 3),
        ("mer", {}, "我 love you", "我 love 你", 1 / 3),
        ("per", {}, "AH B", "AH B K", 1 / 3),
        ("per", {}, "AH", "", 1.0),
    ],
)
def test_a_metric_of_one_answer(
    name: str, settings: dict[str, Any], prediction: str, reference: Any, value: float
) -> None:
    assert get_metric(name)(**settings)(prediction, reference) == pytest.approx(value)


def test_a_metric_chooses_among_accepted_answers() -> None:
    target = Target(["A", "B", "A "])
    assert get_metric("multi_choice_acc")().prepare_reference(target) == "AB"
    assert get_metric("acc")(allow_inclusion=True).prepare_reference(target) == ["A", "B"]
    with pytest.raises(ValueError, match="one reference"):
        get_metric("acc")().prepare_reference(target)


def test_a_metric_with_a_model_is_made_once() -> None:
    class Once(SingletonMetric):
        made = 0

        def _init_once(self, size: int = 0) -> None:
            Once.made += 1
            self.size = size

        def apply(self, predictions: list[Any], references: list[Any]) -> list[int]:
            return [self.size for _ in predictions]

    class Other(Once):
        pass

    assert Once(3)("a", "b") == 3
    assert Once(4)("a", "b") == 3
    assert Once.made == 1
    assert Other(5)("a", "b") == 5


def test_mandarin_is_normalised_and_counted_by_character() -> None:
    assert normalize_text("<|zh|> 3点 见 !", "cmn_hans") == "三点见 "
    assert normalize_text("Hello, (uh) World!", "fr") == "hello world "
    assert word_errors(["三点见"], ["三点"], "cmn_hans") == (1, 3)


def test_rouge_is_a_mean_over_pairs() -> None:
    scores = compute_rouge_score_one_sample(["the cat", "a"], ["the cat sat", "b"])
    assert scores["rouge-1-p"] == pytest.approx(0.5)
    assert scores["rouge-1-r"] == pytest.approx(1 / 3)
    assert compute_rouge_score_one_sample_zh([" "], ["a"])["Rouge-L-F"] == 0
    with pytest.raises(ValueError, match="list"):
        compute_rouge_score_one_sample("a", ["b"])
    assert RougeScorer(["rougeL"]).score("The cat-sat.", "the cat")["rougeL"].fmeasure == pytest.approx(0.8)


def test_estimates_from_repeated_answers() -> None:
    assert calculate_pass_at_k([5, 5], [2, 4], 1).tolist() == pytest.approx([0.4, 0.8])
    assert calculate_pass_hat_k(4, 3, 2) == 0.5
    with pytest.raises(ValueError, match="needs 3"):
        calculate_pass_hat_k(2, 1, 3)
    assert levenshtein_distance(["a", "b"], ["a", "c", "b"]) == 1


def test_mathematics_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math_answers.importlib.util, "find_spec", lambda name: None)
    for make in (get_metric("math_acc"), lambda: get_metric("acc")(numeric=True)):
        with pytest.raises(PlanError, match="math-verify") as caught:
            make()
        assert "math" in caught.value.hint
