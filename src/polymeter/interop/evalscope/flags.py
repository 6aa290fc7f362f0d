"""The flags of ``polymeter evalscope eval``: EvalScope 0.17's, each a field of ``TaskConfig``, and ours that say where
things are. What is noted or refused of a field holds for it wherever a configuration comes from.
"""

from __future__ import annotations

from typing import Any

from polymeter.cli.foreign_flags import Flag, FlagTable, as_paths
from polymeter.cli.pairs import parse_places

_NO_EFFECT_THERE = "it has no effect in EvalScope either"

EVAL = FlagTable(
    "polymeter evalscope eval",
    "Measure a model on datasets with the options of EvalScope 0.17, and ours that say where things are.",
    (
        Flag("model", "text", "a checkpoint's id or folder, the model's name at --api-url, or a spec such as hf:ID"),
        Flag("model_id", "text", "its name in reports; default: the last part of --model"),
        Flag("model_args", "mapping", "arguments of the model: key=value,… or a JSON object"),
        Flag("model_task", "text", "text_generation or image_generation"),
        Flag("chat_template", "text", "a Jinja template, or the file of one"),
        Flag("datasets", "names", "benchmarks, separated by spaces"),
        Flag("dataset_args", "mapping", "by benchmark: what it should do otherwise; a JSON object"),
        Flag("dataset_dir", "text", "where a hub's files are kept"),
        Flag("dataset_hub", "text", "whose ids dataset ids are: modelscope or huggingface"),
        Flag("generation_config", "mapping", "generation settings: key=value,… or a JSON object"),
        Flag("eval_type", "text", "checkpoint or service"),
        Flag("eval_backend", "text", "Native; other evaluation tools are not called from here"),
        Flag("eval_config", "text", "a configuration of another evaluation tool, which is not called from here"),
        Flag("stage", "text", "all, infer (ask and score nothing) or review (score, and ask no model)"),
        Flag("limit", "float", "records of each subset; below 1 a share"),
        Flag("eval_batch_size", "int", "requests in a batch, or in flight at an endpoint; default: found by trying"),
        Flag("use_cache", "text", "a work folder to go on in"),
        Flag("work_dir", "text", "where work folders go; default ./outputs"),
        Flag("ignore_errors", "switch", "end with code 0 although samples failed"),
        Flag("debug", "switch", "show tracebacks"),
        Flag("seed", "int", "seed of the run; default 42"),
        Flag("api_url", "text", "an OpenAI-compatible endpoint"),
        Flag("api_key", "text", "its key, which reaches no file; better: the variable EVALSCOPE_API_KEY"),
        Flag("timeout", "float", "deadline of a request, in seconds"),
        Flag("judge_strategy", "text", "auto, rule, llm or llm_recall"),
        Flag("judge_model_args", "mapping", "the judge: api_url, api_key, model_id, and its prompts; a JSON object"),
        Flag("analysis_report", "switch", "the judge writes an analysis into each report"),
        Flag("stream", "switch", "answers are the same, and nothing here is measured token by token", "noted", False),
        Flag(
            "judge_worker_num",
            "int",
            "how many judge calls run at a time is found out, up to eval_batch_size",
            "noted",
            1,
        ),
        Flag("template_type", "text", f"{_NO_EFFECT_THERE}; chat_template takes a Jinja template", "refused"),
        Flag("mem_cache", "switch", f"{_NO_EFFECT_THERE}; use_cache names a folder to go on in", "refused", False),
        Flag("outputs", "text", f"{_NO_EFFECT_THERE}; work_dir says where results go", "refused"),
        Flag(
            "dry_run",
            "switch",
            "'polymeter check --prompts' shows what a benchmark asks, without a model",
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
    ),
)


def parse(words: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a ``TaskConfig`` that were given, and options of the run that say where things are.

    Raises:
        PlanError: if there is an unknown flag (the nearest known one is named), or a value has the wrong form.
    """
    given = EVAL.parse(words)
    ours = {flag.key for flag in EVAL.flags if flag.is_ours}
    fields = {key: value for key, value in given.items() if key not in ours}
    return fields, EVAL.options({key: value for key, value in given.items() if key in ours})
