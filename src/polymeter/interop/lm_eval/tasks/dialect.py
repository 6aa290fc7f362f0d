"""lm-eval's dialect of task YAML.

- Of several includes the last one wins; a path is relative to the including file and to nothing else.
- A file is a Python task if it has ``class``, else a group if it has ``group``, else a task if it has ``task``.
- A ``tag`` labels tasks; on a group it means nothing.
- What a group's member writes wins over the group. What a group writes out bears the group's name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem
from polymeter.core.format import OpenContext, Outline
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.task import Task, TaskSpec
from polymeter.tasks.yaml.files.dialects import Dialect, Locate, TaskFields
from polymeter.tasks.yaml.files.index import about
from polymeter.tasks.yaml.files.reader import Resolved, YamlReader

NAME = "lm_eval"
_ONLY_THERE = frozenset({"custom_dataset", "doc_to_audio", "gen_prefix"})
_ROLLING = "loglikelihood_rolling"
_OF_GROUPS = "group group_alias task task_list tag class include aggregate_metric_list metadata"


def make_reader(parity: Parity = NO_PARITY) -> YamlReader:
    """A reader that merges includes as lm-eval does."""
    return YamlReader(is_last_include_first=True, is_beside_only=True, never_included=frozenset({"task_list"}))


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
        PlanError: if they are not names.
    """
    written = values.get("tag")
    tags = [] if written is None else written if isinstance(written, list) else [written]
    return list(dict.fromkeys(_name(tag, resolved, "tag") for tag in tags))


def is_surely(values: Mapping[str, Any], roots: frozenset[str]) -> bool:
    """Return whether a file can only be lm-eval's: by a field that only its tasks have, or by what its code imports."""
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


@dataclass(frozen=True, slots=True)
class _StatedByClass:
    """Values that the YAML of a Python task states; the rest is its class's business."""

    task_alias: str | None
    version: str
    is_unsafe: bool = False  # a class states it once an object of it exists


def _validate(values: Mapping[str, Any], where: Locate, file: Path) -> TaskFields:
    if "class" in values:
        metadata = values.get("metadata")
        version = metadata.get("version", "") if isinstance(metadata, Mapping) else ""
        return _StatedByClass(str(values.get("task_alias") or ""), str(version))
    from polymeter.interop.lm_eval.tasks.config import validate

    return validate(values, where, file)


def _aggregates(listed: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    from polymeter.interop.lm_eval.tasks.groups import aggregates

    return aggregates(listed, where)


def _problems(config: Any, resolved: Resolved) -> Iterator[Problem]:
    from polymeter.interop.lm_eval.tasks.inspection import field_problems

    return field_problems(config, resolved)


def _metrics(spec: TaskSpec) -> Collection[str] | None:
    """The metrics of a task, unless only its code knows them."""
    from polymeter.interop.lm_eval.tasks.config import config_of
    from polymeter.interop.lm_eval.tasks.scoring.metrics import metric_names

    return None if "class" in spec.config else metric_names(config_of(spec))


def _outline(spec: TaskSpec) -> Outline:
    from polymeter.interop.lm_eval.tasks.inspection import outline

    return outline(spec)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext, dialect: Dialect) -> Task:
    from polymeter.interop.lm_eval.tasks.compile import compile_task

    return compile_task(spec, traits, context, dialect)


DIALECT = Dialect(
    name=NAME,
    format=NAME,
    title="one of lm-eval's tasks",
    package=("lm_eval", "tasks"),
    is_surely=is_surely,
    make_reader=make_reader,
    describe=describe,
    validate=_validate,
    group_keys=frozenset(_OF_GROUPS.split()),
    aggregates=_aggregates,
    is_member_stronger=True,
    is_inline_prefixed=True,
    is_own_kind_first=True,
    are_tags_sorted=True,
    is_class_unchecked=True,
    problems=_problems,
    templates=("doc_to_text", "doc_to_target", "doc_to_choice", "description", "gen_prefix"),
    metrics=_metrics,
    outline=_outline,
    compile=_compile,
    modules=("polymeter.interop.lm_eval.tasks.compile", "pyarrow"),
)
