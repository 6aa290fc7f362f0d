"""What code imports from ``lm_eval``; numbers are those of lm-eval 0.4.13."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.lm_eval.instance import Instance

switch_on_shims()

from lm_eval import utils  # noqa: E402
from lm_eval.api import metrics, registry  # noqa: E402
from lm_eval.api.group import ConfigurableGroup, Group  # noqa: E402
from lm_eval.config.group import GroupConfig  # noqa: E402
from lm_eval.filters import build_filter_ensemble  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from lm_eval.tasks._yaml_loader import load_yaml  # noqa: E402


def test_long_texts_are_cut_into_windows() -> None:
    windows = utils.get_rolling_token_windows(list(range(10)), -1, 4, 1)
    assert [utils.make_disjoint_window(window) for window in windows] == [
        ([-1], [0, 1, 2, 3]),
        ([3], [4, 5, 6, 7]),
        ([5, 6, 7], [8, 9]),
    ]
    assert list(utils.get_rolling_token_windows(list(range(7)), -1, 4, 2)) == [
        ([-1, 0, 1, 2], [0, 1, 2, 3]),
        ([2, 3, 4, 5], [4, 5, 6]),
    ]
    assert list(utils.get_rolling_token_windows([], -1, 4, 1)) == []
    with pytest.raises(ValueError, match="between 1 and max_seq_len"):
        list(utils.get_rolling_token_windows([1], -1, 4, 5))


def test_helpers_give_what_they_give_there() -> None:
    assert utils.weighted_f1_score([(0, 0), (1, 2), (2, 2), (1, 1), (0, 2)]) == pytest.approx(0.6333333333333333)
    assert utils.general_detokenize('He did n\'t say ( " no " ) , or " yes " .') == 'He didn\'t say ("no"), or"yes".'
    assert utils.softmax([1.0, 2.0, 3.0]).tolist() == pytest.approx([0.09003057, 0.24472847, 0.66524096])
    assert utils.handle_non_serializable(np.int64(3)) == 3
    assert utils.handle_non_serializable({3}) == [3]
    assert utils.sanitize_list([1, (2, "a")]) == ["1", ("2", "a")]
    assert (utils.sanitize_model_name("a/b:c[d]"), utils.sanitize_task_name("a b-c")) == ("a__b__c__d__", "a_b_c")
    assert utils.pattern_match("a*", ["ab", "b", "ac"]) == ["ab", "ac"]
    assert utils.hash_string("x").startswith("2d711642b726")
    assert utils.simple_parse_args_string("a=1,b=x") == {"a": 1, "b": "x"}
    assert list(utils.join_iters([[1], [2, 3]])) == [1, 2, 3]
    assert list(utils.create_iterator(range(10), rank=1, world_size=3, limit=8)) == [1, 4, 7]
    assert utils.positional_deprecated(max)(1, 2) == 2


def test_templates_refuse_columns_that_are_not_there() -> None:
    row = {"a": 1, "b": "xx"}
    assert utils.apply_template("{{a}} {{b|regex_replace('x','y')}}\n", row) == "1 yy\n"
    with pytest.raises(DataError, match="'c'"):
        utils.apply_template("{{c}}", row)


def test_metrics_are_functions() -> None:
    def shared(one: str, other: str) -> int:
        return len({*one} & {*other})

    assert metrics.metric_max_over_ground_truths(shared, "abc", ["ad", "abz"]) == 2
    assert metrics.pop_stddev([1, 2, 4]) == pytest.approx(1.247219128924647)
    assert metrics.sample_stddev([1, 2, 4]) == pytest.approx(1.5275252316519465)
    assert metrics.mean_stderr([1, 0, 1, 1]) == pytest.approx(0.25)
    assert metrics.stderr_for_metric(metrics.mean, 10)([1, 0, 1, 1]) == pytest.approx(0.25)
    assert metrics.stderr_for_metric(metrics.weighted_perplexity, 10) is None
    assert metrics.stderr_for_metric(len, 10) is None
    assert metrics.aggregate_subtask_metrics([0.0, 1.0], [1, 3]) == 0.75
    assert metrics.aggregate_subtask_metrics([0.0, 1.0], [1, 3], weight_by_size=False) == 0.5
    assert metrics.is_non_str_iterable([]) is True
    assert metrics.is_non_str_iterable("text") is False


def test_the_registry_knows_what_it_has() -> None:
    assert registry.is_higher_better("ter") is False
    assert registry.is_higher_better("nothing") is None
    assert registry.get_metric("acc")(5) == 5
    assert registry.get_metric("exact_match")(references=["A"], predictions=["a"], ignore_case=True) == {
        "exact_match": 1.0
    }
    decomposed = {"references": ["café"], "predictions": ["cafe\u0301"]}
    assert registry.exact_match_hf_evaluate(**decomposed) == {"exact_match": 0.0}
    assert registry.get_metric("nothing") is None
    assert registry.get_aggregation("mean")([1, 2]) == 1.5
    assert registry.get_aggregation("nothing") is None
    assert registry.get_metric_aggregation("mcc") is metrics.matthews_corrcoef
    assert registry.DEFAULT_METRIC_REGISTRY["multiple_choice"] == ["acc", "acc_norm"]
    assert registry.get_filter(len) is len
    with pytest.raises(KeyError, match="no filter 'nothing'"):
        registry.get_filter("nothing")


def test_what_is_registered_is_found() -> None:
    @registry.register_aggregation("most_of_this_test")
    def most(items: Any) -> Any:
        return max(items)

    @registry.register_metric(metric="m_of_this_test", aggregation="most_of_this_test", higher_is_better=False)
    def score(references: Any, predictions: Any) -> int:
        return 7

    # A definition belongs to the tasks whose code it is; this file's module counts as one that a user imports.
    assert registry.get_metric("m_of_this_test") in (score, None)
    from polymeter.tasks.yaml.registration import AGGREGATION_DEFINITIONS, METRIC_DEFINITIONS

    here = [Path(__file__).resolve()]
    found = METRIC_DEFINITIONS.of("m_of_this_test", here)
    assert found is not None
    assert (found.score, found.aggregation, found.higher_is_better) == (score, "most_of_this_test", False)
    own = AGGREGATION_DEFINITIONS.of("most_of_this_test", here)
    assert own is not None
    assert own.aggregate([1, 3]) == 3


def test_ensembles_are_made_of_names() -> None:
    request = Instance("generate_until", {}, ("c", {}), 0, resps=[" A "])
    build_filter_ensemble("f", [("remove_whitespace", None), ("map", {"mapping_dict": {"A": 1}})]).apply([request])
    assert request.filtered_resps == {"f": [1]}


def test_groups_are_data_with_numbers() -> None:
    inner = Group("inner")
    inner.add(SimpleNamespace(task_name="b"))
    outer = ConfigurableGroup({"group": "all", "aggregate_metric_list": {"metric": "acc"}, "metadata": {"version": 2}})
    outer.add(SimpleNamespace(task_name="a"))
    outer.add(inner)
    assert (outer.group_name, outer.version, outer.child_names, len(outer)) == ("all", "2", ["a", "inner"], 2)
    assert [task.task_name for task in outer.get_all_tasks()] == ["a", "b"]
    assert outer.get_all_groups() == [inner]
    numbers = {
        "a": {"acc,none": 1.0, "acc_stderr,none": 0.0, "sample_len": 10},
        "b": {"acc,none": 0.0, "acc_stderr,none": "N/A", "sample_len": 30},
    }
    assert outer.aggregate(numbers) == {
        "name": "all",
        "alias": "all",
        "acc,none": 0.25,
        "acc_stderr,none": "N/A",
        "sample_len": 40,
        "sample_count": {"acc,none": 40},
    }
    assert inner.aggregate(numbers) == {"name": "inner", "alias": "inner"}
    assert inner.to_dict() == {"group": "inner", "task": ["b"]}
    config = GroupConfig(group="g", task="t", aggregate_metric_list=[{"metric": "acc", "filter_list": "none"}])
    made = Group.from_config(config)
    assert made.has_aggregation
    assert made.to_dict()["aggregate_metric_list"][0]["filter_list"] == ["none"]
    with pytest.raises(ValueError, match="is a mean"):
        GroupConfig(group="g", aggregate_metric_list={"metric": "acc", "aggregation": "median"})


def test_tasks_are_listed_and_read(tmp_path: Path) -> None:
    (tmp_path / "base").write_text("description: Base.\noutput_type: loglikelihood\n")
    (tmp_path / "t.yaml").write_text(
        "include: base\ntask: my_own\ntag: mine\ndataset_path: d\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n"
        "gen_prefix: So\n"
    )
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    assert manager.all_subtasks == ["my_own"]
    assert manager.all_tags == ["mine"]
    assert manager.match_tasks("my_*") == ["my_own"]
    assert manager.task_index["my_own"] == {"type": "task", "yaml_path": str(tmp_path / "t.yaml")}
    assert load_yaml(tmp_path / "t.yaml")["description"] == "Base."


def test_what_polymeter_has_itself_is_named() -> None:
    from lm_eval.models.api_models import TemplateAPI

    class Mine(TemplateAPI):
        """A subclass is no error until somebody makes one."""

    with pytest.raises(PlanError, match="--base-url"):
        Mine(model="x")
