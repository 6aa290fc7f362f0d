"""Collections of EvalScope 1.x's benchmarks: the samplers, the file, the run, its report and its files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import DataError, PlanError
from polymeter.core.request import Request
from polymeter.interop.evalscope.config import TaskConfig
from polymeter.interop.evalscope.evaluation import evaluate_evalscope
from polymeter.interop.evalscope.shim.evalscope.collections import CollectionSchema, DatasetInfo
from polymeter.interop.evalscope.shim.evalscope.io_utils import dump_jsonl_data
from polymeter.interop.evalscope.shim.evalscope.samplers import StratifiedSampler, UniformSampler, WeightedSampler
from polymeter.interop.evalscope.v1.tasks.collection import LedScore, levels_of
from polymeter.models.mock import MockBatch
from tests.helpers.adapters_1x import write_adapter
from tests.helpers.installed import install

VERBS = [{"question": f"the past of {verb}", "answer": past} for verb, past in (("go", "went"), ("be", "was"))] * 3
LEVELS: dict[str, Any] = {
    "subset_level": [
        {"task_type": "t", "dataset_name": "a", "subset_name": "y", "micro_avg.": 0.5, "count": 2},
        {"task_type": "t", "dataset_name": "a", "subset_name": "x", "micro_avg.": 1.0, "count": 1},
        {"task_type": "t", "dataset_name": "b", "subset_name": "x", "micro_avg.": 0.5, "count": 1},
    ],
    "dataset_level": [
        {
            "task_type": "t",
            "dataset_name": "a",
            "micro_avg.": 0.6667,
            "macro_avg.": 0.75,
            "weighted_avg.": 0.8571,
            "count": 3,
        },
        {"task_type": "t", "dataset_name": "b", "micro_avg.": 0.5, "macro_avg.": 0.5, "weighted_avg.": 0.5, "count": 1},
    ],
    "task_level": [
        {"task_type": "t", "micro_avg.": 0.625, "macro_avg.": 0.6667, "weighted_avg.": 0.75, "count": 4},
    ],
    "tag_level": [
        {"tags": "k", "micro_avg.": 0.5, "macro_avg.": 0.5, "weighted_avg.": 0.8333, "count": 2},
        {"tags": "l", "micro_avg.": 0.25, "macro_avg.": 0.25, "weighted_avg.": 0.375, "count": 2},
    ],
    "category_level": [
        {
            "category0": "all",
            "category1": "k",
            "micro_avg.": 0.5,
            "macro_avg.": 0.5,
            "weighted_avg.": 0.8333,
            "count": 2,
        },
        {"category0": "all", "category1": "", "micro_avg.": 1.0, "macro_avg.": 1.0, "weighted_avg.": 1.0, "count": 1},
        {"category0": "all", "category1": "l", "micro_avg.": 0.5, "macro_avg.": 0.5, "weighted_avg.": 0.5, "count": 1},
    ],
}
"""Of EvalScope 1.14.1, for the samples in ``test_means_by_level_are_those_of_evalscope``."""
LEADS = """
def match_score(self, original_prediction, filtered_prediction, reference, task_state):
    right = float(filtered_prediction == reference)
    return Score(value={"acc": right, "length": len(filtered_prediction)}, main_score_name="acc")
"""
JUDGED = """
scoring_policy = __import__("evalscope.constants", fromlist=["ScoringPolicy"]).ScoringPolicy.JUDGE_ONLY
"""
SCHEMA = CollectionSchema(
    name="all",
    datasets=[
        CollectionSchema("words", 3, [DatasetInfo("verbs", task_type="grammar", tags=["en", "short"])]),
        DatasetInfo("capitals", weight=1, task_type="knowledge", tags=["en"]),
    ],
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_adapter(tmp_path / "benchmarks" / "capitals")
    write_adapter(
        tmp_path / "benchmarks" / "verbs",
        LEADS,
        VERBS,
        file="verbs_adapter.py",
        name="verbs",
        metric_list=["acc", "length"],
        primary_metric="acc",
    )
    monkeypatch.setenv("POLYMETER_INCLUDE_PATH", str(tmp_path / "benchmarks"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mixed(schema: CollectionSchema = SCHEMA, count: int = 6) -> dict[str, Any]:
    random.seed(5)
    dump_jsonl_data(WeightedSampler(schema).sample(count), "mixed.jsonl")
    return {"data_collection": {"local_path": "mixed.jsonl"}}


def config(args: dict[str, Any], **fields: Any) -> TaskConfig:
    given = {
        "eval_type": "mock_llm",
        "model": "m",
        "model_args": {"custom_outputs": ["was"] * 99},
        "eval_batch_size": 1,
    }
    folders = {"work_dir": "out", "no_timestamp": True}
    return TaskConfig(**{**given, **folders, "datasets": ["data_collection"], "dataset_args": args, **fields})


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (WeightedSampler, {"verbs": 4, "capitals": 2}),
        (UniformSampler, {"verbs": 3, "capitals": 3}),
        (StratifiedSampler, {"verbs": 4, "capitals": 2}),
    ],
)
def test_a_sampler_shares_its_count_among_benchmarks(sampler: Any, expected: dict[str, int], here: Path) -> None:
    drawn = sampler(SCHEMA).sample(6)
    names = [entry["dataset_name"] for entry in drawn]
    assert {name: names.count(name) for name in dict.fromkeys(names)} == expected
    shares = {"verbs": 0.75, "capitals": 0.25}
    assert [entry["weight"] for entry in drawn] == [shares[name] / expected[name] for name in names]
    prompt = drawn[0]["prompt"]
    assert prompt["input"][0]["content"].startswith("What is the past of")
    assert json.loads(json.dumps(prompt)) == prompt


def test_a_sampler_reads_evalscopes_own_benchmark_where_polymeter_has_one_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = install(tmp_path, monkeypatch, "evalscope")
    write_adapter(site / "evalscope" / "benchmarks" / "mmlu_pro", file="mmlu_pro_adapter.py", name="mmlu_pro")
    (entry, _) = UniformSampler(CollectionSchema("exams", datasets=[DatasetInfo("mmlu_pro")])).sample(2)
    assert entry["prompt"]["input"][0]["content"].startswith("What is the capital of")


def test_weights_are_those_of_evalscope_to_the_last_digit() -> None:
    within = CollectionSchema("w", 0.5, [DatasetInfo("exam", 1.5)])
    reasoning = CollectionSchema("r", 3, [DatasetInfo("math", 2), within])
    language = CollectionSchema("l", 2, [DatasetInfo("zh"), DatasetInfo("en")])
    flat = CollectionSchema("all", datasets=[reasoning, language, DatasetInfo("qa")]).flatten()
    assert [one.weight for one in flat] == [0.4, 0.1, 1 / 6, 1 / 6, 1 / 6]


def test_a_collection_runs_with_its_report_and_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = mixed()
    result = evaluate_evalscope(config(lines), include_paths=("benchmarks",))
    assert result.exit_code == 0
    report = json.loads(Path("out/reports/m/data_collection.json").read_text())
    assert {one["identity"]["name"] for one in report["metrics"]} == {"accuracy", "exact_match"}
    (accuracy,) = [one for one in report["metrics"] if one["identity"]["name"] == "accuracy"]
    drawn = [json.loads(line) for line in Path("mixed.jsonl").read_text().splitlines()]
    right = [entry["prompt"]["target"] == "was" for entry in drawn if entry["dataset_name"] == "verbs"]
    assert accuracy["score"] == pytest.approx(sum(right) / 4)
    assert accuracy["categories"][0]["name"] == ["all", "words"]
    assert accuracy["categories"][0]["subsets"][0]["name"] == "verbs/default"
    assert report["primary_metric_identity"] is None
    levels = json.loads(Path("out/reports/m/collection_detailed_report.json").read_text())
    assert [row["count"] for row in levels["tag_level"]] == [6, 4]
    assert "dataset_level Report" in result.table
    for kind in ("predictions", "reviews"):
        (file,) = Path(f"out/{kind}/m").iterdir()
        assert file.name == "data_collection_default.jsonl"
        records = [json.loads(line) for line in file.read_text().splitlines()]
        assert [record["index"] for record in records] == list(range(6))
        own = records[0]["metadata"] if kind == "predictions" else records[0]["sample_score"]["sample_metadata"]
        assert own["collection_info"]["dataset_name"] == "verbs"


def test_the_command_of_evalscope_runs_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = json.dumps(mixed())
    command = ["evalscope", "eval", "--model", "mock", "--datasets", "data_collection", "--dataset-args", arguments]
    assert main([*command, "--limit", "2", "--work-dir", "out", "--no-timestamp"]) == 0
    assert "verbs/default" in Path("out/reports/mock/data_collection.json").read_text()
    (file,) = Path("out/reviews/mock").iterdir()
    assert len(file.read_text().splitlines()) == 2


def test_a_script_draws_and_runs_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("script.py").write_text(
        "from evalscope import TaskConfig, run_task\n"
        "from evalscope.collections import CollectionSchema, DatasetInfo, WeightedSampler\n"
        "from evalscope.utils.io_utils import dump_jsonl_data\n"
        "schema = CollectionSchema(name='x', datasets=[DatasetInfo(name='capitals', weight=1, tags=['a'])])\n"
        "dump_jsonl_data(WeightedSampler(schema).sample(2), 'drawn.jsonl')\n"
        "run_task(TaskConfig(model='mock', datasets=['data_collection'], work_dir='out', no_timestamp=True,\n"
        "                    dataset_args={'data_collection': {'dataset_id': 'drawn.jsonl'}}))\n"
    )
    assert main(["python", "--include-path", "benchmarks", "script.py"]) == 0
    assert json.loads(Path("out/reports/mock/data_collection.json").read_text())["num"] == 2


def test_samples_are_asked_with_their_prompts_and_a_rescored_run_asks_nothing(here: Path) -> None:
    asked: list[str] = []

    def compute(request: Request) -> str:
        asked.append(request.text)
        return "Paris" if "France" in request.text else "went"

    options = {"adapter": {"dataset_args": mixed(count=8)}}
    model = MockBatch(compute, identity={"backend": "mock"})
    polymeter.evaluate(model, ["data_collection"], output="run", dialect_options=options, num_fewshot=0)
    assert sorted(set(asked))[-1].startswith("What is the past of")
    n_asked = len(asked)
    polymeter.resume("run", model=model)
    polymeter.score("run", output="again")
    assert len(asked) == n_asked == 8
    results = [json.loads(Path(name, "results.json").read_text())["tasks"] for name in ("run", "again")]
    assert results[0]["data_collection"]["results"] == results[1]["data_collection"]["results"]


def test_a_judge_is_asked_about_the_samples_of_a_judged_benchmark_alone(here: Path) -> None:
    write_adapter(here / "benchmarks" / "verbs", JUDGED, VERBS, file="verbs_adapter.py", name="verbs")
    judged: list[str] = []

    def judge(request: Request) -> str:
        judged.append(request.text)
        return '{"reasoning": "", "verdict": "A"}'

    polymeter.evaluate(
        MockBatch(lambda request: "Paris", identity={"backend": "mock"}),
        ["data_collection"],
        roles={"judge": MockBatch(judge, identity={"backend": "judge"})},
        output="run",
        dialect_options={"adapter": {"dataset_args": mixed()}},
    )
    assert len(judged) == 4
    assert all("the past of" in text for text in judged)


@pytest.mark.parametrize(
    ("line", "error", "says"),
    [
        ({"prompt": {"input": "x"}, "dataset_name": "verbs"}, DataError, "Line 1 is not an entry"),
        (
            {"index": 0, "prompt": {"input": "x"}, "dataset_name": "verb", "subset_name": "a"},
            PlanError,
            "needs the benchmark 'verb', which is not in reach",
        ),
    ],
)
def test_a_line_that_cannot_be_asked_is_named_before_anything_is_sent(
    line: dict[str, Any], error: type[Exception], says: str, here: Path
) -> None:
    Path("mixed.jsonl").write_text(json.dumps(line))
    asked: list[Any] = []
    with pytest.raises(error, match=says):
        polymeter.evaluate(
            MockBatch(asked.append, identity={"backend": "mock"}),
            ["data_collection"],
            output="run",
            dialect_options={"adapter": {"dataset_args": {"data_collection": {"local_path": "mixed.jsonl"}}}},
        )
    assert not asked


def test_a_benchmark_that_is_aggregated_as_a_whole_is_refused(here: Path) -> None:
    arguments = {**mixed(), "capitals": {"aggregation": "bayes_at_n"}}
    with pytest.raises(PlanError, match="'capitals' of this collection is aggregated by bayes_at_n"):
        polymeter.evaluate(
            "mock", ["data_collection"], output="run", dialect_options={"adapter": {"dataset_args": arguments}}
        )


def test_a_run_shuffles_the_samples_and_repeats_each(here: Path) -> None:
    arguments = mixed(count=8)
    arguments["data_collection"]["shuffle"] = True
    options = {"adapter": {"dataset_args": arguments, "adapter_1x": {"repeats": 2}}}
    polymeter.evaluate("mock", ["data_collection"], output="run", dialect_options=options)
    samples = [json.loads(line) for line in Path("run/samples/data_collection.jsonl").read_text().splitlines()]
    drawn = [sample["doc"]["metadata"]["collection_info"]["index"] for sample in samples]
    assert drawn[::2] == drawn[1::2]
    assert sorted(drawn[::2]) == list(range(8)) != drawn[::2]
    assert samples[0]["cluster"] == samples[1]["cluster"] != samples[2]["cluster"]


def test_lines_of_both_generations_do_not_mix(here: Path) -> None:
    common = {"index": 0, "dataset_name": "verbs", "subset_name": "a"}
    lines = [{**common, "prompt": {"data": ["x"]}}, {**common, "prompt": {"input": "x"}}]
    Path("mixed.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DataError, match=r"Line 2 is a sample of 'verbs' that EvalScope 1\.x has drawn"):
        polymeter.evaluate(
            "mock",
            ["data_collection"],
            output="run",
            dialect_options={"adapter": {"dataset_args": {"data_collection": {"local_path": "mixed.jsonl"}}}},
        )


def led_score(dataset: str, subset: str, tags: list[str], weight: float, score: float) -> LedScore:
    info = {
        "task_type": "t",
        "dataset_name": dataset,
        "subset_name": subset,
        "tags": tags,
        "categories": ["all", *tags[:1]],
        "weight": weight,
    }
    return LedScore(info, "acc", score)


def test_means_by_level_are_those_of_evalscope() -> None:
    led = [
        led_score("a", "x", ["k"], 0.5, 1.0),
        led_score("a", "y", ["k", "l"], 0.1, 0.0),
        led_score("a", "y", [], 0.1, 1.0),
        led_score("b", "x", ["l"], 0.3, 0.5),
    ]
    assert levels_of(led) == LEVELS
    assert levels_of([])["category_level"] == []


def test_a_mean_is_rounded_as_it_is_summed_there() -> None:
    led = [led_score("a", "x", [], 0.05, 1.0)] * 2
    led += [led_score("b", "x", [], 1 / 24, score) for score in (1.0, 0.0, 1.0, 1.0)]
    (mean,) = levels_of(led)["task_level"]
    assert mean["weighted_avg."] == 0.8437  # of EvalScope 1.14.1; exactly it would be 0.84375
