"""What a data adapter does where its author overrides nothing."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from polymeter.core.errors import DataError
from polymeter.interop.evalscope.tasks.base import DataAdapter


class Plain(DataAdapter):
    def get_gold_answer(self, input_d):
        return input_d["a"]

    def match(self, gold, pred):
        return float(gold == pred)


class Parsing(Plain):
    def parse_pred_result(self, result, raw_input_d=None, eval_type="checkpoint"):
        return f"<{result}>"


class ParsingAgain(Parsing):
    def parse_pred_result(self, result, raw_input_d=None, eval_type="checkpoint"):
        return super().parse_pred_result(result, raw_input_d, eval_type) + "!"


class Inheriting(ParsingAgain):
    pass


def make(kind=Plain, **values):
    given = {
        "name": "n",
        "dataset_id": "d",
        "model_adapter": "generation",
        "subset_list": ["x", "y"],
        "metric_list": [],
    }
    return kind(**{**given, **values})


def test_output_types_default_to_the_model_adapter() -> None:
    assert make().output_types == ["generation"]


def test_gen_prompt_data_leaves_out_what_is_none() -> None:
    assert make().gen_prompt_data("p") == {"data": ["p"], "index": 0}
    pairs = [("c", "d")]
    assert make(choices=["A"], system_prompt="s").gen_prompt_data(pairs, id=3, anything=1) == {
        "data": pairs,
        "index": 0,
        "system_prompt": "s",
        "multi_choices": ["A"],
        "id": 3,
    }
    assert make(choices=["A"], system_prompt="s").gen_prompt_data("p", "t", ["B"], 2)["multi_choices"] == ["B"]


def test_gen_prompt_must_be_written() -> None:
    with pytest.raises(NotImplementedError, match="Plain has no gen_prompt"):
        make().gen_prompt({}, "x", [])


@pytest.mark.parametrize("kind", [Parsing, ParsingAgain, Inheriting])
def test_filters_are_applied_once_however_deep_the_class(kind) -> None:
    adapter = make(kind, filters={"extract": r"\w+$", "remove_until": ":"})
    assert adapter.parse_pred_result(result="x", raw_input_d={}, eval_type="service").startswith("<x>")
    counting = make(kind, filters={"count": 1})
    from polymeter.interop.evalscope.tasks.scoring.filters import Filter

    Filter.register("count")(lambda text, n: text + "+" * n)
    try:
        assert counting.parse_pred_result(result="x").startswith("<x+>")
    finally:
        Filter._registry.pop("count")


def test_filters_are_applied_to_answers_that_are_parsed_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=10)

    class Waiting(Plain):
        def parse_pred_result(self, result, raw_input_d=None, eval_type="checkpoint"):
            meeting.wait()
            return super().parse_pred_result(result, raw_input_d, eval_type)

    adapter = make(Waiting, filters={"remove_until": ":"})
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(adapter.parse_pred_result, ["a:b:c", "d:e:f"])) == ["c", "f"]
    assert adapter._parsing_threads == set()


def test_the_runs_hub_wins_over_the_one_that_an_authors_load_asks_for() -> None:
    adapter = make(eval_split="te")
    adapter.run_dataset_hub = "local"
    for load in (adapter.load, lambda: adapter.load_from_hub("d", ["x"], None, datasets_hub="modelscope")):
        with pytest.raises(DataError, match="no local file or folder 'd'"):
            load()
    with pytest.raises(DataError, match="no local file or folder 'd'"):
        adapter.load_with_snapshot({"x": ["a.json"]}, datasets_hub="huggingface")


def test_no_answer_is_an_empty_one_and_inherited_parsing_is_filtered() -> None:
    assert make().parse_pred_result(result=None) == ""
    assert make(filters={"remove_until": ":"}).parse_pred_result(result="a: b") == " b"
    assert make(filters={"remove_until": ":"}).llm_parse_pred_result(result="a: b") == "a: b"
    assert make(filters={"remove_until": ":"}).parse_pred_result(result=[1.0, 2.0]) == [1.0, 2.0]


def test_reformat_subset_keeps_the_order_of_the_list_and_leaves_out_others() -> None:
    adapter = make(train_split="tr", eval_split="te", subset_list=["c-b", "c-a", "c-empty"])
    data = {"default": {"tr": [{"k": "a"}], "te": [{"k": "b"}, {"k": "a"}, {"k": "other"}]}}
    found = adapter.reformat_subset(data, "k", "c-{}")
    assert list(found) == ["c-b", "c-a", "c-empty"]
    assert found["c-a"] == {"tr": [{"k": "a"}], "te": [{"k": "a"}]}
    assert found["c-empty"]["te"] == []
    with pytest.raises(KeyError):
        adapter.reformat_subset({"default": {"te": []}}, "k")


def test_examples_are_the_first_or_drawn_and_never_more_than_there_are() -> None:
    adapter, pool = make(), list(range(10))
    assert adapter.get_fewshot_examples(pool, 3, few_shot_random=False) == [0, 1, 2]
    assert adapter.get_fewshot_examples(pool, 30, few_shot_random=False) == pool
    random.seed(4)
    expected = random.sample(pool, 3)
    random.seed(4)
    assert adapter.get_fewshot_examples(pool, 3) == expected


def test_a_negative_number_of_examples_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        make(few_shot_num=-1).gen_prompts({})


def test_few_shot_random_is_read_from_the_config_and_true_without_it() -> None:
    class Asking(Plain):
        def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
            return self.gen_prompt_data(few_shot_list)

    data = {"x": {"tr": list(range(50)), "te": [{}]}}
    first = make(Asking, few_shot_num=2, train_split="tr", eval_split="te", few_shot_random=False).gen_prompts(data)
    assert first["x"][0]["data"] == [0, 1]
    random.seed(1)
    expected = random.sample(range(50), 2)
    random.seed(1)
    assert make(Asking, few_shot_num=2, train_split="tr", eval_split="te").gen_prompts(data)["x"][0]["data"] == expected


def test_compute_metric_of_a_list_and_of_lists_by_metric() -> None:
    adapter = make(metric_list=["AverageAccuracy"])
    assert adapter.compute_metric([1, 0, 1, 1]) == [{"metric_name": "AverageAccuracy", "score": 0.75, "num": 4}]
    by_name = {"AverageAccuracy": [1.0, 0.0], "other": [5]}
    assert adapter.compute_metric(by_name) == [{"metric_name": "AverageAccuracy", "score": 0.5, "num": 2}]
    with pytest.raises(ValueError, match="empty metric_list"):
        make().compute_metric([1])


def test_compute_dict_metric_transposes_and_flattens() -> None:
    assert dict(make().compute_dict_metric([{"a": 1, "b": 2}, {"a": 3}, 0.5])) == {
        "a": [1, 3],
        "b": [2],
        "AverageAccuracy": [0.5],
    }
    assert dict(make().compute_dict_metric([[{"a": 1}, {"a": 0}], [{"a": 1}]])) == {"a": [1, 0, 1]}


def test_llm_match_finds_the_question_and_reads_the_verdict() -> None:
    class Judge:
        def build_prompt(self, pred, gold, question):
            return f"{pred}|{gold}|{question}"

        def __call__(self, prompt):
            return prompt.upper()

        def get_score(self, response):
            return response

    assert make().llm_match("g", "p", Judge(), raw_input={"question": "", "Query": "q"}) == "P|G|Q"
    assert make().llm_match("g", "p", Judge(), raw_input={}) == "P|G|NONE"
    assert make().llm_match("g", "p") == 0


def test_an_empty_dataset_is_an_error(tmp_path) -> None:
    class Empty(Plain):
        def load_from_disk(self, *args, **kwargs):
            return {}

    with pytest.raises(DataError, match="is empty"):
        make(Empty).load(str(tmp_path))


def test_load_with_snapshot_reads_files_of_a_folder(tmp_path) -> None:
    (tmp_path / "one.jsonl").write_text('{"q": 1}\n{"q": 2}\n')
    (tmp_path / "two.txt").write_text("hello")
    adapter = make(dataset_id=str(tmp_path), eval_split="te")
    found = adapter.load_with_snapshot({"x": ["one.jsonl"], "y": ["two.txt"]})
    assert found == {"x": {"te": [{"q": 1}, {"q": 2}]}, "y": {"te": [{"text": "hello"}]}}
    with pytest.raises(FileNotFoundError, match=r"no\.json"):
        adapter.load_with_snapshot({"x": ["no.json"]}, subset_list=["x"])
