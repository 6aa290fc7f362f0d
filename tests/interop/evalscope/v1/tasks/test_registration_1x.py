"""``BenchmarkMeta`` and the registries of EvalScope 1.x; expected values are those of the original."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.registration import (
    BENCHMARK_REGISTRY,
    FIELDS,
    BenchmarkMeta,
    get_benchmark,
    register_benchmark,
    unknown_arguments,
)
from polymeter.interop.evalscope.v1.registries import METRIC_REGISTRY, Registry
from polymeter.interop.evalscope.v1.types.identities import MetricSelector


def meta(**fields: Any) -> BenchmarkMeta:
    return BenchmarkMeta(**{"name": "b", "dataset_id": "org/b", **fields})


def changed(arguments: dict[str, Any], **fields: Any) -> BenchmarkMeta:
    made = meta(**fields)
    made._update(arguments)
    return made


def test_fields_and_defaults() -> None:
    assert len(FIELDS) == 39
    made = meta()
    assert (made.subset_list, made.default_subset, made.aggregation) == (["default"], "default", "mean")
    assert (made.few_shot_mode, made.evaluation_version, made.sandbox_config) == ("auto", "v1.0", {})


def test_older_names_of_metrics_are_written_anew() -> None:
    made = meta(metric_list=["acc", {"f1_score": {"a": 1}}, "em", "wer"], primary_metric="acc")
    assert made.metric_list == ["accuracy", {"f1": {"a": 1}}, "exact_match", "wer"]
    assert made.primary_metric == MetricSelector(name="accuracy")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"primary_metric": "wer", "metric_list": ["acc"]}, "is not in metric_list"),
        ({"few_shot_num": -1}, "few_shot_num must be >= 0"),
        ({"few_shot_mode": "always"}, "Unsupported few_shot_mode"),
        ({"few_shot_mode": "fixed"}, "requires allowed_few_shot_nums"),
        ({"few_shot_mode": "disabled", "allowed_few_shot_nums": (0,)}, "to be auto or fixed"),
        ({"allowed_few_shot_nums": (1, 2)}, "must include 0"),
        ({"allowed_few_shot_nums": (0, True)}, "non-negative integers"),
        ({"evaluation_version": "v1"}, "evaluation_version"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        meta(**fields)


def test_a_runs_filters_stand_first_and_declared_arguments_win() -> None:
    made = changed({"filters": {"remove_until": "b", "take_first": {}}}, filters={"regex": "x", "remove_until": "a"})
    assert list(made.filters.items()) == [("remove_until", "a"), ("take_first", {}), ("regex", "x")]
    assert changed({"filters": {}}, filters={"regex": "x"}).filters == {}, "an empty one replaces them"


def test_settings_of_the_adapter_are_changed_by_name() -> None:
    described = {"type": "int", "description": "n", "value": 1, "choices": [1, 2]}
    made = changed({"extra_params": {"n": 2, "m": 3}}, extra_params={"n": dict(described), "m": 0})
    assert made.get_extra_params() == {"n": 2, "m": 3}
    assert made.extra_params["n"]["description"] == "n"
    with pytest.raises(KeyError, match="Extra param k not found"):
        changed({"extra_params": {"k": 1}}, extra_params={"n": described})
    with pytest.raises(ValueError, match="Value 5 not in choices"):
        changed({"extra_params": {"n": 5}}, extra_params={"n": dict(described)}).get_extra_params()
    assert changed({"extra_params": {}}, extra_params={"n": 1}).extra_params == {}


def test_local_data_has_no_revision() -> None:
    fields = {"dataset_revision": "r", "hf_dataset_id": "hf/b", "hf_dataset_revision": "h"}
    made = changed({"local_path": "/data"}, **fields)
    assert (made.dataset_id, made.dataset_revision, made.hf_dataset_id) == ("/data", None, None)
    assert changed({"dataset_id": "org/c", "dataset_revision": "s"}, **fields).dataset_revision == "s"
    assert changed({"dataset_id": "org/b"}, **fields).dataset_revision == "r"


def test_what_a_run_cannot_change() -> None:
    with pytest.raises(ValueError, match="must be declared by BenchmarkMeta"):
        changed({"supports_choice": True})
    assert [key for key, _ in unknown_arguments({"few_shot_num": 1, "fewshot": 2, "local_path": "x"})] == ["fewshot"]


def test_benchmarks_by_name() -> None:
    class Made(DefaultDataAdapter):
        def load_dataset(self) -> Any:
            return {}

    registered = meta(name="made_for_a_test", few_shot_num=2, train_split="t")
    try:
        assert register_benchmark(registered)(Made) is Made
        with pytest.raises(PlanError, match="registered twice"):
            register_benchmark(meta(name="made_for_a_test"))(Made)
        config = SimpleNamespace(dataset_args={"made_for_a_test": {"few_shot_num": 1}})
        made = get_benchmark("made_for_a_test", config)
        assert (type(made), made.few_shot_num, made.name) == (Made, 1, "made_for_a_test")
        assert registered.few_shot_num == 2
        assert get_benchmark("made_for_a_test").few_shot_num == 2
        with pytest.raises(PlanError, match="no benchmark 'made_for_a_tets'") as error:
            get_benchmark("made_for_a_tets")
        assert "made_for_a_test" in error.value.hint
        with pytest.raises(ValueError, match="does not support few-shot"):
            get_benchmark("made_for_a_test", SimpleNamespace(dataset_args={"made_for_a_test": {"train_split": None}}))
    finally:
        BENCHMARK_REGISTRY.forget("made_for_a_test")


def test_registries() -> None:
    registry = Registry("Thing")
    registry.register(["one", "uno"])(1)
    assert (registry.lookup("uno"), registry.list_keys()) == (1, ["one", "uno"])
    with pytest.raises(ValueError, match="already registered"):
        registry.register("one")(2)
    with pytest.raises(ValueError, match=r"Thing 'onr' is not registered\. Did you mean 'one'"):
        registry.lookup("onr")
    with pytest.raises(ValueError, match="already registered"):
        METRIC_REGISTRY.register("exact_match")(object)
