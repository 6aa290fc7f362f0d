"""Rollouts of variants: those of one sample advance together, so that a model gets their requests at once. A model's
own prompt is asked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polymeter.core.acting.episodes import Act
from polymeter.core.identity import seed_for
from polymeter.core.request import OwnPrompt, Request, Response
from polymeter.core.task import Rollout, RolloutSteps, Sample

Change = Callable[[Request, int, int], Request]
"""From a request, the number of its variant, and the number of requests that were made together with it, to the request
that is sent."""


@dataclass(slots=True)
class OneVariant:
    """One variant of a sample.

    Attributes:
        sample: The sample, with a row of its own, which hooks may change.
        steps: Its rollout.
        places: The places of its responses among those of the sample.
        responses: Its responses.
        returned: The value that its rollout returned.
        asks: The requests and acts that it waits for; ``None``: it has ended.
        is_single: Whether it asked for one of them alone.
    """

    sample: Sample
    steps: RolloutSteps
    places: list[int] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    returned: Any = None
    asks: tuple[Request | Act, ...] | OwnPrompt | None = None
    is_single: bool = False

    @property
    def rollout(self) -> Rollout:
        """Its rollout, once it has ended."""
        return Rollout(tuple(self.responses), self.returned)


def ask_variants(rollout: Callable[[Sample], RolloutSteps], samples: Sequence[Sample], change: Change) -> RolloutSteps:
    """Lead the rollouts of all variants of a sample; returns the list of them.

    Args:
        rollout: The task's own.
        samples: The sample of each variant.
        change: Makes a request that of its variant.
    """
    variants = [OneVariant(one, rollout(one)) for one in samples]
    prompts: dict[tuple[str, int], Response] = {}
    n_responses = 0
    try:
        for number, one in enumerate(variants):
            _advance(one, number, None, change)
        while True:
            yield from _give_prompts(variants, prompts, change)
            asking = [one for one in variants if isinstance(one.asks, tuple)]
            if not asking:
                return variants
            requests = [request for one in asking for request in one.asks or ()]  # type: ignore[union-attr]
            answers = yield tuple(requests)
            for number, one in enumerate(variants):
                if isinstance(one.asks, tuple):
                    own, answers = answers[: len(one.asks)], answers[len(one.asks) :]
                    # Observations are not among the responses of a sample.
                    given = [answer for asked, answer in zip(one.asks, own, strict=True) if isinstance(asked, Request)]
                    one.places += range(n_responses, n_responses + len(given))
                    one.responses += given
                    n_responses += len(given)
                    _advance(one, number, own[0] if one.is_single else own, change)
    finally:
        for one in variants:
            one.steps.close()


def _give_prompts(
    variants: Sequence[OneVariant], prompts: dict[tuple[str, int], Response], change: Change
) -> RolloutSteps:
    """Ask for the model's own prompts that variants wait for; equal ones once."""
    for number, one in enumerate(variants):
        while isinstance(one.asks, OwnPrompt):
            wanted = one.asks
            key = (wanted.origin.task, wanted.origin.index)
            if key not in prompts:
                prompts[key] = yield wanted
            _advance(one, number, prompts[key], change)


def _advance(one: OneVariant, number: int, sent: Any, change: Change) -> None:
    """Send a rollout what it waits for, and take what it asks next."""
    try:
        asked = one.steps.send(sent)
    except StopIteration as stop:
        one.returned, one.asks = stop.value, None
        return
    if isinstance(asked, OwnPrompt):
        one.asks = asked
        return
    one.is_single = isinstance(asked, (Request, Act))
    together = (asked,) if isinstance(asked, (Request, Act)) else tuple(asked)
    one.asks = tuple(
        [
            _in_own_episode(step, number) if isinstance(step, Act) else change(step, number, len(together))
            for step in together
        ]
    )


def _in_own_episode(act: Act, number: int) -> Act:
    """Return an act as a variant makes it: in an episode of its own, with a seed of its own."""
    if number == 0:
        return act
    scene = replace(act.scene, seed=seed_for(act.scene.seed, "variant", number))
    return replace(act, episode=f"{number}.{act.episode}", scene=scene)
