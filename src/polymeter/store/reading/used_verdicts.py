"""The verdicts of people that a result uses, with the sentences that the result must state about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import PlanError, count
from polymeter.core.records.human_scores import HumanScores, counted, few_named, refuse_on_repeats
from polymeter.core.records.stored_samples import answer_digest
from polymeter.store.exports.export import read_sample_file, read_some
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.verdicts import VerdictFile, require_verdicts, unknown_samples


@dataclass(frozen=True, slots=True)
class UsedVerdicts:
    """The verdicts on a run's samples.

    Attributes:
        tasks: They by task; only of samples that the run has.
        problems: Sentences on verdicts that could not be used.
    """

    tasks: Mapping[str, HumanScores]
    problems: tuple[str, ...] = ()

    @property
    def counted(self) -> str:
        """The number of samples with verdicts: *3 excluded, 12 labelled*."""
        return counted(self.tasks.values())

    def notes(self) -> tuple[str, ...]:
        """Return the notes of a result that uses them."""
        return (f"Verdicts of people: {self.counted}.", *self.problems)


def used_verdicts(folder: RunFolder, known: Mapping[str, Collection[str]]) -> UsedVerdicts:
    """Return the verdicts on a run's samples, and report those on samples or answers that it does not have.

    Args:
        folder: The run.
        known: The ids of its ended samples by task.

    Raises:
        PlanError: if the file of verdicts holds a line that is not a verdict, or scores of people for a run with
            several answers to a question.
        StorageError: if it cannot be read.
    """
    file = require_verdicts(folder.path)
    answers = _present_answers(folder, file, known)
    scores = file.scores(answers)
    tasks = {task: own.only(known.get(task, ())) for task, own in scores.items() if task in known}
    options = (folder.read_manifest().get("options") or {}).get("identity") or {}
    refuse_on_repeats(tasks.values(), options.get("repeats", 1) * (options.get("permute_choices") or 1))
    return UsedVerdicts(tasks, tuple(_problems(file, answers, known)))


def require_any(used: Iterable[UsedVerdicts], where: str) -> None:
    """Refuse a result with verdicts if there are none.

    Raises:
        PlanError: if there are none.
    """
    found = [*used]
    if not any(own.values or own.excluded for one in found for own in one.tasks.values()):
        problems = " ".join(problem for one in found for problem in one.problems)
        raise PlanError(
            f"No sample has a verdict of a person.{' ' if problems else ''}{problems}",
            where=where,
            hint="Give verdicts in 'polymeter view', or leave out --verdicts.",
        )


def sample_ids(folder: RunFolder, task: str) -> set[str]:
    """Return the ids of a task's samples that have ended."""
    if not folder.journal.exists():
        return {str(sample["id"]) for sample in read_sample_file(folder, task)}
    with closing(Journal(folder.journal)) as journal:
        return {row.id for row in journal.rows(task)}


def _present_answers(
    folder: RunFolder, file: VerdictFile, known: Mapping[str, Collection[str]]
) -> dict[str, dict[str, str]]:
    """Return the digests of the answers that verdicts are about, by task and sample. A run that was started again may
    have other answers than those that people saw.
    """
    wanted: dict[str, set[str]] = {}
    for one in file.valid:
        if one.answer and one.sample in known.get(one.task, ()):
            wanted.setdefault(one.task, set()).add(one.sample)
    return {
        task: {str(sample["id"]): answer_digest(sample) for sample in _samples(folder, task, names)}
        for task, names in wanted.items()
    }


def _samples(folder: RunFolder, task: str, names: Collection[str]) -> Iterable[dict[str, Any]]:
    if not folder.journal.exists():
        return (sample for sample in read_sample_file(folder, task) if str(sample["id"]) in names)
    with closing(Journal(folder.journal)) as journal:
        indices = [row.index for row in journal.rows(task) if row.id in names]
    return read_some(folder, task, indices)


def _problems(
    file: VerdictFile, answers: Mapping[str, Mapping[str, str]], known: Mapping[str, Collection[str]]
) -> Iterator[str]:
    unknown = unknown_samples(file.scores(), known)
    if unknown:
        names = few_named(f"{task}/{sample}" for task, sample in unknown)
        yield f"Verdicts on {count(len(unknown), 'sample')} that the run does not have were not used: {names}."
    outdated = file.outdated(answers)
    if outdated:
        names = few_named(f"{task}/{sample}" for task, sample in outdated)
        were = "Verdicts on an earlier answer to" if len(outdated) == 1 else "Verdicts on earlier answers to"
        yield f"{were} {count(len(outdated), 'sample')} were not used: {names}. The run has another answer now."
    for number in file.unfinished:
        yield f"Line {number} of {file.path.name} is unfinished: its writer was stopped, so that verdict was not saved."
