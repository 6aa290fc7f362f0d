"""One rendered sample of a benchmark. Runs its code, without the network; called only for benchmarks that are named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polymeter.api.offline import offline
from polymeter.catalog.trying import ShownPrompt, describe_parameters, first_prompt, open_spec
from polymeter.core.content import Image, Part, Text
from polymeter.core.errors import DataError, PolymeterError, causes_of
from polymeter.core.request import Request
from polymeter.core.task import TaskSpec

_BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, SyntaxError, TypeError)
"""Exceptions that indicate faults of code; any other while data is opened indicates a problem with the data."""


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """One request as a page shows it.

    Attributes:
        messages: Role and text of each; for media, placeholders in angle brackets.
        parameters: Its parameters in words.
    """

    messages: tuple[tuple[str, str], ...]
    parameters: str


@dataclass(frozen=True, slots=True)
class ShownSample:
    """The first sample of a task, or why there is none.

    Attributes:
        id: The sample's id.
        n_samples: The number of samples of the task.
        requests: The first requests to the model.
        needs_judge: Whether the task uses a judge.
        missing: The data or package that is not on this machine.
        problem: The benchmark's fault.
    """

    id: str = ""
    n_samples: int = 0
    requests: tuple[ShownRequest, ...] = ()
    needs_judge: bool = False
    missing: PolymeterError | None = None
    problem: PolymeterError | None = None


def show_sample(spec: TaskSpec, data: Mapping[str, str] | None = None) -> ShownSample:
    """The first sample of a task, with the requests that a chat model with all capabilities gets. Runs its code.

    Args:
        spec: The task.
        data: Local files that replace dataset ids.
    """
    try:
        with offline():
            task = open_spec(spec, data)
            if len(task.samples) == 0:
                return ShownSample(problem=DataError(f"Task {spec.name!r} has no samples."))
            shown = first_prompt(task, task.samples[0])
            requests = tuple(_requests(shown))
    except PolymeterError as error:
        return ShownSample(missing=error) if _is_missing(error) else ShownSample(problem=error)
    return ShownSample(shown.sample, len(task.samples), requests, "judge" in task.needs.roles)


def _requests(shown: ShownPrompt) -> Iterator[ShownRequest]:
    for request in shown.requests:
        yield ShownRequest(tuple(_messages(request)), describe_parameters(request))


def _messages(request: Request) -> Iterator[tuple[str, str]]:
    for message in request.messages:
        yield message.role, "\n".join(_part_as_text(part) for part in message.parts)


def _part_as_text(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image) and not part.is_url:
        width, height = part.size()
        return f"<image, {width} × {height}>"
    return f"<{part.modality}>"


def _is_missing(error: PolymeterError) -> bool:
    """Return whether a package or data is not on this machine, which is not the benchmark's fault."""
    causes = list(causes_of(error))
    if any(isinstance(cause, ModuleNotFoundError) for cause in causes):
        return True
    return isinstance(error, DataError) and not any(isinstance(cause, _BUGS) for cause in causes)
