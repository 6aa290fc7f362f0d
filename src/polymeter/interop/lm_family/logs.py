"""Logs of the family: which file of results a path means, and how the lines of one row become a sample.

``tasks.yaml.stated_results`` reads files of results; each system reads its lines itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.logs import LoggedExchange, LoggedSample, damaged, lines_by_row

Lines = Sequence[tuple[int, Mapping[str, Any]]]
"""The lines of one row, each with its number in the file."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The files that a tool writes.

    Attributes:
        tool: The tool's usual name.
        results: The names of its files of results.
        samples: The names of its files of samples, with the group ``time``.
        beside: The files of results that belong to a file of samples, as a glob over ``{time}``.
        name: The usual one of these names, of ``{time}`` too.
        is_ours: Whether a file of such a name is the tool's by its content.
    """

    tool: str
    results: re.Pattern[str]
    samples: re.Pattern[str]
    beside: str
    name: str
    is_ours: Callable[[Path], bool]

    def recognise(self, path: Path) -> bool:
        """Return whether a path is a file of results or samples, or a folder with one, that the tool has written."""
        return any(self.is_ours(file) for file in self._candidates(path))

    def results_at(self, path: Path) -> Path:
        """The file of results that a path means.

        Raises:
            PlanError: if there is none, or the folder holds several runs.
        """
        if path.is_file():
            named = self.samples.fullmatch(path.name)
            return path if named is None else self._beside(path, named["time"])
        found = [file for file in self._candidates(path) if self.is_ours(file)]
        if len(found) > 1:
            names = ", ".join(str(file.relative_to(path)) for file in found[-3:])
            raise PlanError(f"{path} holds {len(found)} runs of {self.tool}.", hint=f"Name the file of one: {names}.")
        if not found:
            hint = f"Name the folder with {self.name.format(time='…')}."
            raise PlanError(f"There are no results of {self.tool} in {path}.", hint=hint)
        return found[0]

    def samples_in(self, path: Path, read: Callable[[int, Lines], LoggedSample]) -> Iterator[LoggedSample]:
        """The samples in a file, by the number of their row.

        Args:
            path: The file.
            read: Makes a sample from the number of a row and its lines.

        Raises:
            DataError: if a line is not a sample.
        """
        for row, lines in lines_by_row(path, "doc_id"):
            number = lines[0][0]
            try:
                yield read(row, lines)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                raise damaged(path, f"line {number} is not a sample of {self.tool}: {error!r}", number) from None

    def _candidates(self, path: Path) -> list[Path]:
        """The files at a path that have names of the tool's: at the path, or in it and up to two folders below."""
        if path.is_file():
            return [path] if self.samples.fullmatch(path.name) or self.results.fullmatch(path.name) else []
        found = [file for below in ("", "*/", "*/*/") for file in path.glob(f"{below}*.json")] if path.is_dir() else []
        return sorted(file for file in found if self.results.fullmatch(file.name))

    def _beside(self, path: Path, time: str) -> Path:
        """The file of results that belongs to a file of samples."""
        beside = [file for file in path.parent.glob(self.beside.format(time=time)) if self.results.fullmatch(file.name)]
        if not beside:
            raise PlanError(
                f"The file of results that belongs to {path.name} is not beside it.",
                where=str(path.parent),
                hint=f"Put {self.name.format(time=time)} there: it has the results of the samples.",
            )
        return beside[0]


def choice_text(exchange: LoggedExchange, target: str) -> str:
    """A target that is the number of a choice, as the choice."""
    choices = exchange.continuations
    return choices[int(target)].strip() if target.isdecimal() and int(target) < len(choices) else target


def likeliest(exchange: LoggedExchange) -> str | None:
    """The continuation with the largest log-probability; ``None`` if the log does not hold its text."""
    choices = exchange.outputs[0].choices
    best = max(range(len(choices)), key=lambda place: choices[place].logprob, default=None)
    return None if best is None or not exchange.continuations else exchange.continuations[best].strip()
