"""The sizes of a task's first requests, which are known before anything is sent."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from polymeter.core.request import Generate, GenerateImage, Request
from polymeter.prices.tokens import TokenCount, TokenRule, request_tokens
from polymeter.run.pilot.rendering import FirstRequests


@dataclass(slots=True)
class PromptSizes:
    """The first requests of a task, as numbers; a sample of 20,000 needs eight bytes.

    Attributes:
        selected: The positions of the samples that the run measures.
        sizes: By place in ``selected``: the expected tokens of the first requests of the sample; NaN if they cannot be
            made.
        tokens: The tokens of all of them.
        n_requests: Their number.
        n_images: The number of images in them.
        n_made: The number of images that they ask for.
        output_limit: The most tokens of their answers; ``None``: a request has no limit.
        why_unknown: Why they are not made; empty if they are.
        n_unreadable: The number of samples whose requests cannot be made.
        why_unreadable: The reason of the first of them.
    """

    selected: range
    sizes: array[float] = field(default_factory=lambda: array("d"))
    tokens: TokenCount = field(default_factory=TokenCount)
    n_requests: int = 0
    n_images: int = 0
    n_made: int = 0
    output_limit: int | None = 0
    why_unknown: str = ""
    n_unreadable: int = 0
    why_unreadable: str = ""

    def size_of(self, index: int) -> float:
        """The expected tokens of a sample's first requests; 1 if they are unknown, so that all samples count alike."""
        return 1.0 if self.why_unknown else self.sizes[index - self.selected.start]

    def is_asked(self, index: int) -> bool:
        """Return whether a sample is asked: its requests can be made, as far as that is known."""
        return not math.isnan(self.size_of(index))


def unknown_sizes(selected: range, why: str) -> PromptSizes:
    """The sizes of a task whose requests are not made."""
    return PromptSizes(selected, output_limit=None, why_unknown=why)


def measured_sizes(
    selected: range, requests: Iterable[FirstRequests], rule: TokenRule, limit_of: Callable[[Generate], int | None]
) -> PromptSizes:
    """Measure first requests, one sample at a time.

    Args:
        selected: The positions of the samples.
        requests: The first requests of each of them, in order.
        rule: How the model counts tokens.
        limit_of: Returns the token limit of an answer, as the model is asked; ``None``: there is no limit.
    """
    sizes = PromptSizes(selected)
    for first in requests:
        if first.why_unknown:
            sizes.sizes.append(math.nan)
            sizes.n_unreadable += 1
            sizes.why_unreadable = sizes.why_unreadable or first.why_unknown
            continue
        own = TokenCount()
        for request in _each_once(first.requests):
            n = sum(one.messages is request.messages and _is_repeat(one, request) for one in first.requests)
            own += request_tokens(request, rule).times(n)
        sizes.sizes.append(own.expected)
        sizes.tokens += own
        sizes.n_requests += len(first.requests)
        sizes.n_images += sum(len([*request.images()]) for request in first.requests)
        for request in first.requests:
            _add_answer(sizes, request, limit_of)
    return sizes


def _each_once(requests: tuple[Request, ...]) -> list[Request]:
    """The requests without repeats, whose messages are the same object."""
    return [*{(id(one.messages), _key(one)): one for one in requests}.values()]


def _is_repeat(one: Request, other: Request) -> bool:
    return _key(one) == _key(other)


def _key(request: Request) -> tuple[str, tuple[str, ...]]:
    return request.parameters.kind, getattr(request.parameters, "continuations", ())


def _add_answer(sizes: PromptSizes, request: Request, limit_of: Callable[[Generate], int | None]) -> None:
    """Add the token limit of an answer, or its image. Log-probabilities are no tokens."""
    sizes.n_made += isinstance(request.parameters, GenerateImage)
    if isinstance(request.parameters, Generate) and sizes.output_limit is not None:
        most = limit_of(request.parameters)
        sizes.output_limit = None if most is None else sizes.output_limit + most
