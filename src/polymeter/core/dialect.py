"""What a dialect is to the engine: an index of benchmarks, and a way to open one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from polymeter.core.catalog import Catalog, Entry, Problem, Root
from polymeter.core.model import ModelTraits
from polymeter.core.task import GroupSpec, Task, TaskSpec


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one name stands for: its tasks, and the groups that hold them (outermost first)."""

    tasks: tuple[TaskSpec, ...]
    groups: tuple[GroupSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenContext:
    """What a run tells a task when it is opened. Everything here is identity except ``cache_dir``.

    Attributes:
        seed: The run's seed.
        generation: Generation settings of the plan; they win over the task's.
        num_fewshot: The plan's number of examples; ``None``: the task's own.
        prompt_key: Which model-specific block of prompts to use; empty: the model's family.
        system_prompt: Put before every conversation.
        data: Local files in place of dataset ids.
        limit: How many samples the plan wants, for tasks that take so many of each subset (``limits_itself``): a count,
            or below 1 a share.
        options: Further settings for one dialect.
        roles: What the run calls the models in its further roles, by role.
        cache_dir: Where prepared datasets are kept.
    """

    seed: int = 0
    generation: Mapping[str, Any] = field(default_factory=dict)
    num_fewshot: int | None = None
    prompt_key: str = ""
    system_prompt: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    cache_dir: Path | None = None


class Dialect(Protocol):
    """Turns what its authors write into core tasks."""

    name: str

    def index(self, roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
        """All benchmarks under the roots. Executes none of their code; reports what it cannot read."""
        ...

    def load(self, entry: Entry, catalog: Catalog) -> Loaded:
        """The specs behind an entry. Executes none of their code, unless the names themselves are computed in a file
        that the user has named.

        Raises:
            PlanError: The file is broken: which, where, and what to do.
        """
        ...

    def describe(self, entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
        """The resolved configuration behind an entry: key, value as people write it, and the file it came from."""
        ...

    def flatten(self, entry: Entry, catalog: Catalog) -> str:
        """A task as one text that loads again without any other configuration file."""
        ...

    def check(self, entry: Entry, catalog: Catalog) -> list[Problem]:
        """What is wrong with an entry, found without executing its code: keys, metrics, functions that do not exist."""
        ...

    def open_task(self, spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
        """The task bound to a model, with its dataset open. Runs its authors' code.

        Raises:
            PlanError: Its code cannot be loaded, or a package is missing.
            DataError: Its dataset is missing, empty, or lacks a column.
        """
        ...
