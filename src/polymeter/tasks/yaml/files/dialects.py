"""Dialects: the choices by which one family of task YAML differs from another.

There is one engine for task YAML, and a ``Dialect`` is what it asks where families differ. Any number of systems attach
one (``core.names.systems.System.dialects``), so that every ``.yaml`` is read once and belongs to one of them. A dialect
that is close to our own begins with it: ``dataclasses.replace(tasks.yaml.own.OWN_DIALECT, name=…, make_reader=…)``.

Which dialect a file is in, in this order: what its root says (``--include-path lm-eval:DIR``); whether it lies in a
copy of the system's package; and what the task files of its folder show (``Dialect.is_surely``). Files that could be
either are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from polymeter.core.errors import PlanError, Problem, boundary
from polymeter.core.format import OpenContext, Outline
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import Parity
from polymeter.core.names.systems import load, systems
from polymeter.core.task import Task, TaskSpec
from polymeter.tasks.yaml.files.reader import Resolved, YamlReader

NAME = "task_yaml"
"""Our own dialect, and the name of its format."""
_FIELDS = (
    "auto_strip_thinking cluster_key doc_to_messages doc_to_visual filters full_docs lmms_eval_specific_kwargs "
    "model_specific_generation_kwargs model_specific_target_kwargs process_results_use_image reasoning_tags score_key"
)
_ONLY_HERE = frozenset(_FIELDS.split())
"""Fields that no dialect has."""
Locate = Callable[[str], str]
"""From a field's name to its ``file:line``."""
Record = dict[str, Any]


class TaskFields(Protocol):
    """The fields that every dialect's configuration of a task has."""

    @property
    def task_alias(self) -> str | None:
        """The name to print."""

    @property
    def version(self) -> str:
        """The author's version, as printed."""

    @property
    def is_unsafe(self) -> bool:
        """True if scoring runs code that a model wrote."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect. Every function but ``compile`` runs no task code.

    Attributes:
        name: The system's name, as roots have it; empty for our own.
        format: The format of its entries and specs.
        title: One of its tasks, for messages: ``a task YAML``.
        package: The folders at the end of the place where the system's package keeps its tasks, such as
            ``("tool", "tasks")``; none: it has no such place.
        is_surely: ``(values, import roots of its code) → bool``: whether a file can only be the system's.
        make_reader: Makes a reader that merges includes, and names fields, as the system does.
        describe: ``(resolved, packages that its code needs) → record`` of the index, as ``index.describe`` gives it.
        validate: The typed fields of a task, from its values. Raises PlanError if one is not valid.
        group_keys: Keys of a group that are about the group; all others are for its tasks.
        aggregates: The entries of a group's ``aggregate_metric_list``, from its value and its ``file:line``.
        is_member_stronger: Whether fields that a group's member writes beside its name win over the group's.
        is_inline_prefixed: Whether a member that a group writes out, and the index does not know, has the group's name
            (``group::task``). Else it has its own, and a list of tasks is a group whatever the index knows.
        is_own_kind_first: Whether a group means a task of this dialect where a task of another kind hides it.
        are_tags_sorted: Whether the tasks behind a tag that a group names come in the order of their names.
        is_class_unchecked: Whether a task that is a Python class may have any fields: its class interprets them.
        problems: The problems of the fields of a task beyond their types.
        templates: Fields that may hold a template.
        metrics: The names of a task's metrics; ``None`` if only its code knows them.
        outline: The size and the modalities of a task.
        compile: The task for a model. Runs its authors' code.
        modules: Modules that ``compile`` needs.
    """

    name: str
    format: str
    title: str
    package: tuple[str, ...]
    is_surely: Callable[[Mapping[str, Any], frozenset[str]], bool]
    make_reader: Callable[[Parity], YamlReader]
    describe: Callable[[Resolved, Sequence[str]], Record]
    validate: Callable[[Mapping[str, Any], Locate, Path], TaskFields]
    group_keys: frozenset[str]
    aggregates: Callable[[Any, str], tuple[Mapping[str, Any], ...]]
    is_member_stronger: bool
    is_inline_prefixed: bool
    is_own_kind_first: bool
    are_tags_sorted: bool
    is_class_unchecked: bool
    problems: Callable[[Any, Resolved], Iterable[Problem]]
    templates: tuple[str, ...]
    metrics: Callable[[TaskSpec], Collection[str] | None]
    outline: Callable[[TaskSpec], Outline]
    compile: Callable[[TaskSpec, ModelTraits, OpenContext, Dialect], Task]
    modules: tuple[str, ...]

    def holds(self, file: Path) -> bool:
        """Return whether a file lies in the task folder of a copy of the system's package."""
        parts, n = file.parts, len(self.package)
        return n > 0 and any(parts[i : i + n] == self.package for i in range(len(parts) - n))


def attached() -> tuple[Dialect, ...]:
    """The dialects that systems attach and that can be loaded."""
    return _loaded(_targets())[0]


def broken() -> tuple[Problem, ...]:
    """The dialects that cannot be loaded, and why. Their files are listed as if the system were not installed."""
    return _loaded(_targets())[1]


def _targets() -> tuple[tuple[str, str], ...]:
    return tuple((system.title, target) for system in systems() for target in system.dialects)


# Kept for the life of the process, in which modules do not change: each file is compared with every dialect.
@lru_cache(maxsize=4)
def _loaded(targets: tuple[tuple[str, str], ...]) -> tuple[tuple[Dialect, ...], tuple[Problem, ...]]:
    found: list[Dialect] = []
    problems: list[Problem] = []
    for title, target in targets:
        try:
            with boundary(PlanError, f"Loading the task YAML dialect of {title}"):
                found.append(cast(Dialect, load(target)))
        except PlanError as error:
            problems.append(Problem(error.where or target, f"{error.what} {error.hint}".strip()))
    return tuple(found), tuple(problems)


def shown_by(values: Mapping[str, Any], roots: frozenset[str]) -> str | None:
    """The format of the dialect that a file must be in by what it shows; ``None`` if it could be in several.

    Args:
        values: Its keys, includes merged.
        roots: Import roots of systems that its code imports.
    """
    if _ONLY_HERE & values.keys():
        return NAME
    sure = [one.format for one in attached() if one.is_surely(values, roots)]
    return sure[0] if len(sure) == 1 else None


def formats_by_folder(root: Path, shown: Iterable[tuple[Path, str | None]]) -> Callable[[Path], str]:
    """From a file below a root to the format of its dialect: one for the whole root if task files lie in it directly,
    else one for each of its folders. A dialect counts where some file shows it and none shows another.

    Args:
        root: The folder.
        shown: Its task files, with what each shows.
    """
    found = list(shown)
    is_whole = any(file.parent == root for file, _ in found)

    def tree(file: Path) -> str:
        return "" if is_whole or file == root else file.relative_to(root).parts[0]

    signs: dict[str, set[str]] = {}
    for file, sign in found:
        if sign is not None:
            signs.setdefault(tree(file), set()).add(sign)
    return lambda file: next(iter(each)) if len(each := signs.get(tree(file), set())) == 1 else NAME


def duplicate_problem(name: str, file: Path, first: Path) -> Problem:
    """The problem of a second file in one folder of a dialect that defines a name: the first counts."""
    return Problem(str(file), f"{first} defines {name!r} already, and counts; this file is left out.")
