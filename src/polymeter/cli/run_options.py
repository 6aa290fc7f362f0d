"""Flags of ``polymeter run`` that are not options of a run: what to measure, and what happens afterwards."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from polymeter.cli.completion import model_names, task_names

_WHAT = "What to measure"
_HOW = "Settings that can change results"
_SPEED = "Speed and failures"
_OUTPUT = "Output"


class LogprobTemplates(str, Enum):
    """The template in front of continuations for log-probabilities."""

    AUTO = "auto"
    CHAT = "chat"
    NONE = "none"


def _option(*names: str, help: str, panel: str, metavar: str | None = None, **rules: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=False, **rules)


Model = Annotated[
    str,
    _option(
        "--model",
        "-m",
        help="The model: ocr, mock, backend:name.",
        panel=_WHAT,
        metavar="SPEC",
        autocompletion=model_names,
    ),
]
Tasks = Annotated[
    list[str],
    _option(
        "--tasks",
        "-t",
        help="Names, globs, groups or tags of tasks, or paths of YAML and Python files, tables (.csv, .tsv, .xlsx, "
        ".jsonl, .json, .parquet) and folders, separated by commas. FILE::NAME is one task of a file. If a task and "
        "a folder share a name, ./NAME is the folder.",
        panel=_WHAT,
        metavar="NAMES",
        autocompletion=task_names,
    ),
]
ModelPath = Annotated[
    str, _option("--model-path", help="File or package that defines the model.", panel=_WHAT, metavar="FILE")
]
ModelArgs = Annotated[
    list[str] | None,
    _option("--model-args", "-a", help="Arguments for the model: key=value,…", panel=_WHAT, metavar="PAIRS"),
]
BaseURL = Annotated[
    str | None,
    _option(
        "--base-url",
        help="Address of the model's endpoint, up to /v1; several of the same model, separated by commas, share its "
        "requests.",
        panel=_WHAT,
        metavar="URL",
    ),
]
ServerArgs = Annotated[
    str | None,
    _option(
        "--server-args",
        help="Arguments for the server that vllm:, sglang:, llamacpp: or transformers-serve: starts, as its command "
        "line expects them: '--dtype bfloat16 --max-model-len 8192'.",
        panel=_WHAT,
        metavar="ARGUMENTS",
    ),
]
ServerTimeout = Annotated[
    float | None,
    _option(
        "--server-timeout",
        help="Longest wait for a started server to be ready; default 1800.",
        panel=_SPEED,
        metavar="SECONDS",
    ),
]
StripPrompt = Annotated[
    bool, _option("--strip-prompt", help="Remove the prompt from answers of a wrapper that repeats it.", panel=_HOW)
]
LogprobTemplate = Annotated[
    LogprobTemplates | None,
    _option(
        "--logprob-template",
        help="What precedes the continuations of a checkpoint's log-probabilities: chat (its chat template), none (the "
        "plain text), or auto (the template if it has one); default auto.",
        panel=_HOW,
    ),
]
Judge = Annotated[
    list[str] | None,
    _option(
        "--judge",
        help="The model that judges; several are a panel.",
        panel=_WHAT,
        metavar="SPEC",
        autocompletion=model_names,
    ),
]
FailUnder = Annotated[
    list[str] | None,
    _option(
        "--fail-under",
        help="Exit with 3 if this score is lower, or missing: demo.anls=0.9. May be given several times.",
        panel=_SPEED,
        metavar="TASK.METRIC=VALUE",
    ),
]
LogTo = Annotated[
    list[str] | None,
    _option(
        "--log-to",
        help="Send the finished run to a tracker: wandb:project=vlm. May be given several times.",
        panel=_OUTPUT,
        metavar="TRACKER[:KEY=VALUE,…]",
    ),
]
OnEnd = Annotated[
    str | None,
    _option(
        "--on-end",
        help="A command of the shell to run when the run has ended, however it ended; it gets POLYMETER_RUN, "
        "POLYMETER_STATUS, POLYMETER_EXIT_CODE, and the outcome as JSON on stdin.",
        panel=_OUTPUT,
        metavar="COMMAND",
    ),
]
Quiet = Annotated[bool, _option("--quiet", "-q", help="Print only the results, no progress.", panel=_OUTPUT)]
