"""Requests of the orders of a question's choices: all of them are asked together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from polymeter.core.request import Request
from polymeter.core.settings.choice_orders import ChoiceOrders, ListedChoices, Order
from polymeter.core.task import RolloutSteps, Sample, Samples, SampleView
from polymeter.guests import seeded
from polymeter.run.permuting.orders import orders_of
from polymeter.run.permuting.references import refer_to_places
from polymeter.run.variants.asking import ask_variants

REFERRING = "have a choice that refers to the others by their places"
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Permuting:
    """The orders of the choices of a task's questions.

    Attributes:
        task: Its name.
        orders: Its functions for orders.
        samples: Its samples, in their author's order.
        k: The number of orders.
        seed: The run's seed.
        is_guest: Whether its functions are code that Polymeter did not write.
    """

    task: str
    orders: ChoiceOrders
    samples: Samples
    k: int
    seed: int
    is_guest: bool

    def listed(self, sample: Sample) -> ListedChoices:
        """Return the choices of a sample, and why they have one order only, if they do.

        Raises:
            ScoreError: if its answer is none of them.
            DataError: the same, or if its row cannot be read.
        """
        # The prompt is made more often than in a run without orders, and must draw the same as there.
        with seeded(0) if self.is_guest else nullcontext():
            listed = self.orders.listed(_copied(sample))
        if listed.fixed or len(listed.texts) < _FEWEST:
            return replace(listed, fixed=listed.fixed or "have no choices")
        return replace(listed, fixed=REFERRING) if refer_to_places(listed.texts) else listed

    def orders_for(self, sample: Sample, listed: ListedChoices) -> tuple[Order, ...]:
        """Return the orders in which a sample is asked, the author's first."""
        if listed.fixed:
            return ((),)
        return orders_of(len(listed.texts), self.k, self.seed, self.task, sample.id)

    def variants(self, sample: Sample) -> list[Sample]:
        """Return a sample in each of its orders, the author's first.

        Raises:
            ScoreError: if its answer is none of its choices.
            DataError: if its prompt does not follow an order.
        """
        _, *others = self.orders_for(sample, self.listed(sample))
        with seeded(0) if self.is_guest else nullcontext():
            return [sample, *(self.orders.reordered(_copied(sample), order) for order in others)]

    def ask(self, rollout: Callable[[Sample], RolloutSteps], sample: Sample) -> RolloutSteps:
        """Lead the rollouts of all orders of a sample; returns the list of them.

        Args:
            rollout: The task's own.
            sample: The sample, in its author's order.
        """
        change = partial(_of_order, n_samples=len(self.samples))
        return (yield from ask_variants(rollout, self.variants(sample), change))


class OrderedSamples(SampleView):
    """The samples of a task in all orders, by the positions that requests name: all in the first order, then all in the
    second, and so on.
    """

    def __init__(self, permuting: Permuting) -> None:
        self._permuting = permuting

    def __len__(self) -> int:
        return self._permuting.k * len(self._permuting.samples)

    def _sample(self, index: int) -> Sample:
        number, place = divmod(index, len(self._permuting.samples))
        sample = self._permuting.samples[place]
        return self._permuting.variants(sample)[number] if number else sample


def _copied(sample: Sample) -> Sample:
    """Return a sample with a row of its own, which hooks may change."""
    return replace(sample, doc=copy.deepcopy(sample.doc))


def _of_order(request: Request, number: int, n_together: int, *, n_samples: int) -> Request:
    """Return a request whose origin names its order, so that a wrapped model that asks for the row gets that order."""
    if number == 0 or request.origin is None:
        return request
    origin = replace(request.origin, index=request.origin.index + number * n_samples)
    return replace(request, origin=origin)
