"""The way from a request to the row of its task, for a model that a run uses: by the names that the request carries."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from polymeter.core.request import Origin
from polymeter.core.rows import RowView
from polymeter.core.task import Task
from polymeter.guests.door import Door


class RunRows:
    """The rows of one run's tasks; see ``polymeter.core.rows.RowAccess``.

    Args:
        tasks: The tasks of the run.
        door: The run's way into guests.
    """

    def __init__(self, tasks: Iterable[Task], door: Door) -> None:
        self._tasks = {task.spec.name: task for task in tasks}
        self._door = door

    def __call__(self, origin: Origin) -> RowView | None:
        """The row that a request is about; ``None`` where it names no task of this run."""
        task = self._tasks.get(origin.task)
        if task is None:
            return None

        def enter(step: str) -> AbstractContextManager[None]:
            if not task.is_guest:
                return nullcontext()
            way = self._door.hook_beside if task.is_thread_safe else self._door.hook_from_model
            return way(origin.task, origin.sample, step)

        return RowView(origin.index, task.row_functions, enter)
