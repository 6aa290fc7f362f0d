"""Filters: against what lm-eval 0.4.13 makes of the same answers, and what task code brings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError, ScoreError
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.scoring.chains import chains
from polymeter.interop.lm_eval.tasks.scoring.filters import Filter, FilterEnsemble, RegexFilter, TakeFirstFilter
from polymeter.tasks.yaml.registration import register_filter
from tests.interop.lm_eval.tasks.kit import instances, scored, scorer

CASES = json.loads((Path(__file__).parent / "cases" / "filters.json").read_text("utf-8"))


def filtered(steps: Sequence[Any], doc: Any, *answers: Any, **options: Any) -> list[Any]:
    (chain,) = chains([{"name": "f", "filter": steps}], task="t", where="t.yaml:7", **options)
    return chain.apply(instances(doc, answers))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(step["function"] for step in case["filter"]))
def test_answers_are_what_lm_eval_makes_of_them(case: dict[str, Any]) -> None:
    for resps, expected in case["cases"]:
        assert filtered(case["filter"], {"choices": case["choices"]}, resps) == [expected], resps


def test_without_a_list_the_first_answer_counts() -> None:
    (chain,) = chains(None, task="t", where="")
    assert (chain.name, chain.apply(instances({}, [["a", "b"], ["c"]]))) == ("none", ["a", "c"])


def test_each_request_keeps_what_a_chain_made_of_it() -> None:
    (chain,) = chains([{"name": "low", "filter": [{"function": "lowercase"}]}], task="t", where="")
    requests = instances({}, [["A", "B"]])
    chain.apply(requests)
    assert requests[0].filtered_resps == {"low": ["a", "b"]}


def test_of_two_chains_of_one_name_the_later_counts() -> None:
    made = chains(
        [{"name": "f", "filter": [{"function": "lowercase"}]}, {"name": "f", "filter": [{"function": "uppercase"}]}],
        task="t",
        where="",
    )
    assert [chain.apply(instances({}, [["x"]])) for chain in made] == [[["X"]]]


def test_a_match_that_is_not_there_is_the_fallback() -> None:
    steps = [{"function": "regex", "regex_pattern": r"\d", "group_select": 1, "fallback": "-"}]
    assert filtered(steps, {}, ["1 and 2", "1"]) == [["2", "-"]]


def test_an_authors_function_and_class_get_lists_of_requests() -> None:
    def doubled(resps: Any, docs: Any) -> Any:
        return ([doc["q"] + text * 2 for text in texts] for texts, doc in zip(resps, docs, strict=True))

    class Second(Filter):
        def __init__(self, place: int) -> None:
            self.place = place

        def apply(self, resps: Any, docs: Any) -> Any:
            return (texts[self.place] for texts in resps)

    steps = [{"function": "custom", "filter_fn": doubled}, {"function": Second, "place": 1}]
    assert filtered(steps, {"q": "Q"}, ["a", "b"], ["c", "d"]) == ["Qbb", "Qdd"]


def test_a_registered_filter_is_found_in_the_code_that_registers_it() -> None:
    @register_filter("loud_of_test")
    class Loud(RegexFilter):
        def apply(self, resps: Any, docs: Any) -> Any:
            return [[f"{text}!" for text in texts] for texts in resps]

    here = [Path(__file__).resolve()]
    assert filtered([{"function": "loud_of_test"}], {}, ["a"], sources=here) == [["a!"]]


def test_an_ensemble_of_task_code_fills_instances() -> None:
    requests = [Instance("generate_until", {}, ("c", {}), 0, resps=["a", "b"])]
    FilterEnsemble("first", [TakeFirstFilter]).apply(requests)
    assert requests[0].filtered_resps == {"first": "a"}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"function": "regx"}], "no filter 'regx'"),
        ([{"function": "regex", "pattern": "x"}], "unexpected keyword argument 'pattern'"),
        ([{"function": "regex", "regex_pattern": "("}], "Filter 'regex' of task 't' raised"),
        ([{"function": "map", "mapping_dict": ["x"]}], "mapping_dict must be a mapping"),
        ([{"function": "take_first_k"}], "KeyError"),
        ([{"name": "regex"}], "needs 'function'"),
        ("regex", "needs 'name' and a list 'filter'"),
    ],
)
def test_what_is_no_filter_is_said_before_anything_is_asked(steps: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        chains([{"name": "f", "filter": steps}], task="t", where="t.yaml:7")


def test_too_few_answers_are_an_error_of_the_sample() -> None:
    with pytest.raises(ScoreError, match=r"needs 3 answers, but there are 2.*repeats: 3"):
        filtered([{"function": "take_first_k", "k": 3}], {}, ["a", "b"])


def test_a_filter_that_loses_requests_is_an_error_of_the_sample() -> None:
    with pytest.raises(ScoreError, match="returned 1 items for 2 requests"):
        filtered([{"function": "custom", "filter_fn": lambda resps, docs: resps[:1]}], {}, ["a"], ["b"])


def test_a_filter_that_raises_names_itself() -> None:
    with pytest.raises(ScoreError, match="Filter 'lowercase' of task 't' raised AttributeError"):
        filtered([{"function": "lowercase"}], {}, [None])


def test_several_chains_score_the_same_answers() -> None:
    scores = scorer(
        filter_list=[
            {"name": "strict", "filter": [{"function": "take_first"}]},
            {"name": "loose", "filter": [{"function": "lowercase"}, {"function": "take_first"}]},
        ]
    )
    score = scored(scores, {"a": "x"}, " X ")
    assert score.values == {("exact_match", "strict"): 0.0, ("exact_match", "loose"): 1.0}
    assert (score.answer, score.target) == (" X ", "x")
