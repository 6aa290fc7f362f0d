"""EvalScope 1.x's importable modules, and our objects behind their names; ``aliases`` joins them with those of 0.17.

Each part lists its own modules; where both generations have a module, it has the names of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from polymeter.core.names.systems import same_names

_V1 = "polymeter.interop.evalscope.v1"
_TYPES = f"{_V1}.types"

# Types, registration, adapters.
_CONTENT = same_names(
    f"{_TYPES}.content",
    "Content ContentAudio ContentBase ContentData ContentImage ContentReasoning ContentText ContentVideo",
)
_CHAT = same_names(
    f"{_TYPES}.messages",
    "ChatMessage ChatMessageAssistant ChatMessageBase ChatMessageSystem ChatMessageTool ChatMessageUser "
    "dict_to_chat_message messages_pretty_str messages_to_markdown",
)
_REASONING = same_names(f"{_TYPES}.messages", "parse_content_with_reasoning")
_PERFORMANCE = same_names(f"{_TYPES}.performance", "PerfSummary PerformanceMetrics calc_tpot")
_TOOL_CALL = same_names(
    f"{_TYPES}.tools", "ToolCall ToolCallContent ToolCallError ToolCallView ToolChoice ToolFunction"
)
_TOOL_INFO = same_names(
    f"{_TYPES}.tools",
    "Tool ToolDescription ToolInfo ToolParam ToolParams parse_tool_info set_tool_description tool_description",
)
_TOOL_UTILS = same_names(f"{_TYPES}.tools", "parse_tool_call tool_parse_error_message validate_tool_arguments")
_OUTPUT = same_names(
    f"{_TYPES}.outputs",
    "ChatCompletionChoice Logprob Logprobs ModelOutput ModelUsage StopReason TopLogprob as_stop_reason",
)
_GENERATION = same_names(f"{_TYPES}.generation", "AnthropicCacheControl GenerateConfig ResponseSchema")
_SAMPLES = same_names(f"{_TYPES}.samples", "FieldSpec Sample")
_STATE = same_names(f"{_TYPES}.state", "Choice Choices Target TaskState")
_INFERENCE = same_names(f"{_TYPES}.state", "InferenceResult InferenceReturn")
_SCORES = same_names(f"{_TYPES}.scores", "AggScore Aggregator JudgeSummary SampleScore Score Value")
_IDENTITIES = same_names(f"{_TYPES}.identities", "MetricIdentity MetricSelector Scalar")
_META = same_names(f"{_V1}.registration", "BenchmarkMeta")
_ADAPTERS = {
    **same_names(f"{_V1}.adapters.data_adapter", "DataAdapter"),
    **same_names(f"{_V1}.adapters.default_adapter", "DefaultDataAdapter"),
}
_MODEL = same_names(f"{_V1}.tasks.model", "Model LazyModel")

EVALSCOPE_1X: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api": {},
    "evalscope.api.benchmark": {**_META, **_ADAPTERS},
    "evalscope.api.benchmark.adapters": {k: v for k, v in _ADAPTERS.items() if k != "DataAdapter"},
    "evalscope.api.benchmark.adapters.default_data_adapter": _ADAPTERS,
    "evalscope.api.benchmark.benchmark": same_names(f"{_V1}.adapters.data_adapter", "DataAdapter"),
    "evalscope.api.benchmark.meta": _META,
    "evalscope.api.dataset": _SAMPLES,
    "evalscope.api.dataset.dataset": _SAMPLES,
    "evalscope.api.evaluator": {**_STATE, **_INFERENCE},
    "evalscope.api.evaluator.inference_result": _INFERENCE,
    "evalscope.api.evaluator.state": _STATE,
    "evalscope.api.messages": {**_CHAT, **_CONTENT, **_PERFORMANCE, **_REASONING},
    "evalscope.api.messages.chat_message": {**_CHAT, **_CONTENT, **_REASONING},
    "evalscope.api.messages.content": _CONTENT,
    "evalscope.api.messages.perf_metrics": _PERFORMANCE,
    "evalscope.api.messages.utils": _REASONING,
    "evalscope.api.metric": {**_SCORES, **_IDENTITIES},
    "evalscope.api.metric.scorer": _SCORES,
    "evalscope.api.metric.semantics": _IDENTITIES,
    "evalscope.api.model": {**_GENERATION, **_OUTPUT, **_MODEL},
    "evalscope.api.model.generate_config": _GENERATION,
    "evalscope.api.model.lazy_model": same_names(f"{_V1}.tasks.model", "LazyModel"),
    "evalscope.api.model.model": {**_GENERATION, **_MODEL, **_OUTPUT},
    "evalscope.api.model.model_output": _OUTPUT,
    "evalscope.api.registry": {
        **same_names(f"{_V1}.registration", "BENCHMARK_REGISTRY get_benchmark register_benchmark"),
        **same_names(
            f"{_V1}.registries",
            "AGGREGATION_REGISTRY EVALUATOR_REGISTRY FILTER_REGISTRY METRIC_REGISTRY MODEL_APIS Registry "
            "get_aggregation get_evaluator get_filter get_metric get_model_api register_aggregation "
            "register_evaluator register_filter register_metric register_model_api",
        ),
    },
    "evalscope.api.tool": {**_TOOL_CALL, **_TOOL_INFO, **_TOOL_UTILS},
    "evalscope.api.tool.tool_call": _TOOL_CALL,
    "evalscope.api.tool.tool_info": _TOOL_INFO,
    "evalscope.api.tool.utils": _TOOL_UTILS,
}
"""Each other part adds its modules in a table below, and that table to ``PARTS``."""


def joined(*tables: Mapping[str, str | Mapping[str, str]]) -> dict[str, str | Mapping[str, str]]:
    """Join tables: where several have a module as names, it gets the names of all; a later one wins for a name. A
    module that is a whole module in one of them contributes as ``*``.
    """
    result: dict[str, str | Mapping[str, str]] = {}
    for table in tables:
        for module, contents in table.items():
            earlier = result.get(module)
            if earlier is None:
                result[module] = contents
                continue
            first, second = ({"*": part} if isinstance(part, str) else part for part in (earlier, contents))
            result[module] = {**first, **second}
    return result


# Other parts: B.
_DATA, _SCORING, _UTILS = f"{_V1}.data", f"{_V1}.scoring", f"{_V1}.utils"
_DATASETS = {
    **_SAMPLES,
    **same_names(f"{_DATA}.datasets", "Dataset DatasetDict MemoryDataset resolve_dataset_limit validate_dataset_limit"),
}
_LOADERS = same_names(f"{_DATA}.loaders", "DataLoader DictDataLoader LocalDataLoader RemoteDataLoader")
_HUB = same_names(
    f"{_DATA}.hub", "DatasetHub DatasetSource download_dataset_file download_dataset_snapshot load_dataset_from_hub"
)
_BUILDERS = same_names(
    f"{_DATA}.builders",
    "build_dataset_dict_from_record_map build_dataset_from_records load_local_file_dataset "
    "resolve_snapshot_or_local_path",
)
_METRIC_BASE = same_names(f"{_SCORING}.metric_base", "Metric MetricUnavailableError SingletonMetric T2IMetric")
_FILTER = same_names(f"{_SCORING}.filters", "Filter FilterEnsemble build_filter_ensemble")
_EXTRACTION = same_names(
    f"{_SCORING}.filters", "ExtractFilter POSFilter RegexFilter RemoveUntilFilter WhitespaceFilter"
)
_SELECTION = same_names(f"{_SCORING}.filters", "MajorityVoteFilter TakeFirstFilter TakeKFilter")
_MEANS = same_names(f"{_SCORING}.aggregators", "ClippedMean Mean MeanPassAtK MeanPassHatK MeanVoteAtK")
_AGGREGATORS = {**_MEANS, **same_names(f"{_SCORING}.aggregators", "METRIC_WEIGHTS_KEY WeightedMean")}
_BAYES = same_names(f"{_SCORING}.bayes", "BayesAtN")
_TEXT = same_names(f"{_SCORING}.text_metrics", "ANLS Accuracy ExactMatch MathAcc MultiChoiceAcc NumericMatch")
_MODEL_METRICS = same_names(f"{_SCORING}.model_metrics", "BertScore COMETScore SemScore")
_MATH = same_names(f"{_SCORING}.math_answers", "extract_answer math_equal strip_answer_string")
_MATH_CONTRACTS = same_names(f"{_SCORING}.math_answers", "InvalidMathReference MathEvaluationError MathResult")
_FUNCTIONS = same_names(
    f"{_SCORING}.functions", "bleu_ngram_one_sample exact_match macro_mean mean micro_mean simple_f1_score"
)
_ROUGE_NAMES = "compute_rouge_score_one_sample compute_rouge_score_one_sample_zh"
_ALL_FUNCTIONS = {
    **_FUNCTIONS,
    **same_names(
        f"{_SCORING}.functions", "calculate_pass_at_k calculate_pass_hat_k levenshtein_distance normalize_text"
    ),
}
_ERROR_RATES = same_names(f"{_SCORING}.error_rates", "CER MER PER WER")
_BASIC = same_names(
    "polymeter.metrics.speech",
    "ADDITIONAL_DIACRITICS BasicTextNormalizer remove_symbols remove_symbols_and_diacritics",
)
_ENGLISH = same_names(
    "polymeter.metrics.speech", "EnglishNumberNormalizer EnglishSpellingNormalizer EnglishTextNormalizer"
)
_TEXT_NORM = "polymeter.metrics.chinese_speech:TextNorm"
_IMPORTING = same_names(f"{_UTILS}.packages", "check_import is_build_doc is_module_installed")
_THREADS = same_names(
    f"{_UTILS}.threads", "async_retry_call retry_call run_in_threads_with_progress run_once thread_safe"
)
_RECORD_FILES = same_names(f"{_UTILS}.files", "csv_to_list jsonl_to_list safe_filename")

OF_DATA: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api.dataset": {**_DATASETS, **_LOADERS, **_HUB, **_BUILDERS},
    "evalscope.api.dataset.builder": _BUILDERS,
    "evalscope.api.dataset.dataset": _DATASETS,
    "evalscope.api.dataset.hub": _HUB,
    "evalscope.api.dataset.loader": {**_LOADERS, **same_names(f"{_DATA}.datasets", "repeat_samples")},
    "evalscope.api.dataset.utils": same_names(
        f"{_DATA}.fields",
        "as_sample_list data_to_samples read_choices read_files read_input read_sandbox read_setup read_target "
        "record_to_sample_fn shuffle_choices_if_requested",
    ),
}
OF_SCORING: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api.filter": _FILTER,
    "evalscope.api.filter.filter": _FILTER,
    "evalscope.api.metric": _METRIC_BASE,
    "evalscope.api.metric.decision": same_names(
        f"{_SCORING}.decisions", "DecisionObservation NLL_EPSILON decision_score"
    ),
    "evalscope.api.metric.metric": _METRIC_BASE,
    "evalscope.filters": {**_EXTRACTION, **_SELECTION},
    "evalscope.filters.extraction": _EXTRACTION,
    "evalscope.filters.selection": _SELECTION,
    "evalscope.metrics": {
        **_MEANS,
        **same_names(f"{_SCORING}.text_metrics", "ExactMatch"),
        **_FUNCTIONS,
        **same_names(
            "polymeter.interop.evalscope.shim.evalscope.metrics",
            f"{_ROUGE_NAMES} extract_answer math_equal strip_answer_string",
        ),
        **same_names("polymeter.metrics.speech", "BasicTextNormalizer EnglishTextNormalizer"),
        "ChineseTextNormalizer": _TEXT_NORM,
    },
    "evalscope.metrics.aggregators": {**_AGGREGATORS, **_BAYES},
    "evalscope.metrics.aggregators.aggregators": {
        **_AGGREGATORS,
        **same_names(f"{_SCORING}.aggregators", "collect_metric_names collect_metric_weights"),
    },
    "evalscope.metrics.aggregators.bayes_at_n": _BAYES,
    "evalscope.metrics.audio": _ERROR_RATES,
    "evalscope.metrics.audio.metrics": _ERROR_RATES,
    "evalscope.metrics.decision": same_names(
        f"{_SCORING}.decisions",
        "DecisionAggregator DecisionBinaryBrier DecisionBrier DecisionMAE DecisionNLL DecisionRPS average_ranks ece",
    ),
    "evalscope.metrics.math": _MATH,
    "evalscope.metrics.math.contracts": _MATH_CONTRACTS,
    "evalscope.metrics.math.parser": {
        **_MATH,
        **_MATH_CONTRACTS,
        **same_names(
            f"{_SCORING}.math_answers",
            "choice_answer_clean compare_answers convert_word_number extract_boxed_answer_text "
            "extract_boxed_answers is_digit numeric_equal parse_digits str_to_pmatrix symbolic_equal",
        ),
    },
    "evalscope.metrics.nlp": {**_TEXT, **_MODEL_METRICS},
    "evalscope.metrics.nlp.metrics": {**_TEXT, **_MODEL_METRICS},
    "evalscope.metrics.utils": _ALL_FUNCTIONS,
    "evalscope.metrics.utils.bundled_rouge_score": {},
    "evalscope.metrics.utils.bundled_rouge_score.rouge_scorer": same_names(f"{_SCORING}.rouge_scorer", "RougeScorer"),
    "evalscope.metrics.utils.functions": _ALL_FUNCTIONS,
    "evalscope.metrics.utils.rouge": same_names(f"{_SCORING}.functions", _ROUGE_NAMES),
    "evalscope.metrics.utils.text_normalizer": {
        **same_names("polymeter.metrics.speech", "BasicTextNormalizer EnglishTextNormalizer"),
        "ChineseTextNormalizer": _TEXT_NORM,
    },
    "evalscope.metrics.utils.text_normalizer.basic": _BASIC,
    "evalscope.metrics.utils.text_normalizer.chinese": {"TextNorm": _TEXT_NORM},
    "evalscope.metrics.utils.text_normalizer.english": _ENGLISH,
    "evalscope.metrics.utils.text_normalizer.wer": {
        **same_names(f"{_SCORING}.error_rates", "PUNCS normalize_inputs normalize_text remove_sp wer word_errors"),
        **same_names("polymeter.metrics.speech", "EvaluationTokenizer"),
    },
}
OF_UTILS: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api.evaluator": same_names(f"{_UTILS}.reviews", "ReviewResult"),
    "evalscope.api.evaluator.cache": same_names(f"{_UTILS}.reviews", "ReviewResult"),
    "evalscope.models.utils": {},
    "evalscope.models.utils.openai": same_names(
        f"{_UTILS}.openai_messages", "chat_messages_from_openai content_from_openai"
    ),
    "evalscope.utils": {
        **_RECORD_FILES,
        **same_names(f"{_UTILS}.secret_values", "get_secret_value secretize_auth_headers"),
        **same_names(f"{_UTILS}.threads", "async_retry_call run_once thread_safe"),
    },
    "evalscope.utils.argument_utils": same_names(f"{_UTILS}.secret_values", "get_secret_value secretize_auth_headers"),
    "evalscope.utils.code_utils": same_names(
        f"{_UTILS}.code_blocks",
        "CodeBlock END_TOKENS ExtractedType IMPORT_HELPER adjust_code_block default_extract_helper "
        "extract_code_from_freeform_completion extract_fenced_code extract_heuristic_code "
        "extract_incomplete_fenced_code filter_language remove_entripoints",
    ),
    "evalscope.utils.download_utils": same_names(f"{_UTILS}.fetching", "download_url file_sha256"),
    "evalscope.utils.function_utils": _THREADS,
    "evalscope.utils.import_utils": _IMPORTING,
    "evalscope.utils.io_utils": {
        **_RECORD_FILES,
        **same_names(
            f"{_UTILS}.files",
            "JsonlWriter are_paths_same convert_normal_types current_time parquet_to_list tsv_to_list",
        ),
        **same_names(
            f"{_UTILS}.images",
            "PIL_to_base64 base64_to_PIL bytes_to_base64 compress_image_to_limit convert_image_base64_format "
            "parse_size",
        ),
        **same_names(f"{_DATA}.media_columns", "undecode_media"),
    },
    "evalscope.utils.json_schema": same_names(
        f"{_UTILS}.json_schema",
        "JSONSchema JSONType cls_json_schema json_schema python_type_to_json_type resolve_schema_references "
        "resolve_type_hints",
    ),
    "evalscope.utils.media_utils": same_names(
        f"{_UTILS}.uris",
        "AudioFormat SUPPORTED_AUDIO_FORMATS SUPPORTED_VIDEO_FORMATS VIDEO_FORMAT_TO_MIME_TYPE VideoFormat "
        "guess_audio_format guess_video_format video_as_data_uri video_format_to_mime_type",
    ),
    "evalscope.utils.multi_choices": same_names(
        f"{_SCORING}.choice_templates",
        "CHINESE_FEW_SHOT_TEMPLATE CHINESE_MULTIPLE_ANSWER_TEMPLATE CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT "
        "CHINESE_SINGLE_ANSWER_TEMPLATE CHINESE_SINGLE_ANSWER_TEMPLATE_COT FEW_SHOT_TEMPLATE "
        "MULTIPLE_ANSWER_TEMPLATE MULTIPLE_ANSWER_TEMPLATE_COT MultipleChoiceTemplate SINGLE_ANSWER_TEMPLATE "
        "SINGLE_ANSWER_TEMPLATE_COT answer_character answer_index answer_options format_example "
        "format_letter_choices prompt set_choices_based_on_generated_response unshuffle_choices valid_template",
    )
    | same_names(f"{_SCORING}.choice_parsing", "extract_answer_line parse_answers parse_answers_zh"),
    "evalscope.utils.ner": same_names(
        f"{_SCORING}.ner",
        "DEFAULT_TAG_FIX_PATTERNS FEWSHOT_TEMPLATE PROMPT_TEMPLATE calculate_bio_metrics clean_prediction "
        "create_target_text extract_entities_from_text extract_spans_from_bio xml_to_bio_tags",
    ),
    "evalscope.utils.resource_utils": same_names(f"{_UTILS}.fetching", "check_nltk_data"),
    "evalscope.utils.uri_utils": same_names(
        f"{_UTILS}.uris",
        "data_uri_mime_type data_uri_to_base64 file_as_data file_as_data_uri is_data_uri is_http_url sanitize_endpoint",
    ),
    "evalscope.utils.yes_no": same_names(f"{_UTILS}.yes_no", "extract_verdict"),
}
# Other parts: C.
_ADAPTER_HOMES = {
    "agent_adapter": ("agents", "AgentAdapter AgentLoopAdapter"),
    "audio_language_adapter": ("audio", "AudioLanguageAdapter"),
    "browsergym_adapter": ("agents", "BrowserGymAdapter"),
    "decision_adapter": ("decision", "DecisionAdapter"),
    "function_call_adapter": ("function_call", "FunctionCallAdapter"),
    "image_edit_adapter": ("image_edit", "ImageEditAdapter"),
    "multi_choice_adapter": ("multi_choice", "CHINESE_ANSWER_TEMPLATES MultiChoiceAdapter"),
    "multi_turn_adapter": ("multi_turn", "MultiTurnAdapter"),
    "ner_adapter": ("ner", "NERAdapter"),
    "text2image_adapter": (
        "text_to_image",
        "IMAGE_PAIR_REFERENCE_KEYS T2I_REPORT_METRIC_NAMES Text2ImageAdapter",
    ),
    "vision_language_adapter": ("vision", "MEDIA_PLACEHOLDER_PATTERN VisionLanguageAdapter"),
}
_OTHER_ADAPTERS = {
    name: target
    for module, (home, names) in _ADAPTER_HOMES.items()
    for name, target in same_names(f"{_V1}.adapters.{home}", names).items()
    if name.endswith("Adapter") and module != "decision_adapter"
}
_SANDBOX = same_names(f"{_V1}.adapters.sandbox", "CodeExecutionSandboxMixin")
_JUDGE_MIXIN = same_names(f"{_V1}.judging.mixin", "LLMJudgeMixin")
OF_ADAPTERS: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api.benchmark": _OTHER_ADAPTERS,
    "evalscope.api.benchmark.adapters": _OTHER_ADAPTERS,
    **{
        f"evalscope.api.benchmark.adapters.{module}": same_names(f"{_V1}.adapters.{home}", names)
        for module, (home, names) in _ADAPTER_HOMES.items()
    },
    "evalscope.api.mixin": {**_SANDBOX, **_JUDGE_MIXIN},
    "evalscope.api.mixin.code_execution_sandbox_mixin": _SANDBOX,
    "evalscope.api.mixin.llm_judge_mixin": _JUDGE_MIXIN,
    "evalscope.api.model.decision": same_names(f"{_V1}.adapters.decision", "DECISION_EVAL_TYPES DecisionInput"),
    "evalscope.api.sandbox": same_names(f"{_V1}.adapters.sandbox", "DockerImageSpec"),
}
_CONTRACTS = same_names(f"{_V1}.judging.contracts", "OutputContract ParseResult")
_DEFINITION = same_names(f"{_V1}.judging.definition", "JudgeDefinition")
_EXECUTOR = same_names(f"{_V1}.judging.executor", "JudgeExecutor JudgeExecutorConfig")
_JUDGE_RECORDS = same_names(
    f"{_V1}.judging.records",
    "CaseVerdict JudgeAttempt JudgeCase JudgeContext JudgeObservation JudgeRequest JudgeReview PairwiseOutcome "
    "PairwisePlacementOutcome Placement ReducedVerdict",
)
_JUDGE_SUMMARY = same_names(f"{_V1}.judging.disagreement", "summarize_judge_disagreement summarize_judge_runs")
_JUDGE_MODEL = same_names(f"{_V1}.judging.llm_judge", "DEFAULT_NUMERIC_SCORE_TEMPLATE DEFAULT_PROMPT_TEMPLATE LLMJudge")
OF_JUDGING: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api.judge": {**_CONTRACTS, **_DEFINITION, **_EXECUTOR, **_JUDGE_RECORDS, **_JUDGE_SUMMARY},
    "evalscope.api.judge.aggregation": same_names(
        f"{_V1}.judging.aggregation", "aggregate_judge_values aggregate_pairwise_outcomes aggregate_repeat_values"
    ),
    "evalscope.api.judge.contracts": _CONTRACTS,
    "evalscope.api.judge.definition": _DEFINITION,
    "evalscope.api.judge.executor": _EXECUTOR,
    "evalscope.api.judge.summary": _JUDGE_SUMMARY,
    "evalscope.api.judge.types": _JUDGE_RECORDS,
    "evalscope.metrics.judge": _JUDGE_MODEL,
    "evalscope.metrics.judge.llm_judge": _JUDGE_MODEL,
}
_MEANINGS = same_names(
    f"{_V1}.report.semantics", "MetricDirection MetricDisplayKind MetricKind MetricSemantics ValueRange"
)
_RESOLVER = same_names(f"{_V1}.report.semantics", "SemanticsResolver get_semantics_resolver")
_LABELS = same_names(f"{_V1}.report.formatting", "format_metric_label format_metric_labels format_metric_value")
_REPORT_TREE = {
    "Category": f"{_V1}.report.tree:ReportCategory",
    "Metric": f"{_V1}.report.tree:ReportMetric",
    "Report": f"{_V1}.report.tree:EvaluationReport",
    "Subset": f"{_V1}.report.tree:ReportSubset",
    **same_names(f"{_V1}.report.tree", "ExecutionSubset ExecutionSummary"),
    **same_names("polymeter.interop.evalscope.tasks.scoring.report", "ReportKey"),
}
_AVERAGES = same_names(
    f"{_V1}.report.tables",
    "get_display_data_frame percentage_weighted_average_from_subsets unweighted_average_from_subsets "
    "weighted_average_from_subsets",
)
OF_REPORT: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.api.metric": _MEANINGS,
    "evalscope.api.metric.semantics": _MEANINGS,
    "evalscope.metrics.semantics": {**_LABELS, "get_semantics_resolver": _RESOLVER["get_semantics_resolver"]},
    "evalscope.metrics.semantics.formatting": _LABELS,
    "evalscope.metrics.semantics.legacy_identity": same_names(f"{_V1}.report.legacy_names", "migrate_legacy_identity"),
    "evalscope.metrics.semantics.naming": same_names(
        f"{_TYPES}.identities", "canonical_aggregation canonicalize_producer_identity snake_case"
    ),
    "evalscope.metrics.semantics.primary": same_names(
        f"{_V1}.report.primary", "PrimarySelection PrimarySelectionStatus select_primary"
    ),
    "evalscope.metrics.semantics.resolver": _RESOLVER,
    "evalscope.report.combinator": _AVERAGES,
    "evalscope.report.report": _REPORT_TREE,
}
# Other parts: D.
OF_RUN: Mapping[str, str | Mapping[str, str]] = {
    "evalscope.config": {
        **same_names(f"{_V1}.judging.settings", "JudgeConfig JudgeContractConfig JudgeModelConfig"),
        **same_names(f"{_V1}.nested_settings", "SandboxTaskConfig"),
    },
}

PARTS = (EVALSCOPE_1X, OF_DATA, OF_SCORING, OF_UTILS, OF_ADAPTERS, OF_JUDGING, OF_REPORT, OF_RUN)
