"""EvalScope's importable modules, of both generations, and objects behind their names; see ``guests.shims.finder``."""

from __future__ import annotations

from collections.abc import Mapping

from polymeter.core.names.systems import same_names
from polymeter.interop.evalscope.shim.aliases_1x import PARTS, joined

_HERE = "polymeter.interop.evalscope"
_TASKS = f"{_HERE}.tasks"
_SHIM = f"{_HERE}.shim.evalscope"

_ROUGE = same_names(
    f"{_TASKS}.scoring.metrics", "compute_rouge_score compute_rouge_score_one_sample compute_rouge_score_one_sample_zh"
)
_SCORES = same_names(
    f"{_TASKS}.scoring.metrics",
    "bleu_ngram_one_sample calculate_pass_at_k exact_match macro_mean mean micro_mean pass_at_k simple_f1_score "
    "weighted_mean",
)
_PARSERS = same_names(f"{_TASKS}.scoring.parsers", "ResponseParser lmsys_parser ranking_parser")
_MATHS = same_names(f"{_TASKS}.scoring.metrics", "extract_answer math_equal strip_answer_string")
_JUDGE = same_names(f"{_TASKS}.scoring.judging", "LLMJudge")
_METRICS = same_names(f"{_TASKS}.scoring.metrics", "Metric metric_registry")
_REPORT = same_names(f"{_TASKS}.scoring.report", "Category Report ReportKey Subset")
_TABLES = same_names(f"{_SHIM}.reports", "gen_table get_data_frame get_report_list")
_BENCHMARK = {
    **same_names(f"{_SHIM}.benchmarks", "Benchmark"),
    **same_names(f"{_TASKS}.registration", "BenchmarkMeta"),
}
_ADAPTER = same_names(f"{_TASKS}.base", "DataAdapter")
_CUSTOM = same_names(f"{_HERE}.models.custom", "CustomModel")
_DUMMY = same_names(f"{_HERE}.models.custom", "DummyCustomModel")
_COLLECTIONS = same_names(f"{_SHIM}.collections", "CollectionSchema DatasetInfo")
_SAMPLERS = same_names(f"{_SHIM}.samplers", "DatasetEntry Sampler StratifiedSampler UniformSampler WeightedSampler")
_ARGUMENTS = same_names(f"{_SHIM}.helpers", "BaseArgument get_supported_params parse_int_or_float")
_DEPRECATION = same_names(f"{_SHIM}.helpers", "deprecated")
_PACKAGES = same_names(f"{_SHIM}.helpers", "get_module_path is_module_installed")
_PROCESS = same_names(f"{_SHIM}.helpers", "EvalBackend get_device seed_everything")
_LOGGING = same_names(f"{_SHIM}.helpers", "configure_logging get_logger")
_FILES = same_names(
    f"{_SHIM}.io_utils",
    "OutputsStructure csv_to_jsonl csv_to_list dict_to_json dict_to_yaml dump_jsonl_data gen_hash "
    "get_latest_folder_path get_valid_list json_to_dict jsonl_to_csv jsonl_to_list yaml_to_dict",
)

_OF_0_17: Mapping[str, str | Mapping[str, str]] = {
    "evalscope": {
        **same_names(f"{_HERE}.config", "TaskConfig"),
        **same_names(f"{_SHIM}.run", "run_task"),
        **same_names(_SHIM, "__version__"),
    },
    "evalscope.benchmarks": {**_BENCHMARK, **_ADAPTER},
    "evalscope.benchmarks.aigc.t2i": {},
    "evalscope.benchmarks.aigc.t2i.base": same_names(f"{_TASKS}.image_adapter", "T2IBaseAdapter"),
    "evalscope.benchmarks.benchmark": {**_BENCHMARK, **same_names(f"{_TASKS}.registration", "BENCHMARK_MAPPINGS")},
    "evalscope.benchmarks.data_adapter": _ADAPTER,
    "evalscope.benchmarks.filters": same_names(f"{_TASKS}.scoring.filters", "Filter"),
    "evalscope.benchmarks.utils": {
        **same_names(f"{_TASKS}.prompts", "PromptData"),
        **same_names(f"{_TASKS}.datasets", "load_file_with_extension"),
        **same_names(f"{_TASKS}.scoring.filters", "preprocess_decorator"),
    },
    "evalscope.collections": {
        **_COLLECTIONS,
        **_SAMPLERS,
    },
    "evalscope.collections.sampler": _SAMPLERS,
    "evalscope.collections.schema": _COLLECTIONS,
    "evalscope.config": same_names(f"{_HERE}.config", "TaskConfig parse_task_config"),
    "evalscope.constants": {"*": f"{_SHIM}.constants"},
    "evalscope.metrics": {
        **_PARSERS,
        **_JUDGE,
        **_MATHS,
        **_SCORES,
        **_METRICS,
        **_ROUGE,
    },
    "evalscope.metrics.completion_parsers": _PARSERS,
    "evalscope.metrics.llm_judge": _JUDGE,
    "evalscope.metrics.math_parser": _MATHS,
    "evalscope.metrics.metrics": _SCORES,
    "evalscope.metrics.named_metrics": {**_METRICS, **same_names(f"{_TASKS}.scoring.metrics", "MetricRegistry")},
    "evalscope.metrics.rouge_metric": _ROUGE,
    "evalscope.models": {
        **_CUSTOM,
        **_DUMMY,
        **same_names(
            "evalscope.models.adapters",
            "BaseModelAdapter ChatGenerationModelAdapter ContinuationLogitsModelAdapter CustomModelAdapter "
            "MultiChoiceModelAdapter ServerModelAdapter T2IModelAdapter initialize_model_adapter",
        ),
        **same_names("evalscope.models.local_model", "LocalModel get_local_model"),
        **same_names("evalscope.models.model", "BaseModel ChatBaseModel OpenAIModel"),
        **same_names("evalscope.models.register", "get_model_adapter"),
    },
    "evalscope.models.custom": {**_CUSTOM, **_DUMMY},
    "evalscope.models.custom.custom_model": _CUSTOM,
    "evalscope.models.custom.dummy_model": _DUMMY,
    "evalscope.report": {"*": f"{_SHIM}.reports"},
    "evalscope.report.combinator": _TABLES,
    "evalscope.report.generator": same_names(f"{_SHIM}.reports", "ReportGenerator"),
    "evalscope.report.utils": {**_REPORT, **same_names(f"{_TASKS}.scoring.report", "Metric")},
    "evalscope.run": f"{_SHIM}.run",
    "evalscope.summarizer": f"{_SHIM}.summarizer",
    "evalscope.utils": {**_ARGUMENTS, **_DEPRECATION, **_PACKAGES, **_PROCESS, **_LOGGING, **_FILES},
    "evalscope.utils.argument_utils": {**_ARGUMENTS, **same_names(f"{_SHIM}.io_utils", "json_to_dict yaml_to_dict")},
    "evalscope.utils.deprecation_utils": _DEPRECATION,
    "evalscope.utils.import_utils": _PACKAGES,
    "evalscope.utils.io_utils": f"{_SHIM}.io_utils",
    "evalscope.utils.logger": {**_LOGGING, **same_names(f"{_SHIM}.helpers", "logger")},
    "evalscope.utils.model_utils": _PROCESS,
    "evalscope.version": same_names(_SHIM, "__version__ __release_datetime__"),
}

EVALSCOPE: Mapping[str, str | Mapping[str, str]] = joined(_OF_0_17, *PARTS)
