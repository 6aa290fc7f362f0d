"""Specs from an entry of the index, without running task code: groups, subgroups, tags and overrides.

A group hands every key of its own that is not about the group to all tasks below it. Fields that are written beside the
group's name win over those. A ``Dialect`` describes the differences between dialects.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.names.catalog import Catalog, Entry, named_with_protocol, protocol_name
from polymeter.core.names.parity import NO_PARITY
from polymeter.core.names.registries import FORMATS
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.guests.loading.load import FunctionRef
from polymeter.tasks.yaml.files.dialects import Dialect, Locate
from polymeter.tasks.yaml.files.reader import Document, Resolved, YamlReader
from polymeter.tasks.yaml.task_code import PackageScanner, source_files

log = logging.getLogger(__name__)

_OF_DATA = frozenset({"dataset_path", "custom_dataset"})
"""Keys of which a task has one, unlike the overrides of a task that stands elsewhere."""


def load(entry: Entry, catalog: Catalog, dialect: Dialect) -> Loaded:
    """The specs behind an entry: one task, or all tasks of a group with the groups that hold them, outermost first.

    Raises:
        PlanError: if a file is broken, a member is missing, or groups contain each other.
    """
    loading = _SpecLoading(catalog, dialect, dialect.make_reader(catalog.parity))
    loading.entry(entry.name, entry, {}, ())
    return Loaded(tuple(loading.tasks.values()), tuple(loading.groups.values()))


def make_spec(
    resolved: Resolved, overrides: Mapping[str, Any], dialect: Dialect, scanner: PackageScanner, name: str = ""
) -> TaskSpec:
    """The spec of a task.

    Args:
        resolved: Its file.
        overrides: Top-level keys that win over the file's.
        dialect: What the file is written in.
        scanner: Finds the files that its code imports.
        name: A name in place of its own; empty: its own.

    Raises:
        PlanError: if the configuration is not valid.
    """
    values = {**copy.deepcopy(resolved.values), **copy.deepcopy(dict(overrides))}
    if name or protocol_name(values.get("protocol")):  # any other name stays as it is written, and so does its hash
        values["task"] = name or named_with_protocol(str(values["task"]), values.get("protocol"))
    fields = dialect.validate(values, resolved.where, resolved.file)
    warn_of_duplicates(resolved)
    sources = set(resolved.files) | source_files(resolved.file, values, scanner)
    return TaskSpec(
        name=str(values["task"]),
        format=dialect.format,
        file=resolved.file,
        config=values,
        source_hash=source_hash(sources, portable(values)),
        sources=tuple(sorted(sources)),
        alias=fields.task_alias or "",
        version=fields.version,
        runs_generated_code=fields.is_unsafe,
        protocol=getattr(fields, "protocol", None),  # other systems' tasks have none
    )


def warn_of_duplicates(resolved: Resolved) -> None:
    """Warn of the keys of a file and its includes that are written twice."""
    for key, (file, line) in resolved.duplicates:
        _warn_of_duplicate(key, str(file), line)


# A template is included by hundreds of tasks, and once in a process is enough.
@lru_cache(maxsize=4096)
def _warn_of_duplicate(key: str, file: str, line: int) -> None:
    log.warning("%s:%d: the key %r is written twice; this one counts.", file, line, key)


def field_locator(spec: TaskSpec, dialect: Dialect) -> Locate:
    """From a field of a task to its ``file:line``, looked up only when a message needs it."""

    # Kept as long as the function, which belongs to the task that is loaded.
    @lru_cache(maxsize=1)
    def places() -> dict[str, str]:
        return provenance(spec, dialect) if spec.file.is_file() else {}

    return lambda key: places().get(key, str(spec.file))


def provenance(spec: TaskSpec, dialect: Dialect) -> dict[str, str]:
    """``file:line`` of each top-level value of a task, for messages. Values that a group overrides are not in its
    file.
    """
    resolved = dialect.make_reader(NO_PARITY).read(spec.file)
    missing = "overridden by a group"
    if isinstance(resolved.values.get("task"), list) or "group" in resolved.values:
        missing = str(spec.file)  # the file of the group, which holds the task
    return {key: resolved.where(key) if key in resolved.places else missing for key in spec.config}


@dataclass(slots=True)
class _SpecLoading:
    """One walk down from an entry."""

    catalog: Catalog
    dialect: Dialect
    reader: YamlReader
    scanner: PackageScanner = field(default_factory=PackageScanner)
    tasks: dict[str, TaskSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)

    def entry(self, name: str, entry: Entry | None, overrides: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        """Load the task, group or tag of a name; returns the names of the members that it adds to a group."""
        if name in chain:
            raise PlanError(f"These groups contain each other: {' → '.join((*chain, name))}.")
        if entry is None:
            home, name = self.catalog.place(name)
            if home is not self.catalog:
                return replace(self, catalog=home).entry(name, None, overrides, chain)
            tagged = self.catalog.tags().get(name) if name not in self.catalog.entries else None
            if tagged is not None:
                names = sorted(tagged) if self.dialect.are_tags_sorted else tagged
                return [member for task in names for member in self.entry(task, None, overrides, (*chain, name))]
            entry = self._found(name)
        if entry.format != self.dialect.format:
            return self._other_format(entry, overrides)
        resolved = self.reader.read(entry.file)
        if entry.kind == "task":
            return [self._task(resolved, overrides)]
        return [self._group(entry.name, resolved.values, resolved, overrides, chain)]

    def _found(self, name: str) -> Entry:
        found, hidden = self.catalog.entries.get(name), self.catalog.shadowed.get(name)
        own = self.dialect.format
        if self.dialect.is_own_kind_first and found and hidden and found.format != own == hidden.format:
            return hidden
        return self.catalog.get_own(name)

    def _other_format(self, entry: Entry, overrides: Mapping[str, Any]) -> list[str]:
        if overrides:
            what = f"{entry.name!r} is not {self.dialect.title}, so a group cannot override its fields."
            raise PlanError(what, where=str(entry.file))
        loaded = FORMATS.get(entry.format).load(entry, self.catalog)
        self.tasks.update((spec.name, spec) for spec in loaded.tasks)
        self.groups.update((group.name, group) for group in loaded.groups)
        return [entry.name]

    def _task(self, resolved: Resolved, overrides: Mapping[str, Any], name: str = "") -> str:
        """Add a task. The same name with other overrides becomes ``name-1``, then ``name-2``."""
        spec = make_spec(resolved, overrides, self.dialect, self.scanner, name)
        known, number = spec.name, 0
        while known in self.tasks and not _is_same_task(self.tasks[known], spec):
            number += 1
            known = f"{spec.name}-{number}"
        if known not in self.tasks:
            is_first = number == 0
            self.tasks[known] = spec if is_first else make_spec(resolved, overrides, self.dialect, self.scanner, known)
        return known

    def _group(
        self,
        name: str,
        values: Mapping[str, Any],
        resolved: Resolved,
        overrides: Mapping[str, Any],
        chain: tuple[str, ...],
    ) -> str:
        """Add a group and all its members. Its overrides apply to every task in it; those of its own parent win over
        them.
        """
        below = {key: value for key, value in values.items() if key not in self.dialect.group_keys} | dict(overrides)
        metadata = values.get("metadata")
        version = metadata.get("version", "") if isinstance(metadata, Mapping) else ""
        numbers = self.dialect.aggregates(values.get("aggregate_metric_list"), resolved.where("aggregate_metric_list"))
        # Entered before its members, so that the outermost group comes first.
        self.groups[name] = GroupSpec(name, "", ())
        listed = values.get("task")
        members: list[str] = []
        for item in listed if isinstance(listed, list) else ():
            members.extend(self._member(item, resolved, below, (*chain, name)))
        alias = str(values.get("group_alias") or "")
        unique = tuple(dict.fromkeys(members))
        self.groups[name] = GroupSpec(name, alias, unique, numbers, resolved.file, str(version))
        return name

    def _member(self, item: Any, resolved: Resolved, below: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        """A member as it is written: a name, a name with overrides, an inline group, or a whole inline task."""
        if not isinstance(item, Mapping):
            return self._named(str(item), resolved, below, chain)
        name, is_group = self._name_of(item, resolved, chain[-1])
        own = {str(key): value for key, value in item.items() if key not in ("task", "group")}
        joined = {**below, **own} if self.dialect.is_member_stronger else {**own, **below}
        is_prefixed, is_listed = self.dialect.is_inline_prefixed, self._is_listed(name)
        inline_name = f"{chain[-1]}::{name}" if is_prefixed else name
        if is_group and not (is_prefixed and is_listed):
            return [self._group(inline_name, item, resolved, below, chain)]
        if not (is_group or is_listed):
            inline = self._inline(resolved, item, joined if is_prefixed else {**item, **below})
            if _OF_DATA & (inline.values if is_prefixed else item).keys():
                return [self._task(inline, {}, inline_name)]
        return self._named(name, resolved, joined, chain)

    def _name_of(self, item: Mapping[str, Any], resolved: Resolved, parent: str) -> tuple[str, bool]:
        """The name that a member writes, and whether it stands for a group that is written there."""
        task, group = item.get("task"), item.get("group")
        if self.dialect.is_inline_prefixed and "group" in item:
            return str(group), True
        if isinstance(task, list):
            if not isinstance(group, str):
                raise PlanError("A list of tasks inside a group needs a 'group' name.", where=resolved.where("task"))
            return group, True
        name = task if isinstance(task, (str, int)) else group
        if name is None:
            keys = ", ".join(map(repr, item))
            what = f"A member of group {parent!r} needs 'task' or 'group'; it has {keys}."
            raise PlanError(what, where=resolved.where("task"))
        return str(name), False

    def _is_listed(self, name: str) -> bool:
        return self.catalog.has(name)

    def _inline(self, resolved: Resolved, item: Mapping[str, Any], values: Mapping[str, Any]) -> Resolved:
        """A task that is written inside a group, with the files that it includes."""
        place = resolved.places.get("task", (resolved.file, 1))
        read = self.reader.merged(Document(resolved.file, dict(values), {}))
        places = {**read.places, **dict.fromkeys(map(str, item), place)}
        files = read.files if self.dialect.is_inline_prefixed else resolved.files
        return replace(read, places=places, files=files)

    def _named(self, name: str, resolved: Resolved, overrides: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        try:
            return self.entry(name, None, overrides, chain)
        except PlanError as error:
            if error.where:
                raise
            raise PlanError(error.what, where=resolved.where("task"), hint=error.hint) from None


def aggregates(listed: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    """The entries of ``aggregate_metric_list``, each with all its keys. A function as aggregation can be called
    directly.

    Args:
        listed: The value in the file: an entry, a list of them, or nothing.
        where: ``file:line`` of it.

    Raises:
        PlanError: if an entry is not understood.
    """
    if listed is None:
        return ()
    entries = []
    for item in listed if isinstance(listed, list) else [listed]:
        if not isinstance(item, Mapping) or "metric" not in item:
            raise PlanError("An entry of aggregate_metric_list needs a 'metric'.", where=where)
        aggregation = item.get("aggregation", "mean")
        if aggregation != "mean" and not isinstance(aggregation, FunctionRef):
            raise PlanError(f"A group can be aggregated by 'mean' or a !function, not {aggregation!r}.", where=where)
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


def _is_same_task(one: TaskSpec, other: TaskSpec) -> bool:
    """Return whether two specs differ in nothing but their names."""
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
