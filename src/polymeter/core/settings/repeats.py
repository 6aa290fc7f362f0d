"""Repeats: one prompt sent several times, as requests that differ only in seed and number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from polymeter.core.request import Loglikelihood, Parameters, Request, Step

T = TypeVar("T")


def repeats_of(request: Request, seeds: Iterable[int]) -> tuple[Request, ...]:
    """The repeats of one prompt. A rollout yields them together, so that a model may answer them in one call.

    Args:
        request: The prompt with its settings, without a seed.
        seeds: The seed of each, usually ``seed_for(run seed, task, sample, number)``.
    """
    parameters = request.parameters
    assert not isinstance(parameters, Loglikelihood)
    return tuple(
        [
            Request(request.messages, parameters.repeated(seed, number), request.origin)
            for number, seed in enumerate(seeds)
        ]
    )


def joined(items: Iterable[T], request_of: Callable[[T], Step]) -> list[list[T]]:
    """The items in groups: neighbours that repeat one prompt of one sample form a group, every other item is alone.

    Args:
        items: Objects that hold requests, in order.
        request_of: Returns the request of an item.
    """
    groups: list[list[T]] = []
    last: Step | None = None
    for item in items:
        request = request_of(item)
        if isinstance(request, Request) and isinstance(last, Request) and _follows(request, last):
            groups[-1].append(item)
        else:
            groups.append([item])
        last = request
    return groups


def seed_of(parameters: Parameters) -> int:
    """The seed for sampling; without one, the request's number among its repeats."""
    assert not isinstance(parameters, Loglikelihood)
    return parameters.repeat if parameters.seed is None else int(parameters.seed)


def group_repeats(requests: Sequence[Request]) -> list[list[Request]]:
    """The requests of a batch in groups, each the repeats of one prompt; see ``joined``."""
    return joined(requests, lambda request: request)


def _follows(request: Request, before: Request) -> bool:
    """Return whether a request is a later repeat of the one before it. Equal prompts of one sample both begin at 0."""
    parameters, earlier = request.parameters, before.parameters
    if isinstance(parameters, Loglikelihood) or isinstance(earlier, Loglikelihood):
        return False
    if type(parameters) is not type(earlier) or parameters.repeat <= earlier.repeat:
        return False
    is_same_sample = (request.origin is None) == (before.origin is None) and (
        request.origin is None
        or before.origin is None
        or (request.origin.task, request.origin.sample) == (before.origin.task, before.origin.sample)
    )
    plain, earlier = replace(parameters, seed=None, repeat=0), replace(earlier, seed=None, repeat=0)
    return is_same_sample and plain == earlier and request.messages == before.messages
