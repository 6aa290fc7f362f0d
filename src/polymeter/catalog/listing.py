"""Looking at benchmarks without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.api.settings import read_settings
from polymeter.core.errors import PlanError, PolymeterError, Problem
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.parity import parity_with
from polymeter.core.options import RunOptions
from polymeter.core.text.phrases import in_words
from polymeter.run.plan import plan, selection
from polymeter.run.plan.named_paths import NamedTasks, catalog_for


def build_catalog(
    include_paths: Sequence[Path] = (), cache_dir: Path | None = None, parity: str | None = None
) -> Catalog:
    """All benchmarks: those that come with Polymeter and those of the include paths. Executes none of their code.

    Args:
        include_paths: Folders and files of benchmarks.
        cache_dir: Where the index is stored; default: as in the settings.
        parity: The system whose reading of files is wanted where Polymeter differs; default: that of the settings.

    Raises:
        PlanError: if an include path, or a system, does not exist.
    """
    settings = read_settings()
    wanted = parity_with(settings.parity if parity is None else parity)
    return selection.build_catalog([*settings.include_paths, *include_paths], index_folder(cache_dir), wanted)


def named_tasks(
    names: Sequence[str], include_paths: Sequence[Path] = (), cache_dir: Path | None = None, parity: str | None = None
) -> NamedTasks:
    """Look up names, globs, groups, tags, files and folders of tasks. Executes none of the benchmarks' code.

    Args:
        names: The names.
        include_paths: Folders and files of benchmarks.
        cache_dir: Where the index is stored; default: as in the settings.
        parity: The system whose reading of files is wanted where Polymeter differs; default: that of the settings.

    Raises:
        PlanError: if an include path, or a system, does not exist.
    """
    settings = read_settings()
    wanted = parity_with(settings.parity if parity is None else parity)
    return catalog_for(names, [*settings.include_paths, *include_paths], index_folder(cache_dir), wanted)


def index_folder(cache_dir: Path | None = None) -> Path:
    """Return the folder for indexes of benchmarks: the given one, else that of the settings.

    Raises:
        PlanError: if it cannot be a folder.
    """
    return plan.cache_folder(RunOptions(cache_dir=cache_dir or read_settings().cache_dir))


def describe_task(name: str, include_paths: Sequence[Path] = ()) -> list[tuple[str, Any, Path]]:
    """The resolved configuration of a task: key, value, and the file that the value comes from.

    Args:
        name: Its name, or the path of its file.
        include_paths: Folders and files of benchmarks.

    Raises:
        PlanError: if there is no such task, or its file is broken.
    """
    entry, home = _find(name, include_paths)
    return selection.format_of(entry).describe(entry, home)


def flatten_task(name: str, include_paths: Sequence[Path] = ()) -> str:
    """A task as one text that needs no other configuration file, ready to be shared.

    Args:
        name: Its name, or the path of its file.
        include_paths: Folders and files of benchmarks.

    Raises:
        PlanError: if there is no such task, or its file is broken.
    """
    entry, home = _find(name, include_paths)
    return selection.format_of(entry).flatten(entry, home)


def check_path(path: Path, include_paths: Sequence[Path] = (), parity: str | None = None) -> list[Problem]:
    """The problems of a benchmark file or a folder of them; empty if there are none. Executes none of their code.

    Args:
        path: The file or folder.
        include_paths: Further folders and files of benchmarks.
        parity: The system whose values a run would take; default: that of the settings.

    Raises:
        PlanError: if an include path, or a system, does not exist, or there is no benchmark at the path.
    """
    refused = selection.refused_path(path) if path.is_file() else None
    if refused is not None:
        raise PlanError(refused.what, where=str(path), hint=refused.hint)
    catalog = build_catalog([*include_paths, path], parity=parity)
    inside = selection.named_place(path)
    problems = [problem for problem in catalog.problems if problem.where.startswith(str(inside))]
    files = (
        *(entry.file for entry in catalog),
        *catalog.nameless,
        *(file for pair in catalog.clashes.values() for file in pair),
    )
    if not problems and not any(file.is_relative_to(inside) for file in files):
        raise PlanError(
            f"There is no benchmark in {str(path)!r}.",
            where=str(path),
            hint="A benchmark is a YAML with a line 'task: NAME', a function with @polymeter.task, an adapter or "
            "dataset class in Python, a table with usual columns (question, answer), or a folder of images with a "
            "metadata.csv.",
        )
    for name, files in catalog.clashes.items():
        if any(file.is_relative_to(inside) for file in files):
            where = " and ".join(str(file) for file in files)
            problems.append(Problem(where, f"Two files define {name!r}."))
    for entry in list(catalog):
        if entry.file.is_relative_to(inside) and entry.name not in catalog.clashes:
            problems.extend(_problems_of(entry, catalog))
    return problems


def _problems_of(entry: Entry, catalog: Catalog) -> list[Problem]:
    try:
        return selection.format_of(entry).check(entry, catalog)
    except PolymeterError as error:
        return [Problem(error.where or str(entry.file), f"{error.what} {error.hint}".strip())]


def _find(name: str, include_paths: Sequence[Path]) -> tuple[Entry, Catalog]:
    """An entry, and the catalog in which what it names is looked up."""
    named = named_tasks([name], include_paths)
    found = named.names
    if len(found) > 1:
        raise PlanError(f"{name!r} has several tasks.", where=name, hint=f"Name one of them: {in_words(found, 'or')}.")
    entry = named.catalog.get(found[0])
    return entry, named.catalog.home(entry)
