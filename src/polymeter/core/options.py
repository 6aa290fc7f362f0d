"""The options of a run: one frozen object, made once from the command line, a file, or Python.

Every field is marked ``identity`` (it can change an output) or ``runtime`` (it cannot). ``identity_of`` is what resume
and caches compare. The mark is part of the field, so that an option cannot be added without deciding.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.identity import canonical

MediaPolicy = Literal["previews", "none"]
Count = Annotated[int, Field(ge=1)]
T = TypeVar("T", bound="Options")


def identity(default: Any, description: str, **rules: Any) -> Any:
    """A field that can change an output."""
    return _marked("identity", default, description, rules)


def runtime(default: Any, description: str, **rules: Any) -> Any:
    """A field that cannot change an output."""
    return _marked("runtime", default, description, rules)


def _marked(mark: str, default: Any, description: str, rules: dict[str, Any]) -> Any:
    make = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return Field(**make, description=description, json_schema_extra={"mark": mark}, **rules)


class Options(BaseModel):
    """Base of option objects: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def make(cls: type[T], values: Mapping[str, Any], *, where: str = "") -> T:
        """Validate a mapping.

        Raises:
            PlanError: An unknown key (the nearest known one is named) or a value of the wrong type.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            field, *inside = first["loc"]
            # Below a field that is no mapping, pydantic names the alternatives of its type.
            name = ".".join(map(str, (field, *inside) if isinstance(values.get(str(field)), Mapping) else (field,)))
            if first["type"] == "extra_forbidden":
                hint = did_you_mean(name, cls.model_fields) or f"Known: {', '.join(sorted(cls.model_fields))}."
                raise PlanError(f"There is no option {name!r}.", where=where, hint=hint) from None
            raise PlanError(f"Option {name!r}: {first['msg']} (got {first['input']!r}).", where=where) from None


class RunOptions(Options):
    """Everything a run can be told."""

    limit: float | None = identity(None, "At most this many samples of each task; below 1, this share of them.", gt=0)
    offset: int = identity(0, "Leave out this many samples at the start of each task.", ge=0)
    seed: int = identity(0, "Seed of the run; every sample, answer and hook has its own, derived from it.")
    generation: dict[str, Any] = identity(dict, "Generation settings that win over the tasks' own.")
    num_fewshot: int | None = identity(None, "Number of few-shot examples, in place of the tasks' own.", ge=0)
    prompt_key: str = identity("", "Which model-specific block of prompts to use; default: the model's family.")
    system_prompt: str = identity("", "Text put before every conversation.")
    dialect_options: dict[str, dict[str, Any]] = identity(
        dict, "Further settings for the tasks of one dialect: dialect → setting → value."
    )
    data: dict[str, str] = identity(dict, "Local files in place of dataset ids: ID[:CONFIG] → path.")
    weights: dict[str, str] = identity(dict, "Local files in place of model ids: ID → path.")
    apply_stops_to_foreign: bool = identity(False, "Cut the outputs of wrapped foreign models at stop strings too.")

    include_paths: tuple[Path, ...] = runtime(
        (), "Folders of benchmarks to add. What is in them that is run counts by its sources."
    )
    imports: tuple[Path, ...] = runtime((), "Python files to load first, for what they register.")
    output: Path | None = runtime(None, "The run folder; default: a new one under ./runs.")
    batch_size: Count | Literal["auto"] | None = runtime(
        None, "Requests in one batch of a local model, or auto: found by trying; default: the task's or the model's."
    )
    concurrency: Count | Literal["auto"] = runtime(
        "auto", "Most requests in flight at an endpoint, or auto: grown until the endpoint objects."
    )
    window: int | None = runtime(None, "Samples in play at a time; default: what the model keeps busy with.", ge=1)
    media_budget_mb: int = runtime(192, "Decoded media held at a time.", ge=1)
    decode_workers: int = runtime(2, "Threads that decode media ahead.", ge=1)
    score_workers: int | None = runtime(
        None, "Threads for hooks and scoring. When set, scoring that is seen to wait runs several at a time.", ge=1
    )
    max_retries: int = runtime(
        5,
        "How often a request is asked again after a passing failure; rate limits count only while nothing is answered.",
        ge=0,
    )
    timeout_s: float = runtime(600.0, "Deadline of one request at an endpoint.", gt=0)
    max_errors: float | None = runtime(None, "Stop after this many failed samples; below 1, this share of them.", gt=0)
    media: MediaPolicy = runtime("previews", "Whether previews of inputs are kept in the run folder.")
    journal_dir: Path | None = runtime(
        None, "Where the live journal is kept, when not in the run folder (it needs a local disk)."
    )
    cache_dir: Path | None = runtime(
        None, "Where prepared data and indexes are kept; default: the user's cache folder."
    )
    is_offline: bool = runtime(
        False, "Fetch nothing for data or weights; what is not on this machine is missing. Endpoints are asked."
    )
    is_restart: bool = runtime(False, "Throw away what the run folder holds.")

    def identity(self) -> dict[str, Any]:
        """The options that can change an output, as plain data."""
        return {
            name: canonical(getattr(self, name))
            for name, info in type(self).model_fields.items()
            if isinstance(info.json_schema_extra, dict) and info.json_schema_extra.get("mark") == "identity"
        }


def mark_of(options: type[Options], name: str) -> str | None:
    """``identity``, ``runtime``, or ``None`` for a field that nobody has decided about."""
    extra = options.model_fields[name].json_schema_extra
    mark = extra.get("mark") if isinstance(extra, dict) else None
    return str(mark) if mark else None
