"""The verdicts of people in a run's results: the notes that state them, and the samples that have no score because of
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polymeter.core.records.human_scores import HumanScores, counted, few_named, replaced
from polymeter.core.task import SampleStatus
from polymeter.store.journal import Journal
from polymeter.store.wire import read_score


def human_scores(verdicts: Mapping[str, Mapping[str, object]]) -> dict[str, HumanScores]:
    """Return the verdicts in the option of a run, by task."""
    return {task: HumanScores.of(own) for task, own in verdicts.items()}


def verdict_notes(human: Mapping[str, HumanScores], journal: Journal) -> Iterator[str]:
    """Yield the notes on the verdicts in a run's results; none if it has none."""
    if not human:
        return
    yield f"Verdicts of people: {counted(human.values())}."
    unused: dict[str, None] = {}
    unscored: dict[str, None] = {}
    for task, own in human.items():
        if not own.values:
            continue
        for row in journal.rows(task):
            if row.id not in own.values or row.id in own.excluded:
                continue
            if row.status is not SampleStatus.OK or row.score is None:
                unscored[f"{task}/{row.id}"] = None
                continue
            _, rest = replaced(read_score(row.score).values, own.values[row.id])
            unused |= dict.fromkeys(rest)
    if unused:
        yield f"Scores of people for {few_named(unused)} were not used: the samples have no such score."
    if unscored:
        yield f"Scores of people were not used for samples that have no score: {few_named(unscored)}."


def count_excluded(human: Mapping[str, HumanScores], journal: Journal) -> int:
    """Return the number of samples without a score because a person excluded them."""
    return sum(
        row.id in own.excluded and row.status is SampleStatus.UNSCORED
        for task, own in human.items()
        if own.excluded
        for row in journal.rows(task)
    )
