"""One rendered sample of a benchmark. Runs its code, without the network, and only for benchmarks that were named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polymeter.api.offline import offline
from polymeter.api.trying import ShownPrompt, ask_in_words, first_prompt, open_spec
from polymeter.core.errors import DataError, PolymeterError
from polymeter.core.parts import Image, Part, Text
from polymeter.core.request import Request
from polymeter.core.task import TaskSpec

_BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, SyntaxError, TypeError)
"""What code raises for its own sake; other exceptions while data is opened speak of the data."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request as a reader sees it.

    Attributes:
        messages: Role and text of each; media stands as a placeholder between angle brackets.
        ask: What is asked for.
    """

    messages: tuple[tuple[str, str], ...]
    ask: str


@dataclass(frozen=True, slots=True)
class ShownSample:
    """The first sample of a task, or why there is none.

    Attributes:
        id: Of the sample.
        n_samples: How many the task has.
        asked: What the model is asked first.
        needs_judge: Whether the task asks a judge.
        missing: What is not on this machine: data or a package.
        problem: What is wrong with the benchmark.
    """

    id: str = ""
    n_samples: int = 0
    asked: tuple[Question, ...] = ()
    needs_judge: bool = False
    missing: PolymeterError | None = None
    problem: PolymeterError | None = None


def show_sample(spec: TaskSpec, data: Mapping[str, str] | None = None) -> ShownSample:
    """The first sample of a task, as a chat model that can do everything would be asked. Runs its code.

    Args:
        spec: The task.
        data: Local files in place of dataset ids.
    """
    try:
        with offline():
            task = open_spec(spec, data)
            if len(task.samples) == 0:
                return ShownSample(problem=DataError(f"Task {spec.name!r} has no samples."))
            shown = first_prompt(task, task.samples[0])
            asked = tuple(_asked(shown))
    except PolymeterError as error:
        return ShownSample(missing=error) if _is_missing(error) else ShownSample(problem=error)
    return ShownSample(shown.sample, len(task.samples), asked, "judge" in task.needs.roles)


def _asked(shown: ShownPrompt) -> Iterator[Question]:
    for request in shown.requests:
        yield Question(tuple(_messages(request)), ask_in_words(request))


def _messages(request: Request) -> Iterator[tuple[str, str]]:
    for message in request.messages:
        yield message.role, "\n".join(_part(part) for part in message.parts)


def _part(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image) and not part.is_url:
        width, height = part.size()
        return f"<image, {width} × {height}>"
    return f"<{part.modality}>"


def _is_missing(error: PolymeterError) -> bool:
    """Whether something is not here, which is no fault of the benchmark: a package, or data."""
    causes = list(_causes(error))
    if any(isinstance(cause, ModuleNotFoundError) for cause in causes):
        return True
    return isinstance(error, DataError) and not any(isinstance(cause, _BUGS) for cause in causes)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__
