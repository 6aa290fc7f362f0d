"""The distinct failures of a task: samples that ended without a score for the same reason count as one kind.

Two messages are of one kind if they differ only in what belongs to the sample: its id, a file, a number, a digest. The
line of code that raised is part of the kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from polymeter.core.text.phrases import clip
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal

MOST_SHOWN = 5
_MOST_KINDS = 1000
"""The most kinds that are distinguished, so that a million different messages need no memory."""
_LONGEST_KEY, _LONGEST_MESSAGE = 200, 300
_SHORTEST_ID = 3
_CODE = re.compile(r"[^\s\[\]'\"]+\.py:\d+")
_FILE = re.compile(r"[^\s'\"\[\]()]*[/\\][^\s'\"\[\]()]+|\b[\w%@+-]+\.[A-Za-z]\w{1,4}\b")
_DIGEST = re.compile(r"\b[0-9a-f]{8,}\b")
_NUMBER = re.compile(r"\d+")
_ABSOLUTE = re.compile(r"(?<![\w:/.~-])/(?:[^\s/:'\"\[\]]+/)+(?=[^\s/:'\"\[\]]+/[^\s/:'\"\[\]]+)")


@dataclass(frozen=True, slots=True)
class FailureKind:
    """Samples of a task that failed in the same way.

    Attributes:
        n: Their number.
        message: The reason why the first of them has no score; files by the last two parts of their path.
        sample: The id of the first.
        status: Their status: ``error``, ``unscored``, ``refused`` or ``truncated``.
    """

    n: int
    message: str
    sample: str
    status: str


def failure_kinds(failures: Iterable[tuple[str, str, str]]) -> list[FailureKind]:
    """The kinds of some failures, the most frequent first; of equally frequent ones, the one that occurred first.

    Args:
        failures: Id, status and message of each sample that has no score.
    """
    first: dict[str, tuple[str, str, str]] = {}
    counts: dict[str, int] = {}
    for sample, status, message in failures:
        key = f"{status} {_kind_of(sample, message)}"
        if key not in first and len(first) >= _MOST_KINDS:
            continue
        first.setdefault(key, (sample, status, message))
        counts[key] = counts.get(key, 0) + 1
    kinds = [
        FailureKind(counts[key], _relative(message), sample, status) for key, (sample, status, message) in first.items()
    ]
    return sorted(kinds, key=lambda kind: -kind.n)


def failures_in(journal: Journal, task: str) -> list[FailureKind]:
    """The kinds of failure of a task's ended samples."""
    rows = journal.failures(task)
    return failure_kinds((sample, status, _error_message(status, error)) for sample, status, error in rows)


def failures_of_run(folder: RunFolder) -> dict[str, list[FailureKind]]:
    """The kinds of failure of each task of a run that has any, also while the run has no results."""
    if not folder.journal.exists():
        return {}
    with closing(Journal(folder.journal)) as journal:
        return {task: kinds for task in journal.task_ids if (kinds := failures_in(journal, task))}


def _error_message(status: str, error: str | None) -> str:
    return str((json.loads(error) if error else {}).get("message") or status)


def _kind_of(sample: str, message: str) -> str:
    if len(sample) >= _SHORTEST_ID:
        message = message.replace(sample, "#")
    code = " ".join(_CODE.findall(message))
    for pattern in (_CODE, _FILE, _DIGEST, _NUMBER):
        message = pattern.sub("#", message)
    return f"{message[:_LONGEST_KEY]} {code}"


def _relative(message: str) -> str:
    """A message on one line, without the folders of absolute paths."""
    return clip(_ABSOLUTE.sub("", " ".join(message.split())), _LONGEST_MESSAGE)
