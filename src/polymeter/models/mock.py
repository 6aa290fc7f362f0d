"""A model that needs no weights: canned, computed, slow or failing answers.

It is a real backend, so that everything above it (planning, scheduling, journal, resume, reports) can be tested and
tried without network or torch.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from polymeter.core.acting.tools import read_call
from polymeter.core.content import Audio, Image, Media, Modality, is_image
from polymeter.core.errors import ErrorKind, ModelError, PlanError, PolymeterError, ScoreError
from polymeter.core.identity import request_fingerprint, source_hash
from polymeter.core.media.showing import AudioRule, ImageRule, VideoRule
from polymeter.core.model import ALL_READY, AsyncModel, BatchModel, Model, ModelTraits
from polymeter.core.request import (
    ChoiceLogprob,
    Error,
    GenerateImage,
    Loglikelihood,
    Output,
    Request,
    RequestKind,
    Response,
    Usage,
)
from polymeter.core.settings.generation_names import EVERY_NAME
from polymeter.metrics.choice_targets import choice_indices
from polymeter.models.video_parts import ALL_WAYS
from polymeter.reading.lists import PrintedList

Compute = Callable[[Request], str | Sequence[str] | Response]

_REQUESTS: Mapping[RequestKind, bool] = {"generate": True, "loglikelihood": True, "generate_image": True}
_MODALITIES: Mapping[Modality, bool] = {"text": True, "image": True, "audio": True, "video": True}
_TRAITS = ModelTraits("mock", requests=_REQUESTS, modalities=_MODALITIES, calls_tools=True, tool_media="inline")
_MODES = ("canned", "echo", "gold", "empty", "wrong")
_OPTIONS = frozenset("ABCD")
_NEVER_RIGHT = "qwzx"
"""An answer that no benchmark expects: no word, number or option."""
_FRAMES = 8
_ANY_SAMPLE = "*"
_SHOWN = 200
_FAILURES = ("transient", "rate_limit", "permanent", "refused")


def MockModel(
    mode: str = "canned",
    answer: str = "mock",
    answers: str = "",
    delay_ms: float = 0.0,
    failure: str = "",
    failure_rate: float = 0.0,
    failures_per_request: int = 1,
    is_async: bool = False,
    batch_size: int = 0,
    simple: bool = False,
    seed: int = 0,
) -> Model:
    """Make a mock.

    Args:
        mode: ``canned`` answers with ``answer``, ``echo`` with the last message's text, ``gold`` with the task's
            reference (the full score), ``wrong`` with something else, ``empty`` with nothing.
        answer: The canned answer.
        answers: A JSON file with an object from sample id (``*``: any other) to answer; other samples get ``answer``.
            A list holds an answer for each turn, the last for all further ones. A turn may call tools: ``{"text": "",
            "calls": [{"name": "crop", "arguments": {"left": 0}}]}``; arguments that are a text are read as a model's.
        delay_ms: How long one request takes; a batch takes as long as one request.
        failure: The kind of failure of requests: ``transient``, ``rate_limit``, ``permanent`` or ``refused``.
        failure_rate: Share of requests that fail, chosen by their content.
        failures_per_request: How often a transient failure repeats before the request is answered.
        is_async: Make an endpoint instead of a batch model.
        batch_size: Preferred batch size; 0: everything that is ready.
        simple: Make a simple model instead of a chat model.
        seed: Seed of the choice of requests that fail.

    Raises:
        PlanError: if a mode or failure is unknown, or a file cannot be read.
    """
    if mode not in _MODES:
        raise PlanError(
            f"Unknown mode {mode!r} of the mock.", where="--model-args mode", hint=f"Known: {', '.join(_MODES)}."
        )
    if failure and failure not in _FAILURES:
        raise PlanError(
            f"Unknown failure {failure!r} of the mock.", where="--model-args", hint=f"Known: {', '.join(_FAILURES)}."
        )
    rate = failure_rate if failure_rate else (1.0 if failure else 0.0)
    script = _Script(
        mode, str(answer), _read_answers(answers), failure or "transient", rate, failures_per_request, seed
    )
    traits = replace(_TRAITS, kind="simple" if simple else "chat", calls_tools=not simple)
    identity = {
        "backend": "mock",
        "mode": mode,
        "answer": str(answer),
        "answers": source_hash([Path(answers)]) if answers else "",
        "simple": simple,
        "seed": seed,
    }
    model: Model
    looks_up = mode in ("gold", "wrong")
    reads_rows = looks_up or bool(answers)
    if is_async:
        look_up = script.look_up if looks_up else None
        model = MockEndpoint(script, traits, identity, delay_ms / 1000, look_up, reads_rows=reads_rows)
    else:
        model = MockBatch(script, traits, identity, delay_ms / 1000, batch_size, reads_rows=reads_rows)
    script.model = model
    return model


class MockBatch(BatchModel):
    """A mock on this machine.

    Args:
        compute: Returns a text, several (one per repeat of the prompt), or a whole response for a request; may raise.
        traits: What planning may know; default: a chat model that can do everything.
        identity: The mock's identity; default: the function's name.
        delay_s: How long a batch takes, in seconds.
        reads_rows: Whether the function may look at more than the request's messages and parameters.
        batch_size: Preferred batch size; 0: everything that is ready.
        group_key: Which requests may share a batch.
    """

    def __init__(
        self,
        compute: Compute,
        traits: ModelTraits | None = None,
        identity: Mapping[str, Any] | None = None,
        delay_s: float = 0.0,
        batch_size: int = 0,
        group_key: Callable[[Request], Hashable] | None = None,
        *,
        reads_rows: bool = True,
    ) -> None:
        self._reads_rows = reads_rows
        self.traits = traits or _TRAITS
        self.batch_hint = batch_size or ALL_READY
        self.batches: list[int] = []
        self._compute = compute
        self._identity = identity or {"backend": "mock", "compute": getattr(compute, "__qualname__", "function")}
        self._delay_s = delay_s
        self._group_key = group_key

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity that it was made with."""
        return self._identity

    @property
    def reads_rows(self) -> bool:
        """As it was made."""
        return self._reads_rows

    def decodes(self, medium: Media) -> bool:
        """Media that have a rule; others are not read."""
        return medium.rule is not None

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """Every way, unless it stands for a wrapper."""
        return frozenset() if self.traits.is_foreign else ALL_WAYS

    def known_settings(self) -> frozenset[str]:
        """Every name that exists: a mock stands for any model."""
        return EVERY_NAME

    def respond(self, requests: list[Request]) -> list[Response]:
        """Compute every answer."""
        self.batches.append(len(requests))
        if self._delay_s:
            time.sleep(self._delay_s)
        return [_shown_response(self._compute, request) for request in requests]

    def group_key(self, request: Request) -> Hashable:
        """The result of the function that it was made with; default: the same for all."""
        return self._group_key(request) if self._group_key else None


class MockEndpoint(AsyncModel):
    """A mock endpoint; arguments as for ``MockBatch``. ``look_up`` is called with a request before it is sent."""

    def __init__(
        self,
        compute: Compute,
        traits: ModelTraits | None = None,
        identity: Mapping[str, Any] | None = None,
        delay_s: float = 0.0,
        look_up: Callable[[Request], None] | None = None,
        *,
        reads_rows: bool = True,
    ) -> None:
        self._reads_rows = reads_rows
        self.traits = traits or _TRAITS
        self.n_requests = 0
        self.n_in_flight = 0
        self.most_in_flight = 0
        self._compute = compute
        self._identity = identity or {"backend": "mock", "compute": getattr(compute, "__qualname__", "function")}
        self._delay_s = delay_s
        self._look_up = look_up

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity that it was made with."""
        return self._identity

    @property
    def reads_rows(self) -> bool:
        """As it was made."""
        return self._reads_rows

    def decodes(self, medium: Media) -> bool:
        """Media that have a rule; others are not read."""
        return medium.rule is not None

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """Every way, unless it stands for a wrapper."""
        return frozenset() if self.traits.is_foreign else ALL_WAYS

    def known_settings(self) -> frozenset[str]:
        """Every name that exists: a mock stands for any model."""
        return EVERY_NAME

    def prepare(self, request: Request) -> None:
        """Look up what the task expects. This runs its author's code, which must not run on the event loop."""
        _show(request)
        if self._look_up is not None:
            self._look_up(request)

    async def respond(self, request: Request) -> Response:
        """Compute the answer after the delay."""
        import asyncio

        self.n_requests += 1
        self.n_in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.n_in_flight)
        try:
            await asyncio.sleep(self._delay_s)
            return _response(self._compute, request)
        finally:
            self.n_in_flight -= 1


class _Script:
    """The answers of a mock that is made from arguments."""

    def __init__(
        self,
        mode: str,
        answer: str,
        answers: Mapping[str, Sequence[Output]],
        failure: str,
        rate: float,
        n_failures: int,
        seed: int,
    ) -> None:
        self._mode = mode
        self._answer = answer
        self._answers = answers
        self._failure: ErrorKind = failure  # type: ignore[assignment]
        self._rate = rate
        self._n_failures = n_failures
        self._seed = seed
        self._failed: dict[str, int] = {}
        self._expected: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self.model: Model | None = None

    def __call__(self, request: Request) -> str | Response:
        if self._rate:
            self._maybe_fail(request)
        if self._mode == "echo":
            return request.messages[-1].text if request.messages else ""
        if self._mode == "gold":
            return _expected_answer(request, *self._of_row(request))
        if self._mode == "wrong":
            return _wrong_answer(request, *self._of_row(request))
        if self._mode == "empty":
            return ""
        sample = request.origin.sample if request.origin else ""
        turns = self._answers.get(sample) or self._answers.get(_ANY_SAMPLE)
        return self._answer if turns is None else _turn_of(turns, request)

    def look_up(self, request: Request) -> None:
        """Remember what the task expects, for an answer that is given later."""
        with suppress(ModelError):  # raised again when the request is answered
            self._expected[_row_of(request)] = self._of_row(request)

    def _of_row(self, request: Request) -> tuple[Any, Any]:
        """The target and the choices of a request's row."""
        if _row_of(request) in self._expected:
            return self._expected.pop(_row_of(request))
        rows = self.model.rows if self.model is not None else None
        row = rows(request.origin) if rows is not None and request.origin is not None else None
        if row is None or row.functions.target is None:
            raise ModelError(
                "The mock does not know the reference answer of this task.", hint="Its format has no doc_to_target."
            )
        return row.target(), row.choices()

    def _maybe_fail(self, request: Request) -> None:
        mark = request_fingerprint(request) + (
            f"{request.origin.task}/{request.origin.sample}" if request.origin else ""
        )
        if random.Random(f"{self._seed}:{mark}").random() >= self._rate:
            return
        count = self._failed[mark] = self._failed.get(mark, 0) + 1
        if self._failure in ("transient", "rate_limit") and count > self._n_failures:
            return
        raise ModelError(f"The mock fails on purpose ({self._failure}).", kind=self._failure)


def _turn_of(turns: Sequence[Output], request: Request) -> str | Response:
    """The turn that follows the turns with calls in a request."""
    turn = turns[min(sum(bool(message.calls) for message in request.messages), len(turns) - 1)]
    if not turn.calls:
        return turn.text or ""
    said = _output(turn.text or "", request)
    return Response((replace(said, calls=turn.calls, finish_reason="tool_calls"),))


def _row_of(request: Request) -> tuple[str, str, int]:
    # A sample's choices may be asked in several orders, which the index tells apart.
    return (request.origin.task, request.origin.sample, request.origin.index) if request.origin else ("", "", 0)


def _expected_answer(request: Request, target: Any, choices: Any) -> str | Response:
    if isinstance(request.parameters, Loglikelihood):
        return Response((Output(logprobs=_reference_logprobs(request.parameters, target, choices)),))
    if isinstance(request.parameters, GenerateImage) and isinstance(target, list):
        images = [item for item in target if is_image(item)]
        if images:
            return Response((Output(images=(images[0],)),))
    first = target[0] if isinstance(target, (list, tuple)) and target else target
    if isinstance(target, PrintedList) and choices is None and not target.is_several:
        first = target.text
    if isinstance(first, int) and choices is not None:
        first = choices[first] if 0 <= first < len(choices) else first
    return str(first)


def _wrong_answer(request: Request, target: Any, choices: Any) -> str | Response:
    """Return an answer of the same kind as the reference, as far as that shows: another choice, another letter."""
    if isinstance(request.parameters, Loglikelihood):
        right = _reference_logprobs(request.parameters, target, choices)
        wrong = tuple(ChoiceLogprob(-10.1 - item.logprob, not item.is_greedy, 1) for item in right)
        return Response((Output(logprobs=wrong),))
    references = [*target] if isinstance(target, (list, tuple)) else [target]
    texts = {str(item).strip() for item in references}
    if choices is not None:
        with suppress(ScoreError):
            references += choice_indices(target, [str(choice) for choice in choices])
    for position, choice in enumerate(choices or ()):
        if choice not in texts and position not in references:
            return str(choice)
    if texts <= _OPTIONS:
        return min(_OPTIONS - texts, default=_NEVER_RIGHT)
    return _NEVER_RIGHT


def _reference_logprobs(parameters: Loglikelihood, target: Any, choices: Any) -> tuple[ChoiceLogprob, ...]:
    if choices is not None and len(choices) == len(parameters.continuations):
        with suppress(ScoreError):
            target = choice_indices(target, [str(choice) for choice in choices])

    def is_reference(position: int, continuation: str) -> bool:
        references = target if isinstance(target, (list, tuple)) else [target]
        return any(
            position == reference if isinstance(reference, int) else continuation.strip() == str(reference).strip()
            for reference in references
        )

    return tuple(
        ChoiceLogprob(-0.1 if is_reference(position, text) else -10.0, is_reference(position, text), 1)
        for position, text in enumerate(parameters.continuations)
    )


def _show(request: Request) -> None:
    """Show the media of a request that have a rule. Others are not read: a mock costs nothing.

    Raises:
        DataError: if a medium cannot be read.
    """
    for medium in request.media():
        if medium.rule is None:
            continue
        from polymeter.data.showing import shown_audio, shown_image, shown_video

        if isinstance(medium, Image):
            shown_image(medium, ImageRule())
        elif isinstance(medium, Audio):
            shown_audio(medium, AudioRule())
        else:
            shown_video(medium, VideoRule(frames=_FRAMES))


def _shown_response(compute: Compute, request: Request) -> Response:
    try:
        _show(request)
    except PolymeterError as error:
        return Response.failed(error, "data")
    return _response(compute, request)


def _response(compute: Compute, request: Request) -> Response:
    try:
        computed = compute(request)
    except ModelError as error:
        return Response(error=Error.from_exception(error))
    if isinstance(computed, Response):
        return computed
    parameters = request.parameters
    if isinstance(parameters, Loglikelihood):
        return Response((Output(logprobs=tuple(_logprob(request, text) for text in parameters.continuations)),))
    if isinstance(parameters, GenerateImage):
        return Response((Output(images=(_drawn_image(request, parameters.repeat),)),))
    texts = [computed] if isinstance(computed, str) else list(computed)
    return Response((_output(texts[parameters.repeat % len(texts)] if texts else "", request),))


def _output(text: str, request: Request) -> Output:
    return Output(text=text, finish_reason="stop", usage=Usage(len(request.text) // 4, len(text) // 4))


def _logprob(request: Request, continuation: str) -> ChoiceLogprob:
    mark = hashlib.blake2b((request.text + "\x1f" + continuation).encode(), digest_size=4).digest()
    return ChoiceLogprob(-1.0 - int.from_bytes(mark, "big") / 2**32, False, max(1, len(continuation.split())))


def _drawn_image(request: Request, number: int) -> Any:
    from PIL import Image

    mark = hashlib.blake2b(f"{request.text}:{number}".encode(), digest_size=3).digest()
    parameters = request.parameters
    size = parameters.size if isinstance(parameters, GenerateImage) and parameters.size else (64, 64)
    return Image.new("RGB", size, tuple(mark))


def _read_answers(path: str) -> dict[str, list[Output]]:
    """The turns of each sample in a file."""
    if not path:
        return {}
    try:
        answers = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlanError(f"The answers file cannot be read: {error}.", where=path) from None
    if not isinstance(answers, dict):
        raise PlanError("The answers file must hold an object from sample id to answer.", where=path)
    return {
        name: [_read_turn(turn, path) for turn in (answer if isinstance(answer, list) and answer else [answer])]
        for name, answer in answers.items()
    }


def _read_turn(turn: Any, path: str) -> Output:
    if not isinstance(turn, dict):
        return Output(str(turn))
    calls = turn.get("calls")
    if (
        turn.keys() - {"text", "calls"}
        or not isinstance(calls, list)
        or not all(isinstance(one, dict) for one in calls)
    ):
        hint = 'Write {"text": "", "calls": [{"name": "crop", "arguments": {"left": 0}}]}.'
        raise PlanError(f"A turn is not a text and calls: {json.dumps(turn)[:_SHOWN]}", where=path, hint=hint)
    read = tuple(read_call(one.get("id"), one.get("name"), one.get("arguments")) for one in calls)
    return Output(str(turn.get("text") or ""), calls=read)
