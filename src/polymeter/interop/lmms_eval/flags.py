"""The options of lmms-eval's command line, as a table: each does what its name says, is accepted because nothing is
lost, or is refused with the reason.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Literal

from polymeter.cli.foreign import Parser
from polymeter.core.errors import PlanError

Kind = Literal["text", "int", "float", "switch"]
Fate = Literal["done", "harmless", "refused"]
WHERE = "polymeter lmms-eval"


@dataclass(frozen=True, slots=True)
class Flag:
    """One option.

    Attributes:
        names: As written, the long form first.
        kind: What it takes.
        default: What holds when it is not given.
        text: What it does; for one that is not done, why.
        fate: What becomes of it.
        choices: What it may be, where that is a list.
    """

    names: tuple[str, ...]
    kind: Kind
    default: Any
    text: str
    fate: Fate = "done"
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in a configuration file."""
        return self.names[0].lstrip("-").replace("-", "_")


def _done(name: str, kind: Kind, default: Any, text: str, *more: str, choices: tuple[str, ...] = ()) -> Flag:
    return Flag((name, *more), kind, default, text, "done", choices)


def _harmless(name: str, kind: Kind, default: Any, reason: str, *more: str, choices: tuple[str, ...] = ()) -> Flag:
    return Flag((name, *more), kind, default, reason, "harmless", choices)


def _refused(name: str, kind: Kind, default: Any, reason: str, *more: str) -> Flag:
    return Flag((name, *more), kind, default, reason, "refused")


_ELSEWHERE = "results are written to files and sent nowhere; send those"

FLAGS: tuple[Flag, ...] = (
    _done(
        "--config", "text", "", "a YAML file with these options: a mapping, or a list of them, run one after another"
    ),
    _done("--model", "text", "hf", "the model: one of ours, or the name of an lmms class"),
    _done("--model_path", "text", None, "the file or package that defines the lmms class", "--model-path"),
    _done("--tasks", "text", None, "tasks, groups, tags, globs or folders, parted by commas; or list, list_groups, …"),
    _done("--model_args", "text", "", "arguments of the model: key=value,…"),
    _done("--num_fewshot", "int", None, "few-shot examples, in place of the tasks' own"),
    _done("--batch_size", "text", "1", "requests in a batch, or auto", "-b"),
    _done("--device", "text", None, "where the model runs, for models that take one"),
    _done("--output_path", "text", None, "where lmms-eval's files go, and our run folder beside them"),
    _done("--limit", "float", None, "samples of each task; below 1 a share, -1 all"),
    _done("--offset", "int", 0, "samples of each task to leave out at its start"),
    _done("--use_cache", "text", None, "a folder that keeps the run: the same command asks nothing twice", "-c"),
    _done("--log_samples", "switch", False, "write the sample files (needs --output_path)"),
    _done("--system_instruction", "text", None, "a system message, or a file that holds it"),
    _done("--show_config", "switch", False, "show the configuration of all tasks at the end"),
    _done("--include_path", "text", None, "a folder of tasks"),
    _done("--gen_kwargs", "text", "", "generation settings that win over the tasks': key=value,…"),
    _done("--reasoning_tags", "text", None, "pairs of tags in JSON around reasoning, or none"),
    _done("--verbosity", "text", "INFO", "WARNING and above: no progress; DEBUG: tracebacks"),
    _done("--timezone", "text", "Asia/Singapore", "the time zone of the file names"),
    _done("--predict_only", "switch", False, "keep the answers and compute no metric (needs --output_path)", "-x"),
    _done("--seed", "text", "0,1234,1234,1234", "seeds; a run has one, the first"),
    _done("--process_with_media", "switch", False, "give process_results the row with its media"),
    _done("--force_simple", "switch", False, "use doc_to_text and doc_to_visual where there is doc_to_messages too"),
    _done("--repeats", "int", 1, "ask every question so many times", "-n", "--num_samples"),
    _done("--baseline", "text", None, "a sample file, or a folder of them, for a paired t-test"),
    _done("--power-analysis", "switch", False, "say how many samples a difference needs, and measure nothing"),
    _done("--effect-size", "float", 0.03, "power analysis: the difference to show"),
    _done("--alpha", "float", 0.05, "power analysis: chance of seeing a difference where there is none"),
    _done("--power", "float", 0.8, "power analysis: chance of seeing the difference"),
    _done("--correlation", "float", 0.5, "power analysis: between the two models' scores"),
    _done("--std-a", "float", None, "power analysis: standard deviation of one model's scores"),
    _done("--std-b", "float", None, "power analysis: and of the other's"),
    _harmless("--max_batch_size", "int", None, "the engine fills batches up to the model's own size"),
    _harmless(
        "--cache_requests",
        "text",
        None,
        "prompts are made while the model computes, so there is nothing to cache",
        choices=("true", "refresh", "delete"),
    ),
    _harmless("--check_integrity", "switch", False, "every run checks its tasks first; see also 'polymeter check'"),
    _harmless("--write_out", "switch", False, "deprecated there; 'polymeter check --prompts' shows prompts", "-w"),
    _harmless("--log_samples_suffix", "text", "model_outputs", "no file name has it there either"),
    _harmless("--apply_chat_template", "switch", False, "every chat model gets its own template"),
    _harmless("--trust_remote_code", "switch", False, "never read there; here dataset_kwargs of the task decide"),
    _harmless(
        "--agentic_trace_mode",
        "text",
        "basic",
        "the run folder keeps every round",
        choices=("basic", "full"),
    ),
    _refused("--fewshot_as_multiturn", "switch", False, "examples and question make one turn"),
    _refused("--launcher_args", "text", None, "no judge is started here; start one and name it in the environment"),
    _refused("--max_tokens", "int", None, "a token budget would leave samples without an answer; use --limit"),
    _refused("--wandb_args", "text", "", _ELSEWHERE),
    _refused("--wandb_log_samples", "switch", False, _ELSEWHERE),
    _refused("--swanlab_args", "text", "", _ELSEWHERE),
    _refused("--swanlab_log_samples", "switch", False, _ELSEWHERE),
    _refused("--hf_hub_log_args", "text", "", _ELSEWHERE),
    _refused("--tui", "switch", False, "there is no text interface; the report page shows every sample"),
)
_TYPES: dict[Kind, type] = {"text": str, "int": int, "float": float, "switch": bool}
BY_KEY = {flag.key: flag for flag in FLAGS}


def make_parser() -> Parser:
    """The parser of ``eval`` and of the flat form. Options that are not given are absent from what it parses."""
    parser = Parser(prog=WHERE, argument_default=argparse.SUPPRESS, description=__doc__, add_help=True)
    sections = {
        "done": parser.add_argument_group("options"),
        "harmless": parser.add_argument_group("accepted, without effect"),
        "refused": parser.add_argument_group("refused"),
    }
    for flag in FLAGS:
        help_text = flag.text.replace("%", "%%")
        if flag.kind == "switch":
            sections[flag.fate].add_argument(*flag.names, dest=flag.key, action="store_true", help=help_text)
        else:
            sections[flag.fate].add_argument(
                *flag.names, dest=flag.key, type=_TYPES[flag.kind], choices=flag.choices or None, help=help_text
            )
    return parser


def parse(words: list[str]) -> dict[str, Any]:
    """The options that were given, by key.

    Raises:
        PlanError: An unknown option (the nearest known one is named), or a value of the wrong type.
    """
    return vars(make_parser().parse_all(words, [name for flag in FLAGS for name in flag.names]))


def defaults() -> dict[str, Any]:
    """The value of every option that is not given."""
    return {flag.key: flag.default for flag in FLAGS}


def check_type(key: str, value: Any, where: str) -> Any:
    """A value from a configuration file, of its option's type.

    Raises:
        PlanError: It is of another type, or none of those that the option may have.
    """
    flag = BY_KEY[key]
    if value is None:
        return flag.default
    if flag.kind == "switch" and not isinstance(value, bool):
        raise PlanError(f"{key!r} must be true or false, not {value!r}.", where=where)
    if flag.kind == "text" and isinstance(value, (list, tuple)):
        value = ",".join(str(item) for item in value)
    elif flag.kind == "text" and isinstance(value, dict):
        value = ",".join(f"{name}={item}" for name, item in value.items())
    try:
        made = _TYPES[flag.kind](value)
    except (TypeError, ValueError):
        raise PlanError(f"{key!r} must be a {flag.kind}, not {value!r}.", where=where) from None
    if flag.choices and made not in flag.choices:
        raise PlanError(f"{key!r} must be one of {', '.join(flag.choices)}, not {value!r}.", where=where)
    return made


def notes_on(given: dict[str, Any]) -> list[str]:
    """What to say of given options that have no effect.

    Raises:
        PlanError: One of them is refused.
    """
    notes = []
    for key, value in given.items():
        flag = BY_KEY[key]
        if value == flag.default or flag.fate == "done":
            continue
        if flag.fate == "refused":
            raise PlanError(f"{flag.names[0]} cannot be used here: {flag.text}.", where=WHERE)
        notes.append(f"{flag.names[0]} has no effect: {flag.text}.")
    return notes
