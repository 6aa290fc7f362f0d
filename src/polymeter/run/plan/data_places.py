"""Checks of the data of a run: that its tasks ask for what a user names with ``--data`` and ``--revision``, and that it
is the data that their protocols state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from polymeter.core.errors import DataError, PlanError, count
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Task

_NEAR = 0.8


class AskedPlaces(dict[str, str]):
    """Local places, or revisions, by id, which remembers the ids that it is asked for.

    Args:
        places: The places or revisions.
        asked: What another one was asked for, which this one adds to.
    """

    def __init__(self, places: Mapping[str, str], asked: dict[str, None] | None = None) -> None:
        super().__init__(places)
        self.asked: dict[str, None] = {} if asked is None else asked

    def __iter__(self) -> Iterator[str]:
        # With an __iter__ of its own, a copy of it ({**places}) goes through __getitem__, and counts as asking for all.
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        """As a dictionary's."""
        self.asked[key] = None
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.asked[key] = None
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked[str(key)] = None
        return super().__contains__(key)


def check_places(
    places: AskedPlaces, typed: Iterable[str], *, may_ask_later: bool, option: str = "--data"
) -> list[str]:
    """Sentences about ids that the user has typed and that no task has asked for.

    Args:
        places: The places, after all tasks were opened.
        typed: The ids that the user has typed for this run.
        may_ask_later: Whether code of the tasks may still ask.
        option: How the user has typed them.

    Raises:
        PlanError: if such an id is nearly one that a task has asked for and that nobody named.
    """
    missed = [name for name in places.asked if name not in dict.keys(places)]
    notes = []
    for name in typed:
        if name in [*places.asked]:
            continue
        near = get_close_matches(name, missed, n=1, cutoff=_NEAR)
        if near:
            raise PlanError(
                f"No task of this run asks for the data {name!r}.", where=option, hint=f"Did you mean {near[0]!r}?"
            )
        if not may_ask_later:
            notes.append(f"{option} {name}: no task of this run asks for it, so it was not used.")
    return notes


def protocol_findings(task: Task, *, is_begun: bool, is_limited: bool = False) -> Iterator[LintFinding]:
    """Yield the differences between the data that a task has opened and the data that its protocol states.

    Args:
        task: The task.
        is_begun: Whether answers of the run are stored already.
        is_limited: Whether the run has a limit. A task that has applied it already does not show all of its samples.

    Raises:
        DataError: if the number of samples is another one and the protocol makes that an error.
    """
    protocol, name = task.spec.protocol, task.spec.name
    if protocol is None:
        return
    mirror = next((one for one in protocol.mirrors if one in task.revisions), None)
    if mirror is not None:
        text = f"The data was read from the mirror {mirror}: the task's own dataset was not found."
        yield LintFinding("mirror", text, name, severity="note")
    n, expected = len(task.samples), protocol.expected_rows
    if not isinstance(expected, int) or n == expected or (is_limited and task.limits_subsets):
        return
    what = f"The data has {count(n, 'sample')}; protocol {protocol.name!r} states {expected:,}."
    if protocol.on_other_rows == "error" and not is_begun:
        raise DataError(what, where=str(task.spec.file), hint="Use the data that the protocol was written for.")
    hint = "The number will not be comparable with published ones."
    yield LintFinding("row-count", what, name, str(task.spec.file), hint)
