"""The flags of lmms-eval's commands, as tables: each does what its name says, is accepted because nothing is lost, or
is refused with the reason.
"""

from __future__ import annotations

from typing import Any

from polymeter.cli.foreign_flags import Fate, Flag, FlagTable, Kind

PROGRAM = "polymeter lmms-eval"
LISTINGS = ("list", "list_groups", "list_tags", "list_subtasks")


def _flag(
    name: str,
    kind: Kind,
    default: Any,
    text: str,
    *more: str,
    fate: Fate = "done",
    choices: tuple[str, ...] = (),
) -> Flag:
    """A flag, which is written in one way: most of lmms-eval's have underscores, a few have hyphens."""
    key = name.lstrip("-").replace("-", "_")
    return Flag(key, kind, text, fate, default, (name, *more), choices, is_ours=key == "model_path")


def _noted(name: str, kind: Kind, default: Any, why: str, *more: str, choices: tuple[str, ...] = ()) -> Flag:
    return _flag(name, kind, default, why, *more, fate="noted", choices=choices)


def _refused(name: str, kind: Kind, default: Any, why: str) -> Flag:
    return _flag(name, kind, default, why, fate="refused")


_ELSEWHERE = "results are written to files and sent nowhere; send those"

EVAL = FlagTable(
    PROGRAM,
    "Measure models with the options of lmms-eval.",
    (
        _flag(
            "--config",
            "text",
            "",
            "a YAML file with these options: a mapping, or a list of them, run in turn",
        ),
        _flag("--model", "text", "hf", "the model: one of ours, or the name of an lmms class"),
        _flag("--model_path", "text", None, "the file or package that defines the lmms class", "--model-path"),
        _flag("--tasks", "text", None, "tasks, groups, tags, globs or folders, with commas; or list, list_groups, …"),
        _flag("--model_args", "text", "", "arguments of the model: key=value,…"),
        _flag("--num_fewshot", "int", None, "few-shot examples, in place of the tasks' own"),
        _flag("--batch_size", "text", "1", "requests in a batch, or auto", "-b"),
        _flag("--device", "text", None, "where the model runs, for models that take one"),
        _flag("--output_path", "text", None, "where lmms-eval's files go, and our run folder beside them"),
        _flag("--limit", "float", None, "samples of each task; below 1 a share, -1 all"),
        _flag("--offset", "int", 0, "samples of each task to leave out at its start"),
        _flag("--use_cache", "text", None, "a folder that keeps the run: the same command asks nothing twice", "-c"),
        _flag("--log_samples", "switch", False, "write the sample files (needs --output_path)"),
        _flag("--system_instruction", "text", None, "a system message, or a file that holds it"),
        _flag("--show_config", "switch", False, "show the configuration of all tasks at the end"),
        _flag("--include_path", "text", None, "a folder of tasks"),
        _flag("--gen_kwargs", "text", "", "generation settings that win over the tasks': key=value,…"),
        _flag("--reasoning_tags", "text", None, "pairs of tags in JSON around reasoning, or none"),
        _flag("--verbosity", "text", "INFO", "WARNING and above: no progress; DEBUG: tracebacks"),
        _flag("--timezone", "text", "Asia/Singapore", "the time zone of the file names"),
        _flag("--predict_only", "switch", False, "keep the answers and compute no metric (needs --output_path)", "-x"),
        _flag("--seed", "text", "0,1234,1234,1234", "seeds; a run has one, the first"),
        _flag("--process_with_media", "switch", False, "give process_results the row with its media"),
        _flag("--force_simple", "switch", False, "use doc_to_text and doc_to_visual even beside doc_to_messages"),
        _flag("--repeats", "int", 1, "ask every question so many times", "-n", "--num_samples"),
        _flag("--baseline", "text", None, "a sample file, or a folder of them, for a paired t-test"),
        _flag("--power-analysis", "switch", False, "say how many samples a difference needs, and measure nothing"),
        _flag("--effect-size", "float", 0.03, "power analysis: the difference to show"),
        _flag("--alpha", "float", 0.05, "power analysis: chance of seeing a difference where there is none"),
        _flag("--power", "float", 0.8, "power analysis: chance of seeing the difference"),
        _flag("--correlation", "float", 0.5, "power analysis: between the two models' scores"),
        _flag("--std-a", "float", None, "power analysis: standard deviation of one model's scores"),
        _flag("--std-b", "float", None, "power analysis: and of the other's"),
        _noted("--max_batch_size", "int", None, "the engine fills batches up to the model's own size"),
        _noted(
            "--cache_requests",
            "text",
            None,
            "prompts are made while the model computes, so there is nothing to cache",
            choices=("true", "refresh", "delete"),
        ),
        _noted("--check_integrity", "switch", False, "every run checks its tasks first; see also 'polymeter check'"),
        _noted("--write_out", "switch", False, "deprecated there; 'polymeter check --prompts' shows prompts", "-w"),
        _noted("--log_samples_suffix", "text", "model_outputs", "no file name has it there either"),
        _noted("--apply_chat_template", "switch", False, "every chat model gets its own template"),
        _noted("--trust_remote_code", "switch", False, "never read there; here dataset_kwargs of the task decide"),
        _noted("--agentic_trace_mode", "text", "basic", "the run folder keeps every round", choices=("basic", "full")),
        _refused("--fewshot_as_multiturn", "switch", False, "examples and question make one turn"),
        _refused("--launcher_args", "text", None, "no judge is started here; start one and name it in the environment"),
        _refused("--max_tokens", "int", None, "a token budget would leave samples without an answer; use --limit"),
        _refused("--wandb_args", "text", "", _ELSEWHERE),
        _refused("--wandb_log_samples", "switch", False, _ELSEWHERE),
        _refused("--swanlab_args", "text", "", _ELSEWHERE),
        _refused("--swanlab_log_samples", "switch", False, _ELSEWHERE),
        _refused("--hf_hub_log_args", "text", "", _ELSEWHERE),
        _refused("--tui", "switch", False, "there is no text interface; the report page shows every sample"),
    ),
    takes_prefixes=True,
)
"""``eval``, and options that stand alone."""

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
        Flag("verbosity", "text", "a listing has one verbosity", "noted"),
    ),
    takes_prefixes=True,
)

MODELS = FlagTable(
    f"{PROGRAM} models",
    "List models.",
    (Flag("aliases", "switch", "a listing shows every name", "noted", default=False),),
    takes_prefixes=True,
)
