"""The sample whose media another sample gets: drawn by the run's seed, never itself, with other media.

All samples of a task form one cycle in a random order, and a sample gets the media of the next one in it. If these are
its own media (several questions about one image), or not as many, the ones behind are tried.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from polymeter.core.content import Media, Modality
from polymeter.core.errors import DataError, PolymeterError
from polymeter.core.identity import seed_for
from polymeter.core.request import OwnPrompt, Request
from polymeter.core.settings.ablations import shown_media
from polymeter.core.task import RolloutSteps, Sample, Task

_MOST_TRIED = 16
_PURPOSE = "shuffled-media"


@dataclass(frozen=True)
class SampleCycle:
    """The samples of a task in a random order.

    Attributes:
        task: The name of the task.
        n: The number of its samples.
        seed: The seed of the run.
    """

    task: str
    n: int
    seed: int

    def behind(self, index: int) -> Iterator[int]:
        """Yield the samples behind one in the cycle, up to the one before it."""
        start = self._places[index]
        for step in range(1, self.n):
            yield self._order[(start + step) % self.n]

    @cached_property
    def _order(self) -> array[int]:
        order = [*range(self.n)]
        random.Random(seed_for(self.seed, self.task, _PURPOSE)).shuffle(order)
        return array("q", order)

    @cached_property
    def _places(self) -> array[int]:
        places = array("q", bytes(8 * self.n))
        for place, index in enumerate(self._order):
            places[index] = place
        return places


def partner_media(
    task: Task, cycle: SampleCycle, sample: Sample, own: Sequence[Media], modalities: frozenset[Modality]
) -> RolloutSteps:
    """Find the media that a sample gets; returns them. Asks for the model's own prompts of other samples, if there are
    some.

    Args:
        task: The task.
        cycle: Its samples.
        sample: The sample.
        own: Its own media of these modalities.
        modalities: The media that are replaced.

    Raises:
        DataError: if no other sample has different media.
    """
    second_best: list[Media] = []
    for _, index in zip(range(_MOST_TRIED), cycle.behind(sample.index), strict=False):
        try:
            request = yield from _first_request(task, task.samples[index])
        except PolymeterError:  # that sample fails by itself; the next one may have media
            continue
        media = [medium for medium in request.media() if medium.modality in modalities] if request else []
        if not media or not _is_other(own, media):
            continue
        if [one.modality for one in media] == [one.modality for one in own]:
            return media
        second_best = second_best or media
    if not second_best:
        kinds = shown_media(frozenset(one.modality for one in own))
        raise DataError(f"No other sample of task {sample.task!r} has different {kinds} for sample {sample.id}.")
    return second_best


def _first_request(task: Task, sample: Sample) -> RolloutSteps:
    """Return the first request about a sample; ``None`` if it has none."""
    steps = task.rollout(sample)
    try:
        asked = next(steps, ())
        while isinstance(asked, OwnPrompt):
            asked = steps.send((yield asked))
    except StopIteration:
        return None
    finally:
        steps.close()
    together = asked if isinstance(asked, tuple) else (asked,)
    return next((one for one in together if isinstance(one, Request)), None)


def _is_other(own: Sequence[Media], others: Sequence[Media]) -> bool:
    """Return whether one of the media that are replaced is replaced by another."""
    return len(own) != len(others) or any(
        one.content_hash() != other.content_hash() for one, other in zip(own, others, strict=True)
    )
