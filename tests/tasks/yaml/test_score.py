"""Filters, scoring and reduction."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.request import Loglikelihood
from polymeter.core.task import ReduceContext, Rollout
from polymeter.tasks.yaml.scoring.filters import FILTERS
from tests.tasks.yaml.kit import ask, logprobs, opened, results, rows_of, score, write


def run(name, answers, doc=None, **kwargs):
    return FILTERS[name](**kwargs)(answers, doc or {})


# --- filters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kwargs", "answers", "expected"),
    [
        ("take_first", {}, ["a", "b"], "a"),
        ("take_first_k", {"k": 2}, ["a", "b", "c"], ["a", "b"]),
        ("majority_vote", {}, ["a", "b", "b"], ["b"]),
        ("regex", {"regex_pattern": r"(\d+)"}, ["x 12 y 3"], ["12"]),
        ("regex", {"regex_pattern": r"(\d+)", "group_select": -1}, ["x 12 y 3"], ["3"]),
        ("regex", {"regex_pattern": r"a=(\d)|b=(\d)"}, ["b=7"], ["7"]),
        ("regex", {"regex_pattern": r"(\d+)"}, ["none"], ["[invalid]"]),
        ("regex", {"regex_pattern": r"(\d+)", "group_select": 5, "fallback": "?"}, ["1"], ["?"]),
        ("remove_whitespace", {}, ["  a", "b"], [" a", "b"]),
        ("lowercase", {}, ["Ab"], ["ab"]),
        ("uppercase", {}, ["Ab"], ["AB"]),
        ("map", {"mapping_dict": {"a": 1}, "default_value": 0}, ["a", "b"], [1, 0]),
        ("strip_thinking", {}, ["<think>x</think> y"], ["y"]),
    ],
)
def test_each_filter(name, kwargs, answers, expected):
    assert run(name, answers, **kwargs) == expected


@pytest.mark.parametrize(
    ("answer", "expected"), [("#### 4", "4"), ("it is the Dog", "(B)"), ("so: B", "(B)"), ("nothing", "[invalid]")]
)
def test_multi_choice_regex_falls_back_to_choices_then_letters(answer, expected):
    assert run("multi_choice_regex", [answer], {"choices": ["cat", "dog"]}, ignore_case=True) == [expected]


def test_readings_score_separately_by_name(tmp_path):
    task = opened(
        tmp_path,
        """
        filter_list:
          - name: raw
            filter: [{function: take_first}]
          - name: low
            filter: [{function: lowercase}, {function: take_first}]
        """,
    )
    assert score(task, 0, "A0").values == {("exact_match", "raw"): 0.0, ("exact_match", "low"): 1.0}


FILTER = """
class F:
    def __init__(self, add=""):
        self.add = add

    def apply(self, resps, docs):
        return [[r + self.add for r in rs] for rs in resps]
"""


def test_filters_is_another_name_and_a_class_of_the_task_works(tmp_path):
    write(
        tmp_path,
        {"utils.py": FILTER},
    )
    task = opened(
        tmp_path, "filters: [{name: f, filter: [{function: !function utils.F, add: '0'}, {function: take_first}]}]\n"
    )
    assert score(task, 0, "a").values == {("exact_match", "f"): 1.0}


def test_an_unknown_filter_names_the_nearest_and_its_place(tmp_path):
    with pytest.raises(PlanError, match=r"'take_frist'.*t\.yaml:8.*'take_first'"):
        opened(tmp_path, "filter_list: [{name: f, filter: [{function: take_frist}]}]\n")


# --- reasoning -------------------------------------------------------------------------------------------------------


def test_reasoning_is_stripped_before_scoring(tmp_path):
    task = opened(tmp_path)
    assert score(task, 0, "<think>hm</think>\n a0 ").values == {("exact_match", "none"): 1.0}
    off = opened(tmp_path, "reasoning_tags: none\n")
    assert score(off, 0, "<think>hm</think>a0").values == {("exact_match", "none"): 0.0}
    own = opened(tmp_path, "reasoning_tags: [['[[', ']]']]\n")
    assert score(own, 0, "[[hm]]a0").values == {("exact_match", "none"): 1.0}


def test_reasoning_tags_that_cannot_be_told_apart_are_refused(tmp_path):
    with pytest.raises(PlanError, match=r"closing tag '\|' of reasoning_tags is part of the opening tag '\|'"):
        opened(tmp_path, "reasoning_tags: [['|', '|']]\n")


def test_reasoning_that_the_prompt_opened_is_stripped(tmp_path):
    answer = "reasoning only</think>\n\na0"
    assert score(opened(tmp_path), 0, answer).values == {("exact_match", "none"): 1.0}
    own = opened(tmp_path, "reasoning_tags: [['[[', ']]']]\n")
    assert score(own, 0, "hm]]a0").values == {("exact_match", "none"): 1.0}
    assert score(own, 0, answer).values == {("exact_match", "none"): 0.0}
    off = opened(tmp_path, "reasoning_tags: none\n")
    assert score(off, 0, answer).values == {("exact_match", "none"): 0.0}


# --- default scoring -------------------------------------------------------------------------------------------------


def test_several_targets_score_if_any_does(tmp_path):
    task = opened(tmp_path, rows=[{"q": "x", "a": ["one", "two"]}])
    assert score(task, 0, "two").values == {("exact_match", "none"): 1.0}
    assert score(task, 0, "three").values == {("exact_match", "none"): 0.0}
    assert score(task, 0, "two").target == "one | two"


def test_a_target_index_stands_for_its_choice(tmp_path):
    task = opened(tmp_path, "doc_to_choice: [w, x, y, z]\n", target="k")
    assert score(task, 2, "y").values == {("exact_match", "none"): 1.0}


def test_a_number_in_a_column_means_what_it_shows(tmp_path):
    task = opened(tmp_path, target="k")
    assert score(task, 3, "3").values == {("exact_match", "none"): 1.0}


def test_metric_kwargs_and_a_plain_string_of_metrics(tmp_path):
    task = opened(tmp_path, "metric_list: [{metric: exact_match, ignore_case: true}, acc]\n")
    assert score(task, 0, "A0").values == {("exact_match", "none"): 1.0, ("acc", "none"): 0.0}
    assert score(opened(tmp_path, "metric_list: acc\n"), 0, "a0").values == {("acc", "none"): 1.0}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{metric: exact_mach}", r"'exact_mach'.*t\.yaml:8.*'exact_match'"),
        ("{metric: acc, aggregation: meann}", r"'meann'.*t\.yaml:8.*'mean'"),
        ("{metric: exact_match, ignor_case: true}", r"'ignor_case'.*t\.yaml:8.*'ignore_case'"),
        ("{metric: brier_score}", r"cannot be computed.*t\.yaml:8"),
        ("{aggregation: mean}", r"needs the key 'metric'.*t\.yaml:8"),
    ],
)
def test_bad_metrics_are_plan_errors_with_the_place(tmp_path, item, message):
    with pytest.raises(PlanError, match=message):
        opened(tmp_path, f"metric_list: [{item}]\n")


# --- process_results and aggregations --------------------------------------------------------------------------------

UTILS = """
def process(doc, results):
    assert isinstance(results, list)
    if doc["k"] == 3:
        return {"other": 1}
    return {"m": {"k": doc["k"], "answer": results[0]}, "seen": results}

def aggregate(items, args=None):
    return {"n": len(items), "order": [item["k"] for item in items], "args": getattr(args, "x", None)}

def mean(items):
    return sum(items) / len(items)

def number(doc, results):
    return {"m": float(results[0])}

def broken(doc, results):
    return 1 / 0
"""


OWN = "process_results: !function utils.process\nmetric_list: [{metric: m, aggregation: !function utils.aggregate}]\n"


def test_process_results_values_count_and_others_are_logged(tmp_path):
    write(tmp_path, {"utils.py": UTILS})
    task = opened(
        tmp_path,
        OWN,
    )
    made = score(task, 1, "  yes ")
    assert made.values == {("m", "none"): {"k": 1, "answer": "yes"}}
    assert made.log == {"seen": ["yes"]}
    assert (made.target, made.answer) == ("a1", "yes")
    found = results(task, ["w", "x", "y", "z"], args=SimpleNamespace(x=5))
    assert found[("m", "none")].value == {"n": 3, "order": [0, 1, 2], "args": 5}
    assert found[("m", "none")].stderr is None


def test_take_first_k_gives_process_results_a_flat_list(tmp_path):
    write(tmp_path, {"utils.py": UTILS})
    task = opened(
        tmp_path,
        "repeats: 3\n" + OWN + "filter_list: [{name: all, filter: [{function: take_first_k, k: 2}]}]\n",
    )
    assert score(task, 0, "a ", "b", "c").log == {"seen": ["a", "b"]}


def test_a_function_that_gives_the_mean_gets_the_means_uncertainty(tmp_path):
    write(tmp_path, {"utils.py": UTILS})
    task = opened(
        tmp_path,
        "process_results: !function utils.number\nmetric_list: [{metric: m, aggregation: !function utils.mean}]\n",
    )
    found = results(task, ["1", "2", "3", "6"])[("m", "none")]
    assert found.value == 3.0
    assert found.n == 4
    assert found.stderr is not None
    assert found.stderr_method == "mean"


def test_aggregations_run_exactly_once_and_not_on_nothing(tmp_path):
    write(
        tmp_path, {"utils.py": UTILS + "calls = []\ndef once(items):\n    calls.append(items)\n    return len(calls)\n"}
    )
    task = opened(
        tmp_path,
        "process_results: !function utils.number\nmetric_list: [{metric: m, aggregation: !function utils.once}]\n",
    )
    assert results(task, ["1", "1"])[("m", "none")].value == 1
    empty = task.reduce([], ReduceContext(Path()))
    assert (empty[0].value, empty[0].n) == (None, 0)


def test_a_failing_hook_is_blamed_on_its_line(tmp_path):
    write(tmp_path, {"utils.py": UTILS})
    task = opened(tmp_path, "process_results: !function utils.broken\nmetric_list: [{metric: m}]\n")
    with pytest.raises(ScoreError, match=r"process_results of task 't' raised ZeroDivisionError.*utils\.py:18"):
        score(task, 0, "x")


def test_results_do_not_depend_on_how_rows_are_iterated(tmp_path):
    task = opened(tmp_path, "cluster_key: q\n")
    rows = rows_of(task, ["a0", "x", "a2", "x"])
    found = task.reduce(rows, ReduceContext(Path()))
    assert (found[0].value, found[0].n, found[0].higher_is_better) == (0.5, 4, True)


# --- likelihoods -----------------------------------------------------------------------------------------------------

CHOICE = "output_type: multiple_choice\ndoc_to_choice: [aa, b, cccc, d]\n"


def played(*responses):
    return Rollout(tuple(responses))


def test_choices_travel_in_one_request_and_higher_is_better(tmp_path):
    task = opened(tmp_path, CHOICE, target="k")
    assert ask(task).parameters == Loglikelihood((" aa", " b", " cccc", " d"))
    made = task.score(task.samples[2], played(logprobs(-4.0, -3.0, -7.0, -9.0)))
    assert made.values == {("acc", "none"): 0.0, ("acc_norm", "none"): 1.0}
    assert (made.target, made.answer) == ("cccc", "b")


def test_every_value_of_a_choice(tmp_path):
    extra = CHOICE + "metric_list: [exact_match, mcc, brier_score, acc_mutual_info, acc]\n"
    task = opened(tmp_path, extra, target="k")
    _, empty = ask(task)
    assert empty.parameters == Loglikelihood(("aa", "b", "cccc", "d"))
    given_, base = logprobs(-1.0, -1.0, -1.0, -1.0, greedy=1), logprobs(-1.0, -9.0, -1.0, -1.0)
    values = task.score(task.samples[1], played(given_, base)).values
    assert values[("exact_match", "none")] == 1.0
    assert values[("mcc", "none")] == (1, 0)
    assert values[("acc", "none")] == 0.0
    assert values[("acc_mutual_info", "none")] == 1.0
    assert values[("brier_score", "none")] == (1, [0.25] * 4)


def test_a_context_per_choice(tmp_path):
    extra = "output_type: multiple_choice\ndoc_to_choice: [He sat., She ran., X, Y]\n"
    task = opened(tmp_path, extra, text='"{{k}}"', target="a")
    requests = ask(task, 1)
    assert [r.text for r in requests] == ["He sat.", "She ran.", "X", "Y"]
    assert requests[0].parameters == Loglikelihood((" a1",))
    made = task.score(task.samples[1], played(*(logprobs(v) for v in (-5.0, -1.0, -2.0, -3.0))))
    assert made.values[("acc", "none")] == 1.0


def test_the_likelihood_of_a_target(tmp_path):
    extra = "output_type: loglikelihood\nmetric_list: [perplexity, acc, word_perplexity, byte_perplexity]\n"
    task = opened(tmp_path, extra, rows=[{"q": "x", "a": "zwei Wörter"}])
    assert ask(task).parameters == Loglikelihood(("zwei Wörter",))
    values = task.score(task.samples[0], played(logprobs(-2.0, greedy=0))).values
    assert list(values.values()) == [-2.0, 1.0, (-2.0, 2), (-2.0, 12)]


def test_a_model_that_gives_too_few_likelihoods_is_an_error(tmp_path):
    task = opened(tmp_path, CHOICE, target="k")
    with pytest.raises(ScoreError, match="2 log-probabilities for 4"):
        task.score(task.samples[0], played(logprobs(-1.0, -2.0)))
