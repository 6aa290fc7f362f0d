"""The options of a run: one frozen object, made once from the command line, a file, or Python.

Every field is marked ``identity`` (it can change an output) or ``runtime`` (it cannot). ``identity`` is what resume and
caches compare. The mark is part of the field, so that an option cannot be added without deciding. So are its type,
default, description and flag: command lines (``cli.run_flags``), settings files, Python's keywords and the page of
options are made from the fields, and an option is added here alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import MOST_PIXELS
from polymeter.core.identity import canonical
from polymeter.core.media.showing import Showing, read_showing
from polymeter.core.names.parity import parity_name
from polymeter.core.settings.ablations import ablation_named
from polymeter.core.settings.scoring_limits import DEFAULT_MEMORY_MB, DEFAULT_TIMEOUT_S
from polymeter.core.text.yaml_text import DEEPEST

LONGEST_WAIT_S = 60.0
"""The longest wait before another attempt at an endpoint, unless the user asks for another."""

ChoiceWay = Literal["loglikelihood", "text"]
PanelRule = Literal["mean", "majority"]
MediaPolicy = Literal["previews", "none"]
Count = Annotated[int, Field(ge=1)]
CAPS = ("max_cost", "max_tokens", "max_time_s")
"""The options that cap a run."""
_CAP_FORMS = {
    "max_cost": "it is a number of US dollars without a unit, such as 5 or 0.50",
    "max_tokens": "it is a whole number of tokens without a unit, such as 2000000",
    "max_time_s": "it is a number of seconds, or a number with one unit: 90, 90s, 30m, 2h",
}
_CAP = re.compile(r"(-?\d+(?:\.\d+)?)\s*([smh]?)")
_TIME_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
T = TypeVar("T", bound="Options")


# The panels of ``--help`` in which options stand.
WHAT = "What to measure"
HOW = "Settings that can change results"
SPEED = "Speed and failures"
COSTS = "Costs"
OUTPUT = "Output"
_RUN = ("run", "track")
_CAPPED = (*_RUN, "resume", "score", "pairwise", "ablate")
SETTINGS = "settings file"
"""Stands among the commands of an option that a settings file may have."""
_PRICED = (*_RUN, "resume", "score", "pairwise", "ablate")


@dataclass(frozen=True, slots=True)
class OptionFlag:
    """The spelling of an option on command lines.

    Attributes:
        names: The flag, and its short form or its negation.
        panel: The panel of ``--help`` that it stands in.
        metavar: What ``--help`` calls its value.
        commands: The commands that take it.
    """

    names: tuple[str, ...]
    panel: str
    metavar: str | None
    commands: tuple[str, ...]


def flag(*names: str, panel: str, metavar: str | None = None, commands: tuple[str, ...] = _RUN) -> OptionFlag:
    """The flag of an option; see ``OptionFlag``. By default ``run`` and ``track`` take it."""
    return OptionFlag(names, panel, metavar, commands)


def identity(default: Any, description: str, flag: OptionFlag | None = None, **rules: Any) -> Any:
    """A field that can change an output. Without a flag it is for Python and for settings files."""
    return _marked("identity", default, description, flag, rules)


def runtime(default: Any, description: str, flag: OptionFlag | None = None, **rules: Any) -> Any:
    """A field that cannot change an output."""
    return _marked("runtime", default, description, flag, rules)


def later_identity(default: Any, description: str, flag: OptionFlag | None = None, **rules: Any) -> Any:
    """A field that can change an output, and that runs of earlier versions do not have: with its default value it is
    not part of the identity, so that those runs continue.
    """
    return _marked("identity", default, description, flag, rules, is_later=True)


def placement(default: Any, description: str, flag: OptionFlag, **rules: Any) -> Any:
    """A field that cannot change an output, and sets the place where models are computed."""
    return _marked("runtime", default, description, flag, rules, is_placement=True)


def _marked(
    mark: str, default: Any, description: str, flag: OptionFlag | None, rules: dict[str, Any], **marks: bool
) -> Any:
    make = {"default_factory": default} if isinstance(default, type) else {"default": default}
    extra: Any = {"mark": mark, "flag": flag, **marks}
    return Field(**make, description=description, json_schema_extra=extra, **rules)


_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
"""Kinds of errors of pydantic about a number: what the limit is called there, and in words."""


class Options(BaseModel):
    """Base of option objects: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def make(cls: type[T], values: Mapping[str, Any], *, where: str = "") -> T:
        """Validate a mapping.

        Raises:
            PlanError: if a key is unknown (the message gives the nearest known one) or a value is of the wrong type.
        """
        for name, value in values.items():
            require_shallow(value, f"Option {name!r}", where)
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            field, *inside = first["loc"]
            # Below a field that is not a mapping, pydantic names the alternatives of its type.
            name = ".".join(map(str, (field, *inside) if isinstance(values.get(str(field)), Mapping) else (field,)))
            if first["type"] == "extra_forbidden":
                hint = did_you_mean(name, cls.model_fields) or f"Known: {', '.join(sorted(cls.model_fields))}."
                raise PlanError(f"There is no option {name!r}.", where=where, hint=hint) from None
            limit = _LIMITS.get(first["type"])
            if limit is not None:
                bound = first["ctx"][limit[0]]
                what = f"Option {name!r} must be {limit[1]} {bound:g}, not {first['input']!r}."
                raise PlanError(what, where=where) from None
            said = first["msg"].removeprefix("Value error, ")
            raise PlanError(f"Option {name!r}: {said} (got {first['input']!r}).", where=where) from None


def require_shallow(value: Any, what: str, where: str = "") -> None:
    """Refuse a value whose collections lie too deep inside one another: nothing could write it down.

    Args:
        value: What was given.
        what: Its name, for the message.
        where: Where it was given.

    Raises:
        PlanError: if they do.
    """
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, (Mapping, list, tuple))]:
        depth += 1
        if depth > DEEPEST:
            raise PlanError(f"{what}: more than {DEEPEST} collections lie inside one another.", where=where)
        inside = (inner for item in level for inner in (item.values() if isinstance(item, Mapping) else item))
        level = [*{id(inner): inner for inner in inside}.values()]  # one that several share is looked at once


class RunOptions(Options):
    """All options of a run."""

    limit: float | None = identity(
        None,
        "Maximum samples per task; below 1: a share.",
        gt=0,
        flag=flag("--limit", panel=HOW, metavar="N"),
    )
    offset: int = identity(0, "Skip this many samples at the start of each task.", ge=0)
    seed: int = identity(
        0,
        "Seed of the run; the seeds of samples, answers and hooks are derived from it.",
        flag=flag("--seed", panel=HOW),
    )
    generation: dict[str, Any] = identity(
        dict,
        "Generation settings that override the tasks': key=value,…",
        flag=flag("--gen-kwargs", panel=HOW, metavar="PAIRS", commands=(*_RUN, "pairwise")),
    )
    video: dict[str, Any] = later_identity(
        dict,
        "What is shown of videos, in place of the tasks' settings: rule=cut,frames=64,…",
        flag=flag("--video", panel=HOW, metavar="PAIRS", commands=(*_RUN, SETTINGS)),
    )
    image: dict[str, Any] = later_identity(
        dict,
        "The same of images: max_side=1024,…",
        flag=flag("--image", panel=HOW, metavar="PAIRS", commands=(*_RUN, SETTINGS)),
    )
    audio: dict[str, Any] = later_identity(
        dict,
        "The same of recordings: rate=16000,…",
        flag=flag("--audio", panel=HOW, metavar="PAIRS", commands=(*_RUN, SETTINGS)),
    )
    num_fewshot: int | None = identity(
        None,
        "Number of few-shot examples, in place of the tasks' own.",
        ge=0,
        flag=flag("--num-fewshot", panel=HOW, metavar="N"),
    )
    prompt_key: str = identity(
        "",
        "Which model-specific block of prompts to use; default: the model's family.",
        flag=flag("--prompt-key", panel=HOW, metavar="NAME"),
    )
    system_prompt: str = identity(
        "", "Text put before every conversation.", flag=flag("--system-prompt", panel=HOW, metavar="TEXT")
    )
    dialect_options: dict[str, dict[str, Any]] = identity(
        dict,
        "A setting of one benchmark format: tsv.circular=true.",
        flag=flag("--dialect-option", panel=HOW, metavar="FORMAT.NAME=VALUE", commands=(*_RUN, "score", "fetch")),
    )
    data: dict[str, str] = identity(
        dict,
        "Local files that replace a dataset: id=path or id:config=path.",
        flag=flag("--data", panel=WHAT, metavar="ID=PATH", commands=(*_RUN, "fetch", "check", SETTINGS)),
    )
    revisions: dict[str, str] = later_identity(
        dict,
        "The commit, branch or tag of a Hub dataset to read: id=revision.",
        flag=flag("--revision", panel=HOW, metavar="ID=REVISION", commands=(*_RUN, "fetch")),
    )
    weights: dict[str, str] = identity(
        dict,
        "Local files that replace a model id.",
        flag=flag("--weights", panel=WHAT, metavar="ID=PATH", commands=(*_RUN, SETTINGS)),
    )
    parity: str = later_identity(
        "",
        "Where Polymeter differs from another system on purpose, take that system's values; none: its own.",
        flag=flag("--parity", panel=HOW, metavar="SYSTEM", commands=(*_RUN, "score", "check", SETTINGS)),
    )
    mcq: ChoiceWay = later_identity(
        "loglikelihood",
        "How multiple choice of task YAML is asked: loglikelihood (the default), or text: options get "
        "letters, and the answer names one.",
        flag=flag("--mcq", panel=HOW),
    )
    repeats: Count = later_identity(
        1,
        "Ask every question N times, each like its own run.",
        flag=flag("--repeats", panel=HOW, metavar="N"),
    )
    ablation: str = later_identity(
        "",
        "Ask without a part of the prompts: no-image, blank, shuffled-image, no-question, …; see polymeter ablate.",
        flag=flag("--ablation", panel=HOW, metavar="NAME"),
    )
    permute_choices: int | None = later_identity(
        None,
        "Ask every multiple-choice question with its choices in K orders: the author's, and K - 1 others.",
        ge=2,
        flag=flag("--permute-choices", panel=HOW, metavar="K"),
    )
    panel: PanelRule = later_identity(
        "mean",
        "The rule that combines the values of several judges: mean (the default) or majority.",
        flag=flag("--panel", panel=HOW, commands=(*_RUN, "score")),
    )
    panel_quorum: Count | None = later_identity(
        None,
        "The number of judges that must give a verdict, or a sample has no score. Default: all.",
        flag=flag("--panel-quorum", panel=HOW, metavar="N", commands=(*_RUN, "score")),
    )
    reasoning_tags: Any = later_identity(
        None,
        "Pairs of tags around reasoning, for tasks that name none, as JSON; none: answers are kept unchanged. Default: "
        "the usual tags, and the chat template's.",
        flag=flag("--reasoning-tags", panel=HOW, metavar="PAIRS", commands=(*_RUN, "score")),
    )
    verdicts: dict[str, dict[str, Any]] = later_identity(
        dict,
        "Verdicts of people, by task: polymeter score --verdicts.",
    )
    apply_stops_to_foreign: bool = identity(False, "Cut the outputs of wrapped models at stop strings too.")

    include_paths: tuple[Path, ...] = runtime(
        (),
        "A folder of benchmarks. SYSTEM:FOLDER names the system they were written for, where their files do "
        "not show it.",
        flag=flag("--include-path", panel=WHAT, metavar="FOLDER", commands=(*_RUN, "fetch", "check", SETTINGS)),
    )
    prefer: tuple[str, ...] = runtime(
        (),
        "Packages preferred, in order, for an unqualified name that several have, by their qualifiers, such as "
        "polymeter for what comes with Polymeter.",
    )
    imports: tuple[Path, ...] = runtime(
        (),
        "A Python file to load first, for its registrations.",
        flag=flag("--import", panel=WHAT, metavar="FILE", commands=(*_RUN, "pairwise")),
    )
    output: Path | None = runtime(
        None,
        "The run folder; default: a new one under ./runs.",
        flag=flag("--output", "-o", panel=OUTPUT, metavar="FOLDER", commands=("run",)),
    )
    batch_size: Count | Literal["auto"] | None = runtime(
        None,
        "Requests in one batch of a local model, or auto: doubled while that is faster; default: the task's or the "
        "model's.",
        flag=flag("--batch-size", "-b", panel=SPEED, metavar="N"),
    )
    concurrency: Count | Literal["auto"] = runtime(
        "auto",
        "Maximum requests in flight at an endpoint, at each address if it has several, or auto (the default): raised "
        "until it refuses.",
        flag=flag("--concurrency", panel=SPEED, metavar="N", commands=(*_RUN, "score", "pairwise")),
    )
    executor: Literal["local", "ray"] = placement(
        "local",
        "Where replicas are: local (processes of this machine, the default), or ray, where slow scoring is "
        "spread over free cores too.",
        flag=flag("--executor", panel=SPEED, commands=(*_RUN, "resume", "score")),
    )
    replicas: Count | Literal["auto"] | None = placement(
        None,
        "Copies of the measured model that share its requests: processes, or servers if the run starts the model's "
        "server. auto: as many as the GPUs allow; default: none, the model is in this process.",
        flag=flag("--replicas", panel=SPEED, metavar="N", commands=(*_RUN, "resume")),
    )
    judge_replicas: Count | None = placement(
        None,
        "Copies of each judge on this machine, apart from the measured model: processes, Ray actors, or servers if the "
        "run starts the judge's server. Default: none, it is in this process.",
        flag=flag("--judge-replicas", panel=SPEED, metavar="N", commands=(*_RUN, "resume", "score")),
    )
    gpus_per_replica: float | None = placement(
        None,
        "GPUs of each replica; a fraction such as 0.5 shares one. Default: one if there are GPUs; for a server, as "
        "many as its arguments ask for.",
        ge=0,
        flag=flag("--gpus-per-replica", panel=SPEED, metavar="N", commands=(*_RUN, "resume", "score")),
    )
    cpus_per_replica: Count | None = placement(
        None,
        "Cores of one replica, and the threads that it computes with; default: its share of this machine's.",
        flag=flag("--cpus-per-replica", panel=SPEED, metavar="N", commands=(*_RUN, "resume", "score")),
    )
    address: str | None = placement(
        None,
        "Address of the Ray cluster, or auto: the cluster running on this machine; needs --executor ray.",
        flag=flag("--address", panel=SPEED, commands=(*_RUN, "resume", "score")),
    )
    lease_timeout_s: float = placement(
        1800.0,
        "Time limit for a replica to answer or load its model; then it is ended, and others get its requests.",
        gt=0,
        flag=flag("--lease-timeout", panel=SPEED, metavar="SECONDS", commands=(*_RUN, "resume", "score")),
    )
    window: int | None = runtime(
        None,
        "Samples in progress at a time; default: enough to keep the model busy.",
        ge=1,
        flag=flag("--window", panel=SPEED, metavar="N"),
    )
    media_budget_mb: int = runtime(96, "Decoded media held in memory at a time, in MB.", ge=1)
    max_image_pixels: int = runtime(
        MOST_PIXELS,
        "Maximum pixels of one image; a larger one is an error of its sample.",
        ge=1,
        flag=flag("--max-image-pixels", panel=HOW, metavar="N"),
    )
    decode_workers: int = runtime(
        2,
        "Threads that decode media ahead of the model.",
        ge=1,
        flag=flag("--decode-workers", panel=SPEED, metavar="N"),
    )
    score_workers: int | None = runtime(
        None,
        "Threads for hooks and scoring; if set, several run at a time when scoring waits for something.",
        ge=1,
        flag=flag("--score-workers", panel=SPEED, metavar="N", commands=(*_RUN, "score")),
    )
    # Runtime, as the time limit of a request is: both decide whether a sample has a score, never which score it has. So
    # a sample that exceeded its limit is scored on resume with a larger one.
    score_timeout_s: float = runtime(
        DEFAULT_TIMEOUT_S,
        "Time limit of scoring one sample, in seconds, where scoring can be stopped; elsewhere, when to warn.",
        gt=0,
        flag=flag("--score-timeout", panel=SPEED, metavar="SECONDS", commands=(*_RUN, "score")),
    )
    score_memory_mb: int = runtime(
        DEFAULT_MEMORY_MB,
        "Memory limit of a process that scores, in MB, where the system enforces it.",
        ge=256,
        flag=flag("--score-memory", panel=SPEED, metavar="MB", commands=(*_RUN, "score")),
    )
    # Runtime, for the same reason: a sample that reached such a limit has no score, and is continued with a larger one.
    sample_tokens: Count | None = runtime(
        None,
        "End a sample without a score after this many tokens, read and written. Default: none.",
        flag=flag("--sample-tokens", panel=SPEED, metavar="N", commands=(*_RUN, "resume")),
    )
    sample_seconds: float | None = runtime(
        None,
        "End a sample without a score after this many seconds of work of models and tools, waits not counted. Default: "
        "none.",
        gt=0,
        flag=flag("--sample-seconds", panel=SPEED, metavar="SECONDS", commands=(*_RUN, "resume")),
    )
    tool_timeout_s: float = runtime(
        DEFAULT_TIMEOUT_S,
        "Time limit of one call of a benchmark's own tool, in seconds.",
        gt=0,
        flag=flag("--tool-timeout", panel=SPEED, metavar="SECONDS", commands=(*_RUN, "resume")),
    )
    max_environments: Count = runtime(
        64,
        "Maximum samples at a time with an open environment that has a state.",
        flag=flag("--max-environments", panel=SPEED, metavar="N", commands=(*_RUN, "resume")),
    )
    max_retries: int = runtime(
        5,
        "How often a request is retried after a transient failure; rate limits count only while nothing is answered.",
        ge=0,
        flag=flag("--max-retries", panel=SPEED, metavar="N"),
    )
    timeout_s: float = runtime(
        600.0,
        "Time limit of one request to an endpoint, in seconds.",
        gt=0,
        flag=flag("--timeout", panel=SPEED, metavar="SECONDS"),
    )
    max_wait_s: float = runtime(
        LONGEST_WAIT_S,
        "Longest wait before another attempt at an endpoint, in seconds, even if it asks for more.",
        gt=0,
        flag=flag("--max-wait", panel=SPEED, metavar="SECONDS"),
    )
    max_errors: float | None = runtime(
        None,
        "Stop after this many failed samples; below 1, this share of them.",
        gt=0,
        flag=flag("--max-errors", panel=SPEED, metavar="N"),
    )
    max_cost: float | None = runtime(
        None,
        "Stop before the cost of all models and parts of the run could exceed this many US dollars.",
        gt=0,
        allow_inf_nan=False,
        flag=flag("--max-cost", panel=COSTS, metavar="USD", commands=_CAPPED),
    )
    max_tokens: Count | None = runtime(
        None,
        "The same for its tokens.",
        flag=flag("--max-tokens", panel=COSTS, metavar="N", commands=_CAPPED),
    )
    max_time_s: float | None = runtime(
        None,
        "Stop when all its parts have lasted this long: 90s, 30m, 2h.",
        gt=0,
        allow_inf_nan=False,
        flag=flag("--max-time", panel=COSTS, metavar="TIME", commands=_CAPPED),
    )
    price: dict[str, Any] = runtime(
        dict,
        "The prices of a million tokens of a model's prompts and answers, in US dollars: 'gpt-*=2.50/10'. They win "
        "over files and lists.",
        flag=flag("--price", panel=COSTS, metavar="MODEL=IN/OUT", commands=_PRICED),
    )
    prices: tuple[Path, ...] = runtime(
        (),
        "A file of prices, in the format of genai-prices, litellm or inspect_ai. It wins over the list of the "
        "installed genai-prices.",
        flag=flag("--prices", panel=COSTS, metavar="FILE", commands=_PRICED),
    )
    gpu_price: float | None = runtime(
        None,
        "The price of an hour of one GPU, in US dollars, for models on this machine; without GPUs, of the machine.",
        ge=0,
        allow_inf_nan=False,
        flag=flag("--gpu-price", panel=COSTS, metavar="PRICE", commands=_PRICED),
    )
    pilot: Count | None = runtime(
        None,
        "Ask this many samples of each task first, drawn at random, and print what the run will need.",
        flag=flag("--pilot", panel=COSTS, metavar="N", commands=("run",)),
    )
    media: MediaPolicy = runtime(
        "previews", "Whether previews of inputs are stored in the run folder.", flag=flag("--media", panel=OUTPUT)
    )
    report_samples: Count | Literal["all"] | None = runtime(
        None,
        "Samples of each task in the HTML report, or all; default: as many as fit 20 MB, failures and the worst first.",
        flag=flag("--report-samples", panel=OUTPUT, metavar="N", commands=(*_RUN, "resume", "score", "report")),
    )
    journal_dir: Path | None = runtime(
        None,
        "Where the live journal is stored if not in the run folder (it needs a local disk).",
        flag=flag("--journal-dir", panel=OUTPUT, metavar="FOLDER"),
    )
    reuse: tuple[Path, ...] = runtime(
        (),
        "Runs whose answers are reused where the same was sent to the same model: run folders, or folders of runs. A "
        "resumed run keeps those that it named; none: no longer.",
        flag=flag("--reuse", panel=SPEED, metavar="RUNS", commands=("run", "resume", "score")),
    )
    reuse_days: float | None = runtime(
        None,
        "Reuse an endpoint's answers up to this age, although its model's name may stand for another one by now. "
        "Default: only if the endpoint states the same model and version as then.",
        gt=0,
        flag=flag("--reuse-days", panel=SPEED, metavar="N", commands=("run", "resume", "score")),
    )
    publish: str = runtime(
        "",
        "Copy the run's files there when it ends: a folder, or a URL of fsspec (s3://bucket/runs/a).",
        flag=flag("--publish", panel=OUTPUT, metavar="URL", commands=("run", "resume")),
    )
    cache_dir: Path | None = runtime(
        None,
        "Where prepared data and indexes are stored; default: the user's cache folder.",
        flag=flag("--cache-dir", panel=OUTPUT, metavar="FOLDER", commands=(*_RUN, SETTINGS)),
    )
    is_offline: bool = runtime(
        False,
        "Download no data and no weights; what is not on this machine counts as missing. Endpoints are still used.",
        flag=flag("--offline", panel=WHAT),
    )
    is_strict_resume: bool = runtime(
        False,
        "Refuse to continue a run whose endpoint, task sources or Polymeter code changed.",
        flag=flag("--strict-resume/--no-strict-resume", panel=OUTPUT, commands=(*_RUN, "resume", "score")),
    )
    is_strict: bool = runtime(
        False,
        "Treat warnings as errors, before the first request. Exit with 1 if a result misses a whole member or subset.",
        flag=flag("--strict", panel=SPEED, commands=("run", "resume", "score", "check")),
    )
    retry_errors: bool | None = runtime(
        None,
        "Samples without a score that a resumed run runs again. Default: those that failed or are unscored, but not "
        "those that the model refused; true: all of them; false: none.",
        flag=flag("--retry-errors/--no-retry-errors", panel=SPEED, commands=("resume",)),
    )
    skip_unfit: bool = runtime(
        False,
        "Run the other tasks if the model cannot do some; the report lists those that were left out, and why.",
        flag=flag("--skip-unfit", panel=WHAT, commands=(*_RUN, SETTINGS)),
    )
    allow_private_urls: bool = runtime(
        False,
        "Fetch images that data names by URL from private addresses too.",
        flag=flag("--allow-private-urls", panel=WHAT),
    )
    passes_unknown_settings: bool = runtime(
        False,
        "Pass generation settings that the model does not know on to it, with a note, instead of refusing them.",
    )
    # Runtime: it decides whether a sample has a score, never which.
    allow_generated_code: bool = runtime(
        False,
        "Allow tasks that run code written by the model, in processes with limits.",
        flag=flag("--allow-generated-code", panel=WHAT, commands=(*_RUN, "resume", "score", "rerun", "ablate")),
    )
    is_restart: bool = runtime(
        False,
        "Delete what the run folder holds and start again.",
        flag=flag("--restart", panel=OUTPUT, commands=("run", "pairwise")),
    )

    @field_validator(*CAPS, mode="before")
    @classmethod
    def _cap(cls, value: Any, info: ValidationInfo) -> Any:
        return read_cap(str(info.field_name), value) if isinstance(value, str) else value

    @field_validator("parity")
    @classmethod
    def _known_system(cls, value: str) -> str:
        return parity_name(value)

    @field_validator("ablation")
    @classmethod
    def _known_ablation(cls, value: str) -> str:
        return ablation_named(value, "--ablation").name if value else ""

    @property
    def showing(self) -> Showing:
        """The rules for showing media to models, as far as the run states them.

        Raises:
            PlanError: if a setting is unknown, has a value that it cannot have, or contradicts another one.
        """
        stated = Showing()
        for name in ("video", "image", "audio"):
            if getattr(self, name):
                stated = stated.under(read_showing({name: getattr(self, name)}, f"--{name}"))
        return stated

    def identity(self) -> dict[str, Any]:
        """The options that can change an output, as plain data."""
        return {
            name: canonical(getattr(self, name))
            for name, info in type(self).model_fields.items()
            if _extra(info).get("mark") == "identity"
            and not (_extra(info).get("is_later") and getattr(self, name) == _default_of(info))
        }

    @classmethod
    def flags(cls, command: str = "") -> dict[str, OptionFlag]:
        """The flags that a command takes, by the names of their options; by default those of all commands."""
        found = {name: _extra(info).get("flag") for name, info in cls.model_fields.items()}
        return {name: flag for name, flag in found.items() if flag and (not command or command in flag.commands)}

    @classmethod
    def placements(cls) -> tuple[str, ...]:
        """The options that set the place where models are computed."""
        return tuple(name for name, info in cls.model_fields.items() if _extra(info).get("is_placement"))

    def runtime(self) -> dict[str, Any]:
        """The options that cannot change an output."""
        return {name: value for name, value in self if mark_of(type(self), name) == "runtime"}


def read_cap(name: str, text: str) -> float:
    """Read a cap that was written: a number, and a time may have one of the units s, m and h.

    Raises:
        ValueError: if it is anything else.
    """
    found = _CAP.fullmatch(text.strip())
    if found is None or (found[2] and name != "max_time_s"):
        raise ValueError(_CAP_FORMS[name])
    return float(found[1]) * _TIME_UNITS[found[2]]


def _default_of(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _extra(field: FieldInfo) -> dict[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def mark_of(options: type[Options], name: str) -> str | None:
    """``identity``, ``runtime``, or ``None`` for a field that is not marked."""
    mark = _extra(options.model_fields[name]).get("mark")
    return str(mark) if mark else None
