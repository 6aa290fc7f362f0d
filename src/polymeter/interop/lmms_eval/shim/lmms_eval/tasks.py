"""``lmms_eval.tasks``: the tasks in include paths and in Polymeter's library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog_names import CatalogNames

if TYPE_CHECKING:
    from polymeter.core.names.catalog import Entry

__all__ = ["TaskManager", "get_task_dict"]


class TaskManager(CatalogNames):
    """The catalog of tasks, groups and tags. Reading it runs no task's code.

    Args:
        verbosity: Not used.
        include_path: Folders of tasks, in addition to those that come with Polymeter.
        include_defaults: Whether to include the tasks that come with Polymeter.
        model_name: Not used: tasks choose their prompts when they are evaluated.
    """

    def __init__(
        self,
        verbosity: str = "INFO",
        include_path: str | Sequence[str] | None = None,
        include_defaults: bool = True,
        model_name: Any = None,
    ) -> None:
        from polymeter.api import build_catalog

        paths = [include_path] if isinstance(include_path, (str, Path)) else include_path or ()
        super().__init__(build_catalog([Path(path) for path in paths]), include_defaults=include_defaults)
        self.include_path = [str(path) for path in paths]

    @property
    def task_index(self) -> dict[str, dict[str, Any]]:
        """``type`` and ``yaml_path`` by name; a tag has no file (-1)."""
        return {
            name: {"type": kind, "yaml_path": -1 if file is None else str(file)}
            for name, (kind, file) in self.kinds_and_files().items()
        }

    def list_all_tasks(self, list_groups: bool = True, list_tags: bool = True, list_subtasks: bool = True) -> str:
        """A listing in Markdown."""
        sections = (
            ("Group", self.all_groups, list_groups),
            ("Tag", self.all_tags, list_tags),
            ("Task", self.all_subtasks, list_subtasks),
        )
        tables = [
            "\n".join([f"|{head}|Config Location|", "|---|---|", *(f"|{name}|{self._file(name)}|" for name in names)])
            for head, names, is_listed in sections
            if is_listed
        ]
        return "\n\n".join(["", *tables, ""])

    def load_task_or_group(self, task_list: str | Sequence[str] | None = None, task_type: str = "simple") -> Any:
        """As ``get_task_dict``."""
        return get_task_dict(task_list or [], self, task_type)

    def find(self, name: str) -> list[Entry]:
        """The entry of that name, or the tasks behind a tag.

        Raises:
            PlanError: if there is nothing of that name; the message suggests the nearest names.
        """
        if name not in self.catalog.entries and name in self.catalog.tags():
            return [self.catalog.get(member) for member in self.catalog.tags()[name]]
        return [self.catalog.get(name)]

    def _file(self, name: str) -> str:
        return str(self._entries[name].file) if name in self._entries else "---"


def get_task_dict(
    task_name_list: str | Sequence[Any], task_manager: TaskManager | None = None, task_type: str = "simple"
) -> dict[str, Entry]:
    """The catalog's entries of some tasks, by name, for inspection and for ``evaluator.evaluate``. Tasks are opened,
    and their data read, when they are evaluated.

    Raises:
        PlanError: if there is no such task, or one is not given by its name.
    """
    names = [task_name_list] if isinstance(task_name_list, str) else task_name_list
    manager = task_manager or TaskManager()
    entries: dict[str, Entry] = {}
    for name in names:
        if not isinstance(name, str):
            raise PlanError(
                f"A task is given as a {type(name).__name__}, not by its name.",
                hint="Write it as a YAML file in a folder, and name the folder with TaskManager(include_path=…).",
            )
        entries.update((entry.name, entry) for entry in manager.find(name))
    return entries
