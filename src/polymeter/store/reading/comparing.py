"""The first difference between two runs of the same plan: in a request, an answer, a score, an end, or a result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from polymeter.core.text.phrases import quoted
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, SampleRow
from polymeter.store.verifying import differing_results

_SHOWN = 200
_NOT_CONTENT = ("usage", "note")
"""Fields that may differ between equal answers: a provider's count of cached tokens, a backend's remark."""


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The first difference of two runs.

    Attributes:
        kind: ``request``, ``answer``, ``score``, ``end`` or ``result``.
        where: Task and sample, or an entry of the results.
        before: The value in the first run, as text.
        after: The value in the second.
    """

    kind: str
    where: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.kind} of {self.where}: {self.before} before, {self.after} now"


def first_difference(before: RunFolder, after: RunFolder) -> RunDifference | None:
    """The first difference, in the order of tasks and samples; ``None`` if there is none.

    Samples that did not end in the first run are not compared, and neither are results if it has none. The time of an
    answer and the count of its tokens do not matter.

    Raises:
        JournalError: if a journal cannot be read.
    """
    manifest = before.read_manifest()
    with closing(Journal(before.journal)) as one, closing(Journal(after.journal)) as other:
        for task in manifest["tasks"]:
            for found in _in_task(one, other, task["name"]):
                return found
    if manifest["status"] != "complete" or not before.results.is_file():
        return None
    results = after.read_results() if after.results.is_file() else {"tasks": {}, "groups": {}}
    for sentence in differing_results(before.read_results(), results, frozenset()):
        what, _, how = sentence.removeprefix("results.json: ").partition(" differs from its rows reduced again: ")
        return RunDifference("result", what, how.rstrip("."), "another value")
    return None


def _in_task(one: Journal, other: Journal, task: str) -> Iterator[RunDifference]:
    rows = {row.index: row for row in other.rows(task)}
    for row in one.rows(task):
        where = f"task {task!r}, sample {row.id!r}"
        yield from _in_exchanges(one, other, task, row.index, where)
        found = rows.get(row.index)
        if found is None:
            yield RunDifference("end", where, row.status.value, "not run")
            return
        for kind, before, after in (
            ("end", _end(row), _end(found)),
            ("score", row.score, found.score),
        ):
            if before != after:
                yield RunDifference(kind, where, quoted(before, _SHOWN), quoted(after, _SHOWN))


def _in_exchanges(one: Journal, other: Journal, task: str, index: int, where: str) -> Iterator[RunDifference]:
    for before, after in zip_longest(one.asked(task, index), other.asked(task, index)):
        if before is None or after is None or before[:2] != after[:2]:
            yield RunDifference("request", where, _request(before), _request(after))
            return
        if _answer_content(before[3]) != _answer_content(after[3]):
            texts = (quoted(_answer_text(asked[3]), _SHOWN) for asked in (before, after))
            yield RunDifference("answer", where, *texts)


def _end(row: SampleRow) -> str:
    return row.status.value if row.error is None else f"{row.status.value} ({row.error.get('message')})"


def _answer_content(response: str) -> Any:
    """Return the content of an answer, without fields that differ between equal answers."""
    outputs: list[Mapping[str, Any]] = json.loads(response)["outputs"]
    return [{key: value for key, value in output.items() if key not in _NOT_CONTENT} for output in outputs]


def _answer_text(response: str) -> str:
    content = _answer_content(response)
    texts = [output.get("text") for output in content]
    return str(texts[0]) if len(texts) == 1 and texts[0] is not None else json.dumps(content, ensure_ascii=False)


def _request(asked: tuple[str, str, str | None, str] | None) -> str:
    return "none" if asked is None else quoted(asked[2], _SHOWN)
