"""Every name that adapters and scripts import from EvalScope 0.17 is there, under its foreign dotted name."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.guests.shims.finder import switch_on_shims

SURFACE = {
    "evalscope": "TaskConfig run_task __version__",
    "evalscope.run": "run_task",
    "evalscope.config": "TaskConfig parse_task_config",
    "evalscope.benchmarks": "Benchmark BenchmarkMeta DataAdapter",
    "evalscope.benchmarks.benchmark": "Benchmark BenchmarkMeta BENCHMARK_MAPPINGS",
    "evalscope.benchmarks.data_adapter": "DataAdapter",
    "evalscope.benchmarks.utils": "PromptData preprocess_decorator load_file_with_extension",
    "evalscope.benchmarks.filters": "Filter",
    "evalscope.constants": "EvalType OutputType AnswerKeys DEFAULT_DATASET_CACHE_DIR HubType JudgeStrategy ModelTask "
    "EvalStage EvalBackend DumpMode ReviewKeys DataCollection ArenaWinner DEFAULT_WORK_DIR",
    "evalscope.metrics": "exact_match mean metric_registry Metric LLMJudge extract_answer math_equal "
    "strip_answer_string bleu_ngram_one_sample compute_rouge_score_one_sample simple_f1_score macro_mean micro_mean "
    "weighted_mean lmsys_parser ranking_parser compute_rouge_score ResponseParser compute_rouge_score_one_sample_zh",
    "evalscope.metrics.completion_parsers": "ResponseParser lmsys_parser ranking_parser",
    "evalscope.metrics.metrics": "mean exact_match pass_at_k calculate_pass_at_k",
    "evalscope.metrics.named_metrics": "Metric metric_registry",
    "evalscope.metrics.llm_judge": "LLMJudge",
    "evalscope.metrics.math_parser": "extract_answer math_equal strip_answer_string",
    "evalscope.metrics.rouge_metric": "compute_rouge_score_one_sample_zh compute_rouge_score_one_sample",
    "evalscope.report": "Report ReportKey Category Subset ReportGenerator gen_table get_data_frame get_report_list",
    "evalscope.report.utils": "Report ReportKey Category Subset Metric",
    "evalscope.report.generator": "ReportGenerator",
    "evalscope.report.combinator": "gen_table get_data_frame get_report_list",
    "evalscope.models": "CustomModel DummyCustomModel LocalModel get_local_model BaseModel ChatBaseModel OpenAIModel "
    "BaseModelAdapter ChatGenerationModelAdapter ContinuationLogitsModelAdapter MultiChoiceModelAdapter "
    "CustomModelAdapter ServerModelAdapter T2IModelAdapter initialize_model_adapter get_model_adapter",
    "evalscope.models.custom": "CustomModel DummyCustomModel",
    "evalscope.models.custom.custom_model": "CustomModel",
    "evalscope.models.custom.dummy_model": "DummyCustomModel",
    "evalscope.utils": "get_logger jsonl_to_list OutputsStructure logger csv_to_list dict_to_yaml gen_hash",
    "evalscope.utils.logger": "get_logger configure_logging",
    "evalscope.utils.io_utils": "jsonl_to_list csv_to_list dict_to_yaml OutputsStructure dump_jsonl_data",
    "evalscope.collections": "CollectionSchema DatasetInfo WeightedSampler UniformSampler StratifiedSampler",
    "evalscope.summarizer": "Summarizer",
    "evalscope.perf.arguments": "Arguments",
    "evalscope.perf.main": "run_perf_benchmark",
    "evalscope.perf.plugin.registry": "register_dataset register_api",
}
ABSENT = {
    "evalscope.models": "LocalModel get_local_model BaseModel ChatBaseModel OpenAIModel BaseModelAdapter "
    "ServerModelAdapter initialize_model_adapter get_model_adapter",
    "evalscope.collections": "EvaluatorCollection",
    "evalscope.perf.arguments": "Arguments",
    "evalscope.perf.main": "run_perf_benchmark",
    "evalscope.perf.plugin.registry": "register_dataset register_api",
}


@pytest.mark.parametrize("module", SURFACE)
def test_every_name_can_be_imported(module: str) -> None:
    switch_on_shims()
    found = import_module(module)
    assert [name for name in SURFACE[module].split() if getattr(found, name, None) is None] == []


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in ABSENT for name in ABSENT[module].split()])
def test_what_is_not_provided_says_so_when_it_is_called(module: str, name: str) -> None:
    switch_on_shims()
    with pytest.raises(PlanError, match=f"^{name} of EvalScope is not provided") as raised:
        getattr(import_module(module), name)()
    assert raised.value.hint


def test_importing_all_of_it_is_light() -> None:
    script = """
import json, sys
from polymeter.guests.shims.tables import ShimNames
from polymeter.guests.shims.finder import switch_on_shims
switch_on_shims()
for name in sorted(ShimNames().modules("evalscope")):
    exec(f"from {name} import *", {})
known = ("torch", "transformers", "datasets", "pandas", "openai", "modelscope", "sympy", "matplotlib")
print(json.dumps([name for name in known if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_name_that_is_not_there_is_answered_with_near_ones() -> None:
    switch_on_shims()
    with pytest.raises(ModuleNotFoundError, match=r"no module .evalscope\.metric.\..*Near: evalscope\.metrics"):
        import_module("evalscope.metric")


def test_small_files_come_back_as_they_were_written(tmp_path: Path) -> None:
    switch_on_shims()
    utils = import_module("evalscope.utils")
    rows = [{"a": "1", "b": "é, \u2028"}, {"a": "2", "b": ""}]
    utils.dump_jsonl_data(rows, tmp_path / "x.jsonl")
    utils.jsonl_to_csv(tmp_path / "x.jsonl", tmp_path / "x.csv")
    utils.csv_to_jsonl(tmp_path / "x.csv", tmp_path / "y.jsonl")
    assert utils.jsonl_to_list(tmp_path / "y.jsonl") == utils.csv_to_list(tmp_path / "x.csv") == rows
    utils.dict_to_yaml({"k": rows}, tmp_path / "x.yaml")
    utils.dict_to_json({"k": rows}, tmp_path / "x.json")
    assert utils.yaml_to_dict(tmp_path / "x.yaml") == utils.json_to_dict(tmp_path / "x.json") == {"k": rows}
    outputs = utils.OutputsStructure(str(tmp_path / "out"))
    assert Path(outputs.reports_dir) == tmp_path / "out/reports"
    assert Path(outputs.reports_dir).is_dir()
    assert utils.get_valid_list(["a", "c"], ["a", "b"]) == (["a"], ["c"])
    assert utils.gen_hash("x", 6) == "9dd4e4"


def test_shares_of_a_collection(tmp_path: Path) -> None:
    switch_on_shims()
    collections = import_module("evalscope.collections")
    info, schema = collections.DatasetInfo, collections.CollectionSchema
    whole = schema("all", datasets=[info("a", 3), schema("inner", 1, [info("b"), info("c")])])
    whole.dump_json(tmp_path / "schema.json")
    read = schema.from_json(tmp_path / "schema.json")
    assert [(one.name, one.weight, one.hierarchy) for one in read.flatten()] == [
        ("a", 0.75, ["all"]),
        ("b", 0.125, ["all", "inner"]),
        ("c", 0.125, ["all", "inner"]),
    ]
    assert read == whole
