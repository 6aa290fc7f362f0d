"""``@register_benchmark(BenchmarkMeta(...))``: the registration of a benchmark of EvalScope 1.x.

A run never changes a registration: its own settings go into a copy. Names belong to files, as for 0.17.
"""

from __future__ import annotations

import copy
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.catalog import named_with_protocol
from polymeter.interop.evalscope.tasks.reading import stated_protocol
from polymeter.interop.evalscope.tasks.registration import Registered, latest_class, registering_file
from polymeter.interop.evalscope.v1.constants import OutputType
from polymeter.interop.evalscope.v1.types.identities import METRIC_LIST_ALIASES, MetricSelector

C = TypeVar("C", bound="type[Any]")
_VERSION = re.compile(r"^v\d+\.\d+$")
_MODES = ("auto", "disabled", "fixed")
PROTECTED = ("evaluation_version", "few_shot_mode", "allowed_few_shot_nums", "supports_choice")
"""Fields that a run cannot change."""


@dataclass
class BenchmarkMeta:
    """The registration of a benchmark.

    Attributes:
        name: Unique name.
        dataset_id: Id on a hub, or a local path.
        data_adapter: The adapter's class.
        output_types: Kinds of output, for people.
        subset_list: Subsets that are asked about.
        default_subset: The one that is loaded where rows, or splits, make the subsets.
        few_shot_num: Number of examples before each question.
        few_shot_mode: ``auto``: they come from the train split; ``fixed``: the adapter has them; ``disabled``.
        allowed_few_shot_nums: The only numbers that make sense; ``None``: any.
        few_shot_random: Whether they are drawn, or the first ones are taken.
        train_split: Where they come from.
        eval_split: What is asked about.
        prompt_template: The prompt, with ``{question}``.
        few_shot_prompt_template: The prompt with examples, with ``{fewshot}`` and ``{question}``.
        system_prompt: A system message.
        supports_choice: For services that decide; not used.
        choice_instructions: For services that decide; not used.
        query_template: For the adapter's use.
        pretty_name: The name to print.
        description: For people.
        paper_url: For people.
        data_statistics: For people.
        sample_example: For people.
        tags: Labels.
        filters: What answers go through before they are read: name of a filter → its arguments, in order.
        metric_list: Metrics: a name, or a name with arguments.
        aggregation: From values of samples to numbers.
        primary_metric: The metric that matters most, where there are several.
        shuffle: Whether rows are shuffled before a limit.
        shuffle_choices: Whether options are shuffled.
        force_redownload: Whether data is fetched again.
        review_timeout: Seconds for scoring, for the adapter's use.
        extra_params: Further settings of the adapter: values, or descriptions of them with a ``value``.
        sandbox_config: Settings of a container.
        max_image_bytes: The size above which images are compressed.
        evaluation_version: Of the way of scoring.
        dataset_revision: Of the dataset.
        hf_dataset_id: The dataset's id on the Hugging Face hub, where it is another.
        hf_dataset_revision: Its revision there.
    """

    name: str
    dataset_id: str
    data_adapter: Any = None
    output_types: list[str] = field(default_factory=lambda: [OutputType.GENERATION])
    subset_list: list[str] = field(default_factory=lambda: ["default"])
    default_subset: str = "default"
    few_shot_num: int = 0
    few_shot_mode: Literal["auto", "disabled", "fixed"] = "auto"
    allowed_few_shot_nums: tuple[int, ...] | None = None
    few_shot_random: bool = False
    train_split: str | None = None
    eval_split: str | None = None
    prompt_template: str | None = None
    few_shot_prompt_template: str | None = None
    system_prompt: str | None = None
    supports_choice: bool = False
    choice_instructions: str | None = None
    query_template: str | None = None
    pretty_name: str | None = None
    description: str | None = None
    paper_url: str | None = None
    data_statistics: Any = None
    sample_example: Any = None
    tags: list[str] = field(default_factory=list)
    filters: Any = None
    metric_list: list[Any] = field(default_factory=list)
    aggregation: str = "mean"
    primary_metric: Any = None
    shuffle: bool = False
    shuffle_choices: bool = False
    force_redownload: bool = False
    review_timeout: float | None = None
    extra_params: dict[str, Any] = field(default_factory=dict)
    sandbox_config: dict[str, Any] | None = field(default_factory=dict)
    max_image_bytes: int | str | None = None
    evaluation_version: str = "v1.0"
    dataset_revision: str | None = None
    hf_dataset_id: str | None = None
    hf_dataset_revision: str | None = None

    @property
    def task_name(self) -> str:
        """The name of its task: its own, with that of the protocol that it states."""
        return named_with_protocol(self.name, stated_protocol(self.extra_params))

    def __post_init__(self) -> None:
        if not _VERSION.fullmatch(str(self.evaluation_version)):
            raise ValueError(f"evaluation_version must match 'v<major>.<minor>', got {self.evaluation_version!r}")
        self._check_few_shots()
        self._normalise_metrics()

    @property
    def dataset_source(self) -> Any:
        """The dataset on either hub."""
        from polymeter.interop.evalscope.v1.data.hub import DatasetSource

        return DatasetSource(
            dataset_id=self.dataset_id,
            dataset_revision=self.dataset_revision,
            hf_dataset_id=self.hf_dataset_id,
            hf_dataset_revision=self.hf_dataset_revision,
        )

    def get_extra_params(self) -> dict[str, Any]:
        """Return the settings of the adapter as plain values.

        Raises:
            ValueError: if one is not among its choices.
        """
        return {key: self._extra_value(entry) for key, entry in self.extra_params.items()}

    def metric_names(self) -> list[str]:
        """The names in ``metric_list``, each once."""
        names = [entry if isinstance(entry, str) else next(iter(entry or {}), "") for entry in self.metric_list or ()]
        return [*dict.fromkeys(name for name in names if name)]

    def to_dict(self) -> dict[str, Any]:
        """All values by name, but the version of the way of scoring."""
        values: dict[str, Any] = _plain(asdict(self))
        values.pop("evaluation_version")
        return values

    def to_string_dict(self) -> dict[str, Any]:
        """A copy of all values but the adapter's class, with plain settings of the adapter."""
        values = copy.deepcopy(self.to_dict())
        values.pop("data_adapter")
        values["extra_params"] = self.get_extra_params()
        return values

    def _update(self, args: Mapping[str, Any]) -> None:
        """Change values for a run. Names that no attribute has are ignored; see ``unknown_arguments``.

        Raises:
            ValueError: if a value cannot be changed, or makes no sense.
            KeyError: if ``extra_params`` has a setting that the adapter does not.
        """
        changed: dict[str, Any] = copy.deepcopy(dict(args))
        protected = sorted(set(PROTECTED) & changed.keys())
        if protected:
            raise ValueError(
                f"{', '.join(protected)} must be declared by BenchmarkMeta, not overridden through dataset_args."
            )
        local_path = changed.get("local_path")
        if local_path:
            del changed["local_path"]
        if local_path or changed.get("dataset_id", self.dataset_id) not in (self.dataset_id, None, ""):
            # What was declared of revisions and other hubs is of the declared dataset.
            self.dataset_revision = self.hf_dataset_id = self.hf_dataset_revision = None
        self.dataset_id = local_path or self.dataset_id
        if changed.get("filters"):
            # A run's filters stand first; where a name is declared, too, the declared arguments win.
            self.filters = OrderedDict([*OrderedDict(changed.pop("filters")).items(), *(self.filters or {}).items()])
        for key, value in (changed.pop("extra_params") if changed.get("extra_params") else {}).items():
            if key not in self.extra_params:
                raise KeyError(f"Extra param {key} not found in benchmark {self.name} extra_params.")
            if _is_described(self.extra_params[key]):
                self.extra_params[key]["value"] = value
            else:
                self.extra_params[key] = value
        for key, value in changed.items():
            if hasattr(self, key):
                setattr(self, key, value)
        self._check_few_shots()
        self._normalise_metrics()

    def _check_few_shots(self) -> None:
        allowed = self.allowed_few_shot_nums
        if self.few_shot_num < 0:
            raise ValueError("few_shot_num must be >= 0")
        if self.few_shot_mode not in _MODES:
            raise ValueError(f"Unsupported few_shot_mode: {self.few_shot_mode}")
        if self.few_shot_mode == "disabled":
            if allowed is not None:
                raise ValueError("allowed_few_shot_nums requires few_shot_mode to be auto or fixed")
            return
        if self.few_shot_mode == "fixed" and not allowed:
            raise ValueError("fixed few_shot_mode requires allowed_few_shot_nums")
        if allowed is None:
            return
        if not allowed:
            raise ValueError("allowed_few_shot_nums must not be empty")
        if any(type(count) is not int or count < 0 for count in allowed):
            raise ValueError("allowed_few_shot_nums must contain non-negative integers")
        if 0 not in allowed:
            raise ValueError("allowed_few_shot_nums must include 0")

    def _normalise_metrics(self) -> None:
        """Write registered names of metrics, and the primary metric as a selector.

        Raises:
            ValueError: if the primary metric is not in the list.
        """
        from polymeter.interop.evalscope.v1.report.legacy_names import migrate_legacy_identity

        self.metric_list = [_canonical_entry(entry) for entry in self.metric_list]
        if isinstance(self.primary_metric, str):
            identity = migrate_legacy_identity(self.primary_metric, self.aggregation, benchmark_name=self.name)
            self.primary_metric = MetricSelector(name=identity.name)
        names = self.metric_names()
        if self.primary_metric is not None:
            known = {migrate_legacy_identity(name, self.aggregation, benchmark_name=self.name).name for name in names}
            if self.primary_metric.name not in known:
                raise ValueError(
                    f"benchmark '{self.name}': primary_metric='{self.primary_metric.name}' is not in "
                    f"metric_list {names}"
                )

    def _extra_value(self, entry: Any) -> Any:
        if not _is_described(entry):
            return entry
        value = entry.get("value")
        if entry.get("choices") and value not in entry["choices"]:
            raise ValueError(f"Value {value} not in choices {entry['choices']} in {self.name} extra_params.")
        return value


FIELDS = tuple(item.name for item in fields(BenchmarkMeta))
CHANGEABLE = tuple(name for name in (*FIELDS, "local_path") if name not in (*PROTECTED, "name", "data_adapter"))
"""The fields that a run's ``dataset_args`` may change."""


class RegisteredBenchmarks(Registered[BenchmarkMeta]):
    """The benchmarks of 1.x that loaded code has registered."""

    def __init__(self) -> None:
        super().__init__()
        self._spaces: dict[tuple[str, Any], Any] = {}

    def register(self, meta: BenchmarkMeta, space: Any) -> None:
        """Add a registration.

        Args:
            meta: The registration.
            space: The frame whose code registers it.

        Raises:
            PlanError: if its file has registered the name already, or another file of the user has.
        """
        file, is_guest = registering_file(space)
        # Code that runs anew has other globals: a file that is loaded again replaces its own.
        if self._spaces.get((meta.task_name, file)) is space.f_globals:
            raise PlanError(
                f"Benchmark {meta.task_name!r} is registered twice.",
                where=f"{file}:{space.f_lineno}",
                hint="Give each benchmark a name of its own.",
            )
        self.add(meta, file, is_guest=is_guest)
        self._spaces[meta.task_name, file] = space.f_globals

    def is_registered(self, name: str, registering_module: str | None = None) -> bool:
        """Return whether a name is taken."""
        return name in self

    def list_keys(self) -> list[str]:
        """All names, sorted."""
        return sorted(self)

    def forget(self, name: str) -> None:
        """Forget all registrations of a name."""
        super().forget(name)
        self._spaces = {key: space for key, space in self._spaces.items() if key[0] != name}


# Of the process, because a decorator registers without naming a run. A file that is loaded again replaces its own.
BENCHMARK_REGISTRY = RegisteredBenchmarks()


def register_benchmark(metadata: BenchmarkMeta) -> Callable[[C], C]:
    """A decorator that makes an adapter known under its registration.

    Raises:
        PlanError: when it decorates, if the file, or another one of the user's, has the name already.
    """

    def register_wrapper(data_adapter: C) -> C:
        metadata.data_adapter = data_adapter
        BENCHMARK_REGISTRY.register(metadata, sys._getframe(1))
        return data_adapter

    return register_wrapper


def get_benchmark(name: str, config: Any = None) -> Any:
    """Make the adapter of a registered benchmark.

    Args:
        name: The benchmark's name.
        config: The evaluation, whose ``dataset_args`` change the registration's copy.

    Raises:
        PlanError: if there is no such benchmark; the nearest names are given.
    """
    found = BENCHMARK_REGISTRY.get(name)
    if found is None:
        loaded = ", ".join(BENCHMARK_REGISTRY.list_keys()) or "none"
        raise PlanError(
            f"There is no benchmark {name!r}.",
            hint=did_you_mean(name, BENCHMARK_REGISTRY) or f"Loaded benchmarks: {loaded}.",
        )
    return make_adapter(found, config, config.dataset_args.get(name, {}) if config is not None else {})


def make_adapter(meta: BenchmarkMeta, config: Any, changes: Mapping[str, Any]) -> Any:
    """Make an adapter from a copy of a registration with a run's changes."""
    changed = copied(meta)
    changed._update(changes)
    return latest_class(meta.data_adapter)(benchmark_meta=changed, task_config=config)


def copied(meta: BenchmarkMeta) -> BenchmarkMeta:
    """A deep copy of a registration; the adapter's class stays the same."""
    return copy.deepcopy(meta)


def unknown_arguments(changes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names among a run's changes that no field has, each with the nearest one as a hint."""
    for key in changes:
        if key not in (*FIELDS, "local_path"):
            yield key, did_you_mean(key, CHANGEABLE) or f"Known: {', '.join(CHANGEABLE)}."


def _is_described(entry: Any) -> bool:
    return isinstance(entry, Mapping) and all(key in entry for key in ("description", "type", "value"))


def _canonical_entry(entry: Any) -> Any:
    name = entry if isinstance(entry, str) else next(iter(entry), "")
    if name not in METRIC_LIST_ALIASES:
        return entry
    return METRIC_LIST_ALIASES[name] if isinstance(entry, str) else {METRIC_LIST_ALIASES[name]: entry[name]}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
