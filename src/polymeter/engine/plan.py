"""Planning: from names to tasks, checked whole before anything is spent."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.catalog import Catalog, Entry, Root
from polymeter.core.errors import PlanError
from polymeter.core.format import Format, Loaded, OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.model import Model, ModelSpec, ModelTraits
from polymeter.core.needs import check_needs, ignored_settings
from polymeter.core.options import RunOptions
from polymeter.core.parity import NO_PARITY, Parity, parity_with
from polymeter.core.places import require_place
from polymeter.core.registries import FORMATS, stored_format
from polymeter.core.systems import broken_systems, libraries, package_folder
from polymeter.core.task import GroupSpec, Task, TaskSpec
from polymeter.engine.generation_settings import passed_on_notes, with_passed_on
from polymeter.guests.door import in_mode
from polymeter.guests.neighbours import include_trees
from polymeter.guests.opened_sources import collecting_sources, hash_with_opened, opened_behind


@dataclass(frozen=True, slots=True)
class Selection:
    """The tasks of a run.

    Attributes:
        tasks: Each once, in the order of playing.
        groups: The groups that were named, and those inside them.
        layout: What to print in which order: kind, name, depth.
        notes: What the user should know of the choice.
    """

    tasks: tuple[TaskSpec, ...]
    groups: tuple[GroupSpec, ...] = ()
    layout: tuple[tuple[str, str, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Plan:
    """One evaluation, checked.

    Attributes:
        model: The model.
        model_spec: Its spec; ``None`` when the caller gave an object.
        roles: Further models by role.
        role_specs: Their specs.
        patterns: What the user named.
        selection: The tasks.
        options: Every setting.
        opened: The tasks, bound to the model.
        notes: What the user should know of the choice.
        warnings: Of these, what is told before anything is spent: settings that the model cannot honour or does not
            know, and judges that are missing.
    """

    model: Model
    model_spec: ModelSpec | None
    patterns: tuple[str, ...]
    selection: Selection
    options: RunOptions
    roles: Mapping[str, Model] = field(default_factory=dict)
    role_specs: Mapping[str, ModelSpec | None] = field(default_factory=dict)
    opened: tuple[Task, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def parity(self) -> Parity:
        """Whose values are wanted where Polymeter differs from another system."""
        return parity_with(self.options.parity)


def library_roots() -> list[Path]:
    """The folders of benchmarks that come with Polymeter, and with the systems that it knows."""
    import polymeter

    return [Path(polymeter.__file__).parent / "library", *map(package_folder, libraries())]


def cache_folder(options: RunOptions) -> Path:
    """Where prepared data and indexes are kept: as told, else ``POLYMETER_CACHE_DIR``, else the user's cache folder.

    Raises:
        PlanError: if no folder can be there.
    """
    told = options.cache_dir or os.environ.get("POLYMETER_CACHE_DIR")
    if told:
        require_place(told, "The cache folder")
        return Path(told)
    from platformdirs import user_cache_path

    return user_cache_path("polymeter")


def named_place(path: Path) -> Path:
    """A folder or file that a user names, as it is known from anywhere. A table is called by its own name, also where
    that is a link to a file of another one.
    """
    return path.parent.resolve() / path.name if path.suffix == ".tsv" else path.resolve()


def file_endings() -> tuple[str, ...]:
    """Endings of files that may be named in place of the benchmarks in them."""
    return tuple({ending: None for name in FORMATS for ending in FORMATS.get(name).endings})


def build_catalog(include_paths: Iterable[Path], cache_dir: Path | None, parity: Parity = NO_PARITY) -> Catalog:
    """Every benchmark of every format, built in and the user's, read as the system to be matched reads files.

    Raises:
        PlanError: An include path does not exist.
    """
    roots = [Root(path, is_user=False) for path in library_roots()]
    for path in include_paths:
        if not os.path.exists(path):  # unlike Path.exists, it takes names that no file can have
            raise PlanError(f"The include path {str(path)!r} does not exist.", where="--include-path")
        roots.append(Root(named_place(path)))
    include_trees(root.path for root in roots if root.is_user)
    catalog = Catalog(parity=parity)
    formats = [FORMATS.get(name) for name in FORMATS]
    for each in formats:
        catalog.update(each.index(roots, cache_dir))
    for each in formats:
        if each.index_data is not None:
            catalog.update(each.index_data(roots, catalog.claims))
    catalog.problems.extend(broken_systems())
    if parity.on("later-file"):
        catalog.settle_clashes()
    return catalog


def format_of(entry: Entry | TaskSpec) -> Format:
    """The dialect that reads an entry or a spec."""
    return FORMATS.get(entry.format)


def select(patterns: Sequence[str], catalog: Catalog) -> Selection:
    """The tasks behind names, globs, groups and tags, in the order in which they are named.

    Raises:
        PlanError: A pattern names nothing (the nearest names are given), two files define a name, or a file is broken.
    """
    if not patterns:
        raise PlanError("No task is named.", hint="Name some with --tasks; 'polymeter tasks' lists them.")
    tags = catalog.tags()
    names: list[str] = []
    for pattern in patterns:
        names.extend(name for name in _match(pattern, catalog, tags) if name not in names)
    tasks: dict[str, TaskSpec] = {}
    groups: dict[str, GroupSpec] = {}
    layout: list[tuple[str, str, int]] = []
    notes: list[str] = []
    for name in names:
        entry = catalog.get(name)
        loaded = format_of(entry).load(entry, catalog)
        for spec in loaded.tasks:
            _add_task(spec, tasks, name)
        for group in loaded.groups:
            groups.setdefault(group.name, group)
        _lay_out(loaded, name, groups, tasks, layout)
        notes.extend(_shadow_note(member, catalog) for member in [name, *(spec.name for spec in loaded.tasks)])
    notes = list(dict.fromkeys(note for note in notes if note))
    return Selection(tuple(tasks.values()), tuple(groups.values()), tuple(layout), tuple(notes))


def _add_task(spec: TaskSpec, tasks: dict[str, TaskSpec], named_by: str) -> None:
    known = tasks.setdefault(spec.name, spec)
    if known.source_hash != spec.source_hash:
        raise PlanError(
            f"Task {spec.name!r} is wanted in two ways: {named_by!r} changes its configuration, and so does something "
            "else that is named.",
            where=str(spec.file),
            hint="Run the two apart.",
        )


def compile_tasks(plan: Plan, cache_dir: Path | None) -> None:
    """Bind every task to the model and open its data; check what it needs.

    Raises:
        PlanError: A task and the model, or a role, do not fit.
        DataError: A dataset cannot be opened.
    """
    options = plan.options
    is_limit_shared = plan.parity.on("limit-of-first-task")
    shared = OpenContext(
        seed=options.seed,
        generation=with_passed_on(options.generation, plan.model.traits),
        num_fewshot=options.num_fewshot,
        prompt_key=options.prompt_key,
        system_prompt=options.system_prompt,
        data=options.data,
        limit=options.limit,
        offset=options.offset,
        roles=role_names(plan),
        parity=plan.parity,
        cache_dir=cache_dir,
    )
    surroundings = {"parity": plan.parity, "data": options.data, "cache_dir": cache_dir}
    opened = []
    for spec in plan.selection.tasks:
        context = replace(shared, options=options.dialect_options.get(stored_format(spec.format), {}))
        with in_mode("load"), collecting_sources() as collected, guest_context_with(**surroundings):
            task = format_of(spec).compile(spec, plan.model.traits, context)
        task = _with_opened(task, opened_behind(spec.sources, collected))
        check_needs(task.needs, plan.model.traits, task=spec.name, model=model_name(plan), roles=plan.roles)
        if len(task.samples) == 0:
            raise PlanError(
                f"Task {spec.name!r} has no samples.", where=str(spec.file), hint="Check its split and process_docs."
            )
        if is_limit_shared and options.limit is not None and options.limit < 1 and not task.limits_subsets:
            # The share becomes a number of samples with the first task, and stays that number for all others.
            count = len(samples_to_run(len(task.samples), options.model_copy(update={"offset": 0})))
            options = plan.options = options.model_copy(update={"limit": float(count)})
        if not selected_samples(task, options):
            raise PlanError(
                f"Task {spec.name!r} has {len(task.samples)} samples: an offset of {options.offset} leaves none.",
                where="offset",
            )
        opened.append(task)
    plan.opened = tuple(opened)
    plan.selection = replace(plan.selection, tasks=tuple(task.spec for task in opened))
    passed = passed_on_notes(options.generation, opened, plan.model, model_name(plan))
    warnings = (warning for task in opened for warning in task.warnings)
    plan.warnings = told = (*ignored_settings(opened, plan.model, model_name(plan)), *passed, *warnings)
    plan.notes = tuple(dict.fromkeys([*plan.notes, *(note for task in opened for note in task.notes), *told]))


def _with_opened(task: Task, opened: Sequence[Path]) -> Task:
    """A task whose sources count the files that its code has opened while it was loaded."""
    if not opened:
        return task
    spec = task.spec
    spec = replace(spec, source_hash=hash_with_opened(spec.source_hash, opened), sources=(*spec.sources, *opened))
    return replace(task, spec=spec, score_digest=hash_with_opened(task.score_digest, opened))


def samples_to_run(n_samples: int, options: RunOptions) -> range:
    """Which samples ``offset`` and ``limit`` leave. A limit is a count, or a share of all samples when it is below 1
    (rounded up).
    """
    start, limit = min(options.offset, n_samples), options.limit
    if limit is None:
        return range(start, n_samples)
    n_wanted = int(limit) if limit >= 1 else -int(-n_samples * limit // 1)
    return range(start, min(n_samples, start + n_wanted))


def selected_samples(task: Task, options: RunOptions) -> range:
    """Which samples of a task are run. A task that has limited its subsets itself (``limits_subsets``) is run as
    it is.
    """
    return samples_to_run(
        len(task.samples), options.model_copy(update={"limit": None}) if task.limits_subsets else options
    )


def model_name(plan: Plan) -> str:
    """What to call the model."""
    return _name_of(plan.model, plan.model_spec)


def role_names(plan: Plan) -> dict[str, str]:
    """What to call the models in the further roles, by role."""
    return {role: _name_of(model, plan.role_specs.get(role)) for role, model in plan.roles.items()}


def traits_without_model() -> ModelTraits:
    """Traits that fit any task, for looking at tasks without a model."""
    return ModelTraits(family="default")


def _name_of(model: Model, spec: ModelSpec | None) -> str:
    return str(spec) if spec is not None else str(getattr(model, "display_name", type(model).__name__))


def _match(pattern: str, catalog: Catalog, tags: Mapping[str, list[str]]) -> list[str]:
    if pattern in catalog.entries or pattern in catalog.clashes:
        return [pattern]
    if pattern in tags:
        return tags[pattern]
    if Path(pattern).suffix in file_endings():
        return _in_file(Path(pattern), catalog)
    if any(sign in pattern for sign in "*?["):
        found = [name for name in catalog.entries if fnmatch.fnmatchcase(name, pattern)]
        found = [name for name in found if catalog.entries[name].kind == "task"] or found
        if found:
            return sorted(found)
    broken = [problem for problem in catalog.problems if problem.file.stem == pattern]
    if broken:
        raise PlanError(f"Task {pattern!r} cannot be read: {broken[0].message}", where=broken[0].where)
    raise catalog.unknown(pattern, where="--tasks")


def _in_file(path: Path, catalog: Catalog) -> list[str]:
    place = named_place(path)
    found = [entry.name for entry in catalog if entry.file == place]
    if found:
        return found
    broken = [problem for problem in catalog.problems if problem.where.startswith(str(place))]
    if broken:
        raise PlanError(broken[0].message, where=broken[0].where)
    raise PlanError(f"{path} holds no task or group.", where="--tasks", hint="Add its folder with --include-path.")


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


def describe_selection(selection: Selection) -> dict[str, Any]:
    """The selection as plain data, for the manifest."""
    return {
        "tasks": [spec.name for spec in selection.tasks],
        "groups": {group.name: list(group.members) for group in selection.groups},
        "layout": [list(line) for line in selection.layout],
    }
