"""What the shell offers where a model or a task is named. Nothing heavy is imported, and no benchmark's code is run."""

from __future__ import annotations

from collections.abc import Iterator

from polymeter.core.errors import PolymeterError


def model_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """The backends whose names begin so, each with a line about it."""
    from polymeter.core.registries import MODELS

    for name in sorted(MODELS):
        if name.startswith(incomplete):
            yield name, MODELS.find(name).summary


def task_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """The tasks and groups whose names begin like the last name of a list with commas, each with its title.

    Only benchmarks that come with Polymeter and its systems are known here: the shell does not tell the other options.
    """
    from polymeter.api import build_catalog

    before, comma, begun = incomplete.rpartition(",")
    try:
        entries = build_catalog().entries
    except PolymeterError:  # nothing may be printed into a line that is being typed; the command itself will tell
        return
    for name in sorted(entries):
        if name.startswith(begun):
            yield f"{before}{comma}{name}", entries[name].alias
