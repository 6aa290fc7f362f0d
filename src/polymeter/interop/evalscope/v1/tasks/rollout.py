"""Rolling out a sample: the author's inference as a generator of requests, by running it again with each answer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.content import Image
from polymeter.core.errors import PolymeterError, ScoreError, boundary
from polymeter.core.identity import seed_for
from polymeter.core.media.sources import digest
from polymeter.core.request import Origin, Request, Response
from polymeter.core.task import RolloutSteps
from polymeter.core.task import Sample as Row
from polymeter.guests import seeded
from polymeter.interop.evalscope.choices.adapters_1x import in_order_of
from polymeter.interop.evalscope.v1.tasks.model import Model, ModelSettings, NeedsAnswer
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.state import TaskState

_MOST_UNUSED = 16
"""Answers that a run of the code has not asked for when it asks something new. Threads of an author's own may ask in
another order; code with more of them asks something else each time.
"""


@dataclass(frozen=True, slots=True)
class Inference:
    """The inference of a benchmark: everything that asking about its samples needs.

    Attributes:
        benchmark: Its name.
        split: What is asked about.
        adapter: Its author's object.
        settings: What all questions have in common.
        samples: All samples, in the order of the rows.
        output_dir: Gives a folder for files that the adapter makes, by a key.
        seed: The run's seed.
        repeats: How many times each question is asked; its repeats are neighbours.
    """

    benchmark: str
    split: str
    adapter: Any
    settings: ModelSettings
    samples: Sequence[Sample]
    output_dir: Callable[[str], str]
    seed: int
    repeats: int = 1

    def rollout(self, row: Row) -> RolloutSteps:
        """Ask about one sample, question after question; returns the author's ``TaskState``.

        Raises:
            ScoreError: if the author's code fails, or asks something else when it runs again.
        """
        answered: list[tuple[Request, Response]] = []
        while True:
            reached = self._run(row, answered)
            if isinstance(reached, TaskState):
                return reached
            answered.append((reached, (yield reached)))

    def replayed(self, row: Row, responses: Sequence[Response]) -> TaskState:
        """The state that the author's code makes of stored answers.

        Raises:
            ScoreError: if it asks for more than there is.
        """
        steps = self.rollout(row)
        waiting = iter(responses)
        try:
            next(steps)
            while True:
                response = next(waiting, None)
                if response is None:
                    raise ScoreError(f"Sample {row.id} of benchmark {self.benchmark!r} lacks an answer.")
                steps.send(response)
        except StopIteration as end:
            state: TaskState = end.value
            return state

    def _run(self, row: Row, answered: Sequence[tuple[Request, Response]]) -> TaskState | Request:
        """Run the author's code: up to its end, or up to the first question without an answer."""
        sample = copy.deepcopy(in_order_of(self.samples[row.index], row.order))
        origin = Origin(
            self.benchmark,
            row.id,
            self.split,
            row.index,
            metadata={"task": self.benchmark, "doc_id": row.index, "subset": row.subset[0] if row.subset else ""},
        )
        group = sample.group_id if sample.group_id is not None else row.index
        place = (sample.id or 0) % self.repeats
        subset = row.subset[0] if row.subset else ""

        def repeated(request: Request, n_before: int) -> Request:
            """The request that is sent: repeats, and questions that are asked again, differ in seed and number."""
            number = n_before * self.repeats + place
            seed = seed_for(self.seed, self.benchmark, f"{subset}/{group}", number)
            return replace(request, parameters=request.parameters.repeated(seed, number), origin=origin)  # type: ignore[union-attr]

        model = Model(self.settings, answered, repeated)
        folder = self.output_dir(self._key(row, answered))
        what = f"The inference of benchmark {self.benchmark!r}"
        # Every run of the code draws the same numbers: that of a resumed run, too.
        with seeded(seed_for(self.seed, self.benchmark, row.id, "inference")), boundary(ScoreError, what):
            try:
                state = self.adapter.run_inference(model=model, sample=sample, output_dir=folder)
            except NeedsAnswer as needs:
                if model.unused > _MOST_UNUSED:
                    raise self._asks_otherwise(row) from None
                return needs.request
        if not isinstance(state, TaskState):
            raise ScoreError(
                f"run_inference of benchmark {self.benchmark!r} gave a {type(state).__name__}.",
                hint="It must return a TaskState.",
            )
        if model.unused:
            raise self._asks_otherwise(row)
        return state

    def _asks_otherwise(self, row: Row) -> ScoreError:
        return ScoreError(
            f"The inference of benchmark {self.benchmark!r} asks something else about sample {row.id} each time that "
            "it runs.",
            hint="It must ask the same again when it is given the same answers.",
        )

    def _key(self, row: Row, answered: Sequence[tuple[Request, Response]]) -> str:
        """A key of a sample's files: the same for the same answers, and for no others, so that what is written for one
        run is never read for another.
        """
        outputs = [output for _, response in answered for output in response.outputs]
        shown: list[Any] = [
            (output.text, [Image(image).content_hash() for image in output.images]) for output in outputs
        ]
        shown += [(call.name, call.raw) for output in outputs for call in output.calls]
        return digest(repr([self.benchmark, row.id, shown]).encode(errors="replace"))[:24]


def state_of(inference: Inference, row: Row, responses: Sequence[Response], returned: Any) -> TaskState:
    """A copy of the state of a sample: what its rollout returned, else what replaying it gives.

    Raises:
        ScoreError: if it cannot be replayed.
    """
    if isinstance(returned, TaskState):
        return copy.deepcopy(returned)
    try:
        return inference.replayed(row, responses)
    except ScoreError:
        raise
    except PolymeterError as error:
        raise ScoreError(error.what, where=error.where, hint=error.hint) from error
