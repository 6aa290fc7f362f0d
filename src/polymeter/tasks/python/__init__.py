"""The format of benchmarks in Python: functions decorated with ``polymeter.task``, and ``PythonTask`` records.

``writing`` is what authors import. ``files`` lists the tasks of a file without running it, loads it, and knows the
tasks that a call was given as objects. ``compile`` makes a Task: ``rows`` opens the rows, ``fields`` calls the author's
functions over them, ``prompts`` reads what these return, ``rollouts`` asks, ``scoring`` scores, and ``choosing`` leaves
choices to the output types of task YAML.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.format import Format, HubSource, Loaded, OpenContext, Outline, PageKeys
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec

__all__ = ["FORMAT"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """List all tasks in files of the user, and the tasks that a call was given as objects."""
    from polymeter.tasks.python.files.index import index

    return index(roots)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """Return the specs behind an entry."""
    from polymeter.tasks.python.files.index import load

    return load(entry)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the arguments of a task, as its file has them."""
    from polymeter.tasks.python.files.index import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """Refuse: a benchmark in Python consists of its files.

    Raises:
        PlanError: always; it names the files.
    """
    from polymeter.guests.reading.sources import no_yaml

    raise no_yaml(entry, f"Task {entry.name!r} is written in Python")


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """Find mistakes in an entry without running it."""
    from polymeter.tasks.python.files.index import check

    return check(entry)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """Compile the task for a model, with its rows open."""
    from polymeter.tasks.python.compile import compile_task

    return compile_task(spec, traits, context)


def _outline(spec: TaskSpec) -> Outline:
    """Count the rows, as far as the file shows them."""
    from polymeter.data.opening.counting import count_rows

    written = str(spec.config.get("rows", ""))
    number, _, rest = written.partition(" ")
    if rest == "rows in the file" and number.isdigit():
        return Outline(int(number))
    file = spec.file.parent / written
    return Outline(count_rows(file) if written and file.is_file() else None)


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """Return the dataset of the hub that the rows name; ``None`` if only its code shows it."""
    from polymeter.tasks.python.rows import hub_sources

    return hub_sources(spec)


def _code(spec: TaskSpec) -> Collection[Path]:
    """Return the file of the task."""
    return [spec.file] if spec.file.is_file() else []


def _get_ready() -> None:
    """Import what ``compile`` needs."""
    import polymeter.tasks.python.compile  # noqa: F401


PAGE_KEYS = PageKeys(
    dataset="rows",
    subsets="subset",
    splits=("split",),
    outputs=("output",),
    default_output="text",
    few_shot="",
    settings=("repeats", "over_repeats", "generation"),
    prompts=("system",),
    kinds={"text": "generate", "image": "generate_image", "choice": "loglikelihood", "letter": "generate"},
)
"""The places where pages find the facts of tasks in Python."""
FORMAT = Format(
    "python",
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    endings=(".py",),
    labels={"en": "Python", "zh": "Python"},
    page_keys=PAGE_KEYS,
    outline=_outline,
    sources=_sources,
    code=_code,
    get_ready=_get_ready,
)
