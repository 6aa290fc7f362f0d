"""``lmms_eval.api.group`` and ``lmms_eval.evaluator_utils``: groups as data, and walks over trees of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any


class _Items(dict[str, Any]):
    """A dictionary whose items are the fields of the dataclass, as lmms-eval's configurations are."""

    def __getitem__(self, item: str) -> Any:
        return getattr(self, item)

    def __setitem__(self, item: str, value: Any) -> None:
        setattr(self, item, value)


@dataclass
class AggMetricConfig(_Items):
    """The aggregation of a group: its tasks' results become one."""

    metric: str | None = None
    aggregation: str | Callable[..., Any] | None = "mean"
    weight_by_size: bool = False
    filter_list: str | list[str] = "none"

    def __post_init__(self) -> None:
        if self.aggregation != "mean" and not callable(self.aggregation):
            raise ValueError(f"A group is aggregated by 'mean' or by a function, not by {self.aggregation!r}.")
        if isinstance(self.filter_list, str):
            self.filter_list = [self.filter_list]


@dataclass
class GroupConfig(_Items):
    """A group's fields."""

    group: str | None = None
    group_alias: str | None = None
    task: str | list[Any] | None = None
    aggregate_metric_list: Any = None
    postprocess_results: Any = None
    metadata: Any = None

    def __post_init__(self) -> None:
        listed = self.aggregate_metric_list
        if isinstance(listed, Mapping) and not isinstance(listed, AggMetricConfig):
            listed = [listed]
        if listed is not None:
            self.aggregate_metric_list = [
                item if isinstance(item, AggMetricConfig) else AggMetricConfig(**item) for item in listed
            ]

    def to_dict(self, keep_callable: bool = False) -> dict[str, Any]:
        """The fields; functions by their names unless they are to be kept."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if keep_callable:
            return values
        return {
            name: getattr(value, "__qualname__", value) if callable(value) else value for name, value in values.items()
        }


class ConfigurableGroup:
    """A group of tasks.

    Args:
        config: Its fields.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = GroupConfig(**(config or {}))

    @property
    def group(self) -> str | None:
        return self._config.group

    @property
    def group_name(self) -> str | None:
        return self._config.group

    @property
    def group_alias(self) -> str | None:
        return self._config.group_alias

    @property
    def version(self) -> Any:
        metadata = self._config.metadata
        return metadata.get("version") if isinstance(metadata, Mapping) else None

    @property
    def config(self) -> dict[str, Any]:
        return self._config.to_dict()

    def __repr__(self) -> str:
        return f"ConfigurableGroup(group={self.group},group_alias={self.group_alias})"


def get_subtask_list(
    task_dict: Mapping[Any, Any], task_root: str | None = None, depth: int = 0
) -> dict[str, list[str]]:
    """The names of the direct members of each group in a tree; a top-level task is listed with no members."""
    members: dict[str, list[str]] = {}
    for key, value in task_dict.items():
        name = _name(key)
        if isinstance(value, Mapping):
            members[name] = [_name(child if isinstance(inner, Mapping) else inner) for child, inner in value.items()]
            subgroups = {child: inner for child, inner in value.items() if isinstance(inner, Mapping)}
            members.update(get_subtask_list(subgroups, name, depth + 1))
        elif task_root is None:
            members[_name(value)] = []
    return members


def get_sample_size(task: Any, limit: float | None) -> int | None:
    """The number of samples that a limit means: the limit itself, or a fraction if it is below 1, rounded up."""
    if limit is None:
        return None
    return math.ceil(len(task.eval_docs) * limit) if limit < 1 else int(limit)


def _name(thing: Any) -> str:
    if isinstance(thing, ConfigurableGroup):
        return str(thing.group_name)
    return str(getattr(thing, "task_name", None) or getattr(getattr(thing, "config", None), "task", None) or thing)
