"""Generation settings of a plan. A name that the user typed and the model does not know is refused before the first
request, and so is a misspelt one in a task file of the user's own. Other names that a benchmark or a published
configuration writes are passed on, with a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import pairwise
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.model import Model, ModelTraits
from polymeter.core.names.systems import systems
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.request import Generate, Loglikelihood, Parameters
from polymeter.core.settings.generation import require_generation
from polymeter.core.settings.generation_names import EVERY_NAME, SHARED
from polymeter.core.task import Task, TaskSpec
from polymeter.core.text.phrases import first_of

BEYOND = "extra."
"""Before the name of a setting that only the model's provider knows: it is passed on unchecked."""
_NEAR = 0.8
_NUMBERS = ("max_new_tokens", "temperature", "top_p")
_OPTION = "--gen-kwargs"


def check_typed_settings(generation: Mapping[str, Any], model: Model, name: str) -> None:
    """Refuse generation settings of the user that the model does not know.

    A model that cannot tell which names it knows gets whatever resembles none that exists. What a wrapper written for
    another system gets is never refused: its author may read any name.

    Args:
        generation: The settings, as they were typed.
        model: Who would get them.
        name: What to call it.

    Raises:
        PlanError: if there is one; the nearest name is given.
    """
    typed = [setting for setting in generation if not setting.startswith(BEYOND) and setting not in SHARED]
    if not typed or model.traits.is_foreign:
        return
    known = model.known_settings()
    for setting in typed:
        near = _nearest(setting, known)
        is_refused = setting not in known if known is not None else setting not in EVERY_NAME and bool(near)
        if is_refused:
            raise PlanError(
                f"Model {name!r} knows no generation setting {setting!r}.",
                where=f"{_OPTION} {setting}",
                hint=f"{near} {BEYOND}{setting}=… passes it on unchecked.".strip(),
            )


def check_task_settings(generation: Mapping[str, Any], tasks: Iterable[Task], model: Model) -> None:
    """Refuse generation settings in task files of the user's own that are out of range or misspelt: no model knows the
    name, and a known one is near. A wrapper that was written for another system may read any name, and so may the one
    that a file of another tool was written for: there nothing is refused.

    Args:
        generation: The settings of the plan.
        tasks: The open tasks.
        model: The model that gets the settings.

    Raises:
        PlanError: if there is such a setting; the nearest name is given.
    """
    if model.traits.is_foreign:
        return
    known = model.known_settings() or frozenset()
    for task in tasks:
        if not _is_users_own(task.spec):
            continue
        for parameters in task.parameters:
            if isinstance(parameters, Generate):
                numbers = {name: getattr(parameters, name) for name in _NUMBERS}
                require_generation(numbers, where=partial(_place_of, spec=task.spec))
        for setting in _unknown_settings(task):
            near = _nearest(setting, None)
            is_meant = setting in known or f"{BEYOND}{setting}" in generation
            if near and not is_meant:
                raise PlanError(
                    f"Task {task.spec.name!r} has the generation setting {setting!r}, which no model knows.",
                    where=_place_of(setting, task.spec),
                    hint=near,
                )


def passed_on(generation: Mapping[str, Any], tasks: Iterable[Task], model: Model, name: str) -> Iterator[LintFinding]:
    """Findings about settings that are passed on although nobody knows them: those of the plan, and those that tasks
    write. What the model says about itself (``ignores``) is not repeated.
    """
    known = None if model.traits.is_foreign else model.known_settings()
    for setting in generation:
        if setting.startswith(BEYOND) or setting in EVERY_NAME or (known is not None and setting in known):
            continue
        text = f"The generation setting {setting!r} is passed to {name!r} unchecked: it may have no effect there."
        yield LintFinding("unknown-setting", text, hint=_nearest(setting, known), severity="note")
    yield from _of_tasks(generation, tasks, model, known, name)


def _of_tasks(
    generation: Mapping[str, Any], tasks: Iterable[Task], model: Model, known: frozenset[str] | None, name: str
) -> Iterator[LintFinding]:
    setters: dict[str, dict[str, None]] = {}
    for task in tasks:
        for setting, parameters in _unknown_settings(task).items():
            # A wrapper may read any name, so only one that looks misspelt is reported.
            is_strange = setting not in known if known is not None else bool(_nearest(setting, None))
            if is_strange and setting not in generation and setting not in model.ignores(parameters):
                setters.setdefault(setting, {})[task.spec.name] = None
    for setting, names in setters.items():
        text = f"{name!r} has no known generation setting {setting!r} ({_some_tasks(list(names))}): it is passed on."
        yield LintFinding("unknown-setting", text, hint=_nearest(setting, known))


def _unknown_settings(task: Task) -> dict[str, Parameters]:
    """The settings of a task whose names are not known to exist, each with the parameters that have it."""
    return {
        setting: parameters
        for parameters in task.parameters
        if not isinstance(parameters, Loglikelihood)
        for setting in parameters.extra
        if setting not in EVERY_NAME
    }


def _is_users_own(spec: TaskSpec) -> bool:
    """Return whether a task's file is neither of an installed package nor inside the folders of another tool."""
    folders = [*pairwise(spec.file.parts)]
    trees = [tuple(prefix.split(".")[:2]) for system in systems() for prefix in system.trees]
    return not spec.package and not any(tree in folders for tree in trees)


def _place_of(setting: str, spec: TaskSpec) -> str:
    """``file:line`` where a task's file, or another one of its sources, writes a setting; else the file."""
    written = re.compile(rf"(?<!\w){re.escape(setting)}(?!\w)")
    for file in dict.fromkeys((spec.file, *spec.sources)):
        with suppress(OSError):
            for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                if written.search(line):
                    return f"{file}:{number}"
    return str(spec.file)


def with_passed_on(generation: Mapping[str, Any], traits: ModelTraits) -> Mapping[str, Any]:
    """The settings as tasks get them: those that are to be passed on unchecked (``extra.NAME``) under their own names,
    for an endpoint as fields of its requests (``extra_body``).
    """
    beyond = {name.removeprefix(BEYOND): value for name, value in generation.items() if name.startswith(BEYOND)}
    if not beyond:
        return generation
    checked = {name: value for name, value in generation.items() if not name.startswith(BEYOND)}
    if not traits.is_endpoint or traits.is_foreign:
        return {**checked, **beyond}
    return {**checked, "extra_body": {**(checked.get("extra_body") or {}), **beyond}}


def _nearest(setting: str, known: frozenset[str] | None) -> str:
    """A sentence with the nearest name; empty if none is near."""
    near = get_close_matches(setting, sorted(EVERY_NAME if known is None else known | SHARED), n=1, cutoff=_NEAR)
    return f"Did you mean {near[0]!r}?" if near else ""


def _some_tasks(tasks: list[str]) -> str:
    if len(tasks) == 1:
        return f"task {tasks[0]!r}"
    return f"{len(tasks)} tasks ({first_of(tasks, 3)})"
