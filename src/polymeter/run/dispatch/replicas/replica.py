"""Code that runs at a replica: a model of its own, made from its spec, that answers work.

Nothing here knows how work arrives. A replica opens the run's tasks again when its model asks for a row, from their
specs and with the run's settings, so that a wrapper's hooks run here, through the door, as they would beside the run.

Rollouts and the journal stay in the run's process, which decides everything: a replica is only ever asked to compute.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import ModelError, PlanError, PolymeterError, Raised, attempt, boundary
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import guest_context_with, weights_from
from polymeter.core.media.pixels import pixel_budget
from polymeter.core.media.showing import Showing
from polymeter.core.model import BatchModel, ModelSpec, ModelTraits
from polymeter.core.names.parity import parity_with
from polymeter.core.options import RunOptions
from polymeter.core.request import Origin, Response
from polymeter.core.rows import RowView
from polymeter.core.settings.scoring_limits import ScoringLimits
from polymeter.core.task import TaskSpec
from polymeter.guests.door import Door, in_mode
from polymeter.guests.generators import dispatched
from polymeter.guests.loading.user_files import import_file
from polymeter.reading.reasoning import parse_tags
from polymeter.run.dispatch.computing import BatchComputer, Calls
from polymeter.run.dispatch.prefetch import Prefetcher
from polymeter.run.dispatch.replicas.hosts import Computed, Work
from polymeter.run.dispatch.replicas.wire import packed, unpacked
from polymeter.run.plan.models import make_model
from polymeter.run.plan.plan import compiled
from polymeter.run.schedule.task_rows import RunRows
from polymeter.store.media import MediaStore

_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True, slots=True)
class ReplicaSetup:
    """Everything that a replica is made from, as plain data.

    Attributes:
        model: The model.
        tasks: The run's tasks that other processes can open.
        closed: Its other tasks, each with the reason.
        context: The settings that the tasks were compiled with.
        options: The run's options.
        fetched: Where copies of images that lie at URLs are kept.
        showings: What the tasks that may show videos state to be shown of media.
    """

    model: ModelSpec
    tasks: tuple[TaskSpec, ...]
    closed: Mapping[str, str]
    context: OpenContext
    options: RunOptions
    fetched: Path
    showings: tuple[Showing, ...] = ()

    def made(self) -> ModelReplica:
        """The replica, in this process, which has no other.

        Raises:
            PlanError: if the model cannot be made here.
        """
        return ModelReplica(self)

    def places(self) -> Sequence[Any]:
        """The model's name and arguments, and the files that stand for weights or are imported."""
        options = self.options
        return self.model.name, self.model.path, self.model.args, options.weights, options.imports


class Preparation:
    """Media of some work on its way to being decoded."""

    def __init__(self, prefetcher: Prefetcher, work: Work) -> None:
        self._is_over = threading.Event()
        self._failures: list[Response | None] = []
        prefetcher.prepare([one for group in work.groups for one in group], self._ready)

    def failures(self) -> list[Response | None]:
        """For each request, why it cannot be shown, or ``None``. Waits until everything is decoded."""
        self._is_over.wait()
        return self._failures

    def _ready(self, failures: list[Response | None]) -> None:
        self._failures = failures
        self._is_over.set()


class ModelReplica:
    """A copy of the model in this process, which has no other.

    Args:
        setup: What it is made from.

    Raises:
        PlanError: if the model cannot be made here.
    """

    def __init__(self, setup: ReplicaSetup) -> None:
        self._surroundings = ExitStack()
        self._context = copy_context()  # a host may call on any thread
        self._context.run(surround, self._surroundings, setup.context, setup.options)
        self._model = self._context.run(_made, setup)
        self._computer = BatchComputer(self._model)
        store = MediaStore(setup.fetched, keeps_previews=False)
        self._prefetcher = self._context.run(Prefetcher, store, setup.options.decode_workers, setup.fetched)

    def load(self) -> None:
        """Load the model.

        Raises:
            PolymeterError: if it cannot be loaded.
        """

        def load() -> None:
            with boundary(PlanError, "Loading the model"), in_mode("model"):
                self._model.load()

        self._context.run(load)

    def prepare(self, work: Work) -> Preparation:
        """Begin to decode what some work shows, on threads of its own, while other work is computed."""
        return Preparation(self._prefetcher, work)

    def compute(self, work: Work, preparation: Preparation | None = None) -> Computed:
        """Answer work, batch by batch. Never called concurrently.

        Args:
            work: The work.
            preparation: What ``prepare`` has returned for it.
        """
        failures = (preparation or self.prepare(work)).failures()
        return self._context.run(self._compute, work, failures)

    def close(self) -> None:
        """Free the model."""
        self._prefetcher.close()

        def close() -> None:
            with in_mode("model"), boundary(ModelError, "Closing the model"):
                self._model.close()

        try:
            self._context.run(close)
        finally:
            self._context.run(self._surroundings.close)

    def _compute(self, work: Work, failures: list[Response | None]) -> Computed:
        responses = list(failures)
        to_ask: list[list[int]] = []
        start = 0
        for group in work.groups:
            places = [place for place in range(start, start + len(group)) if responses[place] is None]
            start += len(group)
            if places:
                to_ask.append(places)
        requests = [one for group in work.groups for one in group]
        timings: list[tuple[int, float]] = []
        did_not_fit = None
        size = work.batch_size or max(1, len(to_ask))
        for first in range(0, len(to_ask), size):
            if did_not_fit is not None:  # the rest is asked again with it, in smaller batches
                break
            batch = to_ask[first : first + size]
            calls: Calls = self._computer.compute([[requests[one] for one in group] for group in batch], work.at_once)
            for place, response in zip((one for group in batch for one in group), calls.responses, strict=True):
                responses[place] = response
            timings += calls.timings
            did_not_fit = calls.did_not_fit
        for one in requests:
            for image in one.images():
                image.release()
        shown = [tuple(part.sent for part in one.media()) for one in requests]
        return Computed(work.lease, responses, timings, did_not_fit, shown if any(shown) else ())


def surround(stack: ExitStack, context: OpenContext, options: RunOptions) -> None:
    """Enter what models and hooks of a run are called in, in a process that does part of its work.

    Args:
        stack: What is entered is left with it.
        context: The settings that the run's tasks were compiled with.
        options: The run's options.
    """
    if options.is_offline:
        os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    enter = stack.enter_context
    enter(dispatched())
    enter(weights_from(options.weights))
    enter(pixel_budget(options.max_image_pixels))
    enter(
        guest_context_with(
            limits=ScoringLimits(options.score_timeout_s, options.score_memory_mb),
            parity=context.parity,
            reasoning_tags=parse_tags(options.reasoning_tags, "--reasoning-tags"),
            data=options.data,
            cache_dir=context.cache_dir,
            allows_generated_code=options.allow_generated_code,
        )
    )


def _made(setup: ReplicaSetup) -> BatchModel:
    """The model of a replica, as planning makes that of a run."""
    options = setup.options
    for file in options.imports:
        import_file(file)
    model = make_model(setup.model, options.weights)
    if not isinstance(model, BatchModel):
        raise PlanError(f"Model {str(setup.model)!r} is an endpoint, which has no replicas.")
    model.parity = parity_with(options.parity)
    model.reasoning_tags = parse_tags(options.reasoning_tags, "--reasoning-tags")
    if isinstance(options.batch_size, int):
        model.planned_batch_size = options.batch_size
    model.plan_showing(setup.showings)
    model.rows = ReopenedRows(setup, model.traits)
    return model


class ReopenedRows:
    """The rows of the run's tasks in another process: a task is opened when a row of it is first asked for.

    Args:
        setup: The replica's.
        traits: The model's.
    """

    def __init__(self, setup: ReplicaSetup, traits: ModelTraits) -> None:
        self._setup = setup
        self._traits = traits
        self._specs: Mapping[str, TaskSpec] = {spec.name: spec for spec in setup.tasks}
        self._open: dict[str, RunRows] = {}
        self._door = Door(setup.options.seed)
        self._lock = threading.Lock()

    def __call__(self, origin: Origin) -> RowView | None:
        """The row that a request is about; ``None`` where it names no task of this run.

        Raises:
            PlanError: if the task cannot be opened here.
        """
        if origin.task in self._setup.closed:
            raise PlanError(f"A replica cannot open task {origin.task!r}: {self._setup.closed[origin.task]}.")
        spec = self._specs.get(origin.task)
        if spec is None:
            return None
        with self._lock:
            rows = self._open.get(origin.task)
            if rows is None:
                task = compiled(spec, self._traits, self._setup.context, self._setup.options)
                rows = self._open[origin.task] = RunRows([task], self._door)
        return rows(origin)


def unsent(work: Work) -> list[Response | None]:
    """The answers to work that cannot be sent as a whole: an error for each request that cannot; the others are asked
    again without it.
    """
    found: list[Response | None] = []
    for group in work.groups:
        for one in group:
            tried = attempt(lambda one=one: packed(one))  # type: ignore[misc]
            if not isinstance(tried, Raised):
                found.append(None)
            elif isinstance(tried.error, PolymeterError):
                found.append(Response.failed(tried.error, "data"))
            else:
                found.append(Response.failed(ModelError(f"The request cannot be sent to a replica: {tried.error!r}")))
    return found


def packed_answers(computed: Computed) -> tuple[bytes, Sequence[Any]]:
    """Return the outputs of a replica, as bytes; an answer that cannot be sent becomes an error. Texts and numbers of
    custom classes become plain ones: the run may not have the class.
    """
    whole = attempt(lambda: packed(computed, is_made_plain=True))
    if not isinstance(whole, Raised):
        return whole  # type: ignore[no-any-return]
    responses: list[Response | None] = []
    for response in computed.responses:
        alone = attempt(lambda response=response: packed(response, is_made_plain=True))  # type: ignore[misc]
        if isinstance(alone, Raised):
            error = ModelError(f"The model's answer cannot be sent to the run: {alone.error}")
            responses.append(Response.failed(error))
        else:
            responses.append(response)
    return packed(replace(computed, responses=responses), is_made_plain=True)


def read_answers(lease: int, n_responses: int, body: bytes, beside: Sequence[Any]) -> Computed:
    """Return the outputs of a replica, from its bytes. If they cannot be read here, as when an answer is of a class
    that only the replica has, there is an error for each request.
    """
    read = attempt(lambda: unpacked(body, beside))
    if not isinstance(read, Raised):
        return read  # type: ignore[no-any-return]
    error = ModelError(
        f"The model's answer cannot be read by the run: {read.error!r}",
        hint="Let the model answer with plain texts and numbers.",
    )
    return Computed(lease, [Response.failed(error)] * n_responses)


def portable_error(error: BaseException) -> PolymeterError:
    """An error as one that every process can read."""
    if isinstance(error, PolymeterError):
        return error.without_traceback()
    return PlanError(f"A replica failed with {type(error).__name__}: {error}")
