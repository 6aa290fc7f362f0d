"""Findings about the rows of a task that were played with the reference, an empty and a wrong answer. ``run.plan.lint``
has the findings before the first request, for runs and checks alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.api.result import RunResult
from polymeter.catalog.trying import row_function, verdict_of
from polymeter.core.errors import PolymeterError
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Sample, Task
from polymeter.report.formatting import clip, count, listing, number, one_line

ANSWERS: Mapping[str, str] = {"gold": "the reference", "empty": "an empty answer", "wrong": "a wrong answer"}
"""The answers that rows are played with, by the mode of the mock that gives them."""
_LOOKED_AT = 50
_ENOUGH = 10
_SHOWN = 60
_OF_MACHINE = re.compile(r" raised \w+: |pip\s+install")
"""In the message of a row: code of others raised, or a package is missing."""
_JUDGE = re.compile(r"\bjudge\b", re.IGNORECASE)

SampleData = Mapping[str, Any]
"""A line of ``samples/<task>.jsonl``."""


@dataclass(frozen=True, slots=True)
class PlayedRows:
    """A task, and its rows as each answer left them.

    Attributes:
        task: The open task.
        samples: Its rows by the mode of the mock, in the same order.
        results: The results with the reference as the answer.
    """

    task: Task
    samples: Mapping[str, Sequence[SampleData]]
    results: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, task: Task, runs: Mapping[str, RunResult]) -> PlayedRows:
        """The runs of a task."""
        from polymeter.store.exports.export import read_samples

        name = task.spec.name
        samples = {mode: tuple(read_samples(run.folder, name)) for mode, run in runs.items()}
        whole = runs["gold"].results["tasks"][name]["results"]
        return cls(task, samples, [result for result in whole if not result["subset"]])

    @property
    def n_rows(self) -> int:
        """The number of rows that were played."""
        return len(self.samples["gold"])

    @property
    def lacks_judge(self) -> bool:
        """True if no row has a score for want of a judge."""
        rows = [*self.samples["gold"], *self.samples["wrong"]]
        return all(row["status"] != "ok" and _JUDGE.search(_error_message(row)) for row in rows)

    @property
    def has_references(self) -> bool:
        """True if the task has a target, and a model can answer with it."""
        first = self.task.samples[0]
        target = _target(self.task)
        try:
            is_known = target is not None and target(first) not in (None, "", [])
        except PolymeterError:
            return False
        answers = [[_responses(row) for row in self.samples[mode]] for mode in ("gold", "wrong")]
        return is_known and answers[0] != answers[1]


def unscorable_rows(played: PlayedRows) -> str:
    """Return a sentence about rows with data for which no answer can be scored; empty if there are none. Code that
    raised may miss something of this machine, and a judge's verdict is not data.
    """
    rows = zip(played.samples["gold"], played.samples["wrong"], strict=False)
    found = [wrong for gold, wrong in rows if gold["status"] == "error" and _is_unscorable(wrong)]
    if not found:
        return ""
    of = f"{len(found):,} of {count(played.n_rows, 'row')} played"
    return (
        f"{of} cannot be scored, whatever the answer. The first is sample {found[0]['id']}: {_error_message(found[0])}"
    )


def _is_unscorable(row: SampleData) -> bool:
    is_answered = any(outputs for outputs in _responses(row))
    is_not_asked = not row["exchanges"] and row["status"] == "error" and row["error"]["kind"] == "data"
    is_at_fault = row["status"] == "error" and row["error"]["kind"] in ("data", "score")
    return (is_answered or is_not_asked) and is_at_fault and not _OF_MACHINE.search(_error_message(row))


def findings_of(played: PlayedRows) -> Iterator[LintFinding]:
    """Yield the findings about a task that was played."""
    task = played.task.spec.name
    failed = [row for row in played.samples["gold"] if row["status"] != "ok"]
    is_told = played.has_references or (bool(failed) and not _is_without_reference(failed[0]))
    for row in failed[:1] if is_told else ():
        yield LintFinding("unscorable-row", f"sample {row['id']} cannot be scored: {_error_message(row)}", task)
    if played.has_references:
        yield from (LintFinding("scores-alike", sentence, task) for sentence in _scores_alike(played))
        yield from (LintFinding("reference-without-full-marks", sentence, task) for sentence in _references(played))
    for note in played.task.notes:
        yield LintFinding("note", note.removeprefix(f"Task {task!r}: "), task, severity="note")


def _references(played: PlayedRows) -> Iterator[str]:
    """Yield a finding if the reference gets less than full marks, and a metric distinguishes it from other answers."""
    short = [] if any(_scores_alike(played)) else [*_short_of_full_marks(played)]
    one = _one_target(played.task)
    if one is None or one[1] < _ENOUGH:
        yield from short
    elif short:  # a task that scores by itself may compare with something else than what it calls its target
        yield f"the reference is {_quoted(one[0])} in all {one[1]} rows looked at, and does not get full marks."


def _scores_alike(played: PlayedRows) -> Iterator[str]:
    """Yield a finding if no metric distinguishes the reference from the other answers in any row."""
    modes = [mode for mode in ANSWERS if mode != "empty" or "generate" in played.task.needs.requests]
    rows = list(zip(*(played.samples[mode] for mode in modes), strict=False))
    scores = [
        [_scores_by_key(row) for row in together] for together in rows if all(row["status"] == "ok" for row in together)
    ]
    if not scores or any(not one or one != together[0] for together in scores for one in together):
        return
    shown = ", ".join(f"{metric} {number(value)}" for (metric, _), value in scores[0][0].items())
    yield f"{listing(ANSWERS[mode] for mode in modes)} all score the same ({shown}{_expected(rows[0][0])})."


def _short_of_full_marks(played: PlayedRows) -> Iterator[str]:
    """The metrics that do not give the reference full marks. A metric that may be no measure of being right counts only
    if no other gives them.
    """
    verdicts = [(result, verdict_of(result["value"], result["higher_is_better"])) for result in played.results]
    full = {result["metric"] for result, verdict in verdicts if verdict == "full"}
    told: set[str] = set()
    for result, verdict in verdicts:
        metric = result["metric"]
        if not result["higher_is_better"] and "generate" not in played.task.needs.requests:
            continue  # the mock's log-probabilities are near the best, and never there
        if verdict != "short" or metric in told or metric in full or (full and "bounds" not in result):
            continue
        told.add(metric)
        row = next((row for row in played.samples["gold"] if _falls_short(row, result)), None)
        example = "" if row is None else f" (sample {row['id']}{_expected(row)})"
        yield f"the reference does not get full marks: {metric} {number(result['value'])}{example}."


def _falls_short(row: SampleData, result: Mapping[str, Any]) -> bool:
    values = [
        score["value"]
        for score in row["scores"]
        if (score["metric"], score["filter"]) == (result["metric"], result["filter"])
    ]
    return any(verdict_of(value, result["higher_is_better"]) == "short" for value in values)


def _expected(row: SampleData) -> str:
    """Return the target of a row and the part of the reference that was scored."""
    target, answer = (row.get(name) for name in ("target", "answer"))
    return (
        f"; expected {_quoted(target)}, scored {_quoted(answer)}" if target is not None and answer is not None else ""
    )


def _one_target(task: Task) -> tuple[Any, int] | None:
    """The reference that rows throughout the task have in common, and how many were looked at; ``None`` if two
    differ.
    """
    target, choices = _target(task), task.row_functions.choices
    same = None if target is None else _same_throughout(task, target)
    # The right choice may always be the first where each row has choices of its own.
    is_first_choice = same is not None and choices is not None and isinstance(same[0], int)
    return same if same is not None and same[1] > 1 and not is_first_choice else None


def _same_throughout(task: Task, value_of: Callable[[Sample], Any]) -> tuple[Any, int] | None:
    """The value of rows that lie evenly in a task, and how many were looked at; ``None`` if two differ."""
    n = min(len(task.samples), _LOOKED_AT)
    first: Any = None
    for position in range(n):
        sample = task.samples[round(position * (len(task.samples) - 1) / max(n - 1, 1))]
        try:
            value = value_of(sample)
        except PolymeterError:
            return None
        if position and value != first:
            return None
        first = value
    return (first, n) if first not in (None, "", []) else None


def _target(task: Task) -> Callable[[Sample], Any] | None:
    """The task's own function for a row's target, called as a run calls it."""
    target = task.row_functions.target
    return None if target is None else row_function(task, target)


def _scores_by_key(row: SampleData) -> dict[tuple[str, str], float]:
    return {
        (score["metric"], score["filter"]): score["value"]
        for score in row["scores"]
        if isinstance(score["value"], (int, float))
    }


def _responses(row: SampleData) -> list[Any]:
    return [exchange["response"].get("outputs") for exchange in row["exchanges"]]


def _error_message(row: SampleData) -> str:
    return one_line(str((row["error"] or {}).get("message", "")))


def _is_without_reference(row: SampleData) -> bool:
    return "cannot know the gold answer" in _error_message(row)


def _quoted(value: Any) -> str:
    return repr(clip(one_line(str(value)), _SHOWN))
