"""The fields of one of lm-eval's tasks, with their types and defaults, made from a resolved file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.media.showing import Showing, check_showing, read_showing
from polymeter.core.task import TaskSpec
from polymeter.tasks.yaml.config import Code, Form
from polymeter.tasks.yaml.files.dialects import Locate

OutputType = Literal["loglikelihood", "multiple_choice", "loglikelihood_rolling", "generate_until"]
GENERATE = "generate_until"
MULTIPLE_CHOICE = "multiple_choice"
LIKELIHOOD = "loglikelihood"
ROLLING = "loglikelihood_rolling"
MOST_TOKENS = 256
"""The length of an answer in tokens where a task states none."""
_OF_EXAMPLES = (
    "sampler split process_docs fewshot_indices samples doc_to_text doc_to_choice doc_to_target gen_prefix "
    "fewshot_delimiter target_delimiter"
)
FEWSHOT_KEYS = tuple(_OF_EXAMPLES.split())
_NO_FIELDS = ("class", "group", "include", "tag", "task_list")
"""Keys of a file that are not fields of a task."""
_NULL_COUNTS = frozenset({"unsafe_code"})
"""Fields in which ``null`` is not the default."""


class LmTaskConfig(BaseModel):
    """Every field of a task. Functions are references that are resolved when the task is compiled."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, coerce_numbers_to_str=True)

    task: str
    task_alias: str | None = None

    custom_dataset: Code = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: dict[str, Any] = Field(default_factory=dict)
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    process_docs: Code = None

    doc_to_text: Form = None
    doc_to_target: Form = None
    doc_to_choice: Form = None
    doc_to_image: Form = None
    doc_to_audio: Form = None
    use_prompt: str | None = None
    description: str = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    gen_prefix: str | None = None
    fewshot_config: dict[str, Any] | None = None
    num_fewshot: int | None = Field(default=None, ge=0)

    output_type: OutputType = "generate_until"
    generation_kwargs: dict[str, Any] | None = None
    repeats: int = Field(default=1, ge=1)
    video: dict[str, Any] | None = None
    image: dict[str, Any] | None = None
    audio: dict[str, Any] | None = None
    unsafe_code: Any = False

    process_results: Any = None
    metric_list: list[dict[str, Any]] | None = None
    filter_list: list[dict[str, Any]] | None = None
    should_decontaminate: bool = False
    doc_to_decontamination_query: Any = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        return {key: value for key, value in dict(values).items() if value is not None or key in _NULL_COUNTS}

    @field_validator("metadata", mode="before")
    @classmethod
    def _mapped(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"_metadata": value}

    @field_validator("dataset_name", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return None if value is False or value == "" else value  # the default configuration, as load_dataset takes it

    @field_validator("fewshot_config")
    @classmethod
    def _known_keys(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for key in value or {}:
            if key not in FEWSHOT_KEYS:
                raise ValueError(f"there is no key {key!r}; it takes {', '.join(FEWSHOT_KEYS)}")
        return value

    @property
    def eval_split(self) -> str | None:
        """The split that is measured: test, else validation."""
        return self.test_split or self.validation_split

    @property
    def showing(self) -> Showing:
        """The rules for showing media."""
        return read_showing({"video": self.video, "image": self.image, "audio": self.audio}, self.task)

    @property
    def version(self) -> str:
        """The author's version, as printed; empty if it is missing."""
        return str(self.metadata.get("version", ""))

    @property
    def is_unsafe(self) -> bool:
        """True if its scoring runs code that a model wrote."""
        return self.unsafe_code is not False

    @property
    def examples(self) -> ExampleConfig:
        """The form of examples; a key that is missing from ``fewshot_config`` is as for the question."""
        told = {key: value for key, value in (self.fewshot_config or {}).items() if key != "fewshot_indices"}
        inherited = {
            "split": self.fewshot_split,
            "process_docs": self.process_docs,
            "fewshot_delimiter": self.fewshot_delimiter,
            "target_delimiter": self.target_delimiter,
            "gen_prefix": self.gen_prefix,
            "doc_to_text": self.doc_to_text,
            "doc_to_choice": self.doc_to_choice,
            "doc_to_target": self.doc_to_target,
        }
        needed = ("fewshot_delimiter", "target_delimiter", "doc_to_text", "doc_to_target", "sampler")
        kept = {key: value for key, value in told.items() if value is not None or key not in needed}
        return ExampleConfig(**{**inherited, **kept})


@dataclass(frozen=True, slots=True)
class ExampleConfig:
    """The choice and the form of the examples of a task.

    Attributes:
        split: Where they come from; ``None``: ``samples``, else the usual order of splits.
        process_docs: What is done to that split.
        fewshot_delimiter: What follows an example.
        target_delimiter: What stands between its question and its answer.
        gen_prefix: What its answer begins with.
        doc_to_text: Its question.
        doc_to_choice: The choices that a number as its answer stands for.
        doc_to_target: Its answer.
        sampler: How they are chosen: a name or a class.
        samples: The rows themselves, or a function that returns them.
    """

    split: str | None
    process_docs: Code
    fewshot_delimiter: str
    target_delimiter: str
    gen_prefix: str | None
    doc_to_text: Form
    doc_to_choice: Form
    doc_to_target: Form
    sampler: Any = "default"
    samples: Any = None


def validate(values: Mapping[str, Any], where: Locate, file: Path) -> LmTaskConfig:
    """The configuration of a task.

    Args:
        values: Resolved top-level keys.
        where: Gives ``file:line`` of a key.
        file: The task's file, for messages.

    Raises:
        PlanError: if a key is unknown (the message names the nearest one), or a value has the wrong type.
    """
    fields = {key: value for key, value in values.items() if key not in _NO_FIELDS}
    unknown = next((key for key in fields if key not in LmTaskConfig.model_fields), None)
    if unknown is not None:
        hint = did_you_mean(unknown, LmTaskConfig.model_fields, n=1)
        what = f"lm-eval's tasks have no field {unknown!r}."
        raise PlanError(what, where=where(unknown), hint=hint or "See lm-eval's task guide for all fields.")
    check_showing(fields, where)
    try:
        return LmTaskConfig(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        path = [str(part) for part in first["loc"] if part not in ("callable", "str")]
        message = first["msg"].removeprefix("Value error, ").rstrip(".")
        name = f"Task field {'.'.join(path)!r}: " if path else ""
        raise PlanError(f"{name}{message}.", where=where(path[0]) if path else str(file)) from None


def config_of(spec: TaskSpec) -> LmTaskConfig:
    """The typed configuration of a spec."""
    return validate(spec.config, lambda key: str(spec.file), spec.file)


def check_config(config: LmTaskConfig, locate: Locate) -> None:
    """Refuse a task without a field that its output type needs.

    Raises:
        PlanError: if something is missing.
    """
    missing, hint = "", ""
    if config.dataset_path is None and config.custom_dataset is None:
        missing, hint = "dataset_path", "Name a dataset of the hub, a file format with data_files, or custom_dataset."
    elif config.eval_split is None:
        missing, hint = "test_split or validation_split", "Name the split that is measured."
    elif config.use_prompt is None and config.doc_to_text is None:
        missing, hint = "doc_to_text", "Where no context is needed write doc_to_text: ''."
    elif config.use_prompt is None and config.doc_to_target is None:
        missing, hint = "doc_to_target", "Name a column or write a template."
    elif config.output_type == MULTIPLE_CHOICE and config.doc_to_choice is None and config.use_prompt is None:
        missing, hint = "doc_to_choice", "Name a column with lists of texts, or write a list such as [yes, no]."
    if missing:
        raise PlanError(f"Task {config.task!r} has no {missing}.", where=locate("task"), hint=hint)
