"""The ``lmms`` backend as the engine sees it."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import ModelError, PlanError, Raised, attempt, boundary
from polymeter.core.media.showing import Showing
from polymeter.core.model import ModelTraits
from polymeter.core.request import Request, RequestKind, Response
from polymeter.guests.contain import without_chatter
from polymeter.guests.wrappers import ShownByWrapper, check_arguments
from polymeter.interop.lm_family.models.loading import found_class
from polymeter.interop.lm_family.models.model import FamilyBackend, is_written
from polymeter.interop.lmms_eval.models.answers import AnswerReading, read_answers
from polymeter.interop.lmms_eval.models.base import lmms
from polymeter.interop.lmms_eval.models.calls import Kind, WrapperCall, make_calls
from polymeter.interop.lmms_eval.models.loading import FoundLmms, find_wrapper
from polymeter.interop.lmms_eval.models.making import (
    BATCH_SIZE,
    batch_hint,
    equipped,
    make_wrapper,
    own_concurrency,
)

_LOG = logging.getLogger("polymeter")
_ROUNDING = 1e-3
_WAVES = 4  # a wrapper that calls an endpoint concurrently then seldom idles, and a crash loses little


class LmmsModel(FamilyBackend):
    """A subclass of ``lmms``, unmodified. It keeps its own batching and defaults; the engine gives it one task and one
    set of settings at a time, in batches of the plan's size, else of one.

    Args:
        name: The name that it is registered under, or its class's; may be left out if the path defines only one.
        path: ``--model-path``: a file, a package folder, or a module's dotted name.
        strip_prompt: Whether its answers begin with the prompt: cut off everything up to the end of the prompt.
        returns_loss: Whether ``loglikelihood`` returns a loss (lower is likelier), not a log-probability.
        force_simple: Of two wrappers of the name, take the one for a text and media, not the one for messages.
        **arguments: Arguments of the wrapper's own constructor.

    Raises:
        PlanError: if it cannot be found or loaded, or does not take these arguments.
    """

    def __init__(
        self,
        name: str = "",
        path: str = "",
        strip_prompt: bool = False,
        returns_loss: bool = False,
        force_simple: bool = False,
        **arguments: Any,
    ) -> None:
        found = find_wrapper(name, path, force_simple=bool(force_simple))
        check_arguments(found.cls, arguments, (BATCH_SIZE,))
        self._set_up(found, arguments, AnswerReading(bool(strip_prompt), bool(returns_loss)))

    @classmethod
    def around(cls, wrapper: lmms, *, strip_prompt: bool = False, returns_loss: bool = False) -> LmmsModel:
        """A model around an existing wrapper, which still belongs to the caller: the end of a run does not clean it up.

        Its constructor's arguments are unknown, so two wrappers that differ only in them are one model to a run folder.
        """
        model = cls.__new__(cls)
        found = found_class(type(wrapper))
        model._set_up(found, {}, AnswerReading(strip_prompt, returns_loss))
        model._callers_wrapper = wrapper
        model._shown = ShownByWrapper(None, {})  # it is made already
        return model

    def _set_up(self, found: FoundLmms, arguments: Mapping[str, Any], reading: AnswerReading) -> None:
        self._found, self._arguments, self._reading = found, arguments, reading
        self._shown = ShownByWrapper(found.cls, arguments)
        self._callers_wrapper: lmms | None = None
        self._wrapper: lmms | None = None
        self._has_warned = False
        self._kind: Kind = "simple" if found.cls.is_simple else "chat"
        self.traits = _traits(found, self._kind)
        self._own_size = _size(arguments.get(BATCH_SIZE))
        self.batch_hint = self._own_size if BATCH_SIZE in arguments else own_concurrency(found.cls, arguments) or 1
        if self.batch_hint > self._own_size:
            self.batch_hint *= _WAVES
        self.identify("lmms", found, arguments, strip_prompt=reading.strips_prompt, returns_loss=reading.returns_loss)

    def plan_showing(self, showings: Sequence[Showing]) -> None:
        """Take arguments of the constructor from what the tasks state to be shown of videos."""
        self._shown.plan(showing.video for showing in showings)

    @property
    def own_showing(self) -> Mapping[str, Any]:
        """The number of frames and their rate, if they are arguments of the constructor."""
        return self._shown.followed

    def unfollowed(self, showing: Showing) -> Mapping[str, str]:
        """Rules for images are followed. Of those for videos, the settings that are arguments of the constructor."""
        return self._shown.unfollowed_of(showing)

    @property
    def joins_repeats(self) -> bool:
        """Wrappers get all repeats of one prompt in one call."""
        return True

    def load(self) -> None:
        """Construct the wrapper, which reads its weights.

        Raises:
            PlanError: if its constructor raises.
        """
        if self._callers_wrapper is not None:
            self._wrapper = equipped(self._callers_wrapper)
            return
        arguments = {**self._shown.arguments, **self._arguments}
        self._wrapper = make_wrapper(self._found.cls, arguments, self.planned_batch_size or self._own_size)

    def group_key(self, request: Request) -> Hashable:
        """Task, split, protocol and settings: one call to a wrapper never mixes different ones."""
        origin = request.origin
        if origin is None:
            return None
        return (origin.task, origin.split, origin.protocol, repr(dict(origin.generation_kwargs)))

    def respond(self, requests: list[Request]) -> list[Response]:
        """Call the wrapper: once, unless requests about the same row show different media or text.

        Raises:
            ModelError: if the wrapper is not loaded, raises, or returns too few or too many answers.
        """
        wrapper = self._wrapper
        if wrapper is None:
            raise ModelError("The wrapper is not loaded.", hint="Call load() first.")
        responses: list[Response] = []
        for call in make_calls(requests, self._kind, self.rows, self.parity):
            wrapper.task_dict.clear()
            wrapper.task_dict.update(call.task_dict())
            responses.extend(self._answers(wrapper, call))
        wrapper.task_dict.clear()
        return responses

    def _answers(self, wrapper: lmms, call: WrapperCall) -> list[Response]:
        try:
            with boundary(ModelError, f"{call.method} of {type(wrapper).__name__}"), without_chatter():
                returned = getattr(wrapper, call.method)(call.instances)
                call.check_targets()
                answers = read_answers(call, returned, self._reading)
        except ModelError as error:
            error.hint = error.hint or batch_hint(error, self.planned_batch_size or self._own_size)
            raise
        self._warn_of_losses(answers)
        return answers

    def _warn_of_losses(self, answers: list[Response]) -> None:
        """Warn once if the wrapper's values cannot be log-probabilities, which are never above 0."""
        values = [choice.logprob for answer in answers for output in answer.outputs for choice in output.logprobs or ()]
        if self._has_warned or self._reading.returns_loss or not any(value > _ROUNDING for value in values):
            return
        self._has_warned = True
        _LOG.warning(
            "%s.loglikelihood gives %.4g, but a log-probability is never above 0. If it gives a loss, the likeliest "
            "choice now comes last: set --model-args returns_loss=true.",
            self._found.cls.__name__,
            max(values),
        )

    def close(self) -> None:
        """Let the wrapper clean up after itself and drop it; an error there is only logged."""
        wrapper, self._wrapper = self._wrapper, None
        if wrapper is None or wrapper is self._callers_wrapper:
            return
        cleaned = attempt(wrapper.clean)
        if isinstance(cleaned, Raised):
            _LOG.warning("%s.clean failed: %r", type(wrapper).__name__, cleaned.error)


_METHODS: Mapping[RequestKind, tuple[str, ...]] = {
    "generate": ("generate_until", "generate_until_multi_round", "generate_visual_cot"),
    "loglikelihood": ("loglikelihood",),
}


def _traits(found: FoundLmms, kind: Kind) -> ModelTraits:
    """The traits that a wrapper's class shows: it cannot do what it does not override. Whether it can do what it
    overrides, and which media it takes, is unknown before the first request.
    """
    supported: dict[RequestKind, bool] = {"generate_image": False}
    for kind_of_request, methods in _METHODS.items():
        if not any(is_written(found.cls, lmms, method) for method in methods):
            supported[kind_of_request] = False
    return ModelTraits(
        family=found.name,
        kind=kind,
        requests=supported,
        modalities={"text": True},
        drives_rounds=is_written(found.cls, lmms, "generate_until_multi_round"),
        drives_stages=is_written(found.cls, lmms, "generate_visual_cot"),
        is_foreign=True,
    )


def _size(value: Any) -> int:
    """The batch size among a wrapper's arguments; 1 if it is ``auto`` or missing.

    Raises:
        PlanError: if it is not a positive whole number.
    """
    if value is None or str(value).partition(":")[0] == "auto":
        return 1
    if isinstance(value, bool) or not str(value).isdecimal() or int(value) < 1:
        raise PlanError(f"{value!r} is not a batch size.", where="--model-args batch_size", hint="Write a number.")
    return int(value)
