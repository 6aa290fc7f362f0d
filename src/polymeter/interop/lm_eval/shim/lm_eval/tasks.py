"""``lm_eval.tasks``: the tasks in include paths, and how one file of a task is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.core.names.catalog_names import CatalogNames


class TaskManager(CatalogNames):
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
        super().__init__(build_catalog([Path(path) for path in paths]), include_defaults=include_defaults)
        self.include_path, self.metadata = include_path, metadata

    @property
    def task_index(self) -> dict[str, Any]:
        """Kind and file by name; a tag has no file (``None``)."""
        return {
            name: {"type": kind, "yaml_path": None if file is None else str(file)}
            for name, (kind, file) in self.kinds_and_files().items()
        }


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
