"""From an entry of the index to specs, still without running task code.

Resolves groups, tags as members, members written as mappings, and values that a group overrides in its members.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.registries import FORMATS
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.guests.loading.load import FunctionRef
from polymeter.tasks.yaml.config import YamlFields, validate
from polymeter.tasks.yaml.index import NAME
from polymeter.tasks.yaml.reader import Reader, Resolved
from polymeter.tasks.yaml.task_code import PackageScanner, source_files

log = logging.getLogger(__name__)

_GROUP_KEYS = frozenset({"group", "group_alias", "task", "tag", "aggregate_metric_list", "metadata", "include"})


def load(entry: Entry, catalog: Catalog) -> Loaded:
    """The specs behind an entry: one task, or all tasks of a group with the groups that hold them, outermost first.

    Raises:
        PlanError: if a file is broken, a member is missing, or groups contain each other.
    """
    loading = _SpecLoading(catalog, Reader(is_working_directory_first=catalog.parity.on("include-order")))
    loading.member(entry.name, entry, {}, ())
    return Loaded(tuple(loading.tasks.values()), tuple(loading.groups.values()))


def make_spec(resolved: Resolved, overrides: Mapping[str, Any], name: str | None = None) -> TaskSpec:
    """The spec of a task.

    Args:
        resolved: Its file.
        overrides: Top-level keys that win over the file's.
        name: A name in place of its own.

    Raises:
        PlanError: if the configuration is not valid.
    """
    values = {**copy.deepcopy(resolved.values), **copy.deepcopy(dict(overrides))}
    if name is not None:
        values["task"] = name
    config = validate(values, resolved.where, resolved.file)
    tell_duplicates(resolved)
    sources = set(resolved.files) | source_files(resolved.file, values, PackageScanner())
    return TaskSpec(
        name=config.task,
        format=NAME,
        file=resolved.file,
        config=values,
        source_hash=source_hash(sources, portable(values)),
        sources=tuple(sorted(sources)),
        alias=config.task_alias or "",
        version=config.version,
        runs_generated_code=config.unsafe_code,
    )


def tell_duplicates(resolved: Resolved) -> None:
    """Tell which keys of a file and its includes are written twice."""
    for key, (file, line) in resolved.duplicates:
        _tell_duplicate(key, str(file), line)


# A template is included by hundreds of tasks, and once in a process is enough.
@lru_cache(maxsize=4096)
def _tell_duplicate(key: str, file: str, line: int) -> None:
    log.warning("%s:%d: the key %r is written twice; this one counts.", file, line, key)


def config_of(spec: TaskSpec) -> YamlFields:
    """The typed configuration of a spec."""
    return validate(spec.config, lambda key: str(spec.file), spec.file)


def provenance(spec: TaskSpec) -> dict[str, str]:
    """``file:line`` of each top-level value of a task, for listings. Values that a group overrides are not in its
    file.
    """
    resolved = Reader().read(spec.file)
    return {key: resolved.where(key) if key in resolved.places else "overridden by a group" for key in spec.config}


def field_locator(spec: TaskSpec) -> Callable[[str], str]:
    """From a field of a task to its ``file:line``, looked up only when a message needs it."""

    # Kept as long as the function, which belongs to the task that is loaded.
    @lru_cache(maxsize=1)
    def places() -> dict[str, str]:
        return provenance(spec) if spec.file.is_file() else {}

    return lambda key: places().get(key, str(spec.file))


@dataclass(slots=True)
class _SpecLoading:
    """One walk down from an entry."""

    catalog: Catalog
    reader: Reader
    tasks: dict[str, TaskSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)

    def member(self, name: str, entry: Entry | None, overrides: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        """Load the task, group or tag of a name; returns the names of the members that it adds to a group."""
        if name in chain:
            raise PlanError(f"These groups contain each other: {' → '.join((*chain, name))}.")
        if entry is None:
            home, name = self.catalog.place(name)
            if home is not self.catalog:
                elsewhere = _SpecLoading(home, self.reader, self.tasks, self.groups)
                return elsewhere.member(name, None, overrides, chain)
            tagged = self.catalog.tags().get(name) if name not in self.catalog.entries else None
            if tagged is not None:
                return [member for task in tagged for member in self.member(task, None, overrides, (*chain, name))]
            entry = self.catalog.get_own(name)
        if entry.format != NAME:
            return self.other_format(entry, overrides)
        resolved = self.reader.read(entry.file)
        if entry.kind == "task":
            return [self.task(resolved, overrides)]
        return [self.group(resolved.values, resolved, overrides, chain)]

    def other_format(self, entry: Entry, overrides: Mapping[str, Any]) -> list[str]:
        """A member in another format."""
        if overrides:
            raise PlanError(
                f"{entry.name!r} is not a task YAML, so a group cannot override its fields.", where=str(entry.file)
            )
        loaded = FORMATS.get(entry.format).load(entry, self.catalog)
        self.tasks.update((spec.name, spec) for spec in loaded.tasks)
        self.groups.update((group.name, group) for group in loaded.groups)
        return [entry.name]

    def task(self, resolved: Resolved, overrides: Mapping[str, Any]) -> str:
        """Add a task. The same name with other overrides becomes ``name-1``, then ``name-2``."""
        spec = make_spec(resolved, overrides)
        name, number = spec.name, 0
        while name in self.tasks and not is_same_task(self.tasks[name], spec):
            number += 1
            name = f"{spec.name}-{number}"
        if name not in self.tasks:
            self.tasks[name] = spec if number == 0 else make_spec(resolved, overrides, name)
        return name

    def group(
        self, values: Mapping[str, Any], resolved: Resolved, overrides: Mapping[str, Any], chain: tuple[str, ...]
    ) -> str:
        """Add a group and all its members. Its overrides apply to every task in it; those of its own parent win over
        them.
        """
        name = str(values["group"])
        below = {**{key: value for key, value in values.items() if key not in _GROUP_KEYS}, **overrides}
        metadata = values.get("metadata")
        version = metadata.get("version", "") if isinstance(metadata, Mapping) else ""
        aggregates = _aggregates(values.get("aggregate_metric_list"), resolved)
        # Entered before its members, so that the outermost group comes first.
        self.groups[name] = GroupSpec(name, "", ())
        members: list[str] = []
        for item in values["task"]:
            members.extend(self.item(item, resolved, below, (*chain, name)))
        alias = str(values.get("group_alias") or "")
        unique = tuple(dict.fromkeys(members))
        self.groups[name] = GroupSpec(name, alias, unique, aggregates, resolved.file, str(version))
        return name

    def item(self, item: Any, resolved: Resolved, overrides: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        """A member as it is written: a name, an inline group, a name with overrides, or a whole inline task."""
        if not isinstance(item, Mapping):
            return self._named(str(item), resolved, overrides, chain)
        task = item.get("task")
        if isinstance(task, list):
            if not isinstance(item.get("group"), str):
                raise PlanError("A list of tasks inside a group needs a 'group' name.", where=resolved.where("task"))
            return [self.group(item, resolved, overrides, chain)]
        name = task if isinstance(task, (str, int)) else item.get("group")
        if name is None:
            raise PlanError("A member of a group needs 'task' or 'group'.", where=resolved.where("task"))
        own = {key: value for key, value in item.items() if key not in ("task", "group")}
        is_listed = str(name) in self.catalog.entries or str(name) in self.catalog.tags()
        if not is_listed and "dataset_path" in item:
            inline = Resolved(resolved.file, dict(item), dict.fromkeys(item, resolved.places["task"]), resolved.files)
            return [self.task(inline, overrides)]
        return self._named(str(name), resolved, {**own, **overrides}, chain)

    def _named(self, name: str, resolved: Resolved, overrides: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        try:
            return self.member(name, None, overrides, chain)
        except PlanError as error:
            if error.where:
                raise
            raise PlanError(error.what, where=resolved.where("task"), hint=error.hint) from None


def _aggregates(items: Any, resolved: Resolved) -> tuple[Mapping[str, Any], ...]:
    """The entries of ``aggregate_metric_list``, each with all its keys. A function as aggregation can be called
    directly.
    """
    if items is None:
        return ()
    entries = []
    for item in items if isinstance(items, list) else [items]:
        if not isinstance(item, Mapping) or "metric" not in item:
            raise PlanError(
                "An entry of aggregate_metric_list needs a 'metric'.", where=resolved.where("aggregate_metric_list")
            )
        aggregation = item.get("aggregation", "mean")
        if aggregation != "mean" and not isinstance(aggregation, FunctionRef):
            raise PlanError(
                f"A group can be aggregated by 'mean' or a !function, not {aggregation!r}.",
                where=resolved.where("aggregate_metric_list"),
            )
        filters = item.get("filter_list", "none")
        entries.append(
            {
                "metric": str(item["metric"]),
                "aggregation": aggregation,
                "weight_by_size": bool(item.get("weight_by_size", False)),
                "filter_list": tuple(filters) if isinstance(filters, list) else (str(filters),),
            }
        )
    return tuple(entries)


def is_same_task(one: TaskSpec, other: TaskSpec) -> bool:
    """Whether two specs differ in nothing but their names."""
    return one.file == other.file and {**one.config, "task": ""} == {**other.config, "task": ""}


def portable(value: Any) -> Any:
    """A configuration without paths: the location of a folder changes no number."""
    if isinstance(value, FunctionRef):
        return {"!function": value.name}
    if isinstance(value, Mapping):
        return {str(key): portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
