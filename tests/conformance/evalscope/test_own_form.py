"""Benchmarks whose conversations have a form of their own, as those that have tools called: a user's own model reads
them and answers in that form.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.models.custom import CustomModel
from polymeter.interop.evalscope.shim.evalscope.run import run_task

ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter


@Benchmark.register(name='calls', dataset_id='x/calls', model_adapter='calls_server', metric_list=['AverageAccuracy'],
                    eval_split='test')
class Adapter(DataAdapter):
    def load(self, **kwargs):
        return {'default': {'test': [{'city': city} for city in ('Oslo', 'Rome', 'Bern')]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        input_d['turns'] = [[{'role': 'user', 'content': 'Weather of ' + input_d['city']}]]
        input_d['tools'] = [{'name': 'weather', 'scores': (1, 2)}]
        return self.gen_prompt_data(prompt='', messages=input_d)

    def get_gold_answer(self, input_d):
        return [[{'weather': input_d['city']}]]

    def match(self, gold, pred):
        return {'AverageAccuracy': float(pred == gold), 'kind': type(pred).__name__}

    def compute_metric(self, review_res_list, **kwargs):
        return super().compute_metric(self.compute_dict_metric(review_res_list, **kwargs), **kwargs)
"""


class Caller(CustomModel):
    """Calls the tool; of the second city it says so in words, and of the third in words that look like a call."""

    def predict(self, prompts: list[Any], **kwargs: Any) -> list[dict[str, Any]]:
        cities = [origin["messages"]["turns"][0][0]["content"].split()[-1] for origin in kwargs["origin_inputs"]]
        said: dict[str, Any] = {"Oslo": [[{"weather": "Oslo"}]], "Rome": "Fine.", "Bern": '[[{"weather": "Bern"}]]'}
        return [{"choices": [{"message": {"content": said[city]}}]} for city in cities]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "calls_adapter.py").write_text(ADAPTER)
    monkeypatch.setenv("POLYMETER_INCLUDE_PATH", str(tmp_path / "benchmarks"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_answer_reaches_the_benchmark_as_the_model_gave_it(here: Path) -> None:
    told = {"model": Caller({"model_id": "caller"}), "eval_type": "custom", "datasets": ["calls"]}
    report = run_task(told)["calls"]
    assert (report.score, report.metrics[0].num) == (pytest.approx(1 / 3, abs=1e-4), 3)
    (file,) = Path("outputs").glob("*/reviews/caller/calls_default.jsonl")
    reviews = [json.loads(line)["choices"][0]["review"] for line in file.read_text().splitlines()]
    assert [review["result"]["kind"] for review in reviews] == ["list", "str", "str"]
    (folder,) = Path("outputs").iterdir()
    again = run_task({**told, "use_cache": str(folder)})["calls"]
    assert again.to_dict() == report.to_dict()


def test_the_request_shows_the_whole_conversation(here: Path) -> None:
    run_task({"model": Caller({"model_id": "caller"}), "eval_type": "custom", "datasets": ["calls"]})
    (file,) = Path("outputs").glob("*/run_*/samples/calls.jsonl")
    sample = json.loads(file.read_text().splitlines()[0])
    (message,) = sample["exchanges"][0]["request"]["messages"]
    shown = json.loads(message["parts"][0]["text"])
    assert (shown["city"], shown["tools"]) == ("Oslo", [{"name": "weather", "scores": [1, 2]}])


def test_other_models_are_refused_before_anything_is_asked(here: Path) -> None:
    with pytest.raises(PlanError, match=r"a form of its own.*CustomModel"):
        run_task({"model": "mock", "datasets": ["calls"]})
