"""The flags of lmms-eval's commands, as tables. A flag is done, noted (accepted without effect, with the reason) or
refused with the reason.
"""

from __future__ import annotations

from typing import Any

from polymeter.cli.foreign_flags import Flag, FlagTable, Kind
from polymeter.interop.lm_family.flags import flag, parity_flag

PROGRAM = "polymeter lmms-eval"
LISTINGS = ("list", "list_groups", "list_tags", "list_subtasks")


def _noted(name: str, kind: Kind, default: Any, why: str, *more: str, choices: tuple[str, ...] = ()) -> Flag:
    return flag(name, kind, default, why, *more, fate="noted", choices=choices)


def _refused(name: str, kind: Kind, default: Any, why: str) -> Flag:
    return flag(name, kind, default, why, fate="refused")


_NO_SWANLAB = "there is no tracker for SwanLab; --wandb_args has one, and 'polymeter log' lists the others"

EVAL = FlagTable(
    PROGRAM,
    "Evaluate models with the options of lmms-eval.",
    (
        flag(
            "--config",
            "text",
            "",
            "a YAML file with these options: a mapping, or a list of mappings that run one after another",
        ),
        flag("--model", "text", "hf", "the model: one of Polymeter's, or the name of an lmms class"),
        flag(
            "--model_path",
            "text",
            None,
            "the file or package that defines the lmms class",
            "--model-path",
            is_ours=True,
        ),
        flag(
            "--tasks",
            "text",
            None,
            "tasks, groups, tags, globs or folders, separated by commas; or list, list_groups, …",
        ),
        flag("--model_args", "text", "", "arguments of the model: key=value,…"),
        flag("--num_fewshot", "int", None, "number of few-shot examples, in place of the tasks' own"),
        flag("--batch_size", "text", "1", "requests in a batch, or auto", "-b"),
        flag("--device", "text", None, "the device to run on, for models that take one"),
        flag("--output_path", "text", None, "the folder for lmms-eval's files and Polymeter's run folder"),
        flag("--limit", "float", None, "samples of each task; a number below 1 is a fraction, -1 means all"),
        flag("--offset", "int", 0, "samples of each task to skip at its start"),
        flag(
            "--use_cache",
            "text",
            None,
            "a folder that keeps the run, so that the same command repeats no request",
            "-c",
        ),
        flag("--log_samples", "switch", False, "write the sample files (needs --output_path)"),
        flag("--system_instruction", "text", None, "a system message, or a file that contains it"),
        flag("--show_config", "switch", False, "print the configuration of every task at the end"),
        flag("--include_path", "text", None, "a folder of tasks"),
        flag("--gen_kwargs", "text", "", "generation settings that override the tasks': key=value,…"),
        flag("--reasoning_tags", "text", None, "pairs of tags around reasoning, as JSON, or none"),
        flag("--verbosity", "text", "INFO", "WARNING and above hide progress; DEBUG shows tracebacks"),
        flag("--timezone", "text", "Asia/Singapore", "the time zone of the times in file names"),
        flag("--predict_only", "switch", False, "keep the answers and compute no metric (needs --output_path)", "-x"),
        flag("--seed", "text", "0,1234,1234,1234", "seeds; a run uses one, the first"),
        flag("--process_with_media", "switch", False, "give process_results the row with its media"),
        flag(
            "--force_simple", "switch", False, "use doc_to_text and doc_to_visual even where a task has doc_to_messages"
        ),
        flag(
            "--strict_resume",
            "switch",
            False,
            "refuse to continue a run whose endpoint, task sources or Polymeter code changed",
            "--strict-resume",
            is_ours=True,
        ),
        parity_flag("lmms-eval"),
        flag("--repeats", "int", 1, "how many times to ask every question", "-n", "--num_samples"),
        flag(
            "--baseline", "text", None, "a sample file, or a folder of sample files, to compare with by a paired t-test"
        ),
        flag(
            "--power-analysis",
            "switch",
            False,
            "report how many samples are needed to show a difference, and evaluate nothing",
        ),
        flag("--effect-size", "float", 0.03, "power analysis: the difference to show"),
        flag("--alpha", "float", 0.05, "power analysis: probability of seeing a difference that does not exist"),
        flag("--power", "float", 0.8, "power analysis: probability of seeing the difference"),
        flag("--correlation", "float", 0.5, "power analysis: correlation of the two models' scores"),
        flag("--std-a", "float", None, "power analysis: standard deviation of one model's scores"),
        flag("--std-b", "float", None, "power analysis: standard deviation of the other model's scores"),
        _noted("--max_batch_size", "int", None, "the engine fills batches up to the model's own size"),
        _noted(
            "--cache_requests",
            "text",
            None,
            "prompts are built while the model computes, so there is nothing to cache",
            choices=("true", "refresh", "delete"),
        ),
        _noted("--check_integrity", "switch", False, "every run checks its tasks first; see also 'polymeter check'"),
        _noted(
            "--write_out", "switch", False, "deprecated in lmms-eval; 'polymeter check --prompts' shows prompts", "-w"
        ),
        _noted("--log_samples_suffix", "text", "model_outputs", "lmms-eval uses it in no file name either"),
        _noted("--apply_chat_template", "switch", False, "every chat model gets its own template"),
        _noted("--trust_remote_code", "switch", False, "lmms-eval never reads it; dataset_kwargs of the task decide"),
        _noted("--agentic_trace_mode", "text", "basic", "the run folder keeps every round", choices=("basic", "full")),
        _refused("--fewshot_as_multiturn", "switch", False, "the examples and the question form one turn"),
        _refused(
            "--launcher_args", "text", None, "Polymeter starts no judge; start one and name it in the environment"
        ),
        _refused("--max_tokens", "int", None, "a token budget would leave samples without an answer; use --limit"),
        flag("--wandb_args", "text", "", "send the run to Weights & Biases: arguments of wandb.init, key=value,…"),
        flag("--wandb_log_samples", "switch", False, "send the samples there too"),
        flag(
            "--hf_hub_log_args",
            "text",
            "",
            "push the run to the Hugging Face Hub: hub_results_org=…,push_results_to_hub=True,…",
        ),
        _refused("--swanlab_args", "text", "", _NO_SWANLAB),
        _refused("--swanlab_log_samples", "switch", False, _NO_SWANLAB),
        _refused("--tui", "switch", False, "there is no text interface; the HTML report shows every sample"),
    ),
    takes_prefixes=True,
)
"""``eval``, and options without a command."""

TASKS = FlagTable(
    f"{PROGRAM} tasks",
    "List tasks, groups, tags or single tasks.",
    (
        Flag(
            "action",
            "text",
            "what to list",
            default="list",
            spellings=("action",),
            choices=("list", "groups", "subtasks", "tags", *LISTINGS[1:]),
        ),
        Flag("include_path", "text", "a folder of tasks"),
        Flag("verbosity", "text", "listings have only one verbosity", "noted"),
    ),
    takes_prefixes=True,
)

MODELS = FlagTable(
    f"{PROGRAM} models",
    "List models.",
    (Flag("aliases", "switch", "the listing always shows every name", "noted", default=False),),
    takes_prefixes=True,
)
