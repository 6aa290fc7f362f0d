"""Answers that an earlier part of a run has: found in the journal by what is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from polymeter.core.errors import DataError
from polymeter.core.identity import joint_fingerprint
from polymeter.core.request import Error, Response
from polymeter.core.settings.repeats import joined
from polymeter.run.dispatch.answers import may_be_cut, stops_of
from polymeter.run.finish.files import FilesOfRun
from polymeter.run.schedule.running_samples import MODEL_ROLE, PendingRequest, RunningSample
from polymeter.store.journal import STALE, AnswerKey, Journal
from polymeter.store.media import MediaStore
from polymeter.store.wire import is_begun, read_response

CUT_AWAY = (
    "An earlier version of Polymeter cut this answer at a stop string before it was stored, and nothing of the answer "
    "is left. To ask again, start a new run."
)
ASKS_OTHERWISE = (
    "This version of Polymeter reads an earlier answer of this sample differently, so its next question would be "
    "another one. Nothing was asked. To ask again, start a new run."
)
NOT_REPEATED = (
    "The run ended while this act was under way, and nobody knows whether it happened. It has effects outside, so it "
    "is not repeated. To try the sample again, start a new run."
)


class EarlierReading:
    """Finds out which stored answers are of parts of the run that read answers by other rules.

    Args:
        open_journal: Opens the journal.
        parts: The ids of the parts that read by the rules of this version.
    """

    def __init__(self, open_journal: Callable[[], Journal], parts: Collection[int]) -> None:
        self._open_journal = open_journal
        self._parts = parts

    def holds(self, running: RunningSample, key: AnswerKey) -> bool:
        """Return whether an answer of a sample is of such a part. Asked rarely: where an answer reads as nothing, or a
        question is new.
        """
        with closing(self._open_journal()) as journal:
            part = journal.part_of(running.task.name, running.sample.index, key)
        return part != -1 and part not in self._parts

    def has_ended(self, running: RunningSample) -> bool:
        """Return whether such a part has ended a sample with a score."""
        with closing(self._open_journal()) as journal:
            part = journal.scored_by(running.task.name, running.sample.index)
        return part != -1 and part not in self._parts


class JournalLookup:
    """Answers requests from what their sample knows.

    Args:
        models: Fingerprint of the model in each role.
        media: Loads stored images.
        note: Told of answers that have to be asked for again.
        files: The files that answers rest on.
        earlier: Finds answers that were stored by other rules of reading; ``None``: there are none.
    """

    def __init__(
        self,
        models: Mapping[str, str],
        media: MediaStore,
        note: Callable[[str], None],
        files: FilesOfRun,
        earlier: EarlierReading | None = None,
    ) -> None:
        self._models = models
        self._media = media
        self._note = note
        self._files = files
        self._earlier = earlier

    def __call__(self, asked: Sequence[PendingRequest]) -> None:
        """Set the responses of those requests that have an answer; what a sample asks together is here together."""
        resumed = [one for one in asked if one.running.known]
        for one in resumed:
            one.response = self._stored(one, one.key(self._models))
        owed = [one for one in resumed if one.response is None]
        for group in joined(owed, lambda one: one.request):
            self._look_up_jointly(group)
        if self._earlier is not None:
            for one in resumed:
                one.unreadable = self._why_unreadable(one, self._earlier)
                if one.unreadable:
                    one.response = Response(error=Error("score", one.unreadable))

    def _why_unreadable(self, one: PendingRequest, earlier: EarlierReading) -> str:
        """Return the reason why the answer to a request cannot be read any more; empty if it can, or has to be asked
        for.
        """
        if one.role != MODEL_ROLE:
            return ""
        if one.response is not None:
            key = one.key(self._models)
            is_cut = may_be_cut(one.response, stops_of(one.request), one.running.task.task.reading)
            return CUT_AWAY if is_cut and earlier.holds(one.running, key) else ""
        left = [key for key in one.running.known if key.role == MODEL_ROLE and key not in one.running.used]
        used = [key for key in one.running.used if key.role == MODEL_ROLE]
        if not used:  # its first question is another one: prompts have changed
            return ""
        # Either it asked something else then, or it had ended here.
        is_other = any(earlier.holds(one.running, key) for key in left) or earlier.has_ended(one.running)
        return ASKS_OTHERWISE if is_other else ""

    def is_missed(self, key: AnswerKey, body: str) -> bool:
        """Return whether it is strange that an answer is not asked for again: it is of the model that is measured, as
        it is now, and the files that it rests on have not changed.
        """
        is_of_model = key.role == MODEL_ROLE and self._models[MODEL_ROLE] == key.model
        return is_of_model and not self._files.is_outdated(body)

    def _look_up_jointly(self, repeats: Sequence[PendingRequest]) -> None:
        """Answer repeats from rows that hold the answers of several. Journals hold such rows where several answers were
        once asked for as one request, of all repeats or of equally many at a time.
        """
        for size in range(len(repeats), 1, -1):
            if len(repeats) % size:
                continue
            parts = [repeats[start : start + size] for start in range(0, len(repeats), size)]
            for part in parts:
                self._take_apart(part)
            if any(one.response is not None for one in repeats):
                return

    def _take_apart(self, repeats: Sequence[PendingRequest]) -> None:
        first = repeats[0]
        mark = joint_fingerprint([one.to_model for one in repeats])
        with first.running.lock:
            occurrence = first.running.occurrences.get((first.role, mark), 0)
        key = AnswerKey(first.role, self._models[first.role], mark, occurrence)
        joint = self._stored(first, key)
        if joint is None or len(joint.outputs) != len(repeats):
            if key in first.running.used:
                # The answers that take its place have keys of their own: the row must not count beside them.
                first.running.used[key] = STALE
            return
        with first.running.lock:
            first.running.occurrences[first.role, mark] = occurrence + 1
        for number, (one, output) in enumerate(zip(repeats, joint.outputs, strict=True)):
            # The duration of the call is recorded once: at the first answer, with the usage of all of them.
            one.response = replace(joint, outputs=(output,), latency_ms=None if number else joint.latency_ms)

    def _stored(self, one: PendingRequest, key: AnswerKey) -> Response | None:
        body = one.running.known.get(key)
        if body is None:
            return None
        one.running.used[key] = one.turn
        if not self._files.holds(body, one):  # a new answer takes its place
            return None
        if is_begun(body):
            return Response(error=Error("guest", NOT_REPEATED))
        try:
            return read_response(body, self._media.load, self._media.path_of)
        except DataError as error:  # an image of it was deleted: a new answer replaces it
            self._note(f"An answer to sample {one.running.sample.id!r} is asked for again: {error}")
            return None
