"""Values of samples: those of lm-eval 0.4.13 for the same rows and answers, but for what differs on purpose."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.names.parity import parity_with
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.config import validate
from polymeter.interop.lm_eval.tasks.fields import bind_fields, count_inputs
from polymeter.interop.lm_eval.tasks.scoring.choice_scores import _largest, _largest_per
from polymeter.interop.lm_eval.tasks.scoring.metrics import KNOWN, metric_names
from tests.helpers.differences import difference
from tests.interop.lm_eval.tasks.kit import Columns, scored, scorer, values

CASES = json.loads((Path(__file__).parent / "cases" / "values.json").read_text("utf-8"))
LIKELY = [(-3.0, False), (-1.0, True)]


def listed(*names: str) -> list[dict[str, Any]]:
    return [{"metric": name} for name in names]


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


@pytest.mark.parametrize("parity", ["none", "lm-eval"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["config"]["output_type"])
def test_values_are_those_of_lm_eval(case: dict[str, Any], parity: str) -> None:
    config = dict(case["config"])
    expected = case.get("here", case["expected"]) if parity == "none" else case["expected"]
    target = case["doc"].get(config.get("doc_to_target"))
    known = {
        "multiple_input": count_inputs(Columns(config), case["doc"]),
        "multiple_target": len(target) if isinstance(target, list) else 0,
        "parity": parity_with(parity),
    }
    scores = scorer(config.pop("output_type"), **known, **config)
    is_likelihood = config.get("doc_to_choice") is not None or isinstance(case["results"][0], list)
    answers = [tuple(item) if is_likelihood and isinstance(item[0], float) else item for item in case["results"]]
    if isinstance(case["results"][0], list) and isinstance(
        case["results"][0][0], str
    ):  # several answers that all count
        listed = [{"name": "none", "filter": [{"function": "custom", "filter_fn": _as_is}]}]
        scores = scorer(filter_list=listed, **known, **config)
    found = values(scores, case["doc"], *answers)
    assert found.keys() == expected.keys()
    assert all(is_same(found[name], expected[name]) for name in found), found


def _as_is(resps: Any, docs: Any) -> Any:
    return resps


def test_the_table_of_metrics_is_that_of_lm_eval() -> None:
    assert [name for name, known in KNOWN.items() if not known.higher_is_better] == [
        "bits_per_byte",
        "brier_score",
        "byte_perplexity",
        "perplexity",
        "ter",
        "word_perplexity",
    ]
    assert {known.aggregation for known in KNOWN.values()} == {
        *("mean", "bits_per_byte", "bleu", "brier_score", "bypass", "weighted_perplexity", "chrf", "chrf++", "f1"),
        *("matthews_corrcoef", "perplexity", "ter"),
    }


def test_a_function_of_the_author_is_called_with_names_or_with_one_list() -> None:
    def named(references: list[str], predictions: list[str], scale: int) -> int:
        return scale * (references == predictions)

    def older(items: list[str]) -> bool:
        return items[0] == items[1]

    scores = scorer(metric_list=[{"metric": named, "scale": 7, "aggregation": "mean"}, {"metric": older}])
    assert values(scores, {"a": "x"}, "x") == {"named": 7, "older": True}
    assert [metric.name for metric in scores.bound] == ["named", "older"]


def test_a_metric_that_fails_says_what_its_first_call_raised() -> None:
    def broken(references: list[str], predictions: list[str]) -> int:
        return len(None)  # type: ignore[arg-type]

    with pytest.raises(ScoreError, match="Metric 'broken' raised TypeError: object of type 'NoneType' has no len"):
        values(scorer(metric_list=[{"metric": broken}]), {"a": "x"}, "x")


def test_a_metric_that_gives_several_numbers_is_all_of_them() -> None:
    def pass_at_k(references: list[str], predictions: list[list[str]], k: list[int]) -> dict[str, float]:
        return {f"pass@{n}": float(references[0] in predictions[0][:n]) for n in k}

    scores = scorer(
        metric_list=[{"metric": pass_at_k, "k": [1, 2]}],
        filter_list=[{"name": "all", "filter": [{"function": "custom", "filter_fn": _as_is}]}],
    )
    score = scored(scores, {"a": "x"}, ["y", "x"])
    assert score.values == {("pass@1", "all"): 0.0, ("pass@2", "all"): 1.0}
    assert score.log == {"from_metric": {"pass@1": "pass_at_k", "pass@2": "pass_at_k"}}


def test_process_results_gets_one_item_for_each_request_in_order() -> None:
    def process(doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        doc["seen"] = True
        return {"acc": results == ["first", (-1.0, True)], "more": doc["a"]}

    scores = scorer(process_results=process, metric_list=listed("acc"))
    doc = {"a": 3}
    requests = [
        Instance("loglikelihood", doc, ("c", "d"), 1, resps=[(-1.0, True)]),
        Instance("generate_until", doc, ("c", {}), 0, resps=["first"]),
    ]
    assert scores.score_of(doc, requests).values == {("acc", "none"): True, ("more", "none"): 3}


def test_each_chain_scores_a_row_that_no_other_has_changed() -> None:
    def process(doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        doc["n"] += 1
        return {"n": doc["n"]}

    chains = [{"name": name, "filter": [{"function": "take_first"}]} for name in "ab"]
    assert scored(scorer(process_results=process, filter_list=chains), {"n": 0}, "x").values == {
        ("n", "a"): 1,
        ("n", "b"): 1,
    }


def test_process_results_must_give_metrics() -> None:
    with pytest.raises(ScoreError, match=r"must return a dict of metrics, not \[1\]"):
        values(scorer(process_results=lambda doc, results: [1]), {}, "x")


def test_metrics_that_an_output_type_has_no_value_for_are_told() -> None:
    scores = scorer("multiple_choice", metric_list=listed("acc", "bleu"), doc_to_choice="c")
    assert scores.notes == ("Metric 'bleu' of task 't' has no value for output type 'multiple_choice'.",)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"metric_list": [*listed("f1"), {"metric": "exact_match", "ignore_space": True}]},
            "does not accept 'ignore_sp",
        ),
        ({"metric_list": [{"metric": "f1", "aggregation": "mean"}]}, "mean cannot aggregate texts"),
        ({"metric_list": [{"metric": "exact_match", "aggregation": "maen"}]}, "no aggregation 'maen'"),
        ({"metric_list": [{"aggregation": "mean"}]}, "needs 'metric'"),
        ({"metric_list": [{"metric": "exact_match", "regexes_to_ignore": "ab"}]}, "must be a list"),
        ({"filter_list": [{"name": "x", "filter": [{"function": "nothing"}]}]}, "no filter 'nothing'"),
    ],
)
def test_what_cannot_be_scored_is_said_before_anything_is_asked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        scorer(**fields)


def test_a_metric_of_evaluate_needs_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlanError, match=r"'rouge' is one of the package 'evaluate'.*install evaluate"):
        scorer(metric_list=[{"metric": "rouge", "hf_evaluate": True}])
    assert scorer(metric_list=[{"metric": "exact_match", "hf_evaluate": True}]).metrics == ("exact_match",)
    assert scorer("multiple_choice", metric_list=[{"metric": "f1", "hf_evaluate": True}]).metrics == ("f1",)


def test_names_of_metrics_are_known_without_running_anything() -> None:
    from types import SimpleNamespace

    def names(**fields: Any) -> Any:
        given = {"task": "t", "output_type": "generate_until", "metric_list": None, "process_results": None}
        return metric_names(SimpleNamespace(**given | fields))

    assert names() == ("exact_match",)
    assert names(output_type="loglikelihood_rolling") == ("word_perplexity", "byte_perplexity", "bits_per_byte")
    assert names(metric_list=listed("a", "b")) == ("a", "b")
    assert names(process_results=len) is None


def test_what_is_shown_of_a_choice_is_its_text() -> None:
    score = scored(scorer("multiple_choice", doc_to_choice="c"), {"c": ["yes", "no"], "a": 0}, *LIKELY)
    assert (score.target, score.answer) == ("yes", "no")
    by_task = scorer("multiple_choice", doc_to_choice="c", process_results=lambda doc, results: {"n": len(results)})
    assert scored(by_task, {"c": "no list", "a": 0}, "text", "more").answer == "text | more"


def test_too_few_likelihoods_are_no_answer() -> None:
    scores = scorer("multiple_choice", doc_to_choice="c")
    with pytest.raises(ScoreError, match="1 log-likelihoods for 2 choices"):
        values(scores, {"c": ["a", "b"], "a": 0}, LIKELY[0])
    with pytest.raises(ScoreError, match="must end with take_first"):
        values(scores, {"c": ["a", "b"], "a": 0}, "text", "text")


# --- differences ------------------------------------------------------------------------------------------------------


@difference("any-target", here=0.5, there=1.0)
def test_of_several_targets_the_nearest_counts(parity: str, expected: float) -> None:
    def share(references: list[str], predictions: list[str]) -> float:
        return len(set(references[0]) & set(predictions[0])) / len(references[0])

    scores = scorer(metric_list=[{"metric": share}], parity=parity_with(parity), multiple_target=2)
    assert values(scores, {"a": ["abcd", "ax"]}, "ab y") == {"share": expected}


@difference("exact-as-written", here=[1.0, 1.0, 0.0, 1.0], there=[0.0, 0.0, 1.0, 0.0])
def test_texts_are_compared_code_point_by_code_point(parity: str, expected: list[float]) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({}, "café", "cafe\u0301"),
        ({"ignore_case": True}, "Straße", "STRASSE"),
        ({"ignore_punctuation": True}, "C", "C++"),
        ({}, "Paris", " Paris"),
    ]
    for value, (more, target, answer) in zip(expected, cases, strict=True):
        scores = scorer(metric_list=[{"metric": "exact_match", **more}], parity=parity_with(parity))
        assert values(scores, {"a": target}, answer) == {"exact_match": value}


@difference("printed-targets", here=(1.0, 0.0, 1.0), there=(0.0, 1.0, 1.0))
def test_a_printed_list_is_several_targets(parity: str, expected: tuple[float, float, float]) -> None:
    config = validate({"task": "t", "doc_to_text": "q", "doc_to_target": "{{a}}"}, str, Path("t.yaml"))
    fields = bind_fields(config, ("q", "a"), str)
    scores = scorer(parity=parity_with(parity), multiple_target=2)

    def value(target: str, answer: str) -> float:
        return float(values(scores, {"a": fields.target({"a": target})}, answer)["exact_match"])

    assert (value("[3, 5]", "[3, 5]"), value("[3, 'a']", "a"), value("['a', 'b']", "b")) == expected


@difference("repeated-answers", here="x", there=["x", "x"])
def test_metrics_after_exact_match_get_the_answer(parity: str, expected: Any) -> None:
    seen = []

    def look(references: list[str], predictions: list[Any]) -> float:
        seen.append(predictions[0])
        return 1.0

    scores = scorer(
        metric_list=[*listed("exact_match"), {"metric": look}], parity=parity_with(parity), multiple_target=2
    )
    assert values(scores, {"a": ["x", "y"]}, "x")["exact_match"] == 1.0
    assert seen == [expected, expected]


@difference("first-row-targets", here=(1.0, 1.0), there=(0.0, 0.0))
def test_each_row_says_whether_it_has_several_targets(parity: str, expected: tuple[float, float]) -> None:
    first_has_list = scorer(parity=parity_with(parity), multiple_target=2)
    first_has_text = scorer(parity=parity_with(parity))
    found = values(first_has_list, {"a": "yes"}, "yes"), values(first_has_text, {"a": ["yes", "no"]}, "no")
    assert tuple(each["exact_match"] for each in found) == expected


@difference("none-target", here="no target", there=1.0)
def test_a_row_without_a_target_is_not_compared(parity: str, expected: Any) -> None:
    scores = scorer(parity=parity_with(parity))
    try:
        found: Any = values(scores, {"a": None}, "None")["exact_match"]
    except ScoreError as error:
        found = "no target" if "no target" in str(error) else error
    assert found == expected


def test_a_row_with_an_empty_list_of_targets_has_none() -> None:
    def never(references: list[str], predictions: list[str]) -> float:
        pytest.fail("there is nothing to compare with")

    scores = scorer(metric_list=[{"metric": never}], multiple_target=2)
    with pytest.raises(ScoreError, match="no target to compare the answer with"):
        values(scores, {"a": []}, "x")


@pytest.mark.parametrize("target", [np.int32(1), np.array(1), np.array([1]), np.float32(1.0), np.bool_(True)])
def test_a_target_may_be_a_number_of_numpy_s(target: Any) -> None:
    scores = scorer("multiple_choice", doc_to_choice="c")
    assert values(scores, {"c": ["no", "yes"], "a": target}, (-2.0, False), (-1.0, False))["acc"] == 1.0
    assert values(scorer(doc_to_choice="c"), {"c": ["no", "yes"], "a": np.int64(1)}, "yes")["exact_match"] == 1.0


@difference("no-choice-target", here="names none of the 2 choices", there=0.0)
def test_a_target_that_is_no_choice_is_no_wrong_answer(parity: str, expected: Any) -> None:
    scores = scorer("multiple_choice", doc_to_choice="c", parity=parity_with(parity))
    for target in (7, "neither", [5, 6], -1):
        try:
            found: Any = values(scores, {"c": ["yes", "no"], "a": target}, *LIKELY)["acc"]
        except ScoreError as error:
            found = expected if str(expected) in str(error) else error
        assert found == expected, target


@given(st.lists(st.tuples(st.floats(), st.integers(0, 9)), min_size=1, max_size=6))
def test_the_likeliest_choice_is_the_one_that_numpy_takes(pairs: list[tuple[float, int]]) -> None:
    values, lengths = [value for value, _ in pairs], [length for _, length in pairs]
    assert _largest(values) == int(np.argmax(values))
    with np.errstate(all="ignore"):
        per_length = np.array(values) / np.array(lengths, dtype=np.float64)
    assert _largest_per(values, lengths) == int(np.argmax(per_length))
