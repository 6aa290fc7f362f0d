"""The functions of a task over its rows: prompt, reference and choices, each called as its author's code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import DataError, PolymeterError, ScoreError, boundary, did_you_mean
from polymeter.core.media.sources import is_pil
from polymeter.data import Rows
from polymeter.data.rows import is_missing
from polymeter.metrics.choice_targets import choice_indices
from polymeter.tasks.python.prompts import PromptReader, check_template, placed
from polymeter.tasks.python.rows import require_column
from polymeter.tasks.python.writing.records import PythonTask
from polymeter.tasks.yaml.prompts.visuals import MEDIA_SUFFIXES, to_part

_WAYS = "Give the index of a choice (from 0), its text, or its letter."


@dataclass(frozen=True, slots=True)
class BoundFields:
    """The fields of a task that depend on a row, bound to its columns.

    Attributes:
        task: The task.
        columns: The columns of its rows.
        reader: Reads its prompts.
    """

    task: PythonTask
    columns: tuple[str, ...]
    reader: PromptReader

    def prompt(self, row: dict[str, Any]) -> Any:
        """Call the prompt function; returns a prompt, or a generator of prompts.

        Raises:
            DataError: if it fails.
        """
        return self.call(self.task, row)

    def reference(self, row: dict[str, Any]) -> Any:
        """Return the reference of a row, its paths of media resolved; ``None`` if it has none.

        Raises:
            ScoreError: if the author's function fails.
        """
        given = self.task.reference
        if given is None:
            return None
        if isinstance(given, str):
            value = row.get(given)
        else:
            what = f"The reference of task {self.task.name!r}"
            value = self._called(given, (row,), what, ScoreError)
        if is_missing(value):
            return None
        return _found(value, self.reader.folder, has_paths=self.task.output == "image")

    def choices(self, row: dict[str, Any]) -> list[str]:
        """Return the choices of a row; empty ones are kept as empty texts.

        Raises:
            DataError: if there are none.
        """
        given, name = self.task.choices, self.task.name
        if isinstance(given, str):
            value: Any = row.get(given)
        elif callable(given):
            value = self._called(given, (row,), f"The choices of task {name!r}", DataError)
        else:
            value = given
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or not value:
            raise DataError(
                f"The choices of task {name!r} must be a list of texts, not {value!r:.80}.", where=self.task.where
            )
        return ["" if choice is None else str(choice) for choice in value]

    def right_choices(self, row: dict[str, Any]) -> int | list[int]:
        """Return the indices of the right choices, or one index if there is only one.

        Raises:
            ScoreError: if the reference names none.
        """
        reference = self.reference(row)
        if reference is None:
            raise ScoreError(f"A row of task {self.task.name!r} has no reference.", where=self.task.where, hint=_WAYS)
        try:
            indices = choice_indices(reference, self.choices(row))
        except ScoreError as error:
            what = error.what.replace("The target", f"The reference of task {self.task.name!r},", 1)
            what = what.replace(" names none", ", names none", 1)
            raise ScoreError(what, where=self.task.where, hint=_WAYS) from None
        return indices[0] if len(indices) == 1 else indices

    def call(self, function: Callable[..., Any], row: dict[str, Any], *more: Any) -> Any:
        """Call a prompt function, or resume its generator.

        Raises:
            DataError: if it fails; the message names the file and the line.
        """
        return self._called(function, (row, *more), f"The prompt of task {self.task.name!r}", DataError)

    def _called(
        self, function: Callable[..., Any], arguments: Sequence[Any], doing: str, error_type: type[PolymeterError]
    ) -> Any:
        return called(function, arguments, {}, doing, error_type, self.columns)


def bind_fields(task: PythonTask, rows: Rows, reader: PromptReader) -> BoundFields:
    """Bind the fields of a task to its rows.

    Raises:
        PlanError: if one names a column that the rows do not have.
    """
    columns = tuple(rows.columns)
    check_template(task, columns)
    for key in ("reference", "choices"):
        given = getattr(task, key)
        if isinstance(given, str):
            require_column(given, key, task, rows)
    return BoundFields(task, columns, reader)


def called(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    named: dict[str, Any],
    doing: str,
    error_type: type[PolymeterError],
    columns: Sequence[str],
) -> Any:
    """Call a function of the author's. If it looks up a column that does not exist, the error names the nearest.

    Args:
        function: The function.
        arguments: Its arguments.
        named: Its arguments by name.
        doing: What is called, for messages.
        error_type: The error that its failures become.
        columns: The columns of a row.

    Raises:
        PolymeterError: if it fails.
    """
    try:
        with boundary(error_type, doing):
            return function(*arguments, **named)
    except error_type as error:
        missing = error.__cause__.args[0] if isinstance(error.__cause__, KeyError) and error.__cause__.args else None
        if not isinstance(missing, str) or missing in columns:
            raise
        hint = f"{did_you_mean(missing, columns, n=1)} The rows have: {', '.join(columns)}.".strip()
        raise error_type(error.what, where=error.where, hint=hint) from error.__cause__


def targets_of(reference: Any) -> list[Any]:
    """Convert a reference to a list of texts and Pillow images, for metrics of images.

    Raises:
        DataError: if an item is neither.
    """
    items = list(reference) if isinstance(reference, (list, tuple)) else [reference]
    return [_target(item) for item in items if not is_missing(item)]


def _target(item: Any) -> Any:
    if isinstance(item, (bool, int, float)):
        return str(item)
    if isinstance(item, str) or is_pil(item):
        return item
    if isinstance(item, Text):
        return item.text
    part = to_part(item, None)
    if not isinstance(part, Image):
        raise DataError(f"A reference is a {type(item).__name__}, not an image or a text.")
    return part.open()


def _found(value: Any, folder: Path, *, has_paths: bool) -> Any:
    """Resolve the relative paths of a reference from the benchmark's folder.

    Args:
        value: The reference.
        folder: The folder.
        has_paths: Whether a text that ends as a file of media does is a path.
    """
    if isinstance(value, (list, tuple)):
        return [_found(item, folder, has_paths=has_paths) for item in value]
    if isinstance(value, Path) or (has_paths and isinstance(value, str) and value.lower().endswith(MEDIA_SUFFIXES)):
        return Path(placed(value, folder))
    if isinstance(value, (Image, Audio, Video)) and isinstance(value.source, (str, Path)):
        return type(value)(placed(value.source, folder))
    return value
