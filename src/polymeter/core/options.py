"""The options of a run: one frozen object, made once from the command line, a file, or Python.

Every field is marked ``identity`` (it can change an output) or ``runtime`` (it cannot). ``identity_of`` is what resume
and caches compare. The mark is part of the field, so that an option cannot be added without deciding.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import MOST_PIXELS
from polymeter.core.identity import canonical
from polymeter.core.names.parity import parity_name
from polymeter.core.settings.scoring_limits import DEFAULT_MEMORY_MB, DEFAULT_TIMEOUT_S
from polymeter.core.text.yaml_text import DEEPEST

LONGEST_WAIT_S = 60.0
"""The longest wait before another attempt at an endpoint, unless the user asks for another."""

ChoiceWay = Literal["loglikelihood", "text"]
PanelRule = Literal["mean", "majority"]
MediaPolicy = Literal["previews", "none"]
Count = Annotated[int, Field(ge=1)]
T = TypeVar("T", bound="Options")


def identity(default: Any, description: str, **rules: Any) -> Any:
    """A field that can change an output."""
    return _marked("identity", default, description, rules)


def runtime(default: Any, description: str, **rules: Any) -> Any:
    """A field that cannot change an output."""
    return _marked("runtime", default, description, rules)


def later_identity(default: Any, description: str, **rules: Any) -> Any:
    """A field that can change an output, and that runs of earlier versions do not have: with its default value it is no
    part of the identity, so that those runs go on.
    """
    return _marked("identity", default, description, rules, is_later=True)


def _marked(mark: str, default: Any, description: str, rules: dict[str, Any], *, is_later: bool = False) -> Any:
    make = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return Field(**make, description=description, json_schema_extra={"mark": mark, "is_later": is_later}, **rules)


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
            raise PlanError(f"Option {name!r}: {first['msg']} (got {first['input']!r}).", where=where) from None


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
        None, "Evaluate at most this many samples of each task; below 1, this share of them.", gt=0
    )
    offset: int = identity(0, "Skip this many samples at the start of each task.", ge=0)
    seed: int = identity(0, "Seed of the run; the seeds of samples, answers and hooks are derived from it.")
    generation: dict[str, Any] = identity(dict, "Generation settings that win over the tasks' own.")
    num_fewshot: int | None = identity(None, "Number of few-shot examples, in place of the tasks' own.", ge=0)
    prompt_key: str = identity("", "Which model-specific block of prompts to use; default: the model's family.")
    system_prompt: str = identity("", "Text put before every conversation.")
    dialect_options: dict[str, dict[str, Any]] = identity(
        dict, "Further settings for the tasks of one format: format → setting → value."
    )
    data: dict[str, str] = identity(dict, "Local files in place of dataset ids: ID[:CONFIG] → path.")
    revisions: dict[str, str] = later_identity(
        dict, "Which commits, branches or tags of datasets of a hub are read: ID → revision; default: the newest."
    )
    weights: dict[str, str] = identity(dict, "Local files in place of model ids: ID → path.")
    parity: str = later_identity(
        "",
        "The system whose values a run takes where Polymeter differs from it on purpose; default: none.",
    )
    mcq: ChoiceWay = later_identity(
        "loglikelihood",
        "How multiple choice of task YAML is asked: by the log-probabilities of the choices, or as text, with letters.",
    )
    panel: PanelRule = later_identity(
        "mean", "What the values of several judges come to: their mean, or the one that most of them give."
    )
    panel_quorum: Count | None = later_identity(
        None, "How many of several judges must give a verdict on a sample; default: all of them."
    )
    reasoning_tags: Any = later_identity(
        None,
        "Pairs of tags around reasoning in answers, for tasks that name none, as JSON; none: answers are kept as they "
        "are. Default: the usual tags, and those of the model's chat template.",
    )
    apply_stops_to_foreign: bool = identity(False, "Cut the outputs of wrapped models at stop strings too.")

    include_paths: tuple[Path, ...] = runtime(
        (), "Folders of benchmarks to add. The sources of the benchmarks that run are part of the identity."
    )
    prefer: tuple[str, ...] = runtime(
        (),
        "Packages preferred, in order, for an unqualified name that several have, by their qualifiers (lmms-eval; "
        "polymeter: what comes with Polymeter).",
    )
    imports: tuple[Path, ...] = runtime(
        (), "Python files to load first, for the models, metrics and so on that they register."
    )
    output: Path | None = runtime(None, "The run folder; default: a new one under ./runs.")
    batch_size: Count | Literal["auto"] | None = runtime(
        None,
        "Requests in one batch of a local model, or auto: doubled while that is faster; default: the task's or the "
        "model's.",
    )
    concurrency: Count | Literal["auto"] = runtime(
        "auto",
        "Maximum requests in flight at an endpoint, at each of its addresses if it has several, or auto: raised until "
        "the endpoint reaches its limit.",
    )
    executor: Literal["local", "ray"] = runtime(
        "local", "Where the replicas of a model are: processes of this machine, or actors of a Ray cluster."
    )
    replicas: Count | Literal["auto"] | None = runtime(
        None,
        "Copies of the measured model that share its requests: processes, or servers if the run starts the model's "
        "server. auto: as many as the GPUs allow; default: none, the model is in this process.",
    )
    judge_replicas: Count | None = runtime(
        None,
        "Copies of each judge on this machine, apart from the measured model: processes, Ray actors, or servers if the "
        "run starts the judge's server. Default: none, it is in this process.",
    )
    gpus_per_replica: float | None = runtime(
        None,
        "GPUs of each replica; a fraction such as 0.5 shares one. Default: one if there are GPUs; for a server, as "
        "many as its arguments ask for.",
        ge=0,
    )
    cpus_per_replica: Count | None = runtime(
        None, "Cores of one replica, and the threads that it computes with; default: its share of this machine's."
    )
    address: str | None = runtime(
        None,
        "Address of the Ray cluster, or auto: the cluster running on this machine; default: a new one on this machine.",
    )
    lease_timeout_s: float = runtime(
        1800.0,
        "Seconds without an answer, or without finishing loading the model, after which a replica counts as lost: it "
        "is ended, and its requests go to others.",
        gt=0,
    )
    window: int | None = runtime(None, "Samples in progress at a time; default: enough to keep the model busy.", ge=1)
    media_budget_mb: int = runtime(96, "Decoded media held in memory at a time, in MB.", ge=1)
    max_image_pixels: int = runtime(
        MOST_PIXELS,
        "Most pixels (width times height) of one image; a larger one is an error of its sample, before it is decoded.",
        ge=1,
    )
    decode_workers: int = runtime(2, "Threads that decode media ahead of the model.", ge=1)
    score_workers: int | None = runtime(
        None, "Threads for hooks and scoring; if set, several run at a time when scoring waits for something.", ge=1
    )
    # Runtime, as the time limit of a request is: both decide whether a sample has a score, never which score it has. So
    # a sample that exceeded its limit is scored on resume with a larger one.
    score_timeout_s: float = runtime(
        DEFAULT_TIMEOUT_S,
        "Time limit of scoring one sample, in seconds, where scoring can be stopped; elsewhere, when to warn.",
        gt=0,
    )
    score_memory_mb: int = runtime(
        DEFAULT_MEMORY_MB, "Memory limit of a process that scores, in MB, where the system enforces it.", ge=256
    )
    max_retries: int = runtime(
        5,
        "How often a request is retried after a transient failure; rate limits count only while nothing is answered.",
        ge=0,
    )
    timeout_s: float = runtime(600.0, "Time limit of one request to an endpoint, in seconds.", gt=0)
    max_wait_s: float = runtime(
        LONGEST_WAIT_S,
        "Longest wait before another attempt at an endpoint, in seconds, whatever the endpoint asks for.",
        gt=0,
    )
    max_errors: float | None = runtime(None, "Stop after this many failed samples; below 1, this share of them.", gt=0)
    media: MediaPolicy = runtime("previews", "Whether previews of inputs are stored in the run folder.")
    report_samples: Count | Literal["all"] | None = runtime(
        None,
        "Samples of each task in the HTML report, or all; default: as many as fit 20 MB, failures and the worst first.",
    )
    journal_dir: Path | None = runtime(
        None, "Where the live journal is stored if not in the run folder (it needs a local disk)."
    )
    publish: str = runtime(
        "",
        "Where the run's files are copied when it has ended, however it ended: a folder, or a URL that fsspec can "
        "write to.",
    )
    cache_dir: Path | None = runtime(
        None, "Where prepared data and indexes are stored; default: the user's cache folder."
    )
    is_offline: bool = runtime(
        False,
        "Download no data and no weights; what is not on this machine counts as missing. Endpoints are still used.",
    )
    is_strict_resume: bool = runtime(
        False,
        "Refuse to go on with a run whose endpoint, task sources or Polymeter code changed since it began.",
    )
    retry_errors: bool | None = runtime(
        None,
        "Which samples without a score are run again when a run goes on. Default: those that failed or are unscored, "
        "but not those that the model refused; true: all of them; false: none.",
    )
    skip_unfit: bool = runtime(
        False,
        "Run the other tasks where the model cannot do some; the results say which were left out, and why.",
    )
    allow_private_urls: bool = runtime(
        False, "Fetch what data names from addresses of this machine and its networks too, not only from public ones."
    )
    passes_unknown_settings: bool = runtime(
        False,
        "Pass generation settings that the model does not know on to it, with a note, instead of refusing them: for "
        "settings that nobody typed, from a published configuration.",
    )
    # Runtime: it decides whether a sample has a score, never which.
    allow_generated_code: bool = runtime(
        False,
        "Allow tasks that run code written by the model; each program runs in a process of its own, with limits.",
    )
    is_restart: bool = runtime(False, "Delete what the run folder holds and start again.")

    @field_validator("parity")
    @classmethod
    def _known_system(cls, value: str) -> str:
        return parity_name(value)

    def identity(self) -> dict[str, Any]:
        """The options that can change an output, as plain data."""
        return {
            name: canonical(getattr(self, name))
            for name, info in type(self).model_fields.items()
            if isinstance(info.json_schema_extra, dict)
            and info.json_schema_extra.get("mark") == "identity"
            and not (info.json_schema_extra.get("is_later") and getattr(self, name) == _default_of(info))
        }

    def runtime(self) -> dict[str, Any]:
        """The options that cannot."""
        return {name: value for name, value in self if mark_of(type(self), name) == "runtime"}


def _default_of(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def mark_of(options: type[Options], name: str) -> str | None:
    """``identity``, ``runtime``, or ``None`` for a field that is not marked."""
    extra = options.model_fields[name].json_schema_extra
    mark = extra.get("mark") if isinstance(extra, dict) else None
    return str(mark) if mark else None
