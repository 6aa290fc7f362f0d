"""One batch through a model, wherever that is loaded: its answers checked and finished, its exceptions attributed, its
memory let go of when it ran out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, ModelError, PolymeterError, boundary, is_out_of_memory
from polymeter.core.model import BatchModel
from polymeter.core.names.registry import place_of
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import Output, OwnPrompt, Request, Response
from polymeter.guests.door import in_mode
from polymeter.run.dispatch.answers import checked

Asked = Request | OwnPrompt


@dataclass(slots=True)
class Calls:
    """The outcome of calling the model for some groups of requests.

    Attributes:
        responses: One for each request, in order; ``None``: it is to be asked again in a smaller batch.
        timings: For each call, how many groups were computed at a time, and the seconds that it took.
        did_not_fit: How many groups were computed at a time when memory ran out; ``None``: it did not.
    """

    responses: list[Response | None] = field(default_factory=list)
    timings: list[tuple[int, float]] = field(default_factory=list)
    did_not_fit: int | None = None


class BatchComputer:
    """Calls a loaded model.

    Args:
        model: The model.
        inside: What the model is called inside; default: the door's mode for models.
    """

    def __init__(
        self,
        model: BatchModel,
        *,
        inside: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        self._model = model
        self._inside = inside or partial(in_mode, "model")

    def compute(self, groups: Sequence[Sequence[Asked]], at_once: int | None = None) -> Calls:
        """Answer one batch. Where it fails as a whole, each group is asked alone, so that one of them alone fails.

        Args:
            groups: Requests that reach the model in one call of it: one, or repeats of one prompt.
            at_once: How many groups are computed at a time, for a model that gets several batches in one call;
                ``None``: all.
        """
        calls = Calls()
        self._model.at_once = at_once
        self._compute(groups, at_once, calls)
        return calls

    def _compute(self, groups: Sequence[Sequence[Asked]], at_once: int | None, calls: Calls) -> None:
        requests = [one for group in groups for one in group]
        n_at_once = min(len(groups), at_once or len(groups))
        started = time.perf_counter()
        try:
            with boundary(ModelError, "The model"):
                with self._inside():
                    given = self._given(requests)
                if len(given) != len(requests):
                    raise self._misanswered(f"{len(given)} responses to {len(requests)} requests")
        except PolymeterError as error:
            if len(groups) > 1 and is_out_of_memory(error):
                self._relieve(n_at_once, calls)
                calls.responses += [None] * len(requests)
            elif len(groups) == 1:
                calls.responses += [Response.failed(error)] * len(requests)
            else:
                for group in groups:
                    self._compute([group], at_once, calls)
            return
        seconds = time.perf_counter() - started
        calls.timings.append((n_at_once, seconds))
        share_ms = seconds * 1000 / len(requests)
        for one, each in zip(requests, given, strict=True):
            response = each if isinstance(one, OwnPrompt) else checked(one, each)
            if response.latency_ms is None:
                response = replace(response, latency_ms=share_ms)
            calls.responses.append(response)

    def _relieve(self, n_at_once: int, calls: Calls) -> None:
        calls.did_not_fit = n_at_once
        with in_mode("model"), boundary(ModelError, "Freeing the model's memory"):
            self._model.relieve()

    def _given(self, requests: list[Asked]) -> list[Response]:
        asked = [one for one in requests if isinstance(one, Request)]
        if asked:  # prompts and questions never share a batch
            before = [medium.sent for one in asked for medium in one.media()]
            given: Any = self._model.respond(asked)  # its author may return anything
            if self._model.traits.is_foreign:
                record_wrapped(asked, before, self._model.own_showing)
            if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
                raise self._misanswered(f"a {type(given).__name__} in place of a list of responses")
            return list(given)
        return [self._prompt(one) for one in requests if isinstance(one, OwnPrompt)]

    def _misanswered(self, how: str) -> ModelError:
        return ModelError(
            f"The model gave {how}.",
            where=place_of(type(self._model).respond),
            hint="respond returns a list with one Response for each request, in their order.",
        )

    def _prompt(self, asked: OwnPrompt) -> Response:
        """The model's own prompt as an answer, or why there is none: one row's failure is its own."""
        try:
            with boundary(ModelError, "The model's own prompt"):
                return Response((Output(messages=self._model.own_prompt(asked.origin)),))
        except PolymeterError as error:
            return Response.failed(error, "data" if isinstance(error, DataError) else "permanent")


def record_wrapped(
    requests: Iterable[Request], before: Sequence[ShownMedium | None], of_videos: Mapping[str, Any]
) -> None:
    """Record of media which Polymeter did not show itself that a wrapper has shown them, with what is known.

    Args:
        requests: The requests with the media.
        before: The records that these media had before the wrapper was asked: of what another model was shown.
        of_videos: The settings by which the wrapper shows videos.
    """
    media = [medium for request in requests for medium in request.media()]
    for medium, last in zip(media, before, strict=True):
        if medium.sent is last and (last is not None or medium.modality != "image"):  # of an image nothing is known
            rule = of_videos if medium.modality == "video" else {}
            medium.record_sent(ShownMedium(medium.modality, medium.describe(), rule, by="the wrapper"))
