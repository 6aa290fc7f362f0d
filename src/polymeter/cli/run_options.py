"""The options of ``polymeter run``, each with its spelling, help and panel; ``run`` says what becomes of them."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from polymeter.cli.completion import model_names, system_names, task_names

_WHAT, _HOW, _SPEED, _OUTPUT = "What to measure", "Settings that can change results", "Speed and failures", "Output"


class MediaKept(str, Enum):
    """What is kept of the media that models receive."""

    PREVIEWS = "previews"
    NONE = "none"


class ChoiceWays(str, Enum):
    """How multiple choice of task YAML is asked."""

    LOGLIKELIHOOD = "loglikelihood"
    TEXT = "text"


class Executors(str, Enum):
    """Where the replicas of a model are."""

    LOCAL = "local"
    RAY = "ray"


class LogprobTemplates(str, Enum):
    """What precedes the continuations whose log-probabilities are computed."""

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
        help="Tasks, groups, tags, globs or YAML files, separated by commas.",
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
        "line takes them: '--dtype bfloat16 --max-model-len 8192'.",
        panel=_WHAT,
        metavar="ARGUMENTS",
    ),
]
ServerTimeout = Annotated[
    float | None,
    _option(
        "--server-timeout",
        help="How long a started server may take to be ready; default 1800.",
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
IncludePath = Annotated[
    list[Path] | None,
    _option(
        "--include-path",
        help="A folder of benchmarks. SYSTEM:FOLDER names the system they were written for, where their files do not "
        "show it: lm-eval:tasks.",
        panel=_WHAT,
        metavar="FOLDER",
    ),
]
Imports = Annotated[
    list[Path] | None,
    _option("--import", help="A Python file to load first, for its registrations.", panel=_WHAT, metavar="FILE"),
]
Data = Annotated[
    list[str] | None,
    _option(
        "--data",
        help="Local files that replace a dataset: id=path or id:config=path.",
        panel=_WHAT,
        metavar="ID=PATH",
    ),
]
Weights = Annotated[
    list[str] | None,
    _option("--weights", help="Local files that replace a model id.", panel=_WHAT, metavar="ID=PATH"),
]
Offline = Annotated[
    bool, _option("--offline", help="Fetch no data and no weights; endpoints are still used.", panel=_WHAT)
]
AllowPrivateUrls = Annotated[
    bool,
    _option(
        "--allow-private-urls",
        help="Fetch images that data names by URL from private addresses too, not only from public ones.",
        panel=_WHAT,
    ),
]
Limit = Annotated[
    float | None,
    _option("--limit", help="The maximum number of samples of each task; below 1: a share.", panel=_HOW, metavar="N"),
]
Seed = Annotated[int | None, _option("--seed", help="Seed of the run; default 0.", panel=_HOW)]
GenKwargs = Annotated[
    list[str] | None,
    _option(
        "--gen-kwargs",
        help="Generation settings that override the tasks': key=value,…",
        panel=_HOW,
        metavar="PAIRS",
    ),
]
NumFewshot = Annotated[
    int | None,
    _option("--num-fewshot", help="The number of few-shot examples; overrides the tasks'.", panel=_HOW, metavar="N"),
]
Revision = Annotated[
    list[str] | None,
    _option(
        "--revision",
        help="The commit, branch or tag of a Hub dataset to read: id=revision. May be given several times.",
        panel=_HOW,
        metavar="ID=REVISION",
    ),
]
PromptKey = Annotated[
    str | None, _option("--prompt-key", help="The model-specific prompts to use.", panel=_HOW, metavar="NAME")
]
SystemPrompt = Annotated[
    str | None, _option("--system-prompt", help="Text put before every conversation.", panel=_HOW, metavar="TEXT")
]
Mcq = Annotated[
    ChoiceWays | None,
    _option(
        "--mcq",
        help="How multiple choice of task YAML is asked: loglikelihood (the default), or text: the options get "
        "letters, and the answer names one.",
        panel=_HOW,
    ),
]
ReasoningTags = Annotated[
    str | None,
    _option(
        "--reasoning-tags",
        help='The tags around reasoning in answers, as JSON: \'[["<think>", "</think>"]]\'; none keeps the text.',
        panel=_HOW,
        metavar="PAIRS",
    ),
]
Parity = Annotated[
    str | None,
    _option(
        "--parity",
        help="Where Polymeter differs from another system on purpose, take that system's values.",
        panel=_HOW,
        metavar="SYSTEM",
        autocompletion=system_names,
    ),
]
DialectOption = Annotated[
    list[str] | None,
    _option(
        "--dialect-option",
        help="A setting of one benchmark format: tsv.circular=true.",
        panel=_HOW,
        metavar="FORMAT.NAME=VALUE",
    ),
]
BatchSize = Annotated[
    str | None,
    _option("--batch-size", "-b", help="Requests in a batch, or auto: determined by trial.", panel=_SPEED, metavar="N"),
]
Concurrency = Annotated[
    str | None,
    _option(
        "--concurrency",
        help="The maximum number of requests in flight at an endpoint, at each of its addresses if it has several, or "
        "auto (the default): raised until it refuses.",
        panel=_SPEED,
        metavar="N",
    ),
]
Executor = Annotated[
    Executors | None,
    _option(
        "--executor",
        help="Where replicas are: local (processes of this machine, the default), or ray, where slow scoring is spread "
        "over free cores too.",
        panel=_SPEED,
    ),
]
Replicas = Annotated[
    str | None,
    _option(
        "--replicas",
        help="Copies of the measured model that share its requests: processes, or servers if the run starts the "
        "model's server. auto: as many as the GPUs allow.",
        panel=_SPEED,
        metavar="N",
    ),
]
JudgeReplicas = Annotated[
    int | None,
    _option(
        "--judge-replicas",
        help="Copies of a judge on this machine: processes, Ray actors, or servers if the run starts the judge's "
        "server.",
        panel=_SPEED,
        metavar="N",
    ),
]
GpusPerReplica = Annotated[
    float | None,
    _option(
        "--gpus-per-replica",
        help="GPUs of each replica; a fraction such as 0.5 shares one. Default: one if there are GPUs; for a server, "
        "as many as its arguments ask for.",
        panel=_SPEED,
        metavar="N",
    ),
]
CpusPerReplica = Annotated[
    int | None,
    _option(
        "--cpus-per-replica",
        help="Cores of one replica; default: its share of this machine's.",
        panel=_SPEED,
        metavar="N",
    ),
]
Address = Annotated[
    str | None,
    _option(
        "--address",
        help="Address of the Ray cluster, or auto: the cluster running on this machine; needs --executor ray.",
        panel=_SPEED,
    ),
]
LeaseTimeout = Annotated[
    float | None,
    _option(
        "--lease-timeout",
        help="Time limit for a replica to answer, or to load its model; then it is ended and its requests go to "
        "others; default 1800.",
        panel=_SPEED,
        metavar="SECONDS",
    ),
]
Window = Annotated[
    int | None, _option("--window", help="Samples processed at the same time.", panel=_SPEED, metavar="N")
]
ScoreWorkers = Annotated[
    int | None, _option("--score-workers", help="Threads for hooks and scoring.", panel=_SPEED, metavar="N")
]
ScoreTimeout = Annotated[
    float | None,
    _option("--score-timeout", help="Time limit of scoring a sample; default 60.", panel=_SPEED, metavar="SECONDS"),
]
ScoreMemory = Annotated[
    int | None,
    _option("--score-memory", help="Memory limit of scoring a sample; default 2048.", panel=_SPEED, metavar="MB"),
]
DecodeWorkers = Annotated[
    int | None, _option("--decode-workers", help="Threads that decode media in advance.", panel=_SPEED, metavar="N")
]
MaxImagePixels = Annotated[
    int | None,
    _option(
        "--max-image-pixels",
        help="A larger image is an error of its sample; default: 178,956,970.",
        panel=_HOW,
        metavar="N",
    ),
]
Timeout = Annotated[
    float | None,
    _option("--timeout", help="Time limit of a request to an endpoint.", panel=_SPEED, metavar="SECONDS"),
]
MaxRetries = Annotated[
    int | None,
    _option("--max-retries", help="The number of retries of a failed request.", panel=_SPEED, metavar="N"),
]
MaxWait = Annotated[
    float | None,
    _option(
        "--max-wait",
        help="The longest wait before another attempt at an endpoint, whatever it asks for; default 60.",
        panel=_SPEED,
        metavar="SECONDS",
    ),
]
MaxErrors = Annotated[
    float | None,
    _option("--max-errors", help="Stop after this many failed samples; below 1: a share.", panel=_SPEED, metavar="N"),
]
FailUnder = Annotated[
    list[str] | None,
    _option(
        "--fail-under",
        help="Exit with 3 if this number is lower, or missing: demo.anls=0.9. May be given several times.",
        panel=_SPEED,
        metavar="TASK.METRIC=VALUE",
    ),
]
SkipUnfit = Annotated[
    bool,
    _option(
        "--skip-unfit",
        help="Run the other tasks where the model cannot do some; the report says which were left out, and why.",
        panel=_WHAT,
    ),
]
Strict = Annotated[
    bool, _option("--strict", help="Exit with 1 if a number lacks a whole member or subset.", panel=_SPEED)
]
Output = Annotated[
    Path | None,
    _option("--output", "-o", help="The run folder; default: a new one in runs/.", panel=_OUTPUT, metavar="FOLDER"),
]
StrictResume = Annotated[
    bool | None,
    _option(
        "--strict-resume/--no-strict-resume",
        help="Refuse to continue the run in --output if its endpoint, task sources or Polymeter code changed.",
        panel=_OUTPUT,
    ),
]
Restart = Annotated[bool, _option("--restart", help="Discard the contents of the run folder.", panel=_OUTPUT)]
Media = Annotated[
    MediaKept | None, _option("--media", help="What to keep of input media; default previews.", panel=_OUTPUT)
]
ReportSamples = Annotated[
    str | None,
    _option(
        "--report-samples",
        help="Samples of each task in the HTML report, or all; default: as many as fit 20 MB, failures and the worst "
        "first.",
        panel=_OUTPUT,
        metavar="N",
    ),
]
JournalDir = Annotated[
    Path | None,
    _option("--journal-dir", help="A local folder for the live journal.", panel=_OUTPUT, metavar="FOLDER"),
]
Publish = Annotated[
    str | None,
    _option(
        "--publish",
        help="Copy the run's files there when it has ended, however it ended: a folder, or a URL that fsspec can write "
        "to (s3://bucket/runs/a).",
        panel=_OUTPUT,
        metavar="URL",
    ),
]
CacheDir = Annotated[
    Path | None, _option("--cache-dir", help="Where prepared data is kept.", panel=_OUTPUT, metavar="FOLDER")
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
