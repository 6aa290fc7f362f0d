"""Episodes: what a rollout does besides asking a model. It yields acts, and is sent observations.

An environment opens an episode for a sample, and a model's calls are enacted in it. What comes of an act is journaled
like an answer, so a rollout can be replayed without the environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from polymeter.core.acting.tools import Call, Effect, Tool
from polymeter.core.content import Image, Media, Part, Text


@dataclass(frozen=True, slots=True)
class EpisodeScene:
    """The beginning of an episode: what the environment may know of its sample.

    Attributes:
        row: The row without media.
        images: The images of the sample's prompt, in order. Their pixels are those of the dataset, whatever the model
            is shown of them.
        seed: The seed of the episode.
    """

    row: Mapping[str, Any]
    images: tuple[Image, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Act:
    """An opening of an episode, or a call that is enacted in it. A rollout yields it and is sent a response whose only
    output holds an ``Observation``.

    Attributes:
        environment: The name of the task's environment.
        scene: What the episode begins with.
        call: The call; ``None``: the episode is opened.
        effect: The effect of the called tool.
        episode: Distinguishes the episodes of a sample.
    """

    environment: str
    scene: EpisodeScene = field(compare=False, repr=False)
    call: Call | None = None
    effect: Effect = "pure"
    episode: str = "0"
    messages: ClassVar[tuple[Any, ...]] = ()
    text: ClassVar[str] = ""

    def media(self) -> Iterator[Media]:
        """None: the images of the scene are not shown to a model."""
        return iter(())

    def images(self) -> Iterator[Image]:
        """None, for the same reason."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Observation:
    """The outcome of an act.

    Attributes:
        parts: What the model is shown.
        problem: Why the act did nothing, as a sentence; empty: it was enacted.
        is_last: Whether the episode is over.
        reward: The reward of the episode so far, as the environment states it; ``None``: it states none.
        state: What the environment reports of its state, for readers; no model is shown it.
        tools: The tools of an episode that was opened.
        attempt: How many times its sample was started anew before. Filled in by the engine.
    """

    parts: tuple[Part, ...] = ()
    problem: str = ""
    is_last: bool = False
    reward: float | None = None
    state: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    attempt: int = 0

    def shown_parts(self) -> tuple[Part, ...]:
        """The parts that a model is shown: also the problem, if there is one."""
        return (Text(f"Error: {self.problem}"), *self.parts) if self.problem else self.parts


class Episode(Protocol):
    """An open episode. All of its methods are called on one thread."""

    def begin(self) -> Observation:
        """The first observation: the tools, and what the model is shown before its first turn."""
        ...

    def act(self, call: Call) -> Observation:
        """Enact a call of one of its tools; the arguments fit the tool's schema."""
        ...

    def close(self) -> None:
        """Free what the episode holds."""
        ...


class Environment(Protocol):
    """A source of episodes. It is plain data until it opens one, so that it can be sent to another process.

    Attributes:
        name: Its name, which is part of the role of its observations in the journal.
        is_foreign: Whether it runs code that Polymeter did not write. Its episodes are then in other processes, which
            can be ended.
    """

    @property
    def name(self) -> str: ...
    @property
    def is_foreign(self) -> bool: ...

    def describe(self) -> tuple[Effect, Mapping[str, Any]]:
        """Its effect and its identity, which is everything that can change an observation besides the scene and calls.

        Raises:
            PlanError: if its code cannot be loaded or declares something impossible.
        """
        ...

    def open(self, scene: EpisodeScene) -> Episode:
        """Open an episode."""
        ...


@dataclass(frozen=True, slots=True)
class ActingRules:
    """The protocol's own limits of a conversation with tools. Reaching one is an ordinary end, which is scored.

    Attributes:
        max_turns: The most answers of the model.
        max_calls: The most calls that are enacted.
    """

    max_turns: int = 16
    max_calls: int = 64


def parts_of(returned: Any) -> tuple[Part, ...]:
    """Return what a tool returned as parts: parts and texts, Pillow images, lists of these; anything else as JSON.

    Raises:
        TypeError: if a value is none of these.
    """
    from polymeter.core.content import is_image
    from polymeter.core.text.codec import compact_json, jsonable

    if returned is None:
        return ()
    if isinstance(returned, str):
        return (Text(returned),)
    if isinstance(returned, Part):
        return (returned,)
    if is_image(returned):
        return (Image(returned),)
    if isinstance(returned, (list, tuple)) and any(isinstance(one, Part) or is_image(one) for one in returned):
        return tuple(part for one in returned for part in parts_of(one))
    if isinstance(returned, (Mapping, Sequence, bool, int, float)):
        return (Text(compact_json(jsonable(returned))),)
    kind = type(returned).__name__
    raise TypeError(f"a tool returns texts, images or plain data, not an object of the type {kind}")
