"""Answers that an earlier part of a run has: found in the journal by what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from polymeter.core.errors import DataError
from polymeter.core.identity import joint_fingerprint
from polymeter.core.repeats import joined
from polymeter.core.request import Response
from polymeter.engine.files import FilesOfRun
from polymeter.engine.running_samples import MODEL_ROLE, PendingRequest
from polymeter.store.journal import STALE, AnswerKey
from polymeter.store.media import MediaStore
from polymeter.store.wire import read_response


class Recall:
    """Answers requests from what their sample knows.

    Args:
        models: Fingerprint of the model in each role.
        media: Loads stored images.
        note: Told of answers that have to be asked for again.
        files: The files that answers rest on.
    """

    def __init__(
        self, models: Mapping[str, str], media: MediaStore, note: Callable[[str], None], files: FilesOfRun
    ) -> None:
        self._models = models
        self._media = media
        self._note = note
        self._files = files

    def __call__(self, asked: Sequence[PendingRequest]) -> None:
        """Set the responses of those requests that have an answer; what a sample asks together is here together."""
        resumed = [one for one in asked if one.running.known]
        for one in resumed:
            key = AnswerKey(one.role, self._models[one.role], one.fingerprint, one.occurrence)
            one.response = self._stored(one, key)
        owed = [one for one in resumed if one.response is None]
        for group in joined(owed, lambda one: one.request):
            self._recall_jointly(group)

    def is_missed(self, key: AnswerKey, body: str) -> bool:
        """Whether it is strange that an answer is not asked for again: it is of the model that is measured, as it is
        now, and the files that it rests on have not changed.
        """
        is_of_model = key.role == MODEL_ROLE and self._models[MODEL_ROLE] == key.model
        return is_of_model and not self._files.is_outdated(body)

    def _recall_jointly(self, repeats: Sequence[PendingRequest]) -> None:
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
            # What the call took is told once: by the first answer, as it tells what all of them used.
            one.response = replace(joint, outputs=(output,), latency_ms=None if number else joint.latency_ms)

    def _stored(self, one: PendingRequest, key: AnswerKey) -> Response | None:
        body = one.running.known.get(key)
        if body is None:
            return None
        one.running.used[key] = one.turn
        if not self._files.holds(body, one):  # a new answer takes its place
            return None
        try:
            return read_response(body, self._media.load, self._media.path_of)
        except DataError as error:  # an image of it is gone: a new answer takes its place
            self._note(f"An answer to sample {one.running.sample.id!r} is asked for again: {error}")
            return None
