"""Usage: counts of what the requests to a model took, from which a price can be made.

``polymeter.core.request.Usage`` holds what a provider says of one answer. ``ModelUsage`` is the sum over the answers of
a model in one role, in one form for all providers. It describes what was spent and never what is measured: no
fingerprint and no digest holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from polymeter.core.request import Response, Usage

MODEL_ROLE = "model"
"""The role of the measured model."""
UsageByRole = Mapping[tuple[str, str], "ModelUsage"]
"""The usage of a run by role and name of the model."""
USAGE_VERSION = 1
"""The version of the usage that a part of a run keeps. 1: failed tries, and the media that each request sent; parts
without a version kept neither.
"""
USAGE_BY_ROLE = "usage_by_role"
"""The key in ``run.json`` and ``results.json``."""
MACHINE = "machine"
"""The key, in the record of a part, of the price of the machine that computed models."""
TOKENS = ("input", "cached_read", "cached_write", "output", "reasoning")
PRICED_APART = ("audio", "image", "image_output")
"""Tokens of media, which some providers charge differently. They are not listed among the unknown ones."""
COUNTS = (*TOKENS, "images_sent", "images_made", "audio_s", "failed")
"""The counts that may be unknown for an answer."""
REUSED_COUNTS = ("reused", "reused_tokens")
"""The counts of answers that were taken from other runs."""


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of money, or the range that holds it. ``None`` is unknown: a cost without ``high`` is ``low`` or more.
    Two can be added.
    """

    low: float | None
    high: float | None

    def __add__(self, other: Cost) -> Cost:
        return Cost(_sum(self.low, other.low), _whole(self.high, other.high))


UNKNOWN_COST = Cost(None, None)


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The usage of the requests to one model in one role. Two of them can be added.

    A count is ``None`` if no answer says it. If some answers say it and others do not, it is the sum of those that do,
    and ``unknown`` is the number of those that do not: the true sum is larger or equal.

    Attributes:
        input: Tokens of prompts, without those that were read from or written to a provider's cache.
        cached_read: Tokens of prompts that were read from a provider's cache.
        cached_write: Tokens of prompts that were written to it.
        output: Tokens of answers, those of reasoning included.
        reasoning: Tokens of reasoning, which are part of ``output``.
        images_sent: Images in requests; frames of videos are not counted.
        images_made: Images in answers.
        audio_s: Seconds of the recordings in requests; the audio of videos is not counted.
        requests: Requests that were answered. Repeats that one call answered count one each.
        failed: Tries of requests that failed, for any reason; a provider may charge for them. No other count
            includes them, nor does the cost.
        audio: Tokens of audio, which are part of the tokens of prompts.
        image: Tokens of images, which are part of the tokens of prompts.
        image_output: Tokens of images, which are part of ``output``.
        cost: The cost in US dollars: as the provider states it, else at the rates of the run.
        stated: Answers whose cost the provider states.
        unknown: By name of a count, the number of answered requests that do not say it; 0 is left out.
        reused: Answers that were taken from other runs. Nothing was spent on them, so no other count includes them.
        reused_tokens: Tokens of their prompts and answers; ``None``: none says its number.
    """

    input: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    images_sent: int | None = None
    images_made: int | None = None
    audio_s: float | None = None
    requests: int = 0
    failed: int | None = None
    audio: int | None = None
    image: int | None = None
    image_output: int | None = None
    cost: Cost = UNKNOWN_COST
    stated: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)
    reused: int = 0
    reused_tokens: int | None = None

    def __add__(self, other: ModelUsage) -> ModelUsage:
        counts = {name: _sum(getattr(self, name), getattr(other, name)) for name in COUNTS}
        names = [name for name in COUNTS if name in self.unknown or name in other.unknown]
        unknown = {name: self.unknown.get(name, 0) + other.unknown.get(name, 0) for name in names}
        if self.requests and other.requests:
            apart = {name: _whole(getattr(self, name), getattr(other, name)) for name in PRICED_APART}
            apart["cost"] = self.cost + other.cost
        else:
            one = self if self.requests else other
            apart = {name: getattr(one, name) for name in (*PRICED_APART, "cost")}
        return ModelUsage(
            **counts,
            **apart,
            requests=self.requests + other.requests,
            stated=self.stated + other.stated,
            unknown=unknown,
            reused=self.reused + other.reused,
            reused_tokens=_sum(self.reused_tokens, other.reused_tokens),
        )

    @property
    def prompt(self) -> int | None:
        """All tokens of prompts, cached or not."""
        known = [n for n in (self.input, self.cached_read, self.cached_write) if n is not None]
        return sum(known) if known else None

    def document(self) -> dict[str, Any]:
        """The counts as plain data; ``None`` is unknown. What concerns prices alone is left out if it is unknown, and
        reused answers if there are none.
        """
        document = asdict(self)
        left_out = [name for name in PRICED_APART if document[name] is None]
        left_out += [*(["cost"] if self.cost == UNKNOWN_COST else []), *([] if self.stated else ["stated"])]
        left_out += () if self.reused else REUSED_COUNTS
        return {name: value for name, value in document.items() if name not in left_out}

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> ModelUsage:
        """The counts from plain data; unknown names are left out."""
        values = {name: document[name] for name in cls.__dataclass_fields__ if name in document}
        cost = values.get("cost") or {}
        return cls(**{**values, "cost": Cost(cost.get("low"), cost.get("high"))})


def told_once(responses: Sequence[Response]) -> list[Response]:
    """Answers that one call gave to several requests. Its first answer has the usage of all, so the others, which state
    none, used nothing more.
    """
    first = next((place for place, response in enumerate(responses) if response.error is None), len(responses))
    counted = next((output.usage for one in responses[first:][:1] for output in one.outputs if output.usage), None)
    nothing = None
    if counted is not None:
        zeros: dict[str, Any] = {one.name: 0 for one in fields(Usage) if getattr(counted, one.name) is not None}
        nothing = Usage(**{**zeros, "service_tier": counted.service_tier})
    return [
        response
        if place <= first or response.error is not None or any(output.usage is not None for output in response.outputs)
        else replace(
            response, outputs=tuple(replace(output, usage=nothing) for output in response.outputs), is_joined=True
        )
        for place, response in enumerate(responses)
    ]


def usage_document(usage: UsageByRole) -> dict[str, dict[str, Any]]:
    """Usage as it stands in ``run.json`` and ``results.json``: by role, then by name of the model."""
    document: dict[str, dict[str, Any]] = {}
    for (role, model), counts in usage.items():
        document.setdefault(role, {})[model] = counts.document()
    return document


def usage_of_document(document: Mapping[str, Any] | None) -> dict[tuple[str, str], ModelUsage]:
    """Usage from ``usage_by_role`` of a file; empty if the file is of a version that kept none."""
    return {
        (role, model): ModelUsage.of_document(counts)
        for role, models in (document or {}).items()
        for model, counts in models.items()
    }


def _whole(one: Any, other: Any) -> Any:
    """The sum, if both are known."""
    return None if one is None or other is None else one + other


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one + other
