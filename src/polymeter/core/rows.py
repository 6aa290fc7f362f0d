"""A task's rows as wrapped models hold them: plain identity, and a way to call the task's own functions as guests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.core.request import Origin

if TYPE_CHECKING:
    from polymeter.core.task import RowFunctions

RowAccess = Callable[[Origin], "RowHandle | None"]
"""From a request's origin to its row; ``None`` where the run has no such task."""


@dataclass(frozen=True, slots=True, eq=False)
class RowHandle:
    """One row of a task in play. Its methods may be called on any thread: each enters the door for guests, alone and
    seeded by run, task, sample and step, so that what a wrapper calls gives the same whatever else the run does.

    Attributes:
        index: The sample's position in its task.
        functions: The task's functions.
        enter: Gives the context in which an author's function is called, from the name of the step.
    """

    index: int
    functions: RowFunctions
    enter: Callable[[str], AbstractContextManager[None]]

    def full_doc(self) -> dict[str, Any]:
        """The row with lazy media."""
        with self.enter("full_doc"):
            return self.functions.full_doc(self.index)

    def prompt_row(self) -> Any:
        """The row from which a model makes a prompt of its own."""
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
        """What is expected.

        Raises:
            LookupError: if the task does not say.
        """
        if self.functions.target is None:
            raise LookupError("This task has no doc_to_target.")
        with self.enter("target"):
            return self.functions.target(self.index)

    def choices(self) -> Any:
        """The texts to choose from; ``None`` where there are none."""
        if self.functions.choices is None:
            return None
        with self.enter("choices"):
            return self.functions.choices(self.index)

    def next_round(self, doc: Any, **rounds: Any) -> Any:
        """What a task of several rounds shows next; ``None`` where the task has a single round."""
        return self._next(self.functions.next_round, doc, rounds)

    def next_messages(self, doc: Any, **rounds: Any) -> Any:
        """The same as chat messages; ``None`` where the task makes none."""
        return self._next(self.functions.next_messages, doc, rounds)

    def _next(self, function: Callable[..., Any] | None, doc: Any, rounds: dict[str, Any]) -> Any:
        if function is None:
            return None
        # The label is the number of the round, so that a wrapper's rounds are seeded whatever its batch holds.
        with self.enter(f"round:{rounds.get('round_idx')}"):
            return function(doc, **rounds)
