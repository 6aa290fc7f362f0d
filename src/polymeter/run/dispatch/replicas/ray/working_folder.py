"""The folder in which the run works, so that a relative path means the same file where its replicas and scorers are.

Ray starts an actor in the folder in which its node was started. A relative path would not be found there, or name
something else, so an actor enters the run's folder before it opens anything. A node need not have that folder: a run
often begins in somebody's home, and what it names lies on shared storage or comes from a hub. Only where something of
the model is known to be relative does such a node end the run, since it could load another model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.run.dispatch.replicas.hosts import ComputerSetup


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """The working folder of the run.

    Attributes:
        path: The folder; empty if it was deleted, so that nothing is relative to it.
        relative: The paths below it that are needed, as relative paths.
    """

    path: str
    relative: tuple[str, ...]

    @staticmethod
    def of(setup: ComputerSetup, path: str) -> WorkingFolder:
        """Return the paths below the run's working folder that a setup needs.

        Args:
            setup: What is made where the run does not work.
            path: The folder.
        """
        return WorkingFolder(path, tuple(text for text in _texts_in(setup.places()) if _is_inside(path, text)))

    def enter(self) -> None:
        """Make it the folder of this process, if it is here.

        Raises:
            PlanError: It is not, and something of it is needed.
        """
        if not self.path:
            return
        try:
            os.chdir(self.path)
        except OSError as error:
            if self.relative:
                raise PlanError(
                    f"The run works in {self.path!r}, which cannot be entered here, and {self.relative[0]!r} is "
                    f"relative to it: {error.strerror}.",
                    hint="Give an absolute path that all nodes see, or begin the run in a folder that they share.",
                ) from error


def here() -> str:
    """The folder in which this process works; empty if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _texts_in(value: Any) -> Iterator[str]:
    """The texts in plain data."""
    if isinstance(value, (str, Path)):
        yield str(value)
    elif isinstance(value, Mapping):
        yield from _texts_in(list(value.values()))
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        for one in value:
            yield from _texts_in(one)


def _is_inside(folder: str, text: str) -> bool:
    """Return whether a text is an existing path relative to a folder."""
    try:
        return bool(folder and text) and not Path(text).is_absolute() and Path(folder, text).exists()
    except (OSError, ValueError):  # a text that no file can be called
        return False
