"""lm-eval's importable modules, and our objects behind their names; see ``guests.shims.finder``."""

from __future__ import annotations

from collections.abc import Mapping

from polymeter.core.names.systems import same_names

_HERE = "polymeter.interop.lm_eval"
_FAMILY = "polymeter.interop.lm_family"
_SHIM = f"{_HERE}.shim.lm_eval"
_TASKS = f"{_HERE}.tasks"

_INSTANCE = same_names(f"{_HERE}.instance", "Instance")
_FILTER = same_names(f"{_TASKS}.scoring.filters", "Filter")
_ENSEMBLE = same_names(f"{_TASKS}.scoring.filters", "FilterEnsemble")
_REGISTER_FILTER = same_names(f"{_SHIM}.registry", "register_filter")
_CONFIG = same_names(f"{_TASKS}.classes.class_config", "FewshotConfig TaskConfig")
_GROUP_CONFIG = same_names(f"{_SHIM}.groups", "AggMetricConfig GroupConfig")
_MANAGER = same_names(f"{_SHIM}.tasks", "TaskManager")
_EVALUATE = same_names(f"{_SHIM}.evaluator", "evaluate simple_evaluate")
_TRACKER = same_names(f"{_SHIM}.evaluator", "EvaluationTracker")
_LM = same_names(f"{_HERE}.models.base", "LM TemplateLM")

LM_EVAL: Mapping[str, str | Mapping[str, str]] = {
    "lm_eval": {**same_names(_SHIM, "__version__"), **_EVALUATE},
    "lm_eval.api": {},
    "lm_eval.api.filter": {**_FILTER, **_ENSEMBLE},
    "lm_eval.api.group": {**_GROUP_CONFIG, **same_names(f"{_SHIM}.groups", "ConfigurableGroup Group")},
    "lm_eval.api.instance": _INSTANCE,
    "lm_eval.api.metrics": {
        **same_names(
            f"{_TASKS}.scoring.aggregations",
            "bits_per_byte bleu brier_score bypass_agg chrf chrfpp f1_score matthews_corrcoef mean median nanmean "
            "perplexity ter weighted_mean weighted_perplexity",
        ),
        **same_names(
            f"{_SHIM}.metrics",
            "aggregate_subtask_metrics is_non_str_iterable mean_stderr metric_max_over_ground_truths pop_stddev "
            "sample_stddev stderr_for_metric",
        ),
        **same_names(f"{_SHIM}.registry", "exact_match_hf_evaluate"),
        "pooled_sample_stderr": f"{_TASKS}.groups:pooled_stderr",
        "unweighted_mean_stderr": f"{_TASKS}.groups:unweighted_stderr",
    },
    "lm_eval.api.model": {
        **_LM,
        **same_names(f"{_FAMILY}.models.base", "CacheHook"),
        **same_names(f"{_HERE}.models.base", "CachingLM hash_args"),
    },
    "lm_eval.api.registry": {"*": f"{_SHIM}.registry"},
    "lm_eval.api.samplers": same_names(f"{_TASKS}.contexts.samplers", "ContextSampler FirstNSampler"),
    "lm_eval.api.task": {
        **_INSTANCE,
        **same_names(f"{_TASKS}.classes.task_classes", "ALL_OUTPUT_TYPES MultipleChoiceTask PerplexityTask Task"),
        **same_names(f"{_TASKS}.classes.configurable_task", "ConfigurableTask"),
        "TaskConfig": _CONFIG["TaskConfig"],
    },
    "lm_eval.config": {},
    "lm_eval.config.group": _GROUP_CONFIG,
    "lm_eval.config.task": _CONFIG,
    "lm_eval.evaluator": _EVALUATE,
    "lm_eval.filters": {
        **_ENSEMBLE,
        **same_names(f"{_SHIM}.filters", "build_filter_ensemble"),
        **same_names(f"{_SHIM}.registry", "filter_registry get_filter"),
    },
    "lm_eval.filters.custom": {
        **_FILTER,
        **_REGISTER_FILTER,
        **same_names(f"{_TASKS}.scoring.filters", "CustomFilter"),
    },
    "lm_eval.filters.extraction": {
        **_FILTER,
        **_REGISTER_FILTER,
        **same_names(f"{_TASKS}.scoring.filters", "MultiChoiceRegexFilter POSFilter RegexFilter WhitespaceFilter"),
    },
    "lm_eval.filters.selection": {
        **_FILTER,
        **_REGISTER_FILTER,
        **same_names(f"{_TASKS}.scoring.filters", "MajorityVoteFilter TakeFirstFilter TakeKFilter"),
    },
    "lm_eval.filters.transformation": {
        **_FILTER,
        **_REGISTER_FILTER,
        **same_names(f"{_TASKS}.scoring.filters", "LowercaseFilter MapFilter SPANFilter UppercaseFilter"),
    },
    "lm_eval.loggers": _TRACKER,
    "lm_eval.loggers.evaluation_tracker": _TRACKER,
    "lm_eval.models": {},
    "lm_eval.models.huggingface": same_names(f"{_SHIM}.evaluator", "HFLM"),
    "lm_eval.models.openai_completions": same_names(
        f"{_SHIM}.evaluator", "LocalChatCompletion LocalCompletionsAPI OpenAIChatCompletion OpenAICompletionsAPI"
    ),
    "lm_eval.models.sglang_causallms": same_names(f"{_SHIM}.evaluator", "SGLangLM"),
    "lm_eval.models.vllm_causallms": same_names(f"{_SHIM}.evaluator", "VLLM"),
    "lm_eval.tasks": _MANAGER,
    "lm_eval.tasks._yaml_loader": same_names(f"{_SHIM}.tasks", "load_yaml"),
    "lm_eval.tasks.manager": _MANAGER,
    "lm_eval.utils": {
        **same_names(
            f"{_SHIM}.utils",
            "apply_template create_iterator eval_logger general_detokenize get_rolling_token_windows "
            "handle_non_serializable make_disjoint_window positional_deprecated regex_replace sanitize_model_name "
            "setup_logging softmax weighted_f1_score",
        ),
        **same_names(f"{_FAMILY}.shim.utils", "hash_string join_iters sanitize_list sanitize_task_name"),
        **same_names(f"{_HERE}.models.arguments", "simple_parse_args_string"),
        **same_names(f"{_HERE}.files.table", "make_table"),
        **same_names("polymeter.core.names.catalog_names", "pattern_match"),
        "logging": "logging",
    },
}
