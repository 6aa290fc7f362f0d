"""From rows to results: reductions read what the journal holds, in sample order, so that a resumed run and an
uninterrupted one agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from polymeter.core.errors import PolymeterError, ScoreError, StorageError, boundary, count
from polymeter.core.guest_context import answering_through
from polymeter.core.identity import seed_for
from polymeter.core.request import Response
from polymeter.core.role_client import no_role_client
from polymeter.core.task import ReduceContext, Result, Sample, SampleStatus, Score, ScoredRow
from polymeter.guests.door import Door
from polymeter.judge.panel import Panel, PanelTally
from polymeter.reading.cuts import truncation_of
from polymeter.run.dispatch.answers import AnswerReader
from polymeter.run.finish.groups import mark_lost_subsets, reduce_groups
from polymeter.run.finish.patterns import ScorePatterns
from polymeter.run.finish.unscored import ValueCount, n_scored, why_unscored
from polymeter.run.plan.plan import Plan, answer_reader, model_name, role_names
from polymeter.run.schedule.lost_verdicts import first_loss
from polymeter.run.schedule.panel import panel_of
from polymeter.run.schedule.running_samples import MODEL_ROLE, RunningSample, RunningTask
from polymeter.run.schedule.samples.restarting import n_restarted
from polymeter.run.schedule.scheduler import Scheduler
from polymeter.store.exports.export import GroupSummary, TaskSummary
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, SampleRow
from polymeter.store.media import MediaStore
from polymeter.store.reading.failures import failures_in
from polymeter.store.reading.shown_summary import shown_summary
from polymeter.store.wire import read_response, read_score

REDUCTION = -1
"""Index, in the journal, of what a reduction asks."""

_RESPONSES_AT_ONCE = 256

Again = Callable[[RunningTask, int, Journal], "Score | None"]
"""Scores a sample again from its stored answers; ``None`` when it has no score any more, which it has written down."""


class EndedRows:
    """A re-iterable view over a task's ended samples. Holds nothing; every iteration reads the journal again.

    A score that the journal cannot hold exactly, or that was made by an older way of scoring, is computed again from
    the stored answers.
    """

    def __init__(
        self,
        task: RunningTask,
        journal: Journal,
        media: MediaStore,
        again: Again,
        reader: AnswerReader,
        panel: Panel | None = None,
    ) -> None:
        self._task = task
        self._journal = journal
        self._media = media
        self._again = again
        self._reader = reader
        self.subsets: dict[tuple[str, ...], bool] = {}
        """True if any row of each subset has a score, of the rows that were read."""
        self._bodies: dict[int, list[tuple[str, tuple[str, ...]]]] = {}
        self._next_asked = -1
        self.patterns: ScorePatterns | None = None
        """Facts about all scored rows, once all were read."""
        self._panel = panel
        self.tally: PanelTally | None = None
        """The judges' own values of the rows, if there are several judges and all rows were read."""

    def __iter__(self) -> Iterator[ScoredRow]:
        values = ValueCount()
        patterns = None if self.patterns else ScorePatterns()
        tally = PanelTally(self._panel) if self._panel is not None and self.tally is None else None
        for row in self._journal.rows(self._task.name):
            if row.index in self._task.selected:
                scored = self._row(row)
                if scored.score is not None:
                    values.add(scored.score)
                    if scored.score.scorers:
                        self._task.scorers.update(dict.fromkeys(scored.score.scorers))
                self.subsets[row.subset] = self.subsets.get(row.subset, False) or scored.score is not None
                if patterns is not None and scored.score is not None:
                    patterns.add(scored.score)
                if tally is not None and scored.score is not None:
                    tally.add(scored.score, scored.cluster)
                yield scored
        self._task.values = values
        self.patterns = self.patterns or patterns
        self.tally = self.tally or tally

    def _row(self, row: SampleRow) -> ScoredRow:
        score = self._score(row) if row.status is SampleStatus.OK else None
        status = SampleStatus.UNSCORED if row.status is SampleStatus.OK and score is None else row.status
        return ScoredRow(row.id, row.index, row.subset, row.cluster, status, score, lambda: self._responses(row.index))

    def _score(self, row: SampleRow) -> Score | None:
        if row.score is not None and row.score_is_exact and row.score_digest == self._task.task.score_digest:
            return read_score(row.score)
        return self._again(self._task, row.index, self._journal)

    def _responses(self, index: int) -> tuple[Response, ...]:
        if index not in self._bodies:
            n = (
                _RESPONSES_AT_ONCE if index == self._next_asked else 1
            )  # a caller that asks for a second one asks for all
            self._bodies = self._journal.turns_between(self._task.name, index, index + n)
        self._next_asked = index + 1
        rules = self._task.task.reading
        return tuple(
            [
                self._reader.read(MODEL_ROLE, stops, read_response(body, self._media.load), rules)
                for body, stops in self._bodies[index]
            ]
        )


def reduce_task(
    task: RunningTask,
    open_journal: Callable[[], Journal],
    media: MediaStore,
    again: Again,
    door: Door,
    context: ReduceContext,
    reader: AnswerReader,
    panel: Panel | None = None,
) -> tuple[list[Result], ScorePatterns | None, PanelTally | None]:
    """The results of one task, and if its reduction has read all samples, what they have in common and, of several
    judges, what each of them gave.

    Raises:
        ScoreError: The task's own aggregation failed.
    """
    journal = open_journal()
    try:
        rows = EndedRows(task, journal, media, again, reader, panel)
        with (
            answering_through(context.role_client or no_role_client),
            boundary(ScoreError, f"Aggregating task {task.name!r}"),
            door.hook(task.name, "", "reduce"),  # a task without code of its own may name a user's aggregation
        ):
            results = list(task.task.reduce(rows, context))
        return mark_lost_subsets(results, rows.subsets), rows.patterns, rows.tally
    finally:
        journal.close()


def finish_task(task: RunningTask, results: list[Result], report_path: Path, door: Door) -> None:
    """Let the task see its written results.

    Raises:
        ScoreError: The task's own code failed.
    """
    with boundary(ScoreError, f"Finishing task {task.name!r}"), door.hook(task.name, "", "finish"):
        task.task.finish(results, report_path)


class Reduction:
    """The reduction of a run: every task's rows, then every group's members, to results.

    Args:
        plan: The plan, its tasks open.
        tasks: Its tasks.
        folder: Holds the journal, and takes what aggregations write.
        media: Loads stored images.
        scheduler: Scores samples again, and has judges asked.
        door: The run's way into guests.

    Attributes:
        failures: What could not be reduced, and why.
    """

    def __init__(
        self,
        plan: Plan,
        tasks: Sequence[RunningTask],
        folder: RunFolder,
        media: MediaStore,
        scheduler: Scheduler,
        door: Door,
    ) -> None:
        self.failures: list[str] = []
        self._patterns: dict[str, ScorePatterns] = {}
        self._panel = panel_of(plan)
        self._tallies: dict[str, PanelTally] = {}
        self._plan = plan
        self._tasks = tasks
        self._folder = folder
        self._media = media
        self._scheduler = scheduler
        self._door = door

    def task_results(self) -> dict[str, list[Result]]:
        """The results of each task; none of one whose own aggregation failed.

        Raises:
            StorageError: A place that is written to refuses.
        """
        results: dict[str, list[Result]] = {}
        for task in self._tasks:
            running = self._running(task)
            n_failures = len(self.failures)
            context = ReduceContext(
                self._folder.artifacts,
                seed_for(self._plan.options.seed, task.name, "reduce"),
                self._arguments(),
                self._scheduler.asker(running),
                lambda error: self.failures.append(str(error)),
                model_name(self._plan),
                role_names(self._plan),
            )
            try:
                results[task.name], patterns, tally = reduce_task(
                    task,
                    lambda: Journal(self._folder.journal),
                    self._media,
                    self._scheduler.score_sample_again,
                    self._door,
                    context,
                    answer_reader(self._plan),
                    self._panel,
                )
                if patterns is not None:
                    self._patterns[task.name] = patterns
                if tally is not None:
                    self._tallies[task.name] = tally
            except StorageError:
                raise
            except PolymeterError as error:
                results.setdefault(task.name, [])
                self.failures.append(str(error))
            task.scorers.update(running.scorers)
            if len(self.failures) == n_failures:
                self.failures.extend(_lost_verdicts(running))
        return results

    def task_summaries(self, results: Mapping[str, Sequence[Result]], journal: Journal) -> list[TaskSummary]:
        """Return the notes on each task, from its results and its rows."""
        return [self._summary(task, results[task.name], journal) for task in self._tasks]

    def doubts(self, summaries: Sequence[TaskSummary]) -> Iterator[str]:
        """Return the patterns of tasks' samples that make their results doubtful, one sentence for each."""
        for summary in summaries:
            patterns = self._patterns.get(summary.name)
            if patterns is not None:
                yield from patterns.notes(summary.name, summary.results)

    def group_summaries(self, results: Mapping[str, Sequence[Result]]) -> list[GroupSummary]:
        """Return the notes on each group, from the results of the tasks."""
        groups = {group.name: group for group in self._plan.selection.groups}
        without = dict.fromkeys(self._plan.skipped, ())
        reduced = reduce_groups(groups, {**without, **results}, self._plan.parity, self.failures.append)
        return [GroupSummary(g.name, g.alias, g.version, g.members, reduced[g.name]) for g in groups.values()]

    def finish(self, results: Mapping[str, list[Result]]) -> Iterator[str]:
        """Let every task see its written results; gives what to tell of those that failed."""
        for task in self._tasks:
            try:
                finish_task(task, results[task.name], self._folder.results, self._door)
            except PolymeterError as error:
                yield str(error)

    def _running(self, task: RunningTask) -> RunningSample:
        """Return the sample that represents a reduction in the journal when it asks a judge. No task has it."""
        journal = Journal(self._folder.journal)
        known = journal.answers(task.name, REDUCTION)
        journal.close()
        return RunningSample(task, Sample(task.name, "", REDUCTION, {}), known=known)

    def _arguments(self) -> SimpleNamespace:
        """Return the arguments of an aggregation that accepts ``args``."""
        spec, options = self._plan.model_spec, self._plan.options
        return SimpleNamespace(
            output_path=str(self._folder.artifacts),
            model=spec.backend if spec else model_name(self._plan),
            model_name=model_name(self._plan),
            model_args=",".join(f"{name}={value}" for name, value in spec.args.items()) if spec else "",
            tasks=",".join(self._plan.patterns),
            limit=options.limit,
            num_fewshot=options.num_fewshot,
            seed=[options.seed],
            log_samples=True,
            predict_only=False,
        )

    def _summary(self, task: RunningTask, results: Sequence[Result], journal: Journal) -> TaskSummary:
        spec = task.task.spec
        statuses = journal.statuses(task.name)
        n_ok = statuses.get(SampleStatus.OK.value, 0)
        is_known = task.values is not None and not task.task.keeps_answers_only
        values = task.values or ValueCount()
        return TaskSummary(
            spec.name,
            spec.title,
            spec.version,
            task.task.num_fewshot,
            len(task.selected),
            spec.source_hash,
            results,
            task.n_nondeterministic,
            statuses,
            truncation_of(journal.answer_bodies(task.name), task.task.reading),
            [self._scorer(by, instead_of) for by, instead_of in task.scorers],
            n_scored(values, n_ok, results) if is_known else None,
            why_unscored(values, n_ok, results) if is_known else None,
            failures_in(journal, task.name),
            self._judges(task.name),
            values.n_unfinished,
            protocol=spec.protocol.as_data() if spec.protocol else None,
            shown=shown_summary(journal, task.name),
            n_restarted=0 if task.task.environment is None else n_restarted(journal, task.name),
        )

    def _judges(self, task: str) -> dict[str, Any] | None:
        """Of several judges, what each of them gave and how well they agree."""
        tally = self._tallies.get(task)
        seed = seed_for(self._plan.options.seed, task, "panel")
        # A judge given as an object has no name that a run scored again, or verified, would have for it as well.
        names = {role: str(spec or role) for role, spec in self._plan.role_specs.items()}
        return None if tally is None else tally.document(names, seed)

    def _scorer(self, by: str, instead_of: str) -> dict[str, str]:
        """Return the settings of a task's scores; a model in a role by its name."""
        names = role_names(self._plan)
        return {"by": f"{by} {names[by]}" if by in names else by, "instead_of": instead_of}


def _lost_verdicts(running: RunningSample) -> list[str]:
    """Return the note on a judge that could not be asked or gave no verdict while a task's results were computed. The
    author's code may have continued without it, so its results may rest on fewer verdicts.
    """
    lost = running.lost_verdicts
    if not lost:
        return []
    return [
        f"Task {running.task.name!r}: its results were computed without {count(len(lost), 'verdict')} of the judge. "
        f"{lost[first_loss(lost)]}"
    ]
