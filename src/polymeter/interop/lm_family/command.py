"""Parts of both command lines: they list the catalog's names and read a verbosity."""

from __future__ import annotations

from collections.abc import Sequence

from polymeter.cli.printing import say
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.catalog import Catalog

QUIET = ("WARNING", "ERROR", "CRITICAL")
"""Verbosities that hide the progress."""
_KINDS = {"groups": "group", "subtasks": "task"}


def list_names(catalog: Catalog, what: str) -> int:
    """Print the names in a catalog, and its problems; the exit code is 0.

    Args:
        catalog: The catalog.
        what: ``tags``, ``groups``, ``subtasks`` (tasks that are not groups), or anything else for tasks and groups.
    """
    kind = _KINDS.get(what)
    named = [entry.name for entry in catalog if kind in (None, entry.kind)]
    say("\n".join(sorted(catalog.tags() if what == "tags" else named)))
    for problem in catalog.problems:
        say(f"{problem.where}: {problem.message}", err=True)
    return 0


def check_verbosity(level: str, levels: Sequence[str], written: str) -> None:
    """Refuse an unknown verbosity.

    Args:
        level: The verbosity, in capitals.
        levels: Those that there are.
        written: How it was written.

    Raises:
        PlanError: if there is no such verbosity.
    """
    if level not in levels:
        hint = did_you_mean(level, levels) or f"Known: {', '.join(levels)}."
        raise PlanError(f"There is no verbosity {written!r}.", where="--verbosity", hint=hint)
