"""The spending half of a run: roll out what is left, reduce, write."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from polymeter.core.errors import PolymeterError, StorageError, UnfitError
from polymeter.core.identity import fingerprint
from polymeter.core.model import AsyncModel, ServerContext
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE, SESSION_DISPATCHERS
from polymeter.core.records.progress import Progress
from polymeter.core.records.usage import USAGE_BY_ROLE, UsageByRole, usage_document
from polymeter.core.settings.needs import SKIP_UNFIT, unknown_needs, ways_around
from polymeter.core.task import Result
from polymeter.guests.door import Door
from polymeter.guests.watchdog import Watchdog
from polymeter.metrics.bounded import end_idle_processes
from polymeter.reading import READING_VERSION
from polymeter.run.budget.budget import SpendingAccount
from polymeter.run.dispatch.batch.dispatcher import BatchDispatcher
from polymeter.run.dispatch.dispatchers import Dispatcher
from polymeter.run.dispatch.prefetch import Prefetcher
from polymeter.run.finish import manifest as manifests
from polymeter.run.finish import sessions
from polymeter.run.finish.files import FilesOfRun
from polymeter.run.finish.reduce import Reduction
from polymeter.run.finish.verdicts import count_excluded, human_scores, verdict_notes
from polymeter.run.pilot.drawing import AfterPilot, EndedPilot, draw, work_of_pilot
from polymeter.run.plan.plan import Plan, answer_reader, cache_folder, model_name, selected_samples, skip
from polymeter.run.plan.stored import StoredAnswers
from polymeter.run.reuse.keys import RequestKeys
from polymeter.run.reuse.lookup import reuse_note
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.journal_lookup import EarlierReading, JournalLookup
from polymeter.run.schedule.panel import panel_of
from polymeter.run.schedule.recorder import Recorder
from polymeter.run.schedule.running_samples import MODEL_ROLE, RunningTask
from polymeter.run.schedule.samples.limits import SampleLimits
from polymeter.run.schedule.scheduler import EndpointGoneError, Scheduler
from polymeter.run.schedule.task_rows import RunRows
from polymeter.run.schedule.work_list import Resumption, ScheduleSettings, WorkList
from polymeter.store.exports.export import results_document, write_results, write_samples
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.media import MediaStore
from polymeter.store.reading.reused import REUSE
from polymeter.store.reading.usage import tokens, usage_of_journal, usage_of_run

if TYPE_CHECKING:
    from polymeter.run.dispatch.acting.dispatcher import ActingDispatcher
    from polymeter.run.dispatch.replicas.replica_dispatcher import ReplicaDispatcher
    from polymeter.run.dispatch.replicas.scoring_crew import ScoringCrew

_MOST_HOSTS = 4
"""The most processes for the tools of benchmarks, unless the user has named a number of scoring threads."""
FETCHED_IMAGES = "fetched_images"
"""The folder of the cache that holds images which lie at URLs."""

Status = Literal["complete", "stopped", "interrupted", "failed"]
"""The end of a run; ``failed``: in an error that a resumed run would meet again."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of an evaluation.

    Attributes:
        folder: The run folder.
        status: ``complete``; ``stopped`` after too many failures or because an endpoint is down; ``interrupted`` by the
            user. One that ``failed`` has no outcome but its error.
        results: The content of ``results.json``; empty unless complete.
        n_failed: Samples that ended without a score, plus aggregations that failed.
        reason: The reason why it was stopped.
    """

    folder: RunFolder
    status: Status
    results: dict[str, Any]
    n_failed: int
    reason: str = ""


class Execution:
    """Everything of a run that is alive between the first question and the last file.

    Args:
        plan: The plan, its tasks open.
        folder: Claimed by this process.
        manifest: As written at the start; written again at the end.
        changed: Tasks whose sources changed since an earlier part of this run.
        progress: Told how far the run is.
        after_pilot: Called when the pilot of the run has ended.
    """

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder,
        manifest: dict[str, Any],
        changed: Collection[str],
        progress: Progress,
        after_pilot: AfterPilot | None = None,
    ) -> None:
        options = plan.options
        self._plan = plan
        self._folder = folder
        self._manifest = manifest
        self._progress = progress
        self._after_pilot = after_pilot
        self._started = time.perf_counter()
        self._media = MediaStore(folder.media, keeps_previews=options.media == "previews")
        part = sessions.as_part(manifest["sessions"][-1])
        self._writer = JournalWriter(folder.journal, [task.spec.name for task in plan.opened], part)
        self._files = FilesOfRun(folder.path, is_replay_only=isinstance(plan.model, StoredAnswers))
        self._watchdog = Watchdog(options.score_timeout_s, progress.note)
        self._door = Door(options.seed, self._watchdog)
        self._prefetcher = Prefetcher(self._media, options.decode_workers, cache_folder(options) / FETCHED_IMAGES)
        self._human = human_scores(options.verdicts)
        identity = manifests.completion_identity(plan)
        self._keys = RequestKeys(plan)
        acted = {task["name"]: task["environment"] for task in manifest["tasks"] if "environment" in task}
        self._tasks = [
            RunningTask(
                task,
                self._writer.task_ids[task.spec.name],
                selected_samples(task, options),
                # All that a score rests on but files: the models and options, the task's sources, its data, how it is
                # scored. A sample that was completed under another digest is replayed over the journal; an answer that
                # is not requested any more is set aside and not deleted.
                fingerprint([identity, task.spec.source_hash, task.fingerprint, task.score_digest]),
                task.spec.name in changed,
                may_overlap=options.score_workers is not None,
                human=self._human.get(task.spec.name),
                reuse_key=None if plan.reuse is None else self._keys.of,
                acts_by=acted.get(task.spec.name, {}).get("digest", ""),
                acts_with=acted.get(task.spec.name, {}).get("effect", "pure"),
            )
            for task in plan.opened
        ]
        self._resumption = Resumption(self._files, options.retry_errors, progress.note)
        self._tried: list[tuple[RunningTask, int]] = []
        rows = RunRows(plan.opened, self._door)
        for model in (plan.model, *plan.roles.values()):
            model.rows = rows
        self._replicas: dict[str, ReplicaDispatcher] = {}
        self._crew: ScoringCrew | None = None
        self._account: SpendingAccount | None = None
        with ExitStack() as undo:
            undo.callback(self._writer.close)
            self._scheduler = self._make_scheduler()
            self._reduction = Reduction(plan, self._tasks, folder, self._media, self._scheduler, self._door)
            undo.pop_all()

    def execute(self) -> RunOutcome:
        """Run what is left, reduce, write."""
        try:
            try:
                return self._run()
            except KeyboardInterrupt:
                self._scheduler.outcome.is_interrupted = True
                return self._stopped()
            except EndpointGoneError as gone:
                self._scheduler.outcome.reason = str(gone)
                return self._stopped()
        except PolymeterError as error:
            self._scheduler.outcome.reason = str(error)
            with suppress(
                PolymeterError
            ):  # the cause of the end is reported, not that the end cannot be recorded either
                status: Status = "stopped" if isinstance(error, StorageError) else "failed"
                self._close_manifest(status, self._scheduler.outcome.n_failed)
            raise
        finally:
            self._close()

    def _run(self) -> RunOutcome:
        self._probe()
        if not self._scheduler.outcome.is_stopped:
            self._roll_out()
        if self._scheduler.outcome.is_stopped:
            return self._stopped()
        self._progress.stage("reducing")
        return self._complete(self._scheduler.call(self._reduction.task_results))

    def reduce_again(self) -> RunOutcome:
        """Reduce the rows that the journal holds, and write what they come to. No sample is run."""
        try:
            return self._complete(self._scheduler.call(self._reduction.task_results))
        finally:
            self._close()

    def _close(self) -> None:
        with ExitStack() as last:
            if self._plan.reuse is not None:
                last.callback(self._plan.reuse.close)
            last.callback(self._writer.close)
            if self._account is not None:
                last.callback(self._account.ledger.end)
            last.callback(self._scheduler.close)
            last.callback(self._prefetcher.close)
            last.callback(end_idle_processes)
            last.callback(self._watchdog.close)

    def _probe(self) -> None:
        """Settle what is not known of the model by one sample of each task concerned; a second one before refusing.
        Stored answers tell nothing of what a model can do.
        """
        if isinstance(self._plan.model, StoredAnswers):
            return
        with closing(Journal(self._folder.journal)) as journal:
            self._probe_with(journal)
        self._scheduler.forget_failures()
        self._writer.flush()

    def _probe_with(self, journal: Journal) -> None:
        traits = self._plan.model.traits
        for task in [*self._tasks]:
            unknown = unknown_needs(task.task.needs, traits)
            if not (unknown or task.task.needs.are_prompts_unknown) or any(
                journal.marks(task.name, "answered", task.selected.stop)
            ):
                continue
            for index in sorted({task.selected.start, task.selected[len(task.selected) // 2]}):
                self._scheduler.run([WorkList.of_one(task, index)])
                self._tried.append((task, index))
                if self._scheduler.is_gone:
                    return
                error = self._scheduler.outcome.model_errors.pop(task.name, None)
                if error is None:
                    break
            else:
                why = f" {error.message}" if error else ""
                unfit = UnfitError(
                    f"Model {model_name(self._plan)!r} cannot answer task {task.name!r}, which asks for "
                    f"{' and '.join(unknown)}:{why}",
                    hint="If the model cannot do that, choose another model or task."
                    f"{ways_around(unknown)} {SKIP_UNFIT}",
                )
                if not self._plan.options.skip_unfit or len(self._tasks) == 1:
                    raise unfit
                self._leave_out(task, unfit.what)

    def _leave_out(self, task: RunningTask, why: str) -> None:
        """Go on without a task that the model turned out to be unable to do."""
        self._tasks.remove(task)
        self._tried = [tried for tried in self._tried if tried[0] is not task]
        skip(self._plan, {task.name: why})
        self._manifest["tasks"] = [entry for entry in self._manifest["tasks"] if entry["name"] != task.name]
        self._manifest["skipped"] = dict(self._plan.skipped)
        self._progress.note(why)

    def _roll_out(self) -> None:
        journal = Journal(self._folder.journal)
        work_lists = self._resumption.work_lists(self._tasks, journal)
        journal.close()
        # The samples that the model was tried with ended in this session, and not before it.
        n_tried = sum(work.completed[index] for work in work_lists for task, index in self._tried if work.task is task)
        n_before = sum(work.n_completed for work in work_lists) - n_tried
        self._progress.watch(self._scheduler.scores.read)
        if self._replicas:
            self._progress.watch_replicas(self._replica_state)
        if self._account is not None:
            self._progress.watch_spending(self._account.ledger.in_words)
        self._progress.begin(sum(len(task.selected) for task in self._tasks), n_before)
        if n_tried:
            self._progress.advance(n_tried, 0, 0)
        n_pilot, after_pilot, continues = self._plan.options.pilot, self._after_pilot, True
        if n_pilot is not None and after_pilot is not None and _is_left(work_lists):
            continues = self._run_pilot(work_lists, n_pilot, after_pilot)
        if continues:
            self._scheduler.run(work_lists)
        self._writer.flush()
        self._progress.end()

    def _run_pilot(self, work_lists: Sequence[WorkList], n: int, after_pilot: AfterPilot) -> bool:
        """Run the pilot, and return whether the run continues after it."""
        seed, began = self._plan.options.seed, time.perf_counter()
        drawn = {work.task.name: draw(work.task.name, work.task.selected, n, seed) for work in work_lists}
        self._progress.stage("asking the pilot's samples")
        self._scheduler.run([work_of_pilot(work, drawn[work.task.name]) for work in work_lists])
        self._writer.flush()
        if self._scheduler.outcome.is_stopped:
            return False
        for work in work_lists:
            for index in drawn[work.task.name]:  # those without a score ended, too: resuming runs them again
                work.completed[index] = 1
        seconds = time.perf_counter() - began
        reason = after_pilot(EndedPilot(self._plan, self._folder, drawn, seconds))
        if not (reason and _is_left(work_lists)):
            return True
        self._scheduler.stop(reason)
        return False

    def _make_scheduler(self) -> Scheduler:
        plan, options = self._plan, self._plan.options
        models = manifests.model_fingerprints(plan)
        was_damaged = bool(self._manifest["sessions"][-1].get("damage"))
        asked_models = {MODEL_ROLE: plan.model, **plan.roles}
        reuse = plan.reuse
        recorder = Recorder(
            self._writer,
            self._media,
            models,
            self._files,
            restores_requests=was_damaged,
            keys=self._keys,
            served=lambda role: asked_models[role].served,
        )
        events = Events(recorder, self._progress.note)
        if plan.budget is not None:
            part = int(self._manifest["sessions"][-1]["id"], 16)
            self._account = plan.budget.account(self._writer, part, events, self._continuing)
            self._account.ledger.start()
        also = [f"the {role}" for role, model in plan.roles.items() if model is plan.model]
        own = self._dispatcher(MODEL_ROLE, events, " and ".join(["the model", *also]))
        dispatchers = {MODEL_ROLE: own, OWN_PROMPT_ROLE: own}
        for role, model in plan.roles.items():
            is_same = model is plan.model
            dispatchers[role] = dispatchers[MODEL_ROLE] if is_same else self._dispatcher(role, events, f"the {role}")
        self._crew = self._make_crew(events)
        settings = ScheduleSettings(
            options.window or 0,
            options.media_budget_mb * 2**20,
            self._max_failed(),
            options.score_workers or 4,
            answer_reader(plan),
            panel_of(plan),
            self._crew,
            None if reuse is None else lambda asked: reuse.look_up(asked, models, self._files),
            SampleLimits(options.sample_tokens, options.sample_seconds),
            self._make_acting(events, recorder),
        )
        return Scheduler(
            dispatchers,
            JournalLookup(models, self._media, self._progress.note, self._files, self._earlier_reading()),
            recorder,
            self._door,
            lambda: Journal(self._folder.journal),
            settings,
            self._progress,
            events,
        )

    def _continuing(self, flag: str) -> str:
        """Return the command that continues the run with a higher cap."""
        return f"polymeter resume {shlex.quote(str(self._folder.path))} {flag} N"

    def _make_acting(self, events: Events, recorder: Recorder) -> ActingDispatcher | None:
        """Return the way to environments, if a task has one and a model acts."""
        if isinstance(self._plan.model, StoredAnswers) or not any(task.environment for task in self._plan.opened):
            return None
        from polymeter.run.dispatch.acting.dispatcher import ActingDispatcher, ActingSettings

        options = self._plan.options
        n_hosts = options.score_workers or min(os.cpu_count() or 1, _MOST_HOSTS)
        limits = ActingSettings(options.max_environments, options.tool_timeout_s, options.score_memory_mb, n_hosts)
        return ActingDispatcher(events, self._media, recorder.begun, limits)

    def _earlier_reading(self) -> EarlierReading | None:
        """Finds answers that a part of this run, or of the run it was scored from, read by other rules."""
        source = self._manifest.get("scored_from") or {}
        records = [*(source.get("sessions") or ()), *self._manifest["sessions"]]
        ours = [record for record in records if sessions.rules_of(record)["reading"] == READING_VERSION]
        if len(ours) == len(records):
            return None  # nothing is looked for in a run of this version alone
        return EarlierReading(
            lambda: Journal(self._folder.journal), frozenset(int(record["id"], 16) for record in ours)
        )

    def _make_crew(self, events: Events) -> ScoringCrew | None:
        """Return the crew that scores in other processes, if there is one and something can be scored there."""
        if self._plan.place is None or self._human:  # verdicts are known here alone
            return None
        from polymeter.run.dispatch.replicas.planning import scoring_crew

        return scoring_crew(self._plan, self._plan.place, events)

    def _replica_state(self) -> str:
        """Return the state of the replicas: those of the model, and by name those of judges."""
        return "; ".join(
            dispatcher.state() if role == MODEL_ROLE else f"{role}: {dispatcher.state()}"
            for role, dispatcher in self._replicas.items()
        )

    def _dispatcher(self, role: str, events: Events, name: str) -> Dispatcher:
        plan, options = self._plan, self._plan.options
        model = plan.model if role == MODEL_ROLE else plan.roles[role]
        meter = None if self._account is None else self._account.meter(model)
        if isinstance(model, StoredAnswers):
            events = events.without_tries()
        if isinstance(model, AsyncModel):
            from polymeter.run.dispatch.endpoint.dispatcher import EndpointDispatcher

            model.surroundings = ServerContext(self._folder.logs, events.waiting)
            return EndpointDispatcher(
                model,
                None if options.concurrency == "auto" else options.concurrency,
                self._prefetcher,
                events,
                max_retries=options.max_retries,
                timeout_s=options.timeout_s,
                longest_wait_s=options.max_wait_s,
                name=name,
                meter=meter,
            )
        room = None if plan.place is None else plan.place.rooms.get(role)
        if room is not None:
            from polymeter.run.dispatch.replicas.planning import replica_dispatcher

            self._replicas[role] = replica_dispatcher(plan, room, model, name, self._prefetcher, events, meter)
            return self._replicas[role]
        return BatchDispatcher(
            model,
            options.batch_size,
            self._prefetcher,
            events,
            max_retries=options.max_retries,
            largest_own=max((task.batch_size or 0 for task in plan.opened), default=0),
            meter=meter,
        )

    def _max_failed(self) -> float | None:
        most = self._plan.options.max_errors
        if most is None or most >= 1:
            return most
        return most * sum(len(selected_samples(task, self._plan.options)) for task in self._plan.opened)

    def _complete(self, results: dict[str, list[Result]]) -> RunOutcome:
        self._progress.stage("writing")
        self._writer.flush()  # a reduction may have ended samples otherwise, or asked a judge
        selection = self._plan.selection
        journal = Journal(self._folder.journal)
        summaries = self._reduction.task_summaries(results, journal)
        groups = self._reduction.group_summaries(results)
        self._manifest["sessions"][-1]["seconds"] = round(time.perf_counter() - self._started, 3)
        usage = usage_of_journal(journal, self._manifest)
        balanced = sessions.requests_by_address(self._manifest, self._dispatchers())
        by_address = sessions.answers_by_address(journal, self._manifest, [task.name for task in self._tasks])
        document = results_document(
            status="complete",
            model=model_name(self._plan),
            parity=self._plan.parity.label,
            tasks=summaries,
            groups=groups,
            layout=selection.layout,
            skipped=self._plan.skipped,
            notes=[
                *self._plan.notes,
                *verdict_notes(self._human, journal),
                *sessions.notes(by_address, self._manifest, balanced),
                *filter(None, [reuse_note(self._reuse_record(usage))]),
                *filter(None, [self._mixed_media(journal)]),
                *self._nondeterminism(),
                *self._reduction.doubts(summaries),
                *self._reduction.failures,
            ],
        )
        document[USAGE_BY_ROLE] = usage_document(usage)
        address_of = sessions.part_addresses(journal, self._manifest) if by_address else None
        for task in self._tasks:
            write_samples(self._folder, journal, task.name, address_of)
        n_excluded = count_excluded(self._human, journal)
        journal.close()
        write_results(self._folder, document)
        for failure in self._reduction.finish(results):
            self._progress.note(failure)
        self._manifest["answers_by_endpoint"] = by_address
        unscored = sum(
            summary.n_samples - (0 if summary.why_unscored is not None else summary.statuses.get("ok", 0))
            for summary in summaries
        )
        n_failed = max(unscored - n_excluded, 0) + len(self._reduction.failures)
        self._close_manifest("complete", n_failed, usage)
        return RunOutcome(self._folder, "complete", document, n_failed)

    def _reuse_record(self, usage: UsageByRole | None) -> dict[str, Any]:
        """Return the record of the answers of other runs; empty if none were looked for, now or before."""
        manifest, reuse = self._manifest, self._plan.reuse
        if reuse is not None:
            manifest["sessions"][-1][REUSE] = reuse.document()
            manifest[REUSE] = reuse.summary(manifest)
        found: dict[str, Any] = manifest.get(REUSE) or {}
        if found and usage is not None:  # a part that was killed has not counted
            found["reused"] = sum(own.reused for own in usage.values())
        return found

    def _mixed_media(self, journal: Journal) -> str:
        """Return the note on samples whose media the model was sent by different rules."""
        shown = [task.name for task in self._tasks if not task.is_text_only]
        return sessions.mixed_media(journal, self._manifest, shown) if shown else ""

    def _dispatchers(self) -> dict[str, dict[str, Any]]:
        """The record of every dispatcher so far, by role."""
        return {role: dict(dispatcher.history()) for role, dispatcher in self._scheduler.dispatchers.items()}

    def _nondeterminism(self) -> list[str]:
        return [
            f"Task {task.name!r} sent other requests when it was replayed ({task.n_nondeterministic} samples): "
            "its prompts are not deterministic."
            for task in self._tasks
            if task.n_nondeterministic
        ]

    def _stopped(self) -> RunOutcome:
        status: Status = "interrupted" if self._scheduler.outcome.is_interrupted else "stopped"
        self._writer.flush()
        self._progress.end()
        outcome = self._scheduler.outcome
        self._close_manifest(status, outcome.n_failed)
        return RunOutcome(self._folder, status, {}, outcome.n_failed, outcome.reason)

    def _close_manifest(self, status: Status, n_failed: int, usage: UsageByRole | None = None) -> None:
        outcome, manifest = self._scheduler.outcome, self._manifest
        seconds = time.perf_counter() - self._started
        manifest["status"] = status
        manifest["ended"] = sessions.now()
        manifest["n_failed"] = n_failed
        manifest["seconds"] = round((manifest["seconds"] or 0.0) + seconds, 3)
        manifest["sessions"][-1]["seconds"] = round(seconds, 3)
        if usage is None:
            with suppress(StorageError):  # rows that cannot be written have ended the run already
                self._writer.flush()
            with suppress(StorageError, ValueError):  # of a damaged journal stays what the manifest says
                usage = usage_of_run(self._folder, manifest)
        if usage is not None:
            manifest["usage"] = {**manifest["usage"], **tokens(usage)}
            manifest[USAGE_BY_ROLE] = usage_document(usage)
        if self._account is not None:
            manifest["budget"] = self._account.document()
        manifest |= manifests.decided_stops(self._plan, manifest)  # servers of the run decide when they have started
        manifest["cache"] = {"hits": manifest.get("cache", {}).get("hits", 0) + outcome.n_known}
        dispatchers = self._dispatchers()
        balanced = sessions.requests_by_address(manifest, dispatchers)
        if balanced:
            manifest["requests_by_address"] = balanced
        manifest["sessions"][-1] |= {
            "ended": manifest["ended"],
            "seconds": round(seconds, 3),
            "status": status,
            **({"reason": outcome.reason} if outcome.reason else {}),
            "scored_again": self._resumption.n_scored_again,
            "model_ms": round(outcome.latency_ms, 1),
            SESSION_DISPATCHERS: dispatchers,
        }
        self._reuse_record(usage)
        acted = self._scheduler.acting.history() if self._scheduler.acting is not None else {}
        if acted:
            manifest["sessions"][-1]["acting"] = dict(acted)
        spread = self._crew.history() if self._crew is not None else None
        if spread is not None:
            manifest["sessions"][-1]["spread_scoring"] = spread
        artifacts = sorted(path for path in self._folder.artifacts.rglob("*") if path.is_file())
        manifest["artifacts"] = [str(path.relative_to(self._folder.path)) for path in artifacts]
        if self._folder.is_begun():  # else it was deleted, and a manifest alone would look like a run
            self._folder.write_manifest(manifest)


def _is_left(work_lists: Sequence[WorkList]) -> bool:
    """Return whether a sample is left to run."""
    return any(True for work in work_lists for _ in work.chunks())
