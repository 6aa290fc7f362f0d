"""The check of a task's fields when it is written: values of the wrong kind are refused with their file and line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.tasks.python.writing.places import NAME

if TYPE_CHECKING:
    from polymeter.tasks.python.writing.records import PythonTask

OUTPUTS = ("text", "image")
CHOICES_AS = ("likelihood", "letters")
_TEXTS = ("id", "subset", "cluster", "split", "version", "system")
_COUNTS = ("repeats", "max_rounds")


def check_fields(task: PythonTask) -> None:
    """Refuse a task with a field that makes no sense.

    Raises:
        PlanError: if there is one; the message names the field.
    """
    for what, hint in _mistakes(task):
        raise PlanError(what, where=task.where, hint=hint)


def _mistakes(task: PythonTask) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in the fields of a task, each with what to do."""
    values: Mapping[str, Any] = {name: getattr(task, name) for name in task.__dataclass_fields__}
    name = values["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield f"{name!r} cannot be the name of a task.", "Use letters, digits, '_', '-' and '.'."
    yield from _wrong_kinds(name, values)
    yield from _wrong_scorers(name, values["scorers"])
    if values["choices"] is not None and values["output"] != "text":
        yield f"Task {name!r} asks for images and cannot have choices.", ""
    if values["choices"] is not None and values["repeats"] > 1:
        yield f"Task {name!r} has choices and cannot have repeats: each would be the same.", ""


def _wrong_kinds(name: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    prompt, reference = values["prompt"], values["reference"]
    if not isinstance(prompt, str) and not callable(prompt):
        hint = "Give a function from a row to a prompt, or a text with columns in braces."
        yield f"The prompt of task {name!r} is a {type(prompt).__name__}.", hint
    for field, known in (("output", OUTPUTS), ("choices_as", CHOICES_AS)):
        value = values[field]
        if value not in known:
            what = f"{field} of task {name!r} must be {' or '.join(map(repr, known))}, not {value!r}."
            yield what, did_you_mean(str(value), known, n=1)
    for field in _COUNTS:
        value = values[field]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield f"{field} of task {name!r} must be a whole number of at least 1, not {value!r}.", ""
    for field in _TEXTS:
        if not isinstance(values[field], str):
            yield f"{field} of task {name!r} must be a text, not {values[field]!r:.80}.", ""
    for field in ("generation", "metadata", "video", "image", "audio"):
        if not isinstance(values[field], Mapping):
            yield f"{field} of task {name!r} must be a dictionary, not {values[field]!r:.80}.", ""
    if reference is not None and not isinstance(reference, str) and not callable(reference):
        what = f"reference of task {name!r} must be the name of a column or a function of a row, not {reference!r:.80}."
        yield what, ""


def _wrong_scorers(name: str, given: Any) -> Iterator[tuple[str, str]]:
    is_several = isinstance(given, Sequence) and not isinstance(given, str)
    for one in given if is_several else (given,):
        if not isinstance(one, (str, Mapping)) and not callable(one):
            hint = "Give the name of a metric, a function, or a mapping such as {'metric': 'anls'}."
            yield f"A scorer of task {name!r} is a {type(one).__name__}.", hint
