"""``lm_eval.tasks``: the tasks in include paths, and how one file of a task is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polymeter.interop.lm_eval.shim.lm_eval.utils import pattern_match


class TaskManager:
    """The catalog of tasks, groups and tags. Reading it runs no task's code.

    Args:
        verbosity: Not used.
        include_path: Folders of tasks, in addition to those that are found without.
        include_defaults: Whether to include the latter.
        metadata: Not used: a run's metadata is given to the run.
    """

    def __init__(
        self,
        verbosity: str | None = None,
        include_path: str | Path | Sequence[str | Path] | None = None,
        include_defaults: bool = True,
        metadata: Any = None,
    ) -> None:
        from polymeter.api import build_catalog

        paths = [include_path] if isinstance(include_path, (str, Path)) else include_path or ()
        self.include_path, self.metadata = include_path, metadata
        self.catalog = build_catalog([Path(path) for path in paths])
        self._entries = {entry.name: entry for entry in self.catalog if include_defaults or entry.is_user}

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

    @property
    def task_index(self) -> dict[str, Any]:
        """Kind and file by name."""
        tags = {tag: {"type": "tag", "yaml_path": None} for tag in self.all_tags}
        return tags | {
            name: {"type": entry.kind, "yaml_path": str(entry.file)} for name, entry in self._entries.items()
        }

    def match_tasks(self, task_list: str | Iterable[str]) -> list[str]:
        """The names that match one of the patterns."""
        return pattern_match(task_list, self.all_tasks)


def load_yaml(path: str | Path, **options: Any) -> dict[str, Any]:
    """The fields of one file, with those of the files that it includes. Functions stay references.

    Args:
        path: The file.
        **options: Not used.

    Raises:
        PlanError: if it cannot be read.
    """
    from polymeter.interop.lm_eval.tasks.dialect import make_reader

    return dict(make_reader().read(Path(path)).values)
