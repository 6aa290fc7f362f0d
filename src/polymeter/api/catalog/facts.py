"""What a page tells of a benchmark, in the same words for every dialect. Runs none of its code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polymeter.api.catalog.hiding import Hider
from polymeter.api.catalog.judging import JudgeNeed, judge_need
from polymeter.core.catalog import Catalog, Entry
from polymeter.core.errors import PolymeterError
from polymeter.core.registries import stored_format
from polymeter.core.task import TaskSpec
from polymeter.engine import plan

_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only running the benchmark's code would tell. ``source`` is how it is written there."""

    source: str


Value = str | Unknown


@dataclass(frozen=True, slots=True)
class Facts:
    """One benchmark or group.

    Attributes:
        entry: How the index knows it.
        place: Its file, without the folders of this machine.
        title: The name to print.
        description: Its author's words; empty when there are none.
        tags: Labels.
        dataset: Where its records come from: an id, a folder or a format.
        subsets: Parts of the dataset that are reported each.
        splits: What each split is used for, and its name.
        outputs: Output types, in the dialect's words.
        asks: What the model is asked to do, in the words of ``polymeter.core``.
        metrics: Names, with an arrow to the better side where that is written.
        few_shot: How many examples stand before a question.
        settings: Further settings, each as text.
        prompts: What its prompts are made of: the field and its text.
        judge: Whether it needs a judge; ``no`` too where nobody can tell.
        problem: Why it cannot be used; empty when it can.
    """

    entry: Entry
    place: str
    title: str
    description: Value = ""
    tags: tuple[Value, ...] = ()
    dataset: Value = ""
    subsets: tuple[Value, ...] = ()
    splits: tuple[tuple[str, Value], ...] = ()
    outputs: tuple[Value, ...] = ()
    asks: tuple[str, ...] = ()
    metrics: tuple[Value, ...] = ()
    few_shot: Value = "0"
    settings: tuple[tuple[str, Value], ...] = ()
    prompts: tuple[tuple[str, Value], ...] = ()
    judge: JudgeNeed = "no"
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Keys:
    """Under which keys a dialect's authors write what a page tells; of several the first that is given counts."""

    title: tuple[str, ...] = ("pretty_name", "task_alias", "group_alias")
    description: str = "description"
    tags: str = "tags"
    dataset: str = "dataset_id"
    subsets: str = "subset_list"
    splits: tuple[str, ...] = ("train_split", "eval_split")
    outputs: tuple[str, ...] = ("output_types", "model_adapter")
    default_output: str = ""
    few_shot: str = "few_shot_num"
    settings: tuple[str, ...] = ("extra_params", "filters")
    prompts: tuple[str, ...] = ("system_prompt", "query_template", "prompt_template")


_KEYS: Mapping[str, _Keys] = {
    "adapter": _Keys(default_output="generation"),
    "tsv": _Keys(
        dataset="url",
        outputs=("TYPE",),
        settings=("MODALITY", "NUM_GENERATIONS", "METRICS", "md5", "columns"),
        prompts=(),
    ),
    "task_yaml": _Keys(
        description="",  # there it is a part of the prompt
        tags="tag",
        dataset="dataset_path",
        subsets="dataset_name",
        splits=("training_split", "validation_split", "test_split", "fewshot_split"),
        outputs=("output_type",),
        default_output="generate_until",
        few_shot="num_fewshot",
        settings=("dataset_kwargs", "generation_kwargs", "repeats", "filter_list"),
        prompts=(
            "description",
            "doc_to_text",
            "doc_to_messages",
            "doc_to_choice",
            "doc_to_target",
            "lmms_eval_specific_kwargs",
        ),
    ),
}
_ASKS: Mapping[str, str] = {
    "generate_until": "generate",
    "generate_until_multi_round": "generate",
    "generate_until_agentic": "generate",
    "generate_visual_cot": "generate",
    "generation": "generate",
    "loglikelihood": "loglikelihood",
    "multiple_choice": "loglikelihood",
    "multiple_choice_logits": "loglikelihood",
    "continuous_logits": "loglikelihood",
    "generate_image": "generate_image",
    "image_generation": "generate_image",
    "T2I": "generate_image",
    "IT2I": "generate_image",
    "MCQ": "generate",
    "VQA": "generate",
    "Y/N": "generate",
}


@dataclass(slots=True)
class FactReader:
    """Reads the facts of entries of one catalog.

    Attributes:
        catalog: All benchmarks.
        hider: Takes this machine's folders out of what is told.
        specs: Of each task that was read well, its spec.
    """

    catalog: Catalog
    hider: Hider
    specs: dict[str, TaskSpec] = field(default_factory=dict)

    def read(self, entry: Entry) -> Facts:
        """The facts of one entry. What is wrong with it becomes its ``problem``."""
        place = self.hider.hide(str(entry.file))
        title = entry.alias or entry.name
        try:
            self.catalog.get(entry.name)
            benchmark_format = plan.format_of(entry)
            written = {key: value for key, value, _ in benchmark_format.describe(entry, self.catalog)}
            if entry.kind == "group" and not entry.members:  # only running its code would tell what is in it
                return Facts(entry, place, title, tags=entry.tags)
            loaded = benchmark_format.load(entry, self.catalog)
        except PolymeterError as error:
            return Facts(entry, place, title, tags=entry.tags, problem=self.problem_of(error))
        if entry.kind == "group":
            return Facts(entry, place, title, tags=entry.tags)
        spec = self.specs[entry.name] = loaded.tasks[0]
        return self._of_task(entry, place, spec, _Written(written, spec.config))

    def problem_of(self, error: PolymeterError) -> str:
        """What went wrong, where, and what to do, without the folders of this machine."""
        where = f"{error.where}: " if error.where else ""
        return self.hider.hide(f"{where}{error.what} {error.hint}".strip())

    def _of_task(self, entry: Entry, place: str, spec: TaskSpec, written: _Written) -> Facts:
        keys = _KEYS.get(stored_format(entry.format), _Keys())
        outputs = next((found for key in keys.outputs if (found := written.several(key))), ())
        outputs = outputs or ((keys.default_output,) if keys.default_output else ())
        asks = dict.fromkeys(_ASKS[name] for name in outputs if isinstance(name, str) and name in _ASKS)
        own_words = written.one(keys.description) or self._about(written)
        return Facts(
            entry,
            place,
            next(
                (str(title) for key in keys.title if isinstance(title := written.one(key), str) and title), entry.name
            ),
            description=own_words,
            tags=written.several(keys.tags) or entry.tags,
            dataset=self._setting(written, keys.dataset),
            subsets=written.several(keys.subsets),
            splits=tuple((key, written.one(key)) for key in keys.splits if written.one(key)),
            outputs=outputs,
            asks=tuple(asks),
            metrics=_metrics(written, outputs),
            few_shot=written.one(keys.few_shot) or "0",
            settings=tuple((key, self._setting(written, key)) for key in keys.settings if written.one(key)),
            prompts=tuple((key, written.one(key)) for key in keys.prompts if written.one(key)),
            judge=judge_need(entry.name, spec.config, spec.sources),
        )

    def _about(self, written: _Written) -> Value:
        metadata = written.raw("metadata")
        about = metadata.get("description", "") if isinstance(metadata, Mapping) else ""
        return about if isinstance(about, str) else ""

    def _setting(self, written: _Written, key: str) -> Value:
        value = written.one(key)
        return value if isinstance(value, Unknown) else _text(self.hider.hide_in(written.raw(key)))


@dataclass(frozen=True, slots=True)
class _Written:
    """A configuration as people write it (``values``), beside what is known of it without running code (``known``)."""

    values: Mapping[str, Any]
    known: Mapping[str, Any]

    def raw(self, key: str) -> Any:
        """The value itself."""
        return self.values.get(key)

    def one(self, key: str) -> Value:
        """A value as one text; empty when there is none."""
        value = self.values.get(key)
        if self._is_unknown(key):
            return Unknown(str(value))
        return _text(value)

    def several(self, key: str) -> tuple[Value, ...]:
        """A list, or a single value in place of one."""
        value = self.values.get(key)
        if self._is_unknown(key):
            return (Unknown(str(value)),)
        items = value if isinstance(value, (list, tuple)) else [value]
        return tuple(_text(item) for item in items if item not in (None, ""))

    def _is_unknown(self, key: str) -> bool:
        return self.known.get(key) == _UNKNOWN and key in self.values


def _metrics(written: _Written, outputs: Sequence[Value]) -> tuple[Value, ...]:
    items = written.raw("metric_list")
    if items is None and not written.raw("process_results"):
        from polymeter.metrics.defaults import DEFAULT_METRICS

        return tuple(name for output in outputs for name in DEFAULT_METRICS.get(str(output), ()))
    if isinstance(items, Mapping):
        items = [items]
    if not isinstance(items, (list, tuple)):
        return written.several("metric_list")
    return tuple(_metric(item) for item in items)


def _metric(item: Any) -> str:
    if not isinstance(item, Mapping):
        return _text(item)
    is_higher_better = item.get("higher_is_better")
    arrow = {True: " ↑", False: " ↓"}.get(is_higher_better, "") if isinstance(is_higher_better, bool) else ""
    return f"{_text(item.get('metric', _UNKNOWN))}{arrow}"


def _text(value: Any) -> str:
    if value in (None, "") or (isinstance(value, (Mapping, list, tuple)) and not value):
        return ""
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def all_members(entry: Entry, catalog: Catalog) -> Iterable[Entry]:
    """The entries below a group, however deep, that have a name of their own; tags among its members are followed."""
    tags = catalog.tags()
    seen: dict[str, Entry] = {}
    waiting = list(entry.members)
    while waiting:
        name = waiting.pop(0)
        member = catalog.entries.get(name)
        if member is None:
            waiting.extend(task for task in tags.get(name, ()) if task not in seen)
        elif name not in seen and name != entry.name:
            seen[name] = member
            waiting.extend(member.members)
    return seen.values()
