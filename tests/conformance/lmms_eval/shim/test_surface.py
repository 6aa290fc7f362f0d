"""Every name that tasks of lmms-eval import from outside their own folder is there, under its foreign dotted name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polymeter.guests import FunctionRef, resolve

SURFACE = {
    "lmms_eval": "utils",
    "lmms_eval.utils": "eval_logger sanitize_model_name resolve_cache_dir get_dtype chunks Collator Reorderer "
    "simple_parse_args_string make_table handle_non_serializable stop_sequences_criteria pad_and_concat",
    "lmms_eval.llm_judge": "get_server ServerConfig Request Response",
    "lmms_eval.llm_judge.protocol": "ServerConfig Request Response",
    "lmms_eval.filters": "Filter",
    "lmms_eval.filters.extraction": "ExtendedRegexFilter RegexFilter MultiChoiceRegexFilter",
    "lmms_eval.filters.transformation": "MapFilter LowercaseFilter UppercaseFilter",
    "lmms_eval.filters.selection": "TakeFirstFilter TakeKFilter MajorityVoteFilter",
    "lmms_eval.verifiers": "VerificationPipeline VerifyResult build_verification_pipeline",
    "lmms_eval.verifiers.openai": "OpenAIVerifier",
    "lmms_eval.verifiers.extractors": "StripReasoningExtractor RegexExtractor MCQExtractor NumberExtractor",
    "lmms_eval.azure_openai_compat": "build_client has_endpoint_support",
    "lmms_eval.api.registry": "register_metric register_aggregation register_filter register_model",
    "lmms_eval.api.metrics": "levenshtein_distance anls mean",
    "lmms_eval.api.task": "ConfigurableTask ConfigurableMessagesTask Task",
    "lmms_eval.api.instance": "Instance GenerationResult TokenCounts",
    "lmms_eval.api.model": "lmms CacheHook",
    "lmms_eval.api.group": "ConfigurableGroup GroupConfig",
    "lmms_eval.api.filter": "Filter FilterEnsemble",
    "lmms_eval.evaluator_utils": "get_subtask_list",
    "lmms_eval.loggers.evaluation_tracker": "GeneralConfigTracker",
    "lmms_eval.protocol": "ChatMessages",
    "lmms_eval.tasks._task_utils.file_utils": "generate_submission_file",
    "lmms_eval.tasks._task_utils.reasoning_utils": "make_reasoning_doc_to_messages compute_score extract_anwser_tag "
    "format_reward make_reasoning_process_results",
    "lmms_eval.tasks._task_utils.mmmu_mcq_utils": "get_multi_choice_info parse_mmmu_multi_choice_response",
    "lmms_eval.tasks._task_utils.mcq_extract": "extract_mcq_answer",
    "lmms_eval.tasks._task_utils.default_template_yaml": "load_default_template_yaml",
    "lmms_eval.tasks._task_utils.media_resolver": "resolve_media_reference",
    "lmms_eval.tasks._task_utils.vqa_eval_metric": "EvalAIAnswerProcessor",
    "lmms_eval.tasks.asr_wer_utils": "compute_wer remove_sp EvaluationTokenizer zhconv_convert",
    "lmms_eval.tasks.librispeech.cn_tn": "TextNorm",
    "lmms_eval.tasks.librispeech.whisper_normalizer.basic": "BasicTextNormalizer",
    "lmms_eval.tasks.librispeech.whisper_normalizer.english": "EnglishTextNormalizer",
    "lmms_eval.tasks.mmbench.mmbench_evals": "MMBench_Evaluator",
    "lm_eval.api.registry": "register_metric register_aggregation",
    "lm_eval.api.filter": "Filter",
}


NEEDED = {"lm_eval": [pytest.mark.needs_system("lm_eval")]}
"""What tests of modules need besides lmms-eval, by their package."""


@pytest.mark.parametrize(
    "module", [pytest.param(module, marks=NEEDED.get(module.partition(".")[0], [])) for module in SURFACE]
)
def test_a_guest_can_import_it(module: str, tmp_path: Path) -> None:
    names = SURFACE[module].split()
    (tmp_path / "utils.py").write_text(
        f"import {module}\nfrom {module} import {', '.join(names)}\n\n"
        f"def found():\n    return [{', '.join(names)}], {module}\n"
    )
    ref = FunctionRef("utils", "found", tmp_path, tmp_path / "t.yaml", 1)
    values, whole = resolve(ref)()
    assert [getattr(whole, name) for name in names] == values
    assert all(value is not None for value in values)


def test_importing_all_of_it_is_light_and_leaves_nothing_behind() -> None:
    script = """
import json, os, socket, sys, warnings
before = dict(os.environ), list(warnings.filters), socket.getdefaulttimeout(), list(sys.path)
from polymeter.guests.shims.tables import ShimNames
from polymeter.guests.shims.finder import switch_on_shims
switch_on_shims()
for name in sorted(ShimNames().modules("lmms_eval")):
    exec(f"from {name} import *", {})
after = dict(os.environ), list(warnings.filters), socket.getdefaulttimeout(), list(sys.path)
known = ("torch", "transformers", "datasets", "pandas", "openai", "sacrebleu", "sklearn")
heavy = [name for name in known if name in sys.modules]
print(json.dumps({"heavy": heavy, "same": [a == b for a, b in zip(before, after)]}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"heavy": [], "same": [True] * 4}
