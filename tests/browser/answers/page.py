"""A page, and where on it a reader finds the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class AnsweringPage:
    """A page of the viewer, or a page that is a file.

    Attributes:
        heading: Its heading in ``questions.md``.
        answers: The CSS selector of each answer, in the order of the questions. Its first match must be whole on the
            first screen (the first two on a phone) and hold a text or an image.
        path: Its address in the viewer over ``viewed_runs``.
        file: Writes the page into a folder instead, for pages that no server shows.
        wait_for: A selector that is there once the page is complete.
    """

    heading: str
    answers: tuple[str, str, str]
    path: str = ""
    file: Callable[[Path], Path] | None = None
    wait_for: str = "main"


def by_heading(text: str) -> Mapping[str, list[str]]:
    """Read the questions of ``questions.md`` by heading."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
            found[heading] = []
        elif line[:1].isdigit():
            found[heading].append(line.partition(". ")[2])
    return found
