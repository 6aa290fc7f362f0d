"""Models on this machine that several runs use one after the other: each is made and loaded once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from polymeter.core.content import Media
from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.media.showing import Showing
from polymeter.core.model import BatchModel, Model, ModelSpec
from polymeter.core.request import Generate, Message, Origin, Parameters, Request, Response
from polymeter.guests.door import in_mode
from polymeter.run.plan.models import make_model

_LOG = logging.getLogger("polymeter")


class ModelPool:
    """Lends models to runs, one run at a time, and closes them when no run is to come.

    Args:
        weights: Local files in place of model ids.
    """

    def __init__(self, weights: Mapping[str, str]) -> None:
        self._weights = dict(weights)
        self._made: list[tuple[ModelSpec, Model]] = []

    def identity(self, spec: ModelSpec) -> Mapping[str, Any]:
        """Everything about a model that can change an answer.

        Raises:
            PlanError: It cannot be made.
        """
        return self._find(spec).identity

    def lend(self, spec: ModelSpec) -> ModelSpec | Model:
        """The model of a spec, for the next run; the spec itself for an endpoint, which has nothing worth keeping.

        Raises:
            PlanError: It cannot be made.
        """
        model = self._find(spec)
        if isinstance(model, PooledModel) and not model.is_free:
            self._drop(spec)
            model = self._find(spec)
        return model if isinstance(model, PooledModel) else spec

    def close(self, *, but: Collection[ModelSpec] = ()) -> None:
        """Close all models but some. One that a run could not get to end is closed when it does."""
        for spec in [spec for spec, _ in self._made if spec not in but]:
            self._drop(spec)

    def _find(self, spec: ModelSpec) -> Model:
        for known, model in self._made:
            if known == spec:
                return model
        made = make_model(spec, self._weights)
        if isinstance(made, BatchModel):
            made = PooledModel(spec, made, lambda: make_model(spec, self._weights))
        self._made.append((spec, made))
        return self._made[-1][1]

    def _drop(self, spec: ModelSpec) -> None:
        dropped = [model for known, model in self._made if known == spec]
        self._made = [(known, model) for known, model in self._made if known != spec]
        for model in dropped:
            if isinstance(model, PooledModel):
                model.let_go()


class PooledModel(BatchModel):
    """A model that stays loaded when a run closes it.

    Args:
        spec: What made it.
        model: The model.
        make: Makes such a model once more.
    """

    def __init__(self, spec: ModelSpec, model: BatchModel, make: Callable[[], Model]) -> None:
        self.made_from = spec
        self.traits = model.traits
        self.batch_hint = model.batch_hint
        self.opened_sources = model.opened_sources
        self._model = model
        self._make = make
        self._showings: Sequence[Showing] = ()
        self._loaded_showing: Mapping[str, Any] = {}
        self._lock = threading.Lock()
        self._is_loaded = self._is_in_use = self._is_over = False

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of the model."""
        return self._model.identity

    @property
    def joins_repeats(self) -> bool:
        """True if the model does."""
        return self._model.joins_repeats

    def token_limit(self, parameters: Generate) -> int | None:
        """The model's."""
        return self._model.token_limit(parameters)

    @property
    def reads_rows(self) -> bool:
        """True if the model does."""
        return self._model.reads_rows

    @property
    def may_move(self) -> bool:
        """True if other weights may answer under the model's identity later."""
        return self._model.may_move

    @property
    def served(self) -> str:
        """The model's."""
        return self._model.served

    @property
    def is_free(self) -> bool:
        """True if a run can have it: no other one still computes with it, and it did not fail to load."""
        with self._lock:
            return not (self._is_in_use or self._is_over)

    def text_tokens(self, text: str) -> int | None:
        """By the model."""
        return self._model.text_tokens(text)

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that the model cannot honour."""
        return self._model.ignores(parameters)

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """The model's."""
        return self._model.shows_subtitles

    @property
    def subtitles_hint(self) -> str:
        """The model's."""
        return self._model.subtitles_hint

    def unfollowed(self, showing: Showing) -> Mapping[str, str]:
        """The model's."""
        return self._model.unfollowed(showing)

    @property
    def own_showing(self) -> Mapping[str, Any]:
        """The model's."""
        return self._model.own_showing

    def plan_showing(self, showings: Sequence[Showing]) -> None:
        """Tell the model what this run's tasks state. If it shows videos otherwise then, it is loaded anew."""
        self._showings = showings
        self._model.plan_showing(showings)

    def known_settings(self) -> frozenset[str] | None:
        """The generation settings that the model knows."""
        return self._model.known_settings()

    def decodes(self, medium: Media) -> bool:
        """The model's."""
        return self._model.decodes(medium)

    def load(self) -> None:
        """Load the model if no run has, or if it was loaded to show videos otherwise. After a failure it is of no use
        to further runs.
        """
        with self._lock:
            self._is_in_use = True
        if self._is_loaded and self._loaded_showing == self._model.own_showing:
            return
        try:
            if self._is_loaded:
                self._renew()
            self._as_set().load()
            self._loaded_showing = dict(self._model.own_showing)
            self._is_loaded = True
        finally:
            self._is_over = not self._is_loaded

    def respond(self, requests: list[Request]) -> list[Response]:
        """Return the model's answers."""
        return self._as_set().respond(requests)

    def batches_at_once(self, request: Request) -> int:
        """The model's."""
        return self._model.batches_at_once(request)

    def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
        """The model's."""
        return self._as_set().own_prompt(origin)

    def relieve(self) -> None:
        """Let the model let go of memory."""
        self._model.relieve()

    def group_key(self, request: Request) -> Hashable:
        """The model's."""
        return self._model.group_key(request)

    def close(self) -> None:
        """Take the model back from a run; it is closed only if nobody else is to have it."""
        with self._lock:
            is_last = self._is_in_use and self._is_over
            self._is_in_use = False
        if is_last:
            self._model.close()

    def let_go(self) -> None:
        """Close the model; one that is in use, when its run gives it back, for it must not be freed under its run."""
        with self._lock:
            is_now = not (self._is_in_use or self._is_over)
            self._is_over = True
        if is_now:
            self._close()

    def _renew(self) -> None:
        """Replace the model by one that is not loaded yet."""
        self._is_loaded = False
        self._close()
        made = self._make()
        assert isinstance(made, BatchModel)
        made.plan_showing(self._showings)
        self._model = made

    def _close(self) -> None:
        try:
            with in_mode("model"), boundary(ModelError, "Closing the model"):
                self._model.close()
        except PolymeterError as error:
            _LOG.warning("%s", error)

    def _as_set(self) -> BatchModel:
        """The model, with what the run has set."""
        for name in ("planned_batch_size", "rows", "at_once", "parity", "reasoning_tags"):
            setattr(self._model, name, getattr(self, name))
        return self._model
