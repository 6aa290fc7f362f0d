"""Generation settings of a plan: a name that a user typed and the model does not know is refused before anything is
asked; one that a benchmark or a published configuration writes is passed on, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.model import Model, ModelTraits
from polymeter.core.request import Loglikelihood
from polymeter.core.settings.generation_names import EVERY_NAME, SHARED
from polymeter.core.task import Task
from polymeter.core.text.phrases import first_of

BEYOND = "extra."
"""Before the name of a setting that only the model's provider knows: it is passed on unchecked."""
_NEAR = 0.8
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


def passed_on_notes(generation: Mapping[str, Any], tasks: Iterable[Task], model: Model, name: str) -> list[str]:
    """Sentences about settings that are passed on although nobody knows them: those of the plan, and those that tasks
    write. What the model says about itself (``ignores``) is not repeated.
    """
    notes = []
    foreign = model.traits.is_foreign
    known = None if foreign else model.known_settings()
    for setting in generation:
        if setting.startswith(BEYOND) or setting in EVERY_NAME or (known is not None and setting in known):
            continue
        notes.append(
            f"The generation setting {setting!r} is passed to {name!r} as it is: whether it has a meaning there is not "
            f"known. {_nearest(setting, known)}".rstrip()
        )
    return [*notes, *_of_tasks(generation, tasks, model, known, name)]


def _of_tasks(
    generation: Mapping[str, Any], tasks: Iterable[Task], model: Model, known: frozenset[str] | None, name: str
) -> list[str]:
    setters: dict[str, dict[str, None]] = {}
    for task in tasks:
        for parameters in task.parameters:
            if isinstance(parameters, Loglikelihood):
                continue
            unknown = [one for one in parameters.extra if one not in EVERY_NAME and one not in generation]
            if not unknown:
                continue
            told = model.ignores(parameters)
            for setting in unknown:
                # A wrapper may read any name, so only one that looks misspelt is worth a sentence.
                is_strange = setting not in known if known is not None else bool(_nearest(setting, None))
                if is_strange and setting not in told:
                    setters.setdefault(setting, {})[task.spec.name] = None
    return [
        f"Generation setting {setting!r} of {_some_tasks(list(names))} is none that {name!r} is known to have; it is "
        f"passed on as it is. {_nearest(setting, known)}".rstrip()
        for setting, names in setters.items()
    ]


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
