"""Rollouts of repeats: N rollouts of one sample advance together, so that a model gets their requests at once.

The first repeat makes the requests of a run without repeats. The seeds of the others are derived from theirs. A model's
own prompt is asked for once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polymeter.core.identity import seed_for
from polymeter.core.request import Loglikelihood, OwnPrompt, Request, Response
from polymeter.core.task import Rollout, RolloutSteps, Sample

_PURPOSE = "repeat"


@dataclass(slots=True)
class OneRepeat:
    """One repeat of a sample.

    Attributes:
        sample: The sample, with a row of its own, which hooks may change.
        steps: Its rollout.
        places: The places of its responses among those of the sample.
        responses: Its responses.
        returned: The value that its rollout returned.
        asks: The requests that it waits for; ``None``: it has ended.
        is_single: Whether it asked for one request alone.
    """

    sample: Sample
    steps: RolloutSteps
    places: list[int] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    returned: Any = None
    asks: tuple[Request, ...] | OwnPrompt | None = None
    is_single: bool = False

    @property
    def rollout(self) -> Rollout:
        """Its rollout, once it has ended."""
        return Rollout(tuple(self.responses), self.returned)


def samples_of(sample: Sample, n: int) -> list[Sample]:
    """Return a sample for each repeat. The first has the row itself, the others copies: hooks may change a row."""
    return [sample, *(replace(sample, doc=copy.deepcopy(sample.doc)) for _ in range(n - 1))]


def ask_repeats(rollout: Callable[[Sample], RolloutSteps], n: int, sample: Sample) -> RolloutSteps:
    """Lead the rollouts of all repeats of a sample; returns the list of them.

    Args:
        rollout: The task's own.
        n: The number of repeats.
        sample: The sample.
    """
    repeats = [OneRepeat(one, rollout(one)) for one in samples_of(sample, n)]
    prompts: dict[tuple[str, int], Response] = {}
    n_responses = 0
    try:
        for number, one in enumerate(repeats):
            _advance(one, number, None)
        while True:
            yield from _give_prompts(repeats, prompts)
            asking = [one for one in repeats if isinstance(one.asks, tuple)]
            if not asking:
                return repeats
            requests = [request for one in asking for request in one.asks or ()]  # type: ignore[union-attr]
            answers = yield tuple(requests)
            for number, one in enumerate(repeats):
                if isinstance(one.asks, tuple):
                    own, answers = answers[: len(one.asks)], answers[len(one.asks) :]
                    one.places += range(n_responses, n_responses + len(own))
                    one.responses += own
                    n_responses += len(own)
                    _advance(one, number, own[0] if one.is_single else own)
    finally:
        for one in repeats:
            one.steps.close()


def _give_prompts(repeats: Sequence[OneRepeat], prompts: dict[tuple[str, int], Response]) -> RolloutSteps:
    """Ask for the model's own prompts that repeats wait for; equal ones once."""
    for number, one in enumerate(repeats):
        while isinstance(one.asks, OwnPrompt):
            wanted = one.asks
            key = (wanted.origin.task, wanted.origin.index)
            if key not in prompts:
                prompts[key] = yield wanted
            _advance(one, number, prompts[key])


def _advance(one: OneRepeat, number: int, sent: Any) -> None:
    """Send a rollout what it waits for, and take what it asks next."""
    try:
        asked = one.steps.send(sent)
    except StopIteration as stop:
        one.returned, one.asks = stop.value, None
        return
    if isinstance(asked, OwnPrompt):
        one.asks = asked
        return
    one.is_single = isinstance(asked, Request)
    together = (asked,) if isinstance(asked, Request) else tuple(asked)
    one.asks = tuple([_of_repeat(request, number, len(together)) for request in together])


def _of_repeat(request: Request, number: int, n_together: int) -> Request:
    """Return a request as a repeat makes it: with a seed of its own, and the next number."""
    parameters = request.parameters
    if number == 0 or isinstance(parameters, Loglikelihood):
        return request
    seed = None if parameters.seed is None else seed_for(parameters.seed, _PURPOSE, number)
    if seed is None:
        numbered = replace(parameters, repeat=number * n_together + parameters.repeat)
    else:
        numbered = parameters.repeated(seed, number * n_together + parameters.repeat)
    return Request(request.messages, numbered, request.origin)
