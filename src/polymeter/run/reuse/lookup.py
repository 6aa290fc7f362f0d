"""The decision about each request: an answer of another run, or the reason why the model is asked."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, count
from polymeter.core.model import Model
from polymeter.core.request import Generate, Loglikelihood, Parameters, Request, Response
from polymeter.core.text.codec import parse_json
from polymeter.run.reuse.index import IN_WORDS, AnswerIndex, AnswerPlace, Reason
from polymeter.run.reuse.sources import ReusedRun, ReusingModel, origin_of
from polymeter.store.journal import AnswerKey, Journal
from polymeter.store.media import MediaStore
from polymeter.store.reading.reused import REUSE, SERVED, AnswerOrigin, answer_digest, origin_in, part_name
from polymeter.store.shown_media import digests_in, distinct_digests
from polymeter.store.wire import read_response

if TYPE_CHECKING:
    from polymeter.run.finish.files import FilesOfRun
    from polymeter.run.schedule.running_samples import PendingRequest

_MOST_OPEN = 32
_MOST_NAMED = 5
_BROKEN = frozenset(
    {"abort", "cancelled", "content_filter", "error", "incomplete", "insufficient_system_resource", "recitation"}
    | {"refusal", "safety", "timeout"}
)
"""Ends of answers, in lower case, that are failures. No version stores such an answer; a wrapper may."""


@dataclass(frozen=True, slots=True)
class ReusedAnswer:
    """An answer of another run, as it is written into this one.

    Attributes:
        origin: The place where it was first given.
        media: The media folder of the run that it was taken from.
        request: The request there, with the notes on its media; ``None`` if it is not known.
        digests: The digests of the records of what the model was shown.
        records: These records, as JSON, by digest.
        served: The model that the endpoint stated; empty if it stated none.
        sent: The media of its request as usage counts them; ``None`` if it had none, or came with another answer.
    """

    origin: AnswerOrigin
    media: Path
    request: Mapping[str, Any] | None = field(default=None, repr=False)
    digests: Sequence[str | None] = ()
    records: Mapping[str, str] = field(default_factory=dict, repr=False)
    served: str = ""
    sent: Mapping[str, float | None] | None = None


class Reuse:
    """Answers requests from other runs. Used by the thread of the scheduler.

    Args:
        runs: The runs.
        models: The models of this run, by fingerprint.
        index: The index of their answers.
    """

    def __init__(self, runs: Sequence[ReusedRun], models: Mapping[str, ReusingModel], index: AnswerIndex) -> None:
        self._runs = runs
        self._models = models
        self._index = index
        self._journals: OrderedDict[int, Journal] = OrderedDict()
        self.n_reused: Counter[str] = Counter()
        self.asked: Counter[Reason] = Counter()

    def close(self) -> None:
        """Close the journals, and delete the index."""
        for journal in self._journals.values():
            journal.close()
        self._index.close()

    def look_up(
        self, asked: Sequence[PendingRequest], marks: Mapping[str, str], files: FilesOfRun
    ) -> list[PendingRequest]:
        """Set the responses of those requests that are answered elsewhere, and return these.

        Args:
            asked: Requests without an answer.
            marks: The fingerprint of the model of each role.
            files: The files that answers rest on.
        """
        found = []
        for one in asked:
            model = self._models.get(marks[one.role])
            if model is None or not isinstance(one.request, Request):
                continue
            why = self._look_up(one, one.request, model, marks[one.role], files)
            if why is Reason.NONE:
                found.append(one)
                self.n_reused[one.role] += 1
            else:
                self.asked[why] += 1
        return found

    def document(self) -> dict[str, Any]:
        """The counts of a part of the run, for its record."""
        return {
            "reused": sum(self.n_reused.values()),
            "asked": {IN_WORDS[why]: n for why, n in sorted(self.asked.items())},
        }

    def summary(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The runs, and the counts of all parts of this run so far, for its record."""
        parts = [part[REUSE] for part in manifest.get("sessions") or () if part.get(REUSE)]
        asked: Counter[str] = Counter()
        for part in parts:
            asked.update(part["asked"])
        runs = [{"name": run.name, "path": str(run.folder.path.resolve())} for run in self._runs]
        return {"runs": runs, "reused": sum(part["reused"] for part in parts), "asked": dict(asked)}

    def _look_up(
        self, one: PendingRequest, request: Request, model: ReusingModel, mark: str, files: FilesOfRun
    ) -> Reason:
        """Set the response, or return the reason why the model is asked."""
        if is_unseeded(request.parameters, model.model):
            return Reason.SAMPLED
        if not one.content_key:
            return Reason.UNKNOWN_MEDIA
        task, sample = one.running.task.name, one.running.sample.index
        why = Reason.NOT_FOUND
        for place in self._places(one, mark, task, sample):
            why = place.state or self._take(one, request, place, model, files)
            if why is Reason.NONE:
                return why
        return why

    def _places(self, one: PendingRequest, mark: str, task: str, sample: int) -> Iterator[AnswerPlace]:
        yield from self._index.find(one.content_key, mark, one.occurrence, task, sample)
        if one.content_key != one.fingerprint:  # rows of old versions, for the reason alone
            old = self._index.find(one.fingerprint, mark, one.occurrence, task, sample)
            yield from (place for place in old if place.state is Reason.OLD)

    def _take(
        self, one: PendingRequest, request: Request, place: AnswerPlace, model: ReusingModel, files: FilesOfRun
    ) -> Reason:
        if place.served and place.served != model.model.served:
            return Reason.MOVED
        run = self._runs[place.run]
        has_stops = isinstance(request.parameters, Generate) and bool(request.parameters.stop)
        if has_stops and not model.sends_stops_as(run.sends_stops(place.role)):
            return Reason.STOPS
        journal = self._journal(place.run)
        task = run.tasks[place.task]
        key = AnswerKey(place.role, place.model, place.fingerprint, place.occurrence)
        body = journal.answer(task, place.sample, key)
        if body is None:
            return Reason.NOT_FOUND
        if model.model.reads_rows and files.is_outdated(body):
            return Reason.CHANGED
        store = MediaStore(run.folder.media)
        try:
            response = read_response(body, store.load, store.path_of)
        except DataError:
            return Reason.NO_IMAGE
        if _is_broken(response):
            return Reason.BROKEN
        one.response = response
        parsed = parse_json(body)
        part = part_name(place.part, run.folder.path)
        own = answer_digest(part, task, place.sample, place.role, place.fingerprint, place.occurrence)
        origin = origin_in(parsed) or origin_of(run, place.part, task, place.sample, own)
        stored = journal.request(place.fingerprint) if one.may_show else None
        one.reused = ReusedAnswer(
            origin,
            run.folder.media,
            None if stored is None else json.loads(stored),
            digests_in(body),
            journal.shown(distinct_digests([body])),
            str(parsed.get(SERVED) or ""),
            parsed.get("sent"),
        )
        return Reason.NONE

    def _journal(self, number: int) -> Journal:
        journal = self._journals.pop(number, None)
        if journal is None:
            if len(self._journals) >= _MOST_OPEN:
                self._journals.popitem(last=False)[1].close()
            journal = Journal(self._runs[number].folder.journal)
        self._journals[number] = journal
        return journal


def reuse_note(record: Mapping[str, Any]) -> str:
    """Return the note for the results on the answers of other runs; empty without a record of ``Reuse.summary``."""
    if not record:
        return ""
    names = [str(run["name"]) for run in record["runs"]]
    shown = ", ".join(names[:_MOST_NAMED]) + (f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else "")
    n_asked = sum(record["asked"].values())
    reasons = "; ".join(f"{n:,} because {why}" for why, n in record["asked"].items())
    told = f" {count(n_asked, 'request')} had to be asked: {reasons}." if n_asked else ""
    return f"{count(record['reused'], 'answer')} taken from other runs ({shown}) and not asked for.{told}"


def is_unseeded(parameters: Parameters, model: Model) -> bool:
    """Return whether an answer is sampled, as far as that can be known, without a seed that would tell draws apart."""
    if isinstance(parameters, Loglikelihood) or parameters.seed is not None:
        return False
    if not isinstance(parameters, Generate):
        return True
    wants = parameters.extra.get("do_sample")
    if parameters.temperature == 0 or wants is False:
        return False
    # Without a word on it, a model on this machine is greedy, and a provider or a wrapper has a setting of its own.
    is_open = model.traits.is_endpoint or model.traits.is_foreign
    return bool(parameters.temperature or wants or is_open)


def _is_broken(response: Response) -> bool:
    return any((output.finish_reason or "").lower() in _BROKEN for output in response.outputs)
