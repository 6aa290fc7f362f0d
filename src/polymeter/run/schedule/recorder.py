"""Writing what happens into the journal, in the order that makes a killed run continue: answers first, then scores,
then ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

from polymeter.core.acting.episodes import Act
from polymeter.core.content import Audio, Image, Text, is_image
from polymeter.core.errors import DataError, ModelError, PolymeterError, StorageError, boundary
from polymeter.core.request import Error, Output, Request, Response, Step
from polymeter.core.task import SampleStatus, Score
from polymeter.core.text.codec import NotExactError, encode, jsonable_as_json
from polymeter.data.audio import duration_s
from polymeter.run.finish.files import FilesOfRun
from polymeter.run.reuse.keys import RequestKeys
from polymeter.run.reuse.taking import take_media
from polymeter.run.schedule.running_samples import EndedSample, PendingRequest
from polymeter.store.journal import STALE
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.media import MediaStore
from polymeter.store.reading.reused import CONTENT_KEY, REUSED, SERVED
from polymeter.store.schema import FAILED_TRIES, SHOWN
from polymeter.store.shown_media import shown_of_request
from polymeter.store.wire import BEGUN, write_act, write_request, write_response, write_score

_WRITING = boundary(ModelError, "Storing the model's answer")
_MAYBE_EXACT = frozenset({str, int, float, bool, type(None), list, dict, tuple})
_SEALED = frozenset({SampleStatus.OK, SampleStatus.REFUSED})
"""The ends that are settled. A sample that a limit of the user's has truncated is replayed when the run is resumed,
over its stored answers: the limit may be another one then.
"""


class Recorder:
    """Turns what happens into rows of the journal. Thread-safe.

    Args:
        writer: The journal.
        media: Where media goes.
        models: Fingerprint of the model in each role.
        files: The files that answers and scores rest on.
        restores_requests: Whether requests whose answers are known are written again, because the journal was damaged
            and may have lost some.
        keys: Gives the keys by which other runs find answers; ``None``: they will not.
        served: Gives the model that the endpoint of a role states.
    """

    def __init__(
        self,
        writer: JournalWriter,
        media: MediaStore,
        models: dict[str, str],
        files: FilesOfRun,
        *,
        restores_requests: bool = False,
        keys: RequestKeys | None = None,
        served: Callable[[str], str] = lambda role: "",
    ) -> None:
        self._keys = keys
        self._served = served
        self._writer = writer
        self._media = media
        self._models = models
        self._files = files
        self._restores_requests = restores_requests
        self._tries = count()

    def recalled(self, answered: Sequence[PendingRequest]) -> None:
        """Journal the requests of answers that the journal holds, if some may have been lost."""
        if self._restores_requests:
            self._writer.put(
                "requests",
                [
                    (one.fingerprint, write_request(one.request, self._media.describe))
                    for one in answered
                    if isinstance(one.request, Request)
                ],
            )

    def answers(self, answered: Sequence[PendingRequest]) -> None:
        """Journal new answers, with what the model was shown. Errors are not answers; they end their sample and are
        written there.

        An answer that cannot be written down becomes an error. Generated images are written first. The sample receives
            references to their files, as it will when the run is resumed: no pixels are held, and later requests about
            an image use the same bytes.

        Raises:
            StorageError: The journal or a media file cannot be written.
        """
        self._media.check()
        requests, responses = [], []
        records: dict[str, str] = {}
        for one in answered:
            if one.response is None or one.response.error is not None:
                continue
            try:
                with _WRITING:
                    rests_on_files = one.may_show or one.running.files or not isinstance(one.request, Request)
                    behind = self._files.behind_answer(one) if rests_on_files else None
                    digests: Sequence[str | None]
                    sent: Mapping[str, float | None] | None
                    if one.reused is None:
                        one.response = self._stored(one.response)
                        shown = shown_of_request(one.request) if one.may_show else []
                        digests = [None if record is None else record[0] for record in shown]
                        sent = sent_media(one.request) if one.may_show and not one.response.is_joined else None
                    else:
                        one.response = take_media(self._media, one, one.reused, one.response)
                        shown, digests = [*one.reused.records.items()], one.reused.digests
                        sent = one.reused.sent
                    body = write_response(one.response, self._media.name_of, behind, sent, digests, self._marks(one))
                    if isinstance(one.request, Request):
                        requests.append((one.fingerprint, write_request(one.request, self._media.describe)))
                    elif isinstance(one.request, Act):
                        requests.append((one.fingerprint, write_act(one.request)))
            except StorageError:
                raise
            except PolymeterError as error:
                one.response = Response.failed(error)
                continue
            records.update(filter(None, shown))
            responses.append(self._row(one, one.turn, body))
        self._writer.put("requests", requests)
        self._writer.put(SHOWN, [*records.items()])
        self._writer.put("responses", responses)

    def _marks(self, one: PendingRequest) -> dict[str, Any]:
        """The marks by which other runs can reuse an answer, and its origin if it was reused itself."""
        if self._keys is None or not isinstance(one.request, Request):
            return {}
        key = one.content_key or self._keys.of(one)
        served = self._served(one.role) if one.reused is None else one.reused.served
        return {
            **({CONTENT_KEY: key} if key not in ("", one.fingerprint) else {}),
            **({SERVED: served} if served else {}),
            **({} if one.reused is None else {REUSED: one.reused.origin.document()}),
        }

    def begun(self, one: PendingRequest) -> None:
        """Journal that an act with effects outside begins, before it does. Its observation replaces this.

        Raises:
            JournalError: The journal cannot be written.
        """
        self._writer.put("responses", [self._row(one, STALE, BEGUN)])
        self._writer.flush()

    def flush(self) -> None:
        """Wait until all that was recorded can be read.

        Raises:
            JournalError: The journal cannot be written.
        """
        self._writer.flush()

    def _row(self, one: PendingRequest, turn: int, body: str) -> tuple[Any, ...]:
        key = one.key(self._models)
        where = (one.running.task.number, one.running.sample.index, key.role, key.model)
        return (*where, key.fingerprint, key.occurrence, turn, body)

    def failed_tries(self, failed: Sequence[PendingRequest]) -> None:
        """Journal that a try of each of these requests failed. A request that is tried again is not over.

        Raises:
            JournalError: The journal cannot be written.
        """
        self._writer.put(
            FAILED_TRIES,
            [
                (one.running.task.number, one.running.sample.index, one.role, self._models[one.role], next(self._tries))
                for one in failed
            ],
        )

    def _stored(self, response: Response) -> Response:
        for output in response.outputs:
            if output.images or output.messages:
                return replace(response, outputs=tuple(map(self._with_files, response.outputs)))
        return response

    def _with_files(self, output: Output) -> Output:
        """An output whose images are files, and so is what a model's own prompt shows."""
        images = tuple(map(self._media.keep_generated, output.images))
        if output.messages is None:
            return replace(output, images=images)
        messages = (
            replace(
                message, parts=tuple(p if isinstance(p, Text) else self._media.keep_input(p) for p in message.parts)
            )
            for message in output.messages
        )
        return replace(output, images=images, messages=tuple(messages))

    def _with_previews(self, score: Score) -> Score:
        """The score with previews in place of the images in its log (a reference that an image was compared to)."""
        if not score.log:
            return score
        kept = {name: {"image": self._preview(value)} for name, value in score.log.items() if is_image(value)}
        return replace(score, log={**score.log, **kept}) if kept else score

    def _preview(self, picture: Any) -> Mapping[str, Any]:
        image = picture if isinstance(picture, Image) else Image(picture)
        with suppress(DataError):  # what is said of it then is where it came from
            self._media.keep_preview(image)
        return self._media.describe(image)

    def ends(self, ended: Sequence[EndedSample]) -> None:
        """Journal the ends of samples, with their scores. Only what is settled is completed: a failure is tried
        again on
        resume.

        Raises:
            StorageError: The journal or a media file cannot be written; a failure to write is not a sample's.
        """
        self._media.check()
        scores = []
        samples = []
        turns = []
        for end in ended:
            task, sample = end.running.task, end.running.sample
            # What is left of a sample that cannot be read stays as it was, so that it is known the next time as well.
            for key in () if end.running.is_unreadable else end.running.known:
                where = (key.role, key.model, key.fingerprint, key.occurrence)
                turns.append((end.running.used.get(key, STALE), task.number, sample.index, *where))
            written = end.written
            if written is not None:
                if written.score is not None:
                    scores.append((task.number, sample.index, task.task.score_digest, 1, written.score))
                doc, returned = written.row, written.returned
            else:
                if end.score is not None:
                    text = write_score(self._with_previews(end.score))
                    scores.append((task.number, sample.index, task.task.score_digest, int(text.is_exact), text.body))
                doc, returned = jsonable_as_json(sample.doc), write_returned(end.returned)
            samples.append(
                (
                    task.number,
                    sample.index,
                    sample.id,
                    json.dumps(sample.subset) if sample.subset else "",
                    sample.cluster,
                    end.status.value,
                    _write_error(end.error),
                    doc,
                    returned,
                    self._files.seal(end.running, doc) if end.status in _SEALED else None,
                )
            )
        self._writer.put("turns", turns)
        self._writer.put("scores", scores)
        self._writer.put("samples", samples)


def sent_media(request: Step) -> dict[str, float | None]:
    """Count the media of a request as usage does."""
    media = [*request.media()]
    sounds = [medium for medium in media if isinstance(medium, Audio)]
    seconds = [duration_s(sound) for sound in sounds]
    known = [one for one in seconds if one is not None]
    n_images = sum(isinstance(medium, Image) for medium in media)
    return {
        **({"images_sent": n_images} if n_images else {}),
        **({"audio_s": round(sum(known), 3) if len(known) == len(sounds) else None} if sounds else {}),
    }


def _write_error(error: Error | None) -> str | None:
    return None if error is None else json.dumps({"kind": error.kind, "message": error.message}, ensure_ascii=False)


def write_returned(returned: Any) -> str | None:
    """Return the result of a rollout, as text for the journal; ``None`` if it cannot be restored exactly from any."""
    if returned is None:
        return None
    if type(returned) is list and returned:
        first: Any = type(returned[0])
        if first not in _MAYBE_EXACT and first.__module__ != "numpy":  # some tasks return such for every sample
            return None
    try:
        return encode(returned)
    except NotExactError:
        return None
