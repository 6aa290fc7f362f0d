"""The names in a catalog by what they stand for, as scripts written for other tools list and match them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path

from polymeter.core.names.catalog import Catalog, Entry


class CatalogNames:
    """The names of tasks, groups and tags. Reading them runs no task's code.

    Args:
        catalog: The catalog.
        include_defaults: Whether to include what the user did not name.

    Attributes:
        catalog: The same.
    """

    def __init__(self, catalog: Catalog, *, include_defaults: bool = True) -> None:
        self.catalog = catalog
        self._entries: dict[str, Entry] = {entry.name: entry for entry in catalog if include_defaults or entry.is_user}

    @property
    def all_subtasks(self) -> list[str]:
        """The names of all tasks."""
        return sorted(name for name, entry in self._entries.items() if entry.kind == "task")

    @property
    def all_groups(self) -> list[str]:
        """The names of all groups."""
        return sorted(name for name, entry in self._entries.items() if entry.kind == "group")

    @property
    def all_tags(self) -> list[str]:
        """The names of all tags."""
        return sorted({tag for entry in self._entries.values() for tag in entry.tags})

    @property
    def all_tasks(self) -> list[str]:
        """The names of tasks, groups and tags."""
        return sorted({*self._entries, *self.all_tags})

    def match_tasks(self, task_list: str | Iterable[str]) -> list[str]:
        """The names that match one of the patterns."""
        return pattern_match(task_list, self.all_tasks)

    def kinds_and_files(self) -> dict[str, tuple[str, Path | None]]:
        """By name, whether it is a ``task``, a ``group`` or a ``tag``, and the file; a tag has none. What is a tag as
        well as a task counts as the task.
        """
        tags: dict[str, tuple[str, Path | None]] = dict.fromkeys(self.all_tags, ("tag", None))
        return tags | {name: (entry.kind, entry.file) for name, entry in self._entries.items()}


def pattern_match(patterns: str | Iterable[str], source_list: Iterable[str]) -> list[str]:
    """The names that match one of the patterns (``*`` and ``?``), sorted, each once."""
    names = {*source_list}
    listed = [patterns] if isinstance(patterns, str) else patterns
    return sorted({name for pattern in listed for name in fnmatch.filter(names, pattern)})
