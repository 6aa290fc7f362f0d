"""``lm_eval.api.group`` and ``lm_eval.config.group``: groups as data, for code that looks at them or makes some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from polymeter.interop.lm_eval.tasks.groups import stated_group


@dataclass
class AggMetricConfig:
    """The aggregation of a group: its tasks' results become one."""

    metric: str
    filter_list: Any = None
    aggregation: Any = "mean"
    weight_by_size: bool = True

    def __post_init__(self) -> None:
        if self.aggregation != "mean" and not callable(self.aggregation):
            raise ValueError(f"A group's number is a mean, not {self.aggregation!r}.")
        if isinstance(self.filter_list, str):
            self.filter_list = [self.filter_list]


@dataclass
class GroupConfig:
    """A group's fields."""

    group: str
    group_alias: str | None = None
    task: Any = None
    aggregate_metric_list: Any = None
    metadata: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.task, str):
            self.task = [self.task]
        listed = self.aggregate_metric_list
        if listed is not None:
            listed = [listed] if isinstance(listed, (Mapping, AggMetricConfig)) else listed
            self.aggregate_metric_list = [
                item if isinstance(item, AggMetricConfig) else AggMetricConfig(**item) for item in listed
            ]

    def to_dict(self, keep_callable: bool = False) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


@dataclass
class Group:
    """Tasks and groups under one name."""

    name: str
    alias: str | None = None
    aggregate_metric_list: list[AggMetricConfig] | None = None
    metadata: Any = None
    _children: dict[str, Any] = field(default_factory=dict, repr=False)
    _config: GroupConfig | None = field(default=None, repr=False)

    def add(self, item: Any) -> None:
        """Add a task or a group."""
        self._children[item.task_name if hasattr(item, "task_name") else item.name] = item

    def pop(self, name: str) -> Any:
        """Remove a member."""
        return self._children.pop(name, None)

    def get(self, name: str) -> Any:
        """A member by its name."""
        return self._children.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._children

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())

    def __len__(self) -> int:
        return len(self._children)

    @property
    def child_names(self) -> list[str]:
        """The names of its members."""
        return list(self._children)

    @property
    def version(self) -> str:
        """Its author's version."""
        return str(self.metadata.get("version", "N/A")) if self.metadata else "N/A"

    @property
    def has_aggregation(self) -> bool:
        """True if it has results of its own."""
        return bool(self.aggregate_metric_list)

    def get_all_groups(self, recursive: bool = True) -> list[Group]:
        """The groups among its members, and those below them."""
        own = [item for item in self if isinstance(item, Group)]
        return [each for group in own for each in (group, *(group.get_all_groups() if recursive else ()))]

    def get_all_tasks(self, recursive: bool = True) -> list[Any]:
        """The tasks among its members, and those below its groups."""
        return [
            task
            for item in self
            for task in ((item.get_all_tasks() if recursive else ()) if isinstance(item, Group) else (item,))
        ]

    def aggregate(self, task_metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The group's entry in lm-eval's results, from those of its tasks."""
        names = {"name": self.name, "alias": self.alias or self.name}
        if not self.aggregate_metric_list:
            return names
        found = [task.task_name for task in self.get_all_tasks()]
        leaves = [task_metrics[name] for name in found if name in task_metrics]
        return names | stated_group([asdict(item) for item in self.aggregate_metric_list], leaves)

    @classmethod
    def from_config(cls, config: GroupConfig | Mapping[str, Any]) -> Group:
        """A group without members, from its fields."""
        told = config if isinstance(config, GroupConfig) else GroupConfig(**config)
        return cls(told.group, told.group_alias, told.aggregate_metric_list, told.metadata, _config=told)

    def to_dict(self) -> dict[str, Any]:
        """Its fields."""
        if self._config is not None:
            return self._config.to_dict()
        listed = [asdict(item) for item in self.aggregate_metric_list or ()]
        fields = {"group_alias": self.alias, "aggregate_metric_list": listed, "metadata": self.metadata}
        given = {name: value for name, value in fields.items() if value}
        return {"group": self.name, **({"task": self.child_names} if self._children else {}), **given}


class ConfigurableGroup(Group):
    """A group by the older name, made of its fields."""

    def __init__(self, config: GroupConfig | Mapping[str, Any] | None = None) -> None:
        told = config if isinstance(config, GroupConfig) else GroupConfig(**(config or {}))
        super().__init__(told.group, told.group_alias, told.aggregate_metric_list, told.metadata, _config=told)

    @property
    def group(self) -> str:
        """Its name."""
        return self.name

    @property
    def group_name(self) -> str:
        """Its name."""
        return self.name

    @property
    def group_alias(self) -> str | None:
        """Its alias."""
        return self.alias

    @property
    def config(self) -> dict[str, Any]:
        """Its fields."""
        return self.to_dict()

    def __hash__(self) -> int:
        return hash(self.name)
