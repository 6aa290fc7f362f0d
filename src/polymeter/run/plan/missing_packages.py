"""Packages that the tasks of a run need and that are missing: named all at once, before anything is downloaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from polymeter.core.errors import PlanError, enumerated
from polymeter.core.names.installing import extra_packages, installed_version, pip_install, pip_name
from polymeter.core.names.registries import MODELS
from polymeter.core.task import TaskSpec
from polymeter.guests.reading.needed_packages import NeededPackage, is_installed, packages_behind
from polymeter.run.plan.selection import format_of

if TYPE_CHECKING:
    from polymeter.run.plan.plan import Plan


def needed_packages(spec: TaskSpec) -> tuple[NeededPackage, ...]:
    """The packages that a task's code imports, certainly or perhaps. Nothing of it is run."""
    code = format_of(spec).code
    return () if code is None else packages_behind(code(spec))


def check_packages(plan: Plan) -> None:
    """Check that every package is there without which the code of a task cannot be loaded.

    Raises:
        PlanError: if some are missing. It names all of them, with one command that installs them and what the model
            lacks.
    """
    backends = [spec.backend for spec in (plan.model_spec, *plan.role_specs.values()) if spec is not None]
    check_specs(plan.selection.tasks, backends)


def check_specs(specs: Iterable[TaskSpec], backends: Iterable[str] = ()) -> None:
    """The same for some tasks alone.

    Args:
        specs: The tasks.
        backends: The backends of the models that are to answer them.

    Raises:
        PlanError: if packages are missing.
    """
    missing: dict[str, list[tuple[str, NeededPackage]]] = {}
    for spec in specs:
        for package in _packages_not_installed(spec):
            if package.is_certain:
                missing.setdefault(package.module, []).append((_with_class(spec), package))
    if not missing:
        return
    named = [f"{module!r} ({_some_tasks([task for task, _ in by])})" for module, by in missing.items()]
    what = f"Packages that this run needs are not installed: {', '.join(named)}."
    if len(missing) == 1:
        ((module, by),) = missing.items()
        what = f"The package {module!r}, needed by {_some_tasks([task for task, _ in by])}, is not installed."
    raise PlanError(
        what,
        where="; ".join(dict.fromkeys(by[0][1].where for by in missing.values())),
        hint=f"Install the missing packages with: {_command(missing, backends)}",
    )


def missing_later(specs: Iterable[TaskSpec]) -> Iterator[str]:
    """Sentences about packages that are missing and that the code of tasks imports only on some of its ways."""
    found: dict[str, tuple[NeededPackage, list[str]]] = {}
    for spec in specs:
        for package in _packages_not_installed(spec):
            found.setdefault(package.module, (package, []))[1].append(spec.name)
    together: dict[str, list[NeededPackage]] = {}  # those of the same tasks: a checkout imports a dozen somewhere
    for package, tasks in found.values():
        together.setdefault(_some_tasks(tasks), []).append(package)
    for tasks_text, packages in together.items():
        first, command = packages[0], pip_install(*(pip_name(package.module) for package in packages))
        if len(packages) == 1:
            yield (
                f"The code of {tasks_text} may need the package {first.module!r}, which is not installed "
                f"({first.where}): {command}"
            )
        else:
            yield (
                f"The code of {tasks_text} may need {len(packages)} packages that are not installed. It imports them "
                f"only in some of its functions ({first.module!r} in {first.where}): {command}"
            )


def _with_class(spec: TaskSpec) -> str:
    """The name of a task, with that of its class if it is one."""
    cls = spec.config.get("class")
    return f"{spec.name} (class {cls})" if isinstance(cls, str) else spec.name


def _packages_not_installed(spec: TaskSpec) -> Iterator[NeededPackage]:
    return (package for package in needed_packages(spec) if not is_installed(package.module))


def _command(modules: Iterable[str], backends: Iterable[str]) -> str:
    """The command that installs packages and the extras of models that are not complete."""
    extras = dict.fromkeys(extra for backend in backends if (extra := MODELS.find(backend).extra))
    lacking = [extra for extra in extras if any(installed_version(name) is None for name in extra_packages(extra))]
    return pip_install(*dict.fromkeys(map(pip_name, modules)), extra=",".join(lacking))


def _some_tasks(tasks: Iterable[str]) -> str:
    return enumerated("task", dict.fromkeys(tasks))
