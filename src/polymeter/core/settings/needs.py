"""Needs of a task from a model and a run. They are compared with a model's traits before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polymeter.core.acting.schemas import check_tools
from polymeter.core.content import Modality
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.media.showing import Showing
from polymeter.core.model import Model, ModelTraits
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.request import Generate, RequestKind
from polymeter.core.text.phrases import first_of, in_words

if TYPE_CHECKING:
    from polymeter.core.task import Task


SKIP_UNFIT = "--skip-unfit leaves out what the model cannot do."
_ANSWERED_BY: Mapping[RequestKind, str] = {
    "generate": "",
    "generate_image": "",
    "loglikelihood": " Most multiple choice can be asked as text, with --mcq text.",
}


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a task, declared before anything runs.

    Attributes:
        requests: Kinds of request that the model must answer.
        modalities: Modalities that the model must accept.
        roles: Further models, by role (``judge``).
        packages: Importable modules that must be installed.
        has_tools: Whether it offers tools to the model.
        are_prompts_unknown: Whether the model makes the prompts itself, so that only a first sample shows which
            modalities they contain.
    """

    requests: frozenset[RequestKind] = frozenset({"generate"})
    modalities: frozenset[Modality] = frozenset({"text"})
    roles: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    has_tools: bool = False
    are_prompts_unknown: bool = False


def ways_around(kinds: Iterable[str]) -> str:
    """Return the other ways to run a task if a model does not answer these kinds of request; empty, or with a blank in
    front.
    """
    return "".join(text for kind, text in _ANSWERED_BY.items() if kind in set(kinds))


def unknown_needs(needs: Needs, traits: ModelTraits) -> list[str]:
    """The kinds of request and the modalities that a task needs and about which the model's traits say nothing."""
    return sorted([*(needs.requests - traits.requests.keys()), *(needs.modalities - traits.modalities.keys())])


def ignored_settings(tasks: Iterable[Task], model: Model, name: str) -> list[LintFinding]:
    """Findings about the settings of tasks that a model cannot honour. Settings that the same tasks set and that are
    ignored for the same reason share one.
    """
    ignored: dict[tuple[str, str], dict[str, None]] = {}
    for task in tasks:
        for parameters in task.parameters:
            for setting, reason in model.ignores(parameters).items():
                ignored.setdefault((setting, reason), {})[task.spec.name] = None
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (setting, reason), names in sorted(ignored.items()):
        grouped.setdefault((reason, tuple(names)), []).append(setting)
    return [
        LintFinding(
            "ignored-setting",
            f"Model {name!r} cannot honour {in_words(map(repr, settings))}, which {_tasks_that_set(names)}: {reason}",
        )
        for (reason, names), settings in grouped.items()
    ]


def unfollowed_rules(tasks: Sequence[Task], model: Model, name: str) -> list[LintFinding]:
    """Findings about what tasks, or the run, state to be shown of media and a model does not follow."""
    model.plan_showing(video_showings(tasks))
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for task in tasks:
        reasons: dict[str, list[str]] = {}
        for setting, reason in model.unfollowed(task.showing).items() if task.showing else ():
            if _may_show(task, setting.partition(".")[0]):
                reasons.setdefault(reason, []).append(setting)
        for reason, settings in reasons.items():
            found.setdefault((reason, tuple(settings)), []).append(task.spec.name)
    return [
        LintFinding(
            "unfollowed-rule",
            f"Model {name!r} does not follow {in_words(settings)}, which {_tasks_that_set(names)}: {reason}.",
            place=", ".join(dict.fromkeys(f"--{setting.partition('.')[0]}" for setting in settings)),
        )
        for (reason, settings), names in found.items()
    ]


def check_subtitles(task: Task, model: Model, name: str) -> None:
    """Refuse a task that shows subtitles in a way in which a model cannot be shown them.

    Raises:
        UnfitError: if it does.
    """
    rule = task.showing.video
    if rule is not None and rule.shows_subtitles and rule.subtitles not in (ways := model.shows_subtitles):
        other = "whole" if "whole" in ways else "none"
        how = "gets a video in one piece and no texts between its frames" if ways else "shows no subtitles"
        raise UnfitError(
            f"Model {name!r} {how}, which task {task.spec.name!r} sets (video.subtitles is {rule.subtitles!r}).",
            hint=f"Choose another model, or --video subtitles={other}.{model.subtitles_hint}",
        )


def check_offered_tools(task: Task) -> None:
    """Refuse tools of a task, as far as they are known beforehand, that no model can be offered.

    Raises:
        PlanError: if a name or a schema cannot be used; see ``check_tools``.
    """
    for parameters in task.parameters:
        if isinstance(parameters, Generate) and parameters.tools:
            check_tools(parameters.tools, parameters.tool_choice, where=task.spec.name)


def moved_results(tasks: Iterable[Task], model: Model, name: str) -> list[LintFinding]:
    """A finding on tasks whose tools may return media, if a model is shown these in a message of the user."""
    names = [task.spec.name for task in tasks if task.needs.has_tools]
    if not names or model.traits.tool_media == "inline":
        return []
    return [
        LintFinding(
            "tool-media",
            f"Model {name!r} is shown media in the results of tools ({first_of(names, 3)}) in a message of the user "
            "behind them, because it accepts only text in a result.",
        )
    ]


def video_showings(tasks: Iterable[Task]) -> list[Showing]:
    """The rules of each task that may show videos, also of those that state none."""
    return [task.showing for task in tasks if _may_show(task, "video")]


def _may_show(task: Task, modality: str) -> bool:
    return modality in task.needs.modalities or task.needs.are_prompts_unknown


def _tasks_that_set(tasks: Sequence[str]) -> str:
    if len(tasks) == 1:
        return f"task {tasks[0]!r} sets"
    return f"{len(tasks)} tasks set ({first_of(tasks, 3)})"


def check_needs(needs: Needs, traits: ModelTraits, *, task: str, model: str, roles: Iterable[str] = ()) -> None:
    """Refuse a pair of task and model that cannot work.

    Raises:
        UnfitError: if the model is known not to answer a kind of request or not to accept a modality, if it needs a
            modality that the task does not show, or if the task offers tools and the model calls none.
        PlanError: if no model has a role that the task needs.
    """
    for kind in sorted(needs.requests):
        if traits.requests.get(kind) is False:
            raise UnfitError(
                f"Task {task!r} asks for {kind!r}, which model {model!r} cannot do.",
                hint="Choose another model, or a variant of the task that asks for something else."
                f"{ways_around([kind])} {SKIP_UNFIT}",
            )
    for modality in sorted(needs.modalities):
        if traits.modalities.get(modality) is False:
            raise UnfitError(
                f"Task {task!r} shows {modality} to the model, which {model!r} does not accept.",
                hint=f"Choose another model or task. {SKIP_UNFIT}",
            )
    if needs.has_tools and not traits.calls_tools:
        why = traits.no_tools or ("a wrapper is handed text and media, and no tools" if traits.is_foreign else "")
        raise UnfitError(
            f"Task {task!r} offers tools to the model, and {model!r} cannot be offered any{f': {why}' if why else ''}.",
            hint=f"Choose another model or task. {SKIP_UNFIT}",
        )
    for modality in traits.requires:
        if modality not in needs.modalities:
            raise UnfitError(
                f"Task {task!r} shows no {modality} to the model, and {model!r} needs one.",
                hint=f"Choose another model or task. {SKIP_UNFIT}",
            )
    missing = sorted(needs.roles - set(roles))
    if missing:
        raise PlanError(
            f"Task {task!r} needs a model in the role {missing[0]!r}, and the run has none.",
            hint=f"Name one: --{missing[0]} openai:NAME.",
        )
