"""What registrations say, and that runs change none of it."""

from dataclasses import fields

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, Benchmark, BenchmarkMeta


class Plain(DataAdapter):
    def get_gold_answer(self, input_d):
        return input_d["a"]

    def match(self, gold, pred):
        return float(gold == pred)


@pytest.fixture
def meta():
    Benchmark.register(
        "plain", "org/plain", subset_list=["a", "b"], extra_params={"k": 1}, tags=["x"], metric_list=["AverageAccuracy"]
    )(Plain)
    yield Benchmark.get("plain")
    BENCHMARK_MAPPINGS.forget("plain")


def test_fields_and_their_defaults() -> None:
    made = BenchmarkMeta("n", "d", Plain)
    assert [item.name for item in fields(made)][:3] == ["name", "dataset_id", "data_adapter"]
    assert {
        key: value for key, value in made.to_dict().items() if key not in ("name", "dataset_id", "data_adapter")
    } == {
        "model_adapter": "generation",
        "output_types": ["generation"],
        "subset_list": ["default"],
        "metric_list": [],
        "few_shot_num": 0,
        "few_shot_random": False,
        "train_split": None,
        "eval_split": None,
        "prompt_template": None,
        "system_prompt": None,
        "query_template": None,
        "pretty_name": None,
        "description": None,
        "tags": [],
        "filters": None,
        "extra_params": {},
    }


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(PlanError, match=r"does not take 'metric_lst'.*test_registration.py:\d+.*'metric_list'"):
        Benchmark.register("x", "y", metric_lst=[])


def test_the_decorator_gives_the_class_back_and_the_mapping_is_live(meta: BenchmarkMeta) -> None:
    assert meta.data_adapter is Plain
    assert "plain" in BENCHMARK_MAPPINGS
    assert BENCHMARK_MAPPINGS["plain"] is meta
    with pytest.raises(PlanError, match=r"There is no benchmark 'plan'. Did you mean 'plain'"):
        Benchmark.get("plan")


def test_the_same_file_may_register_again(meta: BenchmarkMeta) -> None:
    Benchmark.register("plain", "org/other")(Plain)
    assert Benchmark.get("plain").dataset_id == "org/other"


def test_an_adapter_of_a_config_changes_neither_registration_nor_config(meta: BenchmarkMeta) -> None:
    before, config = meta.to_string_dict(), {"local_path": "/data", "subset_list": ["a"], "own": [1]}
    made = meta.get_data_adapter(config)
    assert (made.dataset_id, made.subset_list, made.config_kwargs["own"]) == ("/data", ["a"], [1])
    made.subset_list.append("z")
    made.tags.append("z")
    assert meta.to_string_dict() == before
    assert config == {"local_path": "/data", "subset_list": ["a"], "own": [1]}
    assert meta.get_data_adapter().dataset_id == "org/plain"


def test_extra_params_are_replaced_whole(meta: BenchmarkMeta) -> None:
    assert meta.get_data_adapter({"extra_params": {"other": 2}}).config_kwargs["extra_params"] == {"other": 2}


def test_constructor_puts_what_it_does_not_name_into_config_kwargs(meta: BenchmarkMeta) -> None:
    made = meta.get_data_adapter({"choices": ["A"], "category_map": {"a": "Letters"}, "llm_as_a_judge": True})
    assert {"data_adapter", "few_shot_random", "filters", "extra_params"} <= set(made.config_kwargs)
    assert (made.choices, made.category_map, made.llm_as_a_judge) == (["A"], {"a": "Letters"}, True)


def test_a_class_written_again_below_takes_the_place_of_the_registered_one() -> None:
    import sys
    from types import ModuleType

    module = ModuleType("twice")
    sys.modules["twice"] = module
    module.__dict__.update(DataAdapter=DataAdapter, Benchmark=Benchmark)
    text = (
        "@Benchmark.register('twice', 'd')\nclass A(DataAdapter):\n    pass\n"
        "class A(DataAdapter):\n    get_gold_answer = lambda s, r: 1\n    match = lambda s, g, p: 2\n"
    )
    try:
        exec(compile(text, "twice.py", "exec"), module.__dict__)
        assert Benchmark.get("twice").get_data_adapter().match(0, 0) == 2
    finally:
        BENCHMARK_MAPPINGS.forget("twice")
        del sys.modules["twice"]
