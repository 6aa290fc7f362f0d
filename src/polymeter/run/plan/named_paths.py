"""Files and folders that a user names in place of tasks.

A bare name that a task and a folder share means the task; ``./NAME`` is always the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.run.plan.selection import CHOSEN, build_catalog, file_and_name, is_task_file, matching, named_place
from polymeter.store.folder import RunFolder

_MOST_NOTES = 3


@dataclass(frozen=True, slots=True)
class NamedTasks:
    """Names that a user gives, and the catalog in which they are looked up.

    Attributes:
        patterns: The names, globs, groups and tags as they were given; files and folders by their whole paths.
        include_paths: Folders and files of benchmarks, those among the patterns included.
        catalog: All benchmarks, those of the include paths included.
        notes: Notes for the user about this choice.
    """

    patterns: tuple[str, ...]
    include_paths: tuple[Path, ...]
    catalog: Catalog
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The ``patterns`` with each file and folder replaced by the names of its tasks and groups.

        Raises:
            PlanError: if a file or folder has no task.
        """
        found: list[str] = []
        for pattern in self.patterns:
            file, _ = file_and_name(pattern)
            is_place = os.path.isabs(file) and os.path.exists(file)
            found += [entry.name for entry in matching(pattern, self.catalog, "")] if is_place else [pattern]
        return tuple(dict.fromkeys(found))


def catalog_for(
    patterns: Sequence[str], include_paths: Iterable[Path], cache_dir: Path | None, parity: Parity = NO_PARITY
) -> NamedTasks:
    """Make the catalog in which names of tasks are looked up, with the files and folders among them.

    Args:
        patterns: Names, globs, groups, tags, files and folders.
        include_paths: Further folders and files of benchmarks.
        cache_dir: Where the index is cached.
        parity: The system whose reading of files is wanted.

    Raises:
        PlanError: if an include path does not exist.
    """
    own = tuple(include_paths)
    files = {name: Path(file_and_name(name)[0]) for name in patterns}
    places = {name: named_place(file) for name, file in files.items() if is_task_file(str(file)) and file.is_file()}
    folders = {name: named_place(Path(name)) for name in patterns if os.path.isdir(name)}
    places |= {name: folder for name, folder in folders.items() if _is_path(name)}
    catalog = build_catalog((*own, *places.values()), cache_dir, parity)
    unknown = {name: folder for name, folder in folders.items() if name not in places and not _is_known(name, catalog)}
    if unknown:
        places |= unknown
        catalog = build_catalog((*own, *places.values()), cache_dir, parity)
    hidden = {name: folder for name, folder in folders.items() if name not in places}
    return NamedTasks(
        tuple(_whole_path(name, places) for name in patterns),
        tuple(dict.fromkeys((*own, *places.values()))),
        catalog,
        (*_hidden_notes(hidden, catalog), *_unread_notes(set(folders.values()) & set(places.values()), catalog)),
    )


def _whole_path(name: str, places: Mapping[str, Path]) -> str:
    """Return a name; of a file or folder the whole path, with the task that is chosen in it."""
    if name not in places:
        return name
    _, chosen = file_and_name(name)
    return f"{places[name]}{CHOSEN}{chosen}" if chosen else str(places[name])


def _is_path(name: str) -> bool:
    """Check if a name can only be a path."""
    return name in (os.curdir, os.pardir) or any(mark in name for mark in (os.sep, os.altsep) if mark)


def _is_known(name: str, catalog: Catalog) -> bool:
    try:
        home, bare = catalog.place(name)
    except PlanError:  # several packages have it
        return True
    return home.has(bare)


def _unread_notes(folders: Iterable[Path], catalog: Catalog) -> Iterator[str]:
    """Note files of a named folder that are left out because they cannot be read."""
    unread = [one for one in catalog.problems if any(one.file.is_relative_to(folder) for folder in folders)]
    for problem in unread[:_MOST_NOTES]:
        yield f"{problem.where}: {problem.message}"
    if len(unread) > _MOST_NOTES:
        yield f"{len(unread) - _MOST_NOTES} more files of the folder cannot be read; 'polymeter check' names them."


def _hidden_notes(hidden: dict[str, Path], catalog: Catalog) -> Iterator[str]:
    """Note each folder that shares its name with a task, unless it is a run's or the task lies in it."""
    for name, folder in hidden.items():
        entry = catalog.entries.get(name)
        is_meant = entry is None or not entry.file.is_relative_to(folder)
        if is_meant and not RunFolder(folder).is_begun():
            path = os.path.join(os.curdir, name)
            yield f"{name!r} is a task and a folder here; the task is run. Write {path} for the folder."
