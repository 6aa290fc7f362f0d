"""The flags of ``polymeter evalscope eval``: those of both generations of EvalScope, each a field of ``TaskConfig``,
and ours, which name files and folders. A field that is noted or refused here is so wherever a configuration comes from.
"""

from __future__ import annotations

from typing import Any

from polymeter.cli.foreign_flags import Flag, FlagTable, as_paths
from polymeter.cli.pairs import parse_places

OWN_WALLS = "generated code runs in Polymeter's own walls, with --allow-generated-code"
_NO_EFFECT_THERE = "it has no effect in EvalScope either"

EVAL = FlagTable(
    "polymeter evalscope eval",
    "Evaluate a model on datasets, with the options of EvalScope 0.17 and 1.x.",
    (
        Flag("model", "text", "a checkpoint's id or folder, the model's name at --api-url, or a spec such as hf:ID"),
        Flag("model_id", "text", "its name in reports; default: the last part of --model"),
        Flag("model_args", "mapping", "arguments of the model: key=value,… or a JSON object"),
        Flag("model_task", "text", "text_generation or image_generation"),
        Flag("chat_template", "text", "a Jinja template, or a file that contains one"),
        Flag("datasets", "names", "benchmarks, separated by spaces"),
        Flag("dataset_args", "mapping", "settings of each benchmark, by its name: a JSON object"),
        Flag("dataset_dir", "text", "the folder for files from a hub"),
        Flag("dataset_hub", "text", "the hub that dataset ids belong to: modelscope or huggingface"),
        Flag("generation_config", "mapping", "generation settings: key=value,… or a JSON object"),
        Flag("eval_type", "text", "checkpoint or service; of 1.x: llm_ckpt, openai_api, anthropic_api, mock_llm, …"),
        Flag("eval_backend", "text", "Native; Polymeter does not call other evaluation tools"),
        Flag("eval_config", "text", "refused: the configuration of another evaluation tool"),
        Flag("stage", "text", "all, infer (answer, but score nothing) or review (score existing answers)"),
        Flag("limit", "float", "records of each subset; a number below 1 is a fraction"),
        Flag("eval_batch_size", "int", "requests in a batch, or in flight at an endpoint; default: adaptive"),
        Flag("use_cache", "text", "a work folder to resume in"),
        Flag("work_dir", "text", "the folder for work folders; default: ./outputs"),
        Flag("ignore_errors", "switch", "exit with code 0 even if samples failed"),
        Flag("debug", "switch", "show tracebacks"),
        Flag("seed", "int", "seed of the run; default: 42"),
        Flag("api_url", "text", "an OpenAI-compatible endpoint"),
        Flag("api_key", "text", "the endpoint's key, written to no file; safer: the variable EVALSCOPE_API_KEY"),
        Flag("timeout", "float", "time limit of a request, in seconds"),
        Flag("judge_strategy", "text", "auto, rule, llm or llm_recall"),
        Flag("judge_model_args", "mapping", "the judge: api_url, api_key, model_id, and its prompts; a JSON object"),
        Flag("judge", "mapping", "the judge as 1.x states it: strategy, models, contract, …; a JSON object"),
        Flag("repeats", "int", "how many times each question is asked; default: 1"),
        Flag("rerun_review", "switch", "score the answers in --use-cache again"),
        Flag("no_timestamp", "switch", "write into --work-dir itself"),
        Flag("sandbox", "mapping", "settings that benchmarks of generated code read; a JSON object"),
        Flag("analysis_report", "switch", "let the judge write an analysis into each report"),
        Flag("stream", "switch", "answers are the same, and Polymeter measures nothing token by token", "noted", False),
        Flag(
            "judge_worker_num",
            "int",
            "the number of concurrent judge calls is adaptive, up to eval_batch_size",
            "noted",
            1,
        ),
        Flag("enable_progress_tracker", "switch", "a run's folder always shows its progress", "noted", False),
        Flag("collect_perf", "switch", "latency and tokens are always recorded", "noted", True),
        Flag("no_collect_perf", "switch", "latency and tokens are always recorded", "noted", False),
        Flag("use_sandbox", "switch", OWN_WALLS, "noted", False),
        Flag("sandbox_type", "text", OWN_WALLS, "noted"),
        Flag("sandbox_manager_config", "mapping", OWN_WALLS, "noted"),
        Flag("evalscope_version", "text", "it names the version that wrote the configuration", "noted"),
        Flag("agent_config", "mapping", "Polymeter runs no agents of EvalScope", "refused"),
        Flag("template_type", "text", f"{_NO_EFFECT_THERE}; chat_template takes a Jinja template", "refused"),
        Flag("mem_cache", "switch", f"{_NO_EFFECT_THERE}; use_cache names a folder to resume in", "refused", False),
        Flag("outputs", "text", f"{_NO_EFFECT_THERE}; work_dir names the folder for results", "refused"),
        Flag(
            "dry_run",
            "switch",
            "'polymeter check --prompts' shows a benchmark's prompts without a model",
            "refused",
            False,
        ),
        Flag(
            "include_path",
            "repeated",
            "a folder of benchmarks (repeatable)",
            sets="include_paths",
            convert=as_paths,
            is_ours=True,
        ),
        Flag(
            "data",
            "repeated",
            "ID=PATH: local files in place of a dataset (repeatable)",
            convert=parse_places,
            is_ours=True,
        ),
        Flag(
            "weights",
            "repeated",
            "ID=PATH: local files in place of a model id (repeatable)",
            convert=parse_places,
            is_ours=True,
        ),
        Flag("allow_generated_code", "switch", "let benchmarks run code that the model writes", is_ours=True),
        Flag(
            "parity",
            "text",
            "take this system's values where Polymeter differs from it on purpose: evalscope for this one's",
            is_ours=True,
        ),
        Flag(
            "strict_resume",
            "switch",
            "refuse to continue a run whose endpoint, task sources or Polymeter code changed",
            default=False,
            sets="is_strict_resume",
            is_ours=True,
        ),
    ),
)


def parse(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse the fields of a ``TaskConfig``, and options of the run that name files and folders.

    Raises:
        PlanError: if a flag is unknown (the message suggests the nearest one), or a value is invalid.
    """
    given = EVAL.parse(words)
    ours = {flag.key for flag in EVAL.flags if flag.is_ours}
    fields = {key: value for key, value in given.items() if key not in ours}
    if fields.pop("no_collect_perf", False):
        fields["collect_perf"] = False
    return fields, EVAL.options({key: value for key, value in given.items() if key in ours})
