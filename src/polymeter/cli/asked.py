"""The options of ``polymeter run``, as arguments of ``evaluate``. Other commands accept them as well."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.cli.options import thresholds
from polymeter.cli.pairs import parse_model_args, parse_trackers, split_list
from polymeter.cli.roles import judge_roles
from polymeter.core.errors import PlanError
from polymeter.core.text.full_width import in_names

if TYPE_CHECKING:
    from polymeter.cli.run_options import LogprobTemplates
    from polymeter.core.model import ModelSpec


@dataclass(frozen=True, slots=True)
class WhatToRun:
    """The model and tasks of a run.

    Attributes:
        model: The model.
        tasks: The tasks.
        model_path: Where the model is defined.
        model_args: Its arguments.
        roles: Further models.
    """

    model: str
    tasks: list[str]
    model_path: str
    model_args: dict[str, Any]
    roles: dict[str, str | ModelSpec | list[str | ModelSpec]]


def read_asked(
    model: str,
    tasks: Iterable[str],
    *,
    model_path: str = "",
    model_args: Iterable[str] | None = None,
    base_url: str | None = None,
    server_args: str | None = None,
    server_timeout: float | None = None,
    strip_prompt: bool = False,
    logprob_template: LogprobTemplates | None = None,
    judge: list[str] | None = None,
    judge_args: list[str] | None = None,
) -> WhatToRun:
    """Return the models and tasks that flags name.

    Raises:
        PlanError: if a value cannot be read, or no task is named.
    """
    names = [name for text in tasks for name in task_names_in(text, "--tasks")]
    if not names:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter tasks' lists them.")
    arguments = parse_model_args(model, model_args or ())
    arguments |= served_arguments(base_url, server_args, server_timeout)
    arguments |= {"strip_prompt": True} if strip_prompt else {}
    arguments |= {"logprob_template": logprob_template.value} if logprob_template else {}
    return WhatToRun(model, names, model_path, arguments, judge_roles(judge, judge_args))


def served_arguments(base_url: str | None, server_args: str | None, server_timeout: float | None) -> dict[str, Any]:
    """The arguments of a model that say where its endpoint is, or how its server is started."""
    given = {"base_url": base_url or None, "server_args": server_args or None, "start_timeout_s": server_timeout}
    return {name: value for name, value in given.items() if value is not None}


def read_ending(
    *,
    fail_under: Iterable[str] | None = None,
    log_to: Iterable[str] | None = None,
    on_end: str | None = None,
) -> dict[str, Any]:
    """Return the settings of flags for success and for the end of a run.

    Raises:
        PlanError: if a value cannot be read.
    """
    given = {
        "fail_under": thresholds(fail_under),
        "log_to": parse_trackers(log_to or (), "--log-to"),
        "on_end": on_end or "",
    }
    return {name: value for name, value in given.items() if value}


def with_options_of(
    other: Callable[..., Any], *, without: Collection[str]
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of another one as well; it receives them as keywords.

    Args:
        other: The function of the other command.
        without: Those of its parameters that make no sense here.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        own = inspect.signature(function, eval_str=True).parameters
        parameters = [one for one in own.values() if one.kind is not one.VAR_KEYWORD]
        parameters += [
            one.replace(kind=one.KEYWORD_ONLY)
            for name, one in inspect.signature(other, eval_str=True).parameters.items()
            if name not in own and name not in without
        ]
        # What the command line reads of a function.
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in parameters}
        return function

    return decorate


def task_names_in(text: str, flag: str) -> list[str]:
    """Return the tasks that a text names, separated by commas; a file or folder may have a comma in its path.

    Args:
        text: The text.
        flag: The flag that gives it, for messages.

    Raises:
        PlanError: if a name is empty, or a full-width comma separates two.
    """
    if "," in text and Path(text).exists():
        return [text]
    full_width = None if Path(text).exists() else in_names(text)
    if full_width is not None:
        raise PlanError(f"In {text!r}, {full_width.words}.", where=flag, hint=full_width.hint)
    return split_list(text, flag)
