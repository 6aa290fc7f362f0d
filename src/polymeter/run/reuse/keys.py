"""The key of an answer across runs: a digest of what was sent, with media by their content.

It has no name of a task and no number of a row in it, unless the model reads rows (``reads_rows``): a wrapper is handed
the row and may look at all of it. Then the key holds everything that the row rests on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Image, Media, Video, is_subtitle_text
from polymeter.core.errors import PolymeterError
from polymeter.core.identity import fingerprint, request_fingerprint, written_beside
from polymeter.core.media.sources import digest, is_elsewhere, is_known_by_content
from polymeter.core.request import Generate, Message, Request
from polymeter.guests.opened_sources import hash_opened

if TYPE_CHECKING:
    from polymeter.run.plan.plan import Plan
    from polymeter.run.schedule.running_samples import PendingRequest, RunningTask

_NO_MATTER = frozenset(
    {"limit", "offset", "repeats", "panel", "panel_quorum", "verdicts", "data", "weights", "revisions"}
)
"""Identity options that choose rows, score answers, or stand in fingerprints of models and data already."""


class RequestKeys:
    """The keys of a run's requests. Thread-safe.

    Args:
        plan: The plan, its models made.
    """

    def __init__(self, plan: Plan) -> None:
        models = {"model": plan.model, **plan.roles}
        self._readers = {role: model.opened_sources for role, model in models.items() if model.reads_rows}
        identity = plan.options.identity()
        self._options = fingerprint({name: value for name, value in identity.items() if name not in _NO_MATTER})
        self._marks: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def of(self, asked: PendingRequest) -> str:
        """The key of a request. For texts alone it is the fingerprint of the request. It is empty if the content of a
        medium is not known here, so that nothing proves another request equal, and for a model's own prompt.
        """
        request = asked.request
        if not isinstance(request, Request):
            return ""
        if asked.role not in self._readers and not asked.may_show and is_plain(request):
            return asked.fingerprint
        try:
            if not all(map(_is_known, request.media())):
                return ""
            more = [[_lists_several(message) for message in request.messages], _tags(request)]
            row = self._row(asked) if asked.role in self._readers else None
            return digest(f"{request_fingerprint(request, by_content=True)}{fingerprint([more, row])}".encode())
        except PolymeterError:  # it is reported when the medium is shown
            return ""

    def _row(self, asked: PendingRequest) -> list[Any]:
        sample, origin = asked.running.sample, asked.to_model.origin
        place = [] if origin is None else [origin.task, origin.split, origin.index, origin.protocol]
        return [self._mark(asked.running.task, asked.role), sample.id, sample.index, place]

    def _mark(self, running: RunningTask, role: str) -> str:
        """The identity of all rows of a task for a model that may read them whole."""
        key = running.name, role
        with self._lock:
            known = self._marks.get(key)
            if known is None:
                task, opened = running.task, hash_opened(self._readers[role])
                parts = [running.name, task.spec.source_hash, task.fingerprint, self._options, opened]
                known = self._marks[key] = fingerprint(parts)
            return known


def is_plain(request: Request) -> bool:
    """Return whether the fingerprint of a request of texts says all that is sent: its messages have no further items,
    none of them lists several texts, and no tags decide where a stop string counts.
    """
    return not any(map(_lists_several, request.messages)) and not _tags(request) and not written_beside(request)


def _lists_several(message: Message) -> bool:
    return message.is_listed and len(message.parts) > 1


def _tags(request: Request) -> Any:
    """The tags of reasoning in which stop strings do not count; a model on this machine stops by them."""
    parameters, origin = request.parameters, request.origin
    has_stops = isinstance(parameters, Generate) and parameters.stop
    return origin.reasoning_tags if has_stops and origin is not None else None


def _is_known(medium: Media) -> bool:
    if isinstance(medium, Image):
        return not is_elsewhere(medium.source)
    subtitles = medium.subtitles_shown if isinstance(medium, Video) else None
    if subtitles is not None and not is_subtitle_text(subtitles) and not is_known_by_content(subtitles):
        return False
    return is_known_by_content(medium.source)


def is_plain_stored(request: Mapping[str, Any]) -> bool:
    """The same of a request that a version without keys has stored, as far as that shows: texts alone, and one in each
    message, because the stored form of several does not show whether they were listed.
    """
    messages = request.get("messages") or ()
    return all(len(parts) <= 1 and all("text" in part for part in parts) for parts in (m["parts"] for m in messages))
