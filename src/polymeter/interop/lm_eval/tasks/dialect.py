"""How lm-eval's task files differ from ours as files: includes, kinds of files, and what shows that a file is its own.

- Of several includes the last one wins; a path is relative to the including file and to nothing else.
- A file is a Python task if it has ``class``, else a group if it has ``group``, else a task if it has ``task``.
- A ``tag`` labels tasks; on a group it means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.tasks.yaml.dialects import Dialect
from polymeter.tasks.yaml.index import about
from polymeter.tasks.yaml.reader import Reader, Resolved

NAME = "lm_eval"
_ONLY_THERE = frozenset({"custom_dataset", "doc_to_audio", "gen_prefix"})
_ROLLING = "loglikelihood_rolling"
_NO_FIELDS = ("class", "group", "include", "tag", "task_list")
"""Keys of a file that are no fields of a task."""


def make_reader() -> Reader:
    """A reader that merges includes as lm-eval does."""
    return Reader(is_last_include_first=True, is_beside_only=True, never_included=frozenset({"task_list"}))


def describe(resolved: Resolved, packages: Sequence[str]) -> dict[str, Any]:
    """The index's record of one file.

    Args:
        resolved: The file.
        packages: What its code needs.

    Raises:
        PlanError: if ``task``, ``group`` or ``tag`` have values that cannot be names.
    """
    values = resolved.values
    if "group" in values and "class" not in values:
        listed = values.get("task")
        members = listed if isinstance(listed, list) else []
        return {
            "kind": "group",
            "name": _name(values["group"], resolved, "group"),
            "alias": str(values.get("group_alias") or ""),
            "tags": [],
            "members": [name for item in members if (name := _member(item))],
        }
    if "task" not in values:
        if "class" in values:
            raise PlanError("A Python task needs a 'task' name.", where=resolved.where("class"))
        return {"kind": "template"}
    return {
        "kind": "task",
        "name": _name(values["task"], resolved, "task"),
        "alias": str(values.get("task_alias") or ""),
        "tags": tags_of(values, resolved),
        "about": about(values),
        "packages": list(packages),
    }


def tags_of(values: Mapping[str, Any], resolved: Resolved) -> list[str]:
    """The tags of a task.

    Raises:
        PlanError: if they are no names.
    """
    written = values.get("tag")
    tags = [] if written is None else written if isinstance(written, list) else [written]
    return list(dict.fromkeys(_name(tag, resolved, "tag") for tag in tags))


def fields_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a task among the keys of its file."""
    return {key: value for key, value in values.items() if key not in _NO_FIELDS}


def is_surely(values: Mapping[str, Any], roots: frozenset[str]) -> bool:
    """Whether a file can only be lm-eval's: by a field that only its tasks have, or by what its code imports."""
    if _ONLY_THERE & values.keys() or values.get("output_type") == _ROLLING:
        return True
    return "lm_eval" in roots and not roots & {"lmms_eval", "polymeter"}


def _name(value: Any, resolved: Resolved, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise PlanError(f"{key!r} must be a name, not {value!r:.60}.", where=resolved.where(key))
    return str(value)


def _member(item: Any) -> str:
    if isinstance(item, Mapping):
        return str(item.get("group") or item.get("task") or "")
    return str(item)


DIALECT = Dialect(
    name=NAME,
    format=NAME,
    package=("lm_eval", "tasks"),
    reader=make_reader,
    describe=describe,
    is_surely=is_surely,
)
