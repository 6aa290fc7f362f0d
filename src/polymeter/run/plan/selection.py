"""From the names that a user gives to the tasks that they stand for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.format import Format, Loaded
from polymeter.core.machine.places import from_here
from polymeter.core.names.catalog import Catalog, Entry, Root, is_glob
from polymeter.core.names.installed import Package, installed_packages
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.names.registries import FORMATS
from polymeter.core.names.systems import (
    broken_systems,
    libraries,
    package_folder,
    told_system,
    unsupported_files,
)
from polymeter.core.names.unsupported import unsupported_problems
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.core.text.codec import jsonable
from polymeter.guests.loading.neighbours import include_trees
from polymeter.run.plan.package_index import read_package

CHOSEN = "::"
"""Between a file and the name of one of the benchmarks in it."""
_OTHER_DATA = (".arrow", ".txt", ".xls", ".ods", ".numbers", ".pkl", ".zip")
"""Endings of data files that are not tasks."""


@dataclass(frozen=True, slots=True)
class SelectedTasks:
    """The tasks of a run.

    Attributes:
        tasks: Each once, in the order of playing.
        groups: The groups that were named, and those inside them.
        layout: What to print in which order: kind, name, depth.
        notes: What the user should know of the choice.
        guesses: The guesses that made tasks of tables.
    """

    tasks: tuple[TaskSpec, ...]
    groups: tuple[GroupSpec, ...] = ()
    layout: tuple[tuple[str, str, int], ...] = ()
    notes: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()


def library_roots() -> list[Path]:
    """The folders of benchmarks that come with Polymeter, and with the systems that it knows."""
    import polymeter

    return [Path(polymeter.__file__).parent / "library", *map(package_folder, libraries())]


def named_place(path: Path) -> Path:
    """A folder or file that a user names, as it is known from anywhere. A table is called by its own name, also where
    that is a link to a file of another one. The system before the place, if there is one, stays there.
    """
    system, place = told_system(path)
    if system:
        return Path(f"{system}:{place.resolve()}")
    return path.parent.resolve() / path.name if path.suffix == ".tsv" else path.resolve()


def file_endings() -> tuple[str, ...]:
    """Endings of files that may be named in place of the benchmarks in them."""
    return tuple({ending: None for name in FORMATS for ending in FORMATS.get(name).endings})


def is_task_file(name: str) -> bool:
    """Check if a name has the ending of a file that may be named in place of the benchmarks in it."""
    return name.lower().endswith(file_endings())


def file_and_name(pattern: str) -> tuple[str, str]:
    """Split ``FILE::NAME``, which names one benchmark of a file; the name is empty in any other pattern."""
    place, mark, name = pattern.rpartition(CHOSEN)
    return (place, name) if mark and is_task_file(place) else (pattern, "")


def build_catalog(include_paths: Iterable[Path], cache_dir: Path | None, parity: Parity = NO_PARITY) -> Catalog:
    """Every benchmark of every format: the user's, built in, and those of installed packages, read as the system to be
    matched reads files.

    Raises:
        PlanError: An include path does not exist.
    """
    roots = [Root(path, is_user=False) for path in library_roots()]
    for told in include_paths:
        system, path = told_system(told)
        if not os.path.exists(path):  # unlike Path.exists, it takes names that no file can have
            near = _near_path(path)
            raise PlanError(f"The include path {str(path)!r} does not exist.", where="--include-path", hint=near)
        roots.append(Root(named_place(path), dialect=system))
    include_trees(root.path for root in roots if root.is_user)
    catalog = Catalog(parity=parity)
    formats = [FORMATS.get(name) for name in FORMATS]
    for each in formats:
        catalog.update(each.index(roots, cache_dir))
    for each in formats:
        if each.index_data is not None:
            catalog.claim_files()
            catalog.update(each.index_data(roots, catalog.claims))
    for root in roots:
        if root.is_user:
            known = [*(entry.file for entry in catalog), *(problem.file for problem in catalog.problems)]
            catalog.problems.extend(unsupported_problems(root.path, known, unsupported_files()))
    catalog.problems.extend(broken_systems())
    if parity.on("later-file"):
        catalog.settle_clashes()
    catalog.packages = {package.qualifier: read_package(package, cache_dir, parity) for package in installed_packages()}
    return catalog


def format_of(entry: Entry | TaskSpec) -> Format:
    """The dialect that reads an entry or a spec."""
    return FORMATS.get(entry.format)


def select(patterns: Sequence[str], catalog: Catalog, where: str = "--tasks") -> SelectedTasks:
    """The tasks behind names, globs, groups, tags, files and folders, in the order in which they are named.

    Args:
        patterns: The names.
        catalog: Where they are looked up.
        where: The option that gives them, for messages.

    Raises:
        PlanError: A pattern names nothing (the nearest names are given), two files define a name, or a file is broken.
    """
    if not patterns:
        raise PlanError("No task is named.", hint="Name some with --tasks; 'polymeter tasks' lists them.")
    entries = {entry.qualified_name: entry for pattern in patterns for entry in matching(pattern, catalog, where)}
    tasks: dict[str, TaskSpec] = {}
    groups: dict[str, GroupSpec] = {}
    layout: list[tuple[str, str, int]] = []
    notes: list[str] = []
    guesses: list[str] = []
    for entry in entries.values():
        home = catalog.home(entry)
        loaded = _loaded(entry, home)
        guesses.extend(loaded.guesses)
        for spec in loaded.tasks:
            _add_task(spec, tasks, entry.name)
        for group in loaded.groups:
            _add_group(group, groups)
        _lay_out(loaded, entry.name, groups, tasks, layout)
        notes.extend(_shadow_note(member, home) for member in [entry.name, *(spec.name for spec in loaded.tasks)])
    notes = list(dict.fromkeys(note for note in notes if note))
    chosen = (tuple(tasks.values()), tuple(groups.values()), tuple(layout))
    return SelectedTasks(*chosen, tuple(notes), tuple(dict.fromkeys(guesses)))


def _loaded(entry: Entry, home: Catalog) -> Loaded:
    """The specs behind an entry, each with the installed package that brings its file."""
    loaded = format_of(entry).load(entry, home)
    packages = installed_packages()
    return replace(loaded, tasks=tuple(_with_package(spec, packages) for spec in loaded.tasks))


def _with_package(spec: TaskSpec, packages: Iterable[Package]) -> TaskSpec:
    brings = next((package for package in packages if spec.file.is_relative_to(package.folder)), None)
    return spec if brings is None else replace(spec, package=str(brings))


def _add_task(spec: TaskSpec, tasks: dict[str, TaskSpec], named_by: str) -> None:
    known = tasks.setdefault(spec.name, spec)
    if known.source_hash != spec.source_hash:
        if known.package != spec.package:
            raise _two_of_a_name("task", spec.name, known.file, spec.file)
        raise PlanError(
            f"Task {spec.name!r} is requested with two configurations: {named_by!r} changes it, and so does something "
            "else in --tasks.",
            where=str(spec.file),
            hint="Run the two separately.",
        )


def _add_group(group: GroupSpec, groups: dict[str, GroupSpec]) -> None:
    known = groups.setdefault(group.name, group)
    if known.file is not None and group.file is not None and known.file != group.file:
        raise _two_of_a_name("group", group.name, known.file, group.file)


def _two_of_a_name(kind: str, name: str, known: Path, other: Path) -> PlanError:
    return PlanError(
        f"Two {kind}s of this run would be called {name!r}.",
        where=f"{known} and {other}",
        hint="Run them separately: results are keyed by the authors' names.",
    )


def matching(pattern: str, catalog: Catalog, where: str = "--tasks") -> list[Entry]:
    """The entries that a name, glob, tag, file or folder stands for. A name may be qualified with the package that has
    it, and wins over a folder of that name.

    Args:
        pattern: The name.
        catalog: Where it is looked up.
        where: The option that gives it, for messages.

    Raises:
        PlanError: if there is none, several packages have the name, or a file is broken.
    """
    file, chosen = file_and_name(pattern)
    if is_task_file(file) and not catalog.has(pattern) and not os.path.isdir(file):
        return _in_file(Path(file), chosen, catalog, where)
    home, name = catalog.place(pattern, where=where)
    if name in home.entries or name in home.clashes:
        return [home.get_own(name)]
    tagged = home.tags().get(name)
    if tagged is not None:
        return [home.get_own(member) for member in tagged]
    if home.protocols(name):
        return [home.get_own(name)]
    if is_glob(name):
        found = _globbed(name, home, where)
        if found:
            return found
    broken = [problem for problem in home.problems if problem.file.stem == name]
    if broken and name not in broken[0].names:
        hint = home.advice
        raise PlanError(f"Task {name!r} cannot be read: {broken[0].message}", where=broken[0].where, hint=hint)
    if os.path.isdir(pattern):
        return _in_folder(Path(pattern), catalog, where)
    raise refused_path(Path(pattern), where) or home.unknown(name, where=where)


def _globbed(pattern: str, catalog: Catalog, where: str) -> list[Entry]:
    """The tasks that a glob means.

    Raises:
        PlanError: if several packages have such names, and none of them is preferred.
    """
    found = catalog.globbed_anywhere(pattern)
    if len(found.taken) > 1:
        shown = ", ".join(f"{qualifier}:{pattern} ({len(entries):,})" for qualifier, entries in found.taken.items())
        raise PlanError(
            f"{pattern!r} matches benchmarks of several packages.", where=where, hint=f"Name one of them: {shown}."
        )
    return found.entries


def _in_folder(path: Path, catalog: Catalog, where: str) -> list[Entry]:
    """Return the outermost groups of a folder, and the tasks in none of them.

    Raises:
        PlanError: if it has no task, or two of its files define a name.
    """
    place = named_place(path)
    found = [catalog.get_own(entry.name) for entry in catalog if entry.file.is_relative_to(place)]
    if not found:
        broken = next((problem for problem in catalog.problems if problem.file.is_relative_to(place)), None)
        if broken is not None:
            raise PlanError(broken.message, where=broken.where)
        raise PlanError(
            f"There is no task in the folder {from_here(path)!r}.",
            where=where,
            hint="A task is a YAML with a line 'task: NAME', a function with @polymeter.task, an adapter or dataset "
            "class in Python, a table with usual columns (question, answer), or a folder of images with a "
            "metadata.csv.",
        )
    below = {entry.name: _members_below(entry, catalog) for entry in found if entry.kind == "group"}
    return [entry for entry in found if not any(entry.name in below[group] for group in below)]


def _members_below(group: Entry, catalog: Catalog) -> set[str]:
    """Collect the names of all members of a group and of the groups and tags in it."""
    tags = catalog.tags()
    found: set[str] = set()
    waiting = list(group.members)
    while waiting:
        name = waiting.pop()
        if name not in found and name != group.name:
            found.add(name)
            entry = catalog.entries.get(name)
            waiting.extend(entry.members if entry is not None else tags.get(name, ()))
    return found


def _in_file(path: Path, chosen: str, catalog: Catalog, where: str) -> list[Entry]:
    place = named_place(path)
    found = [catalog.get_own(entry.name) for entry in catalog if entry.file == place]
    if found:
        return [_chosen_in(found, chosen, path, where)] if chosen else found
    broken = [problem for problem in catalog.problems if problem.where.startswith(str(place))]
    if broken:
        raise PlanError(broken[0].message, where=broken[0].where)
    if path.name.startswith("<"):
        raise PlanError(
            f"Task {chosen!r} was given to a run as a Python object, and no file holds it.",
            where=where,
            hint="Continue in Python with the same object: polymeter.evaluate, resume or score with tasks=[…].",
        )
    if not os.path.exists(path):
        raise PlanError(f"There is no file {str(path)!r}.", where=where, hint=_near_path(path))
    if path.suffix == ".py":
        raise PlanError(
            f"{path} defines no task.",
            where=where,
            hint="Decorate a prompt function with @polymeter.task(rows=…), at the top level of the file. Adapters and "
            "dataset classes of other systems count too.",
        )
    if path.stat().st_size == 0:
        raise PlanError(f"{path} is empty.", where=f"{path}:1", hint="A task is described in it: task: NAME, …")
    raise PlanError(
        f"{path} holds no task or group.",
        where=where,
        hint="A task has a line 'task: NAME'; a group 'group: NAME' and a list 'task: […]'. If it needs files of "
        "another folder, add that with --include-path.",
    )


def _chosen_in(found: Sequence[Entry], name: str, path: Path, where: str) -> Entry:
    """Return the benchmark of that name among those of a file. A group whose members only running the file shows may
    hold any name.

    Raises:
        PlanError: if there is none.
    """
    entry = next((one for one in found if one.name == name), None)
    open_group = next((one for one in found if one.kind == "group" and not one.members), None)
    if entry is None and open_group is not None:
        return replace(open_group, name=name, kind="task")
    if entry is None:
        names = [one.name for one in found]
        hint = did_you_mean(name, names) or f"It has: {', '.join(names)}."
        raise PlanError(f"{path} has no task {name!r}.", where=where, hint=hint)
    return entry


def refused_path(path: Path, where: str = "--tasks") -> PlanError | None:
    """Return the error for a data file that is not a task, given as a task's name; ``None`` if the path is something
    else.
    """
    if path.suffix.lower() not in _OTHER_DATA:
        return None
    if not os.path.exists(path):
        return PlanError(f"There is no file {str(path)!r}.", where=where, hint=_near_path(path))
    return PlanError(
        f"{str(path)!r} is a data file that is not a task by itself.",
        where=where,
        hint="Save it as .csv, .xlsx, .jsonl or .parquet with columns such as question and answer; or write a YAML "
        "for it (docs/tasks.md).",
    )


def _near_path(path: Path) -> str:
    """A sentence with what lies beside a path that does not exist and has nearly its name."""
    folder = path.parent
    try:
        beside = os.listdir(folder)
    except (OSError, ValueError):
        return f"There is no folder {str(folder)!r}."
    return did_you_mean(path.name, beside, n=1) or f"It is looked for in {folder.resolve()}."


def _lay_out(
    loaded: Loaded,
    name: str,
    groups: Mapping[str, GroupSpec],
    tasks: Mapping[str, TaskSpec],
    layout: list[tuple[str, str, int]],
    depth: int = 0,
) -> None:
    if name in groups:
        layout.append(("group", name, depth))
        for member in groups[name].members:
            _lay_out(loaded, member, groups, tasks, layout, depth + 1)
    elif name in tasks:
        layout.append(("task", name, depth))


def _shadow_note(name: str, catalog: Catalog) -> str:
    hidden = catalog.shadowed.get(name)
    return f"Your {name!r} ({catalog.entries[name].file}) is used in place of the built-in one." if hidden else ""


def describe_selection(selection: SelectedTasks) -> dict[str, Any]:
    """The selection as plain data, for the manifest."""
    described = {
        "tasks": [spec.name for spec in selection.tasks],
        "groups": {group.name: list(group.members) for group in selection.groups},
        "layout": [list(line) for line in selection.layout],
    }
    numbers = {group.name: _described(group) for group in selection.groups if group.aggregates}
    return described | ({"group_numbers": numbers} if numbers else {})


def described_groups(selection: Mapping[str, Any]) -> dict[str, GroupSpec]:
    """The groups of a selection that ``describe_selection`` has described; an earlier version kept no aggregations."""
    numbers = selection.get("group_numbers") or {}
    return {
        name: GroupSpec(
            name,
            str(numbers.get(name, {}).get("alias") or ""),
            tuple(members),
            tuple(numbers.get(name, {}).get("aggregates") or ()),
            version=str(numbers.get(name, {}).get("version") or ""),
        )
        for name, members in (selection.get("groups") or {}).items()
    }


def _described(group: GroupSpec) -> dict[str, Any]:
    """Describe a group's aggregations. An aggregation of its author's own is code, and not described."""
    plain = [dict(aggregate) for aggregate in group.aggregates if not callable(aggregate.get("aggregation"))]
    return {"alias": group.alias, "version": group.version, "aggregates": jsonable(plain)}
