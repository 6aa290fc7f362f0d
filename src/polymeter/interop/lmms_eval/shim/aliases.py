"""lmms-eval's importable modules, and our objects behind their names; see ``guests.shims.finder``."""

from __future__ import annotations

from collections.abc import Mapping

from polymeter.core.names.systems import same_names

_HERE = "polymeter.interop.lmms_eval"
_FAMILY = "polymeter.interop.lm_family"
_SHIM = f"{_HERE}.shim.lmms_eval"
_TASK_CODE = f"{_HERE}.tasks"
_LETTERS = "polymeter.metrics.option_letters"
_SPEECH = "polymeter.metrics.speech"

_FILTER = same_names(_TASK_CODE, "Filter FilterEnsemble")
_INSTANCE = same_names(_TASK_CODE, "Instance")
_SERVERS = same_names(f"{_SHIM}.judge_servers", "AsyncServerInterface ServerInterface")
_QUESTIONS = same_names(f"{_SHIM}.judge_protocol", "Request Response")
_CONFIG = same_names(f"{_SHIM}.judge_protocol", "ServerConfig")
_VERDICT = same_names(f"{_SHIM}.judge_protocol", "Verdict")
_JUDGE_TEXTS = same_names(f"{_SHIM}.judge_prompts", "JudgePromptBuilder ResponseParser")
_FACTORY = same_names(f"{_SHIM}.judge_servers", "ProviderFactory get_server")
_TRACKER = same_names(f"{_SHIM}.loggers", "EvaluationTracker")
_MCP = same_names(f"{_SHIM}.mcp", "MCPClient")
_VERIFIER = same_names(f"{_SHIM}.verifiers", "Verifier VerifyResult")
_EXTRACTOR = same_names(f"{_SHIM}.verifiers", "Extractor")
_VERDICT_WORDS = {"parse_binary_response": "polymeter.judge.verdict:read_correctness"}
_EXTRACTORS = same_names(
    f"{_SHIM}.verifiers", "MCQExtractor NumberExtractor RegexExtractor StripExtractor StripReasoningExtractor"
)
_RULES = same_names(
    f"{_SHIM}.verifiers", "ContainsVerifier ExactMatchVerifier MCQMatchVerifier NumericToleranceVerifier"
)
_COMPOSITE = same_names(f"{_SHIM}.verification", "CompositeVerifier")
_PIPELINE = same_names(f"{_SHIM}.verification", "VerificationPipeline")

_API: Mapping[str, str | Mapping[str, str]] = {
    "lmms_eval.api.filter": _FILTER,
    "lmms_eval.api.group": same_names(f"{_SHIM}.groups", "AggMetricConfig ConfigurableGroup GroupConfig"),
    "lmms_eval.api.instance": {
        **_INSTANCE,
        **same_names(f"{_HERE}.models.base", "GenerationOutput GenerationResult TokenCounts unwrap_generation_output"),
    },
    "lmms_eval.api.metrics": f"{_SHIM}.metrics",
    "lmms_eval.api.model": {
        **same_names(f"{_FAMILY}.models.base", "CacheHook"),
        **same_names(f"{_HERE}.models.base", "lmms"),
    },
    "lmms_eval.api.reasoning": same_names(f"{_SHIM}.filters", "parse_reasoning_tags_config strip_reasoning_tags"),
    "lmms_eval.api.registry": f"{_SHIM}.registry",
    "lmms_eval.api.samplers": f"{_SHIM}.samplers",
    "lmms_eval.api.task": {
        **_INSTANCE,
        **same_names(_TASK_CODE, "ConfigurableMessagesTask ConfigurableTask Task TaskConfig"),
    },
    "lmms_eval.filters": {
        **_FILTER,
        **same_names(f"{_SHIM}.filters", "FILTER_REGISTRY build_filter_ensemble get_filter"),
    },
    "lmms_eval.filters.extraction": {
        **same_names(_TASK_CODE, "ExtendedRegexFilter MultiChoiceRegexFilter RegexFilter WhitespaceFilter"),
        **same_names(f"{_SHIM}.filters", "SimpleMultiChoiceRegexFilter"),
    },
    "lmms_eval.filters.selection": same_names(_TASK_CODE, "MajorityVoteFilter TakeFirstFilter TakeKFilter"),
    "lmms_eval.filters.transformation": {
        **same_names(_TASK_CODE, "Filter LowercaseFilter MapFilter UppercaseFilter"),
        **same_names(f"{_SHIM}.filters", "StripThinkingFilter"),
    },
}

_JUDGES: Mapping[str, str | Mapping[str, str]] = {
    "lmms_eval.azure_openai_compat": same_names(
        f"{_SHIM}.judge_asking", "ChatCompletion ChatMessage Choice JudgeClient build_client has_endpoint_support"
    ),
    "lmms_eval.llm_judge": {**_SERVERS, **_FACTORY, **_QUESTIONS, **_CONFIG, **_JUDGE_TEXTS},
    "lmms_eval.llm_judge.asking": {
        **same_names("polymeter.judge.llm_judge", "ROLE"),
        **same_names(f"{_SHIM}.judge_asking", "ask_judge"),
    },
    "lmms_eval.llm_judge.base": {**_SERVERS, **_QUESTIONS, **_CONFIG, **_JUDGE_TEXTS, **_VERDICT},
    "lmms_eval.llm_judge.factory": {**_SERVERS, **_FACTORY, **_CONFIG},
    "lmms_eval.llm_judge.prompt": same_names(
        f"{_SHIM}.judge_prompts",
        "BINARY_JUDGE_PROMPT COMPARATIVE_JUDGE_PROMPT CORRECTNESS_JUDGE_PROMPT RUBRIC_JUDGE_PROMPT",
    ),
    "lmms_eval.llm_judge.protocol": {
        **_QUESTIONS,
        **_CONFIG,
        **same_names(f"{_SHIM}.judge_protocol", "DEFAULT_NUM_RETRIES DEFAULT_RETRY_DELAY"),
    },
    "lmms_eval.llm_judge.providers": {
        **_SERVERS,
        **_QUESTIONS,
        **same_names(
            f"{_SHIM}.judge_servers",
            "AsyncAzureOpenAIProvider AsyncOpenAIProvider AzureOpenAIProvider BedrockProvider DummyProvider "
            "LocalProvider OpenAIProvider",
        ),
    },
    **{
        f"lmms_eval.llm_judge.providers.{module}": same_names(f"{_SHIM}.judge_servers", name)
        for module, name in (
            ("async_azure_openai", "AsyncAzureOpenAIProvider"),
            ("async_openai", "AsyncOpenAIProvider"),
            ("azure_openai", "AzureOpenAIProvider"),
            ("bedrock", "BedrockProvider"),
            ("dummy", "DummyProvider"),
            ("local", "LocalProvider"),
            ("openai", "OpenAIProvider"),
        )
    },
    "lmms_eval.llm_judge.utils": _JUDGE_TEXTS,
    "lmms_eval.llm_judge.verdict": {**_VERDICT, **same_names(f"{_SHIM}.judge_protocol", "Response")},
    "lmms_eval.verifiers": {
        **_VERIFIER,
        **_EXTRACTOR,
        **_VERDICT_WORDS,
        **_EXTRACTORS,
        **_RULES,
        **_COMPOSITE,
        **_PIPELINE,
        **same_names(f"{_SHIM}.verification", "EXTRACTOR_REGISTRY VERIFIER_REGISTRY build_verification_pipeline"),
    },
    "lmms_eval.verifiers.base": {**_VERIFIER, **_EXTRACTOR, **_VERDICT_WORDS},
    "lmms_eval.verifiers.composite": {**_VERIFIER, **_COMPOSITE},
    "lmms_eval.verifiers.extractors": {
        **_EXTRACTOR,
        **_EXTRACTORS,
        **same_names(_LETTERS, "extract_mcq_answer"),
        **same_names(f"{_SHIM}.filters", "strip_reasoning_tags"),
    },
    "lmms_eval.verifiers.gemini": {
        **_VERIFIER,
        **_VERDICT_WORDS,
        **same_names(f"{_SHIM}.verification", "GeminiVerifier"),
    },
    "lmms_eval.verifiers.openai": {
        **_VERIFIER,
        **_VERDICT_WORDS,
        **same_names(f"{_SHIM}.verification", "OpenAIVerifier"),
        **same_names(f"{_SHIM}.judge_servers", "get_server"),
        **same_names(f"{_SHIM}.judge_protocol", "Request ServerConfig"),
        **same_names(f"{_SHIM}.judge_prompts", "ResponseParser"),
    },
    "lmms_eval.verifiers.pipeline": {**_VERIFIER, **_EXTRACTOR, **_PIPELINE},
    "lmms_eval.verifiers.rule": {**_VERIFIER, **_RULES},
}

_MODELS: Mapping[str, str | Mapping[str, str]] = {
    "lmms_eval.mcp": _MCP,
    "lmms_eval.mcp.client": _MCP,
    "lmms_eval.models": {"*": f"{_SHIM}.models"},
    "lmms_eval.models.chat": {},
    "lmms_eval.models.chat._chat_base": {
        **same_names(f"{_SHIM}.wrappers", "ChatMixin IMAGE_KWARGS VIDEO_KWARGS"),
        **same_names(f"{_SHIM}.protocol", "ChatMessages"),
        **same_names(f"{_SHIM}.batching", "Collator"),
    },
    "lmms_eval.models.model_utils.audio_processing": same_names(f"{_SHIM}.media", "downsample_audio split_audio"),
    "lmms_eval.models.model_utils.concurrency_control": f"{_SHIM}.concurrency",
    "lmms_eval.models.model_utils.efficiency_metrics": same_names(
        f"{_HERE}.files.efficiency", "build_efficiency_summary"
    ),
    "lmms_eval.models.model_utils.gen_metrics": same_names(
        f"{_SHIM}.figures",
        "GenMetrics calculate_token_throughput get_logged_metrics_history log_metrics reset_logged_metrics "
        "space_tokenizer summarize_logged_metrics",
    ),
    "lmms_eval.models.model_utils.load_video": same_names(
        f"{_SHIM}.media",
        "load_video_decord read_video read_video_pyav read_video_pyav_base64 read_video_pyav_pil",
    ),
    "lmms_eval.models.model_utils.media_encoder": same_names(
        f"{_SHIM}.media",
        "EncodeCache ImageInput encode_image_to_base64 encode_image_to_base64_with_size_limit encode_image_to_bytes "
        "encode_image_to_data_url",
    ),
    "lmms_eval.models.model_utils.parallel": same_names(f"{_SHIM}.wrappers", "ParallelPlan resolve_local_rank_device"),
    "lmms_eval.models.model_utils.progress": same_names(f"{_SHIM}.wrappers", "SlurmProgress make_progress"),
    "lmms_eval.models.model_utils.qwen.qwen_generate_utils": same_names(f"{_SHIM}.wrappers", "make_context"),
    "lmms_eval.models.model_utils.reasoning_model_utils": same_names(
        f"{_SHIM}.filters", "parse_reasoning_model_answer"
    ),
    "lmms_eval.models.model_utils.usage_metrics": same_names(
        f"{_SHIM}.figures",
        "get_running_totals is_budget_exceeded log_usage reset_usage_metrics set_budget set_task_context "
        "summarize_usage_metrics",
    ),
    "lmms_eval.models.registry_v2": same_names(f"{_SHIM}.models", "ModelManifest ModelRegistryV2 ResolvedModel"),
    "lmms_eval.models.simple": {},
}

_TASKS: Mapping[str, str | Mapping[str, str]] = {
    "lmms_eval.tasks": same_names(f"{_SHIM}.tasks", "TaskManager get_task_dict"),
    "lmms_eval.tasks._task_utils.default_template_yaml": same_names(f"{_SHIM}.files", "load_default_template_yaml"),
    "lmms_eval.tasks._task_utils.file_utils": same_names(f"{_SHIM}.files", "generate_submission_file"),
    "lmms_eval.tasks._task_utils.mcq_extract": same_names(_LETTERS, "extract_mcq_answer"),
    "lmms_eval.tasks._task_utils.media_resolver": same_names(f"{_SHIM}.files", "resolve_media_reference"),
    "lmms_eval.tasks._task_utils.mmmu_mcq_utils": same_names(
        _LETTERS,
        "get_multi_choice_info parse_jmmmu_multi_choice_response parse_jmmmu_pro_multi_choice_response "
        "parse_mmmu_multi_choice_response parse_videommmu_multi_choice_response",
    ),
    "lmms_eval.tasks._task_utils.reasoning_utils": f"{_SHIM}.reasoning",
    "lmms_eval.tasks._task_utils.vqa_eval_metric": same_names("polymeter.metrics.vqa", "EvalAIAnswerProcessor"),
    "lmms_eval.tasks.asr_wer_utils": same_names(
        _SPEECH, "DEFAULT_PUNCS EvaluationTokenizer Normalizer compute_wer remove_sp zhconv_convert"
    ),
    "lmms_eval.tasks.librispeech.cn_tn": same_names(
        "polymeter.metrics.chinese_speech", "TextNorm normalize_nsw num2chn"
    ),
    "lmms_eval.tasks.librispeech.whisper_normalizer.basic": same_names(
        _SPEECH, "ADDITIONAL_DIACRITICS BasicTextNormalizer remove_symbols remove_symbols_and_diacritics"
    ),
    "lmms_eval.tasks.librispeech.whisper_normalizer.english": same_names(
        _SPEECH, "EnglishNumberNormalizer EnglishSpellingNormalizer EnglishTextNormalizer"
    ),
    "lmms_eval.tasks.mmbench.mmbench_evals": f"{_SHIM}.mmbench",
}

LMMS_EVAL: Mapping[str, str | Mapping[str, str]] = {
    "lmms_eval": same_names(_SHIM, "__version__"),
    "lmms_eval.__main__": f"{_SHIM}.__main__",
    "lmms_eval.caching": {},
    "lmms_eval.cli": same_names(f"{_SHIM}.cli", "main"),
    "lmms_eval.cli.dispatch": same_names(f"{_SHIM}.cli", "main"),
    "lmms_eval.cli.power_utils": same_names(f"{_SHIM}.cli", "collect_task_sizes"),
    "lmms_eval.evaluator": f"{_SHIM}.evaluator",
    "lmms_eval.evaluator_utils": same_names(f"{_SHIM}.groups", "ConfigurableGroup get_sample_size get_subtask_list"),
    "lmms_eval.imports": f"{_SHIM}.imports",
    "lmms_eval.loggers": {**_TRACKER, **same_names(f"{_SHIM}.loggers", "SwanLabLogger WandbLogger")},
    "lmms_eval.loggers.evaluation_tracker": {
        **_TRACKER,
        **same_names(f"{_SHIM}.loggers", "GeneralConfigTracker"),
        **same_names(f"{_SHIM}.utils", "get_datetime_str handle_non_serializable hash_string sanitize_model_name"),
    },
    "lmms_eval.loggers.wandb_logger": same_names(f"{_SHIM}.loggers", "WandbLogger"),
    "lmms_eval.protocol": f"{_SHIM}.protocol",
    "lmms_eval.utils": f"{_SHIM}.utils",
    **_API,
    **_JUDGES,
    **_MODELS,
    **_TASKS,
}
