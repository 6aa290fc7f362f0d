"""A task's rows as wrapped models see them: a row's position, and the task's functions, called as guests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from polymeter.core.request import Origin

QUESTION_COLUMNS = ("question", "prompt", "query", "instruction", "input", "problem", "q", "text")
"""The usual names of a column with the question of a row, the likeliest first."""
RowAccess = Callable[[Origin], "RowView | None"]
"""From a request's origin to its row; ``None`` if the run has no such task."""


@dataclass(frozen=True, slots=True)
class RowFunctions:
    """Facts about a row of a task that a wrapped model may ask for, besides those in its request. All but ``full_doc``
    are the author's functions and are called through the door for guests.

    Attributes:
        full_doc: Position of a sample → its row with lazy media.
        target: Position of a sample → the expected answer; ``None``: the task does not say.
        choices: Position of a sample → the texts to choose from; ``None``: there are none.
        next_round: ``(row, previous_output=…, round_idx=…, …)`` → what a task of several rounds shows next.
        next_messages: The same, as chat messages.
        prompt_row: Position of a sample → the row from which a model makes its own prompt: a mapping or a
            ``pandas.Series``; ``None``: the full row.
        context: Position of a sample → the text that a model gets which takes one text, for models that take messages
            and look at it beside them; ``None``: the text of the messages.
        dump_image: Such a row → the paths of its images; ``None``: the model writes them itself.
    """

    full_doc: Callable[[int], dict[str, Any]]
    target: Callable[[int], Any] | None = None
    choices: Callable[[int], Any] | None = None
    next_round: Callable[..., Any] | None = None
    next_messages: Callable[..., Any] | None = None
    prompt_row: Callable[[int], Any] | None = None
    dump_image: Callable[[Any], Any] | None = None
    context: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RowView:
    """One row of a task that is being run. Its methods may be called on any thread. Each enters the door for guests,
    alone and seeded by run, task, sample and step, so that its result does not depend on what else the run does.

    Attributes:
        index: The sample's position in its task.
        functions: The task's functions.
        enter: Name of a step → the context manager in which an author's function is called.
    """

    index: int
    functions: RowFunctions
    enter: Callable[[str], AbstractContextManager[None]]

    def full_doc(self) -> dict[str, Any]:
        """The row with lazy media."""
        with self.enter("full_doc"):
            return self.functions.full_doc(self.index)

    def prompt_row(self) -> Any:
        """The row from which a model makes its own prompt."""
        if self.functions.prompt_row is None:
            return self.full_doc()
        with self.enter("prompt_row"):
            return self.functions.prompt_row(self.index)

    def dump_image(self, row: Any) -> Any:
        """The paths of the images of such a row.

        Raises:
            LookupError: if the task does not write them.
        """
        if self.functions.dump_image is None:
            raise LookupError("This task has no dump_image.")
        with self.enter("dump_image"):
            return self.functions.dump_image(row)

    def target(self) -> Any:
        """The expected answer.

        Raises:
            LookupError: if the task does not say.
        """
        if self.functions.target is None:
            raise LookupError("This task has no doc_to_target.")
        with self.enter("target"):
            return self.functions.target(self.index)

    def context(self) -> str | None:
        """The text that a model gets which takes one text; ``None``: that of the request's messages."""
        if self.functions.context is None:
            return None
        with self.enter("context"):
            return self.functions.context(self.index)

    def choices(self) -> Any:
        """The texts to choose from; ``None`` if there are none."""
        if self.functions.choices is None:
            return None
        with self.enter("choices"):
            return self.functions.choices(self.index)

    def next_round(self, doc: Any, **rounds: Any) -> Any:
        """Return the next prompt of a task of several rounds; ``None`` if the task has a single round."""
        return self._next(self.functions.next_round, doc, rounds)

    def next_messages(self, doc: Any, **rounds: Any) -> Any:
        """The same as chat messages; ``None`` if the task makes none."""
        return self._next(self.functions.next_messages, doc, rounds)

    def _next(self, function: Callable[..., Any] | None, doc: Any, rounds: dict[str, Any]) -> Any:
        if function is None:
            return None
        # The label is the number of the round, so that a wrapper's rounds are seeded independently of its batch.
        with self.enter(f"round:{rounds.get('round_idx')}"):
            return function(doc, **rounds)
