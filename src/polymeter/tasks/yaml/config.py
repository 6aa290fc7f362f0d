"""The fields of a task, with their types and defaults: one frozen object, made from a resolved file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.media.showing import Showing, check_showing, read_showing
from polymeter.core.records.protocol import BenchmarkProtocol
from polymeter.core.task import TaskSpec
from polymeter.guests.loading.load import name_of

OutputType = Literal[
    "generate_until",
    "loglikelihood",
    "multiple_choice",
    "generate_until_multi_round",
    "generate_visual_cot",
    "generate_until_agentic",
    "generate_with_tools",
    "generate_image",
]
Function = Callable[..., Any]
"""A ``!function`` reference, or a function itself where a Python task gives one."""
Code = Function | None
Form = Function | str | int | list[Any] | dict[Any, Any] | None
_METRIC_KEYS = frozenset({"metric", "aggregation", "higher_is_better", "hf_evaluate"})
# Keys that belong inside another key: at the top level they show that the file has lost its indentation.
_NESTED_KEYS = frozenset(
    {
        "token",
        "max_new_tokens",
        "temperature",
        "top_p",
        "num_beams",
        "do_sample",
        "until",
        "default",
        "pre_prompt",
        "post_prompt",
        "version",
    }
)


class MetricItem(BaseModel):
    """One entry of ``metric_list``. ``kwargs`` go to the metric's function."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    metric: Function | str
    aggregation: Function | str | None = None
    higher_is_better: bool | None = None
    kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, value: Any) -> Any:
        if isinstance(value, str) or callable(value):
            return {"metric": value}
        if isinstance(value, Mapping):
            if "metric" not in value:
                raise ValueError("an entry of metric_list needs the key 'metric'")
            own = {key: value[key] for key in _METRIC_KEYS & set(value) if key != "hf_evaluate"}
            return {**own, "kwargs": {str(key): item for key, item in value.items() if key not in _METRIC_KEYS}}
        return value

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric if isinstance(self.metric, str) else name_of(self.metric).rpartition(".")[2]


class FilterStep(BaseModel):
    """One step of a filter: a registered name or a class in the task's code, with its arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    function: Function | str
    kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            if "function" not in value:
                raise ValueError("a step of a filter needs the key 'function'")
            kwargs = {str(key): item for key, item in value.items() if key not in ("function", "kwargs")}
            return {"function": value["function"], "kwargs": {**kwargs, **(value.get("kwargs") or {})}}
        return {"function": value}


class FilterItem(BaseModel):
    """One entry of ``filter_list``: a named reading of the answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, coerce_numbers_to_str=True)

    name: str
    filter: tuple[FilterStep, ...] = ()


def _field(default: Any, description: str, **rules: Any) -> Any:
    """Return a field of a task; ``docs/fields.md`` shows its description."""
    made = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return Field(**made, description=description, **rules)


class YamlFields(BaseModel):
    """The fields of a task YAML. ``python -m scripts.fields_page`` makes ``docs/fields.md`` from them."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, coerce_numbers_to_str=True)

    task: str = _field(..., "The task's name. In a group: the list of its members.")
    task_alias: str | None = _field(None, "Name in the result table; default: `task`.")
    tag: tuple[str, ...] = _field(
        (), "Names that select several tasks. `group` on a task is an old name of this field."
    )
    group_alias: str | None = _field(None, "Name of a group in the result table; default: `group`.")
    class_: Code = _field(None, "Python class that defines the task instead of the fields below.", alias="class")

    dataset_path: str | None = _field(
        None, "Hub id, local folder, or kind of file: `csv`, `json`, `parquet`, `imagefolder`, … Required."
    )
    dataset_name: str | None = _field(None, "Configuration of the dataset.")
    dataset_kwargs: dict[str, Any] = _field(dict, "Arguments of `datasets.load_dataset`, such as `data_files`.")
    training_split: str | None = _field(None, "Split that few-shot examples come from.")
    validation_split: str | None = _field(None, "Split that is measured if `test_split` is missing.")
    test_split: str | None = _field(None, "Split that is measured. This or `validation_split` is required.")
    fewshot_split: str | None = _field(None, "Split that examples come from, instead of `training_split`.")
    full_docs: bool = _field(False, "Pass all rows to `process_results` as `full_docs`.")
    process_results_use_image: bool = _field(
        False, "Include media in the row that prompts and `process_results` receive."
    )
    process_docs: Code = _field(None, "Function that changes a split before use.")

    doc_to_visual: Form = _field(None, "Images, audio and video of a row. Also `doc_to_image`.")
    doc_to_text: Form = _field(None, "Prompt.")
    doc_to_target: Form = _field(None, "Reference, or a list of references.")
    doc_to_choice: Form = _field(None, "Options of multiple choice.")
    doc_to_messages: Form = _field(None, "Whole conversation, for chat models.")
    use_prompt: str | None = _field(None, "Not used.")
    description: Function | str = _field("", "Text before every prompt.")
    target_delimiter: str = _field(" ", "Text between a prompt and its target or option.")
    fewshot_delimiter: str = _field("\n\n", "Text between examples.")
    fewshot_config: dict[str, Any] | None = _field(
        None,
        "`sampler` (`default` or `first_n`). For the examples only: `samples`, `doc_to_text`, `doc_to_target`, "
        "`doc_to_choice` and delimiters.",
    )
    num_fewshot: int | None = _field(None, "Number of examples; default: 0.")

    batch_size: int | str | None = _field(
        None, "Batch size of this task; default: the model's. `--batch-size` takes precedence."
    )
    repeats: int = _field(1, "Answers to each question.", ge=1)
    output_type: OutputType = _field("generate_until", "Kind of request.")
    tools: tuple[Any, ...] = _field(
        (), "[Tools](tools.md) that the model may call: `crop`, `zoom`, `rotate`, `grid`, and functions."
    )
    environment: Code = _field(None, "Class of the [environment](tools.md#an-environment) that the model acts in.")
    max_turns: int | None = _field(None, "Answers of the model in a conversation with tools; default: 16.", ge=1)
    max_calls: int | None = _field(None, "Calls in one; default: 64.", ge=1)
    generation_kwargs: dict[str, Any] | None = _field(
        None, "Generation settings, such as `max_new_tokens`, `temperature` and `until`."
    )
    lmms_eval_specific_kwargs: Any = _field(None, "Arguments of prompt functions, by model; `default` for all others.")
    model_specific_generation_kwargs: dict[str, Any] | None = _field(None, "Generation settings, by model.")
    model_specific_target_kwargs: Any = _field(None, "Arguments of target functions, by model.")

    video: dict[str, Any] | None = _field(None, "What is shown of [videos](tasks.md#what-a-model-is-shown).")
    image: dict[str, Any] | None = _field(None, "The same of images.")
    audio: dict[str, Any] | None = _field(None, "The same of recordings.")

    process_results: Code = _field(None, "Function that scores a sample.")
    metric_list: tuple[MetricItem, ...] | None = _field(
        None,
        "[Metrics](metrics.md): names, or mappings with `metric`, `aggregation`, `higher_is_better` and arguments. "
        "Default: by `output_type`.",
    )
    filter_list: tuple[FilterItem, ...] | None = _field(
        None,
        "Filters, each with `name` and `filter`; default: the first answer. Also `filters`.",
    )
    reasoning_tags: Any = _field(
        None, "Pairs of tags around reasoning, or `none`; default: the usual tags, and those of the chat template."
    )
    auto_strip_thinking: bool = _field(False, "Not needed: reasoning is always removed.")
    cluster_key: str | None = _field(None, "Column that groups dependent samples, for standard errors.")
    score_key: str = _field("score", "Key of the score in values that are mappings, for standard errors.")
    unsafe_code: bool = _field(False, "Scoring runs code that the model writes, which needs `--allow-generated-code`.")
    should_decontaminate: bool = _field(False, "Not used.")
    doc_to_decontamination_query: Form = _field(None, "Not used.")
    protocol: BenchmarkProtocol | None = _field(
        None,
        "How the number is measured (`--tasks NAME@PROTOCOL`): `name`, `version`, `default`, `source`, "
        "`parser`, `judge`, `shown`, `token_limit`, `expected_rows`, `on_other_rows`, `mirrors`, "
        "`licence`, `reference`.",
    )
    metadata: dict[str, Any] = _field(
        dict,
        "`version`, shown in the result table; `max_rounds`; `thread_safe: true`, if hooks can run concurrently; "
        "anything else.",
    )

    @model_validator(mode="before")
    @classmethod
    def _legacy(cls, values: Any) -> Any:
        values = dict(values)
        group = values.pop("group", None)
        if group is not None:
            if values.get("tag") is not None:
                raise ValueError("'group' on a task is an old name of 'tag'; use only one of them")
            values["tag"] = group
        filters = values.pop("filters", None)
        if filters is not None:
            if values.get("filter_list") is not None:
                raise ValueError("'filters' is another name of 'filter_list'; use only one of them")
            values["filter_list"] = filters
        images = values.pop("doc_to_image", None)
        if images is not None:
            if values.get("doc_to_visual") is not None:
                raise ValueError("'doc_to_image' is another name of 'doc_to_visual'; use only one of them")
            values["doc_to_visual"] = images
        # A key without a value is None in YAML: its author means the default.
        return {key: value for key, value in values.items() if value is not None}

    @field_validator("tag", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, (str, int)) else value

    @field_validator("tools", mode="before")
    @classmethod
    def _listed_tools(cls, value: Any) -> Any:
        return [value] if isinstance(value, (str, Mapping)) or callable(value) else value

    @field_validator("metric_list", mode="before")
    @classmethod
    def _listed_metrics(cls, value: Any) -> Any:
        return [value] if isinstance(value, (str, Mapping)) or callable(value) else value

    @field_validator("metadata", mode="before")
    @classmethod
    def _merged(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {key: item for part in value if isinstance(part, Mapping) for key, item in part.items()}
        return value

    @property
    def eval_split(self) -> str | None:
        """The split that is measured: test, else validation."""
        return self.test_split or self.validation_split

    @property
    def own_batch_size(self) -> int | None:
        """The task's batch size; ``None`` if it names none, or leaves it to the model (``auto``)."""
        text = str(self.batch_size or "")
        return int(text) if text.isdigit() and int(text) > 0 else None

    @property
    def showing(self) -> Showing:
        """The rules for showing media."""
        return read_showing({"video": self.video, "image": self.image, "audio": self.audio}, self.task)

    @property
    def version(self) -> str:
        """The author's version, as printed."""
        return str(self.metadata.get("version", ""))

    @property
    def is_unsafe(self) -> bool:
        """True if its scoring runs code that a model wrote."""
        return self.unsafe_code


def config_of(spec: TaskSpec) -> YamlFields:
    """The typed configuration of a spec."""
    return validate(spec.config, lambda key: str(spec.file), spec.file)


def validate(values: Mapping[str, Any], where: Callable[[str], str], file: Path) -> YamlFields:
    """The configuration of a task.

    Args:
        values: Resolved top-level keys.
        where: Gives ``file:line`` of a key.
        file: The task's file, for messages.

    Raises:
        PlanError: if a key is unknown (the message names the nearest one), or a value has the wrong type.
    """
    fields = {"class", "group", "filters", "doc_to_image", *YamlFields.model_fields} - {"class_"}
    unknown = [key for key in values if key not in fields]
    if unknown:
        key = unknown[0]
        hint = did_you_mean(key, fields, n=1)
        if key in _NESTED_KEYS:
            hint = f"{key!r} belongs inside another key: the file seems to have lost its indentation, as web copies do."
        raise PlanError(
            f"There is no task field {key!r}.", where=where(key), hint=hint or "See docs/fields.md for all fields."
        )
    check_showing(values, where)
    try:
        return YamlFields(**values)
    except ValidationError as error:
        first = error.errors()[0]
        path = [str(part) for part in first["loc"] if part not in ("callable", "str")]
        message = first["msg"].removeprefix("Value error, ")
        name = f"Task field {'.'.join(path)!r}: " if path else ""
        near = ""
        if first["type"] == "literal_error":
            near = did_you_mean(str(first["input"]), re.findall(r"'([^']+)'", first["ctx"]["expected"]), n=1)
        place = where(path[0]) if path else str(file)
        raise PlanError(f"{name}{message}.", where=place, hint=near) from None
