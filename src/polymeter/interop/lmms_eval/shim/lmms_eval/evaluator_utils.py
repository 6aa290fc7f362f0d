"""Stand-in for ``lmms_eval.evaluator_utils``: walks over trees of groups and tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.api.group import ConfigurableGroup


def get_subtask_list(
    task_dict: Mapping[Any, Any], task_root: str | None = None, depth: int = 0
) -> dict[str, list[str]]:
    """For each group of a tree the names of its direct members; a task on top stands with no members."""
    found: dict[str, list[str]] = {}
    for key, value in task_dict.items():
        name = _name(key)
        if isinstance(value, Mapping):
            found[name] = [_name(child if isinstance(below, Mapping) else below) for child, below in value.items()]
            below = {child: inner for child, inner in value.items() if isinstance(inner, Mapping)}
            found.update(get_subtask_list(below, name, depth + 1))
        elif task_root is None:
            found[_name(value)] = []
    return found


def get_sample_size(task: Any, limit: float | None) -> int | None:
    """How many samples a limit means: a number of them, or below 1 a share, rounded up."""
    if limit is None:
        return None
    return math.ceil(len(task.eval_docs) * limit) if limit < 1 else int(limit)


def _name(thing: Any) -> str:
    if isinstance(thing, ConfigurableGroup):
        return str(thing.group_name)
    return str(getattr(thing, "task_name", None) or getattr(getattr(thing, "config", None), "task", None) or thing)
