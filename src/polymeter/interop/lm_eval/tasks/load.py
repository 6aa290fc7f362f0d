"""From an entry of the index to specs, without running task code: groups, subgroups, tags and overrides.

A group hands every key of its own that is not about the group to all tasks below it; the overrides of whoever names the
group win over those, and what a member's own mapping says wins over both. A member that the index does not know is
written inline: a task becomes ``parent::name``, a subgroup ``parent::name`` as well.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.registries import FORMATS
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.interop.lm_eval.tasks.config import validate
from polymeter.interop.lm_eval.tasks.dialect import NAME, fields_of, make_reader
from polymeter.interop.lm_eval.tasks.groups import aggregates
from polymeter.tasks.yaml.load import is_same_task, portable, tell_duplicates
from polymeter.tasks.yaml.reader import Document, Reader, Resolved
from polymeter.tasks.yaml.task_code import PackageScanner, source_files

_OF_GROUPS = frozenset({"group", "group_alias", "task", "aggregate_metric_list", "metadata"})
"""Keys that are about a group; all others are for its tasks."""


def load(entry: Entry, catalog: Catalog) -> Loaded:
    """The specs behind an entry: one task, or all tasks of a group with the groups that hold them, outermost first.

    Raises:
        PlanError: if a file is broken, a member is missing, or groups contain each other.
    """
    loading = _TaskLoading(catalog)
    loading.entry(entry, {}, ())
    return Loaded(tuple(loading.tasks.values()), tuple(loading.groups.values()))


def make_spec(
    resolved: Resolved, overrides: Mapping[str, Any], scanner: PackageScanner, name: str | None = None
) -> TaskSpec:
    """The spec of a task.

    Args:
        resolved: Its file.
        overrides: Top-level keys that win over the file's.
        scanner: Finds the files that its code imports.
        name: A name in place of its own.

    Raises:
        PlanError: if the configuration is not valid.
    """
    values = {**copy.deepcopy(resolved.values), **copy.deepcopy(dict(overrides))}
    if name is not None:
        values["task"] = name
    alias, version, is_unsafe = _shown(values, resolved)
    sources = set(resolved.files) | source_files(resolved.file, values, scanner)
    return TaskSpec(
        name=str(values["task"]),
        format=NAME,
        file=resolved.file,
        config=values,
        source_hash=source_hash(sources, portable(values)),
        sources=tuple(sorted(sources)),
        alias=alias,
        version=version,
        runs_generated_code=is_unsafe,
    )


def _shown(values: Mapping[str, Any], resolved: Resolved) -> tuple[str, str, bool]:
    """The alias and the version of a task, and whether it runs code that a model writes. If its fields and not a class
    define it, they are validated.
    """
    if "class" not in values:
        config = validate(values, resolved.where, resolved.file)
        return config.task_alias or "", config.version, config.is_unsafe
    metadata = values.get("metadata")
    version = metadata.get("version", "") if isinstance(metadata, Mapping) else ""
    return str(values.get("task_alias") or ""), str(version), False  # a class says so once there is an object of it


def provenance(file: Path) -> Callable[[str], str]:
    """From a field of a file's task to its ``file:line``, looked up only when a message needs it."""

    # Kept as long as the function, which belongs to the task that is loaded.
    @lru_cache(maxsize=1)
    def resolved() -> Resolved | None:
        return make_reader().read(file) if file.is_file() else None

    def where(key: str) -> str:
        found = resolved()
        return found.where(key) if found is not None and key in found.places else str(file)

    return where


@dataclass(slots=True)
class _TaskLoading:
    """One walk down from an entry."""

    catalog: Catalog
    tasks: dict[str, TaskSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    _reader: Reader = field(default_factory=make_reader)
    _scanner: PackageScanner = field(default_factory=PackageScanner)
    _tagged: dict[str, list[str]] | None = None

    def entry(self, entry: Entry, overrides: Mapping[str, Any], chain: tuple[str, ...]) -> list[str]:
        """Load a task or group; returns the names that it adds to the group around it."""
        if entry.name in chain:
            raise PlanError(f"These groups contain each other: {' → '.join((*chain, entry.name))}.")
        if entry.format != NAME:
            return self._other_format(entry, overrides)
        resolved = self._reader.read(entry.file)
        if entry.kind == "task":
            return [self._task(resolved, overrides)]
        return [self._group(entry.name, resolved.values, resolved, overrides, chain)]

    def _other_format(self, entry: Entry, overrides: Mapping[str, Any]) -> list[str]:
        if overrides:
            what = f"{entry.name!r} is not one of lm-eval's tasks, so a group cannot override its fields."
            raise PlanError(what, where=str(entry.file))
        loaded = FORMATS.get(entry.format).load(entry, self.catalog)
        self.tasks.update((spec.name, spec) for spec in loaded.tasks)
        self.groups.update((group.name, group) for group in loaded.groups)
        return [entry.name]

    def _task(self, resolved: Resolved, overrides: Mapping[str, Any], name: str | None = None) -> str:
        """Add a task. The same name with other overrides becomes ``name-1``, then ``name-2``."""
        tell_duplicates(resolved)
        spec = make_spec(resolved, overrides, self._scanner, name)
        known, number = spec.name, 0
        while known in self.tasks and not is_same_task(self.tasks[known], spec):
            number += 1
            known = f"{spec.name}-{number}"
        if known not in self.tasks:
            self.tasks[known] = spec if number == 0 else make_spec(resolved, overrides, self._scanner, known)
        return known

    def _group(
        self,
        name: str,
        values: Mapping[str, Any],
        resolved: Resolved,
        overrides: Mapping[str, Any],
        chain: tuple[str, ...],
    ) -> str:
        below = {key: value for key, value in fields_of(values).items() if key not in _OF_GROUPS} | dict(overrides)
        metadata = values.get("metadata")
        version = metadata.get("version", "") if isinstance(metadata, Mapping) else ""
        numbers = aggregates(values.get("aggregate_metric_list"), resolved.where("aggregate_metric_list"))
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
        """A member as it is written: a name, a name with overrides, an inline subgroup, or an inline task."""
        where, parent = resolved.where("task"), chain[-1]
        if not isinstance(item, Mapping):
            return self._named(str(item), below, chain, where)
        if "group" in item:
            name = str(item["group"])
            if self._entry(name) is not None:
                return self._named(name, {**below, **_overrides(item)}, chain, where)
            return [self._group(f"{parent}::{name}", item, resolved, below, chain)]
        if "task" not in item:
            keys = ", ".join(map(repr, item))
            raise PlanError(f"A member of group {parent!r} needs 'task' or 'group'; it has {keys}.", where=where)
        name, own = str(item["task"]), {**below, **_overrides(item)}
        if self._entry(name) is not None or name in self._tags():
            return self._named(name, own, chain, where)
        inline = self._inline(resolved, item, own)
        if not inline.values.keys() & {"dataset_path", "custom_dataset"}:
            raise self.catalog.unknown(name, where=where)  # a name that is not there, and no whole task either
        return [self._task(inline, {}, f"{parent}::{name}")]

    def _inline(self, resolved: Resolved, item: Mapping[str, Any], own: Mapping[str, Any]) -> Resolved:
        """A task that is written inside a group, with the files that it includes."""
        place = resolved.places.get("task", (resolved.file, 1))
        return self._reader.merged(Document(resolved.file, dict(own), dict.fromkeys(map(str, item), place[1])))

    def _named(self, name: str, overrides: Mapping[str, Any], chain: tuple[str, ...], where: str) -> list[str]:
        entry = self._entry(name)
        if entry is None:
            tagged = self._tags().get(name)
            if tagged is None:
                raise self.catalog.unknown(name, where=where)
            return [member for task in sorted(tagged) for member in self._named(task, overrides, chain, where)]
        try:
            return self.entry(entry, overrides, chain)
        except PlanError as error:
            if error.where:
                raise
            raise PlanError(error.what, where=where, hint=error.hint) from None

    def _tags(self) -> dict[str, list[str]]:
        if self._tagged is None:
            self._tagged = self.catalog.tags()
        return self._tagged

    def _entry(self, name: str) -> Entry | None:
        if name not in self.catalog.entries and name not in self.catalog.clashes:
            return None
        found = self.catalog.entries.get(name)
        hidden = self.catalog.shadowed.get(name)
        # A group means its own system's tasks, also where a task of another kind has the name.
        if found is not None and found.format != NAME and hidden is not None and hidden.format == NAME:
            return hidden
        return self.catalog.get(name)


def _overrides(item: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in item.items() if key not in ("task", "group")}
