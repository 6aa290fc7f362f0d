"""Collections of datasets as EvalScope's manual teaches them: schema, samplers, the file, the run and its report."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polymeter import resume
from polymeter.core.errors import DataError, PlanError, PolymeterError
from polymeter.interop.evalscope.evaluation import evaluate_evalscope
from polymeter.interop.evalscope.models.custom import CustomModel
from polymeter.interop.evalscope.shim.evalscope.collections import CollectionSchema, DatasetInfo
from polymeter.interop.evalscope.shim.evalscope.io_utils import dump_jsonl_data
from polymeter.interop.evalscope.shim.evalscope.run import run_task
from polymeter.interop.evalscope.shim.evalscope.samplers import StratifiedSampler, UniformSampler, WeightedSampler
from polymeter.interop.evalscope.tasks.collection import CollectionEntry, ScoredMetric, levels_of
from polymeter.interop.evalscope.tasks.scoring.report import Report
from tests.helpers.fake_modelscope import ModelScope, fake_modelscope

ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from evalscope.metrics import exact_match

LOADED = []


@Benchmark.register(name='{name}', dataset_id='x/{name}', subset_list={subsets}, metric_list={metrics},
                    eval_split='test', model_adapter='{mode}', output_types=['{mode}', 'generation'])
class Adapter(DataAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.choices = ['A', 'B']

    def load(self, **kwargs):
        return {{name: {{'test': [{{'question': f'{name} {{name}} {{i}}', 'answer': 'AB'[i % 2]}} for i in range({n})]}}
                for name in self.subset_list}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d['question'])

    def get_gold_answer(self, input_d):
        return input_d['answer']

    def match(self, gold, pred):
        return exact_match(gold, pred)
{more}
"""
TWO_METRICS = """
    def match(self, gold, pred):
        return {'right': float(gold == pred), 'long': float(len(pred))}

    def compute_metric(self, review_res_list, **kwargs):
        assert kwargs['reviews_list'][0]['raw_input']['question']
        items = self.compute_dict_metric(review_res_list, **kwargs)
        return [{'metric_name': k, 'score': sum(v) / len(v), 'num': len(v)} for k, v in items.items()]
"""
SCHEMA = CollectionSchema(
    name="all",
    datasets=[
        CollectionSchema(name="math", weight=3, datasets=[DatasetInfo("sums", task_type="math", tags=["en", "short"])]),
        DatasetInfo("facts", weight=1, task_type="knowledge", tags=["en"], args={"subset_list": ["old"]}),
    ],
)


class Same(CustomModel):
    """Says A to everything."""

    def predict(self, prompts: list[Any], **kwargs: Any) -> list[dict[str, Any]]:
        return [{"choices": [{"message": {"content": "A"}}]} for _ in prompts]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, subsets, metrics, mode, n, more in (
        ("sums", ["plus", "minus"], ["AverageAccuracy"], "generation", 10, ""),
        ("facts", ["old", "new"], ["right"], "multiple_choice_logits", 4, TWO_METRICS),
    ):
        place = tmp_path / "benchmarks" / name
        place.mkdir(parents=True)
        (place / f"{name}_adapter.py").write_text(
            ADAPTER.format(name=name, subsets=subsets, metrics=metrics, mode=mode, n=n, more=more)
        )
    monkeypatch.setenv("POLYMETER_INCLUDE_PATH", str(tmp_path / "benchmarks"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counts(entries: list[dict[str, Any]]) -> dict[str, int]:
    names = [entry["dataset_name"] for entry in entries]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def test_a_schema_as_the_manual_prints_it(tmp_path: Path) -> None:
    assert json.loads(str(SCHEMA)) == SCHEMA.to_dict()
    SCHEMA.dump_json(tmp_path / "schema.json")
    assert CollectionSchema.from_json(tmp_path / "schema.json") == SCHEMA
    assert [(one.name, one.weight, one.hierarchy) for one in SCHEMA.flatten()] == [
        ("sums", 0.75, ["all", "math"]),
        ("facts", 0.25, ["all"]),
    ]


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (WeightedSampler, {"sums": 7, "facts": 3}),
        (UniformSampler, {"sums": 5, "facts": 4}),  # of the five of facts there are four
        (StratifiedSampler, {"sums": 6, "facts": 4}),
    ],
)
def test_how_many_each_sampler_draws(sampler: Any, expected: dict[str, int], here: Path) -> None:
    drawn = sampler(SCHEMA).sample(10)
    assert counts(drawn) == expected
    assert [entry["index"] for entry in drawn] == list(range(len(drawn)))
    assert drawn[0]["tags"] == ["en", "short"]
    assert drawn[0]["categories"] == ["all", "math"]
    assert drawn[0]["prompt"]["raw_input"]["question"] == drawn[0]["prompt"]["data"][0]


def test_a_seed_decides_what_is_drawn(here: Path) -> None:
    random.seed(3)
    first = WeightedSampler(SCHEMA).sample(6)
    random.seed(3)
    assert WeightedSampler(SCHEMA).sample(6) == first


def collection(here: Path, **fields: Any) -> dict[str, Any]:
    random.seed(5)
    dump_jsonl_data(WeightedSampler(SCHEMA).sample(12), "mixed.jsonl")
    data = {"data_collection": {"local_path": "mixed.jsonl"}, **fields.pop("dataset_args", {})}
    return {"datasets": ["data_collection"], "dataset_args": data, **fields}


def test_a_collection_is_run_and_reported_by_dataset_tag_and_category(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = collection(here, model=Same({"model_id": "same"}), eval_type="custom")
    reports = run_task(told)
    entries = [json.loads(line) for line in Path("mixed.jsonl").read_text().splitlines()]
    right = [float(entry["prompt"]["raw_input"]["answer"] == "A") for entry in entries]
    sums, facts = right[:9], right[9:]
    report = reports["mixed"]
    assert (report.name, report.dataset_name, report.model_name) == ("data_collection", "mixed", "same")
    assert report.metrics[0].name == "Average"
    of_facts, of_sums = report.metrics[0].categories
    assert (of_facts.name, of_sums.name) == (("all",), ("all", "math"))
    assert (of_facts.num, of_facts.score) == (6, round((sum(facts) + 3) / 6, 4))  # both metrics, and "A" is one long
    assert (of_sums.num, of_sums.score) == (9, pytest.approx(sum(sums) / 9, abs=1e-4))
    folder = next(Path("outputs").iterdir())
    levels = json.loads(next(folder.glob("run_*/artifacts/collections/mixed.json")).read_text())
    assert levels["tag_level"] == [
        {"tags": "en", "metric": "AverageAccuracy", "average_score": round(sum(sums) / 9, 4), "count": 9},
        {"tags": "short", "metric": "AverageAccuracy", "average_score": round(sum(sums) / 9, 4), "count": 9},
        {"tags": "en", "metric": "long", "average_score": 1.0, "count": 3},
        {"tags": "en", "metric": "right", "average_score": round(sum(facts) / 3, 4), "count": 3},
    ]
    assert [row["category1"] for row in levels["category_level"]] == ["math", "", ""]
    printed = capsys.readouterr().out
    assert "tag_level Report:" in printed
    assert "| same    | mixed     | Average  |" in printed
    again = run_task({**told, "use_cache": str(folder)})
    assert again["mixed"].to_dict() == report.to_dict()


def test_each_dataset_of_a_collection_is_asked_in_its_own_way(here: Path) -> None:
    reports = run_task(collection(here, model="mock", model_args={"mode": "gold"}))
    samples = next(Path("outputs").glob("*/run_*/samples/data_collection.jsonl")).read_text().splitlines()
    kinds = {json.loads(line)["exchanges"][0]["request"]["ask"]["kind"] for line in samples}
    assert kinds == {"generate", "loglikelihood"}
    assert reports["mixed"].metrics[0].num == 15


def test_a_limit_draws_from_the_whole_collection(here: Path) -> None:
    run_task(collection(here, model="mock", model_args={"mode": "gold"}, limit=4, seed=42))
    samples = next(Path("outputs").glob("*/run_*/samples/data_collection.jsonl")).read_text().splitlines()
    asked = [json.loads(line)["id"].rpartition("/")[2] for line in samples]
    entries = [json.loads(line) for line in Path("mixed.jsonl").read_text().splitlines()]
    random.seed(42)
    assert asked == [str(entry["index"]) for entry in random.sample(entries, 4)]


def test_a_benchmark_that_is_not_in_reach_is_named(here: Path) -> None:
    told = collection(here, model="mock")
    line = json.loads(Path("mixed.jsonl").read_text().splitlines()[0])
    Path("mixed.jsonl").write_text(json.dumps({**line, "dataset_name": "sumz"}))
    with pytest.raises(PlanError, match=r"needs the benchmark 'sumz'.*'sums'"):
        run_task(told)


@pytest.mark.parametrize(("text", "message"), [("{}", "Line 1 is not an entry"), (None, "There is no collection")])
def test_a_file_that_is_no_collection(text: str | None, message: str, here: Path) -> None:
    if text is not None:
        Path("odd.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        run_task({"model": "mock", **collection(here, dataset_args={"data_collection": {"local_path": "odd.jsonl"}})})


@pytest.mark.parametrize("changed_file", ["sums_adapter.py", "rules.py"])
def test_answers_are_scored_again_after_a_change_of_one_of_the_benchmarks(changed_file: str, here: Path) -> None:
    adapter = here / "benchmarks" / "sums" / "sums_adapter.py"
    (adapter.parent / "rules.py").write_text("def right(gold, pred):\n    return float(gold == pred)\n")
    adapter.write_text(adapter.read_text().replace("return exact_match(", "from .rules import right; return right("))
    told = collection(here, model="mock", model_args={"mode": "gold"})
    first = run_task(told)["mixed"]
    (run,) = Path("outputs").glob("*/run_*")
    n_answers = answers_in(run)
    file = adapter.with_name(changed_file)
    file.write_text(file.read_text().replace("return right(gold, pred)", "return 0.5").replace("float(", "0.5 * ("))
    resume(run)
    assert answers_in(run) == n_answers  # none was asked for again
    changed = Report.from_json(next((run / "artifacts" / "reports").glob("*/mixed.json")))
    of_facts, of_sums = changed.metrics[0].categories
    assert (of_sums.name, of_sums.score) == (("all", "math"), 0.5)
    assert of_facts.score == first.metrics[0].categories[0].score


def answers_in(run: Path) -> int:
    with closing(sqlite3.connect(run / "journal.db")) as journal:
        return int(journal.execute("SELECT count(*) FROM responses").fetchone()[0])


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelScope]:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("MODELSCOPE_API_MAX_RETRIES", "1")
    with fake_modelscope() as hub:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", hub.url)
        yield hub


@pytest.mark.parametrize("field", ["dataset_id", "local_path"])
def test_a_collection_is_fetched_from_a_hub(field: str, here: Path, hub: ModelScope) -> None:
    told = collection(here, model="mock", model_args={"mode": "gold"})
    hub.add("someone/Mixed-Test", {"mixed.jsonl": (here / "mixed.jsonl").read_bytes(), "other.bin": b"x" * 900})
    told |= {"dataset_args": {"data_collection": {field: "someone/Mixed-Test"}}, "dataset_dir": str(here / "kept")}
    reports = run_task(told)
    assert list(hub.sent) == ["mixed.jsonl"]
    assert (here / "kept" / "datasets" / "someone--Mixed-Test").is_dir()
    assert reports["Mixed-Test"].metrics[0].num == 15
    folder = next(Path("outputs").iterdir())
    assert [file.name for file in (folder / "predictions").glob("*/*")] == ["Mixed-Test.jsonl"]
    reviewed = sorted(file.name for file in (folder / "reviews").glob("*/*"))
    assert reviewed == [f"Mixed-Test_{name}.jsonl" for name in ("facts_old", "sums_minus", "sums_plus")]


@pytest.mark.parametrize("has_client", [True, False])
def test_a_collection_that_cannot_be_fetched_says_how_to_provide_it(
    has_client: bool, here: Path, hub: ModelScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_client:
        monkeypatch.setitem(sys.modules, "modelscope_hub", None)
    told = collection(here, model="mock", model_args={"mode": "gold"})
    told["dataset_args"] = {"data_collection": {"dataset_id": "someone/other"}}
    message = "ModelScope has no dataset someone/other" if has_client else "'modelscope-hub'"
    with pytest.raises(PolymeterError, match=rf"{message}.*--data someone/other="):
        run_task(told)
    reports = evaluate_evalscope(told, data={"someone/other": str(here / "mixed.jsonl")}).reports
    assert reports["other"].metrics[0].num == 15


def test_the_samples_of_a_subset_are_in_one_file_however_a_limit_draws_them(here: Path) -> None:
    run_task(collection(here, model="mock", model_args={"mode": "gold"}, limit=9, seed=1))
    lines = [
        json.loads(line)
        for file in Path("outputs").glob("*/reviews/*/mixed_*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert len(lines) == len({line["index"] for line in lines}) == 9


def test_means_round_as_those_of_pandas(here: Path) -> None:
    scored = [ScoredMetric(CollectionEntry(0, {}, "sums", "plus"), "m", value) for value in (0.875, 0.9, 1.0, 1.0)]
    assert levels_of(scored)["subset_level"][0]["average_score"] == 0.9438
