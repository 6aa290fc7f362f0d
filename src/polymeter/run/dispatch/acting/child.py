"""Episodes in a process of their own: the functions that a scoring process is asked to call.

Authors' code may raise anything and return anything. Here it becomes an observation, or a failure as plain data, so
that nothing of the author's has to be loaded by the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.acting.episodes import Environment, Episode, EpisodeScene, Observation
from polymeter.core.acting.tools import Call
from polymeter.core.content import Image, Part
from polymeter.core.errors import DataError, PolymeterError, Raised, attempt, blame
from polymeter.guests.generators import seed_process


@dataclass(frozen=True, slots=True)
class EpisodeFailure:
    """The reason why an episode cannot continue.

    Attributes:
        message: What happened.
        where: ``file:line`` of the code that raised.
    """

    message: str
    where: str = ""


class _OpenEpisodes:
    """The episodes of this process, by number. It serves one run and ends with it."""

    by_number: dict[int, Episode] = {}  # noqa: RUF012  (of the process)


def begin(number: int, environment: Environment, scene: EpisodeScene) -> Observation | EpisodeFailure:
    """Open an episode under a number; returns its first observation."""

    def opened() -> Observation:
        seed_process(lambda: scene.seed)
        episode = environment.open(scene)
        _OpenEpisodes.by_number[number] = episode
        return episode.begin()

    return _told(f"Opening the environment {environment.name!r}", opened)


def enact(number: int, call: Call, seed: int) -> Observation | EpisodeFailure:
    """Enact a call in an episode. Its generators are seeded for this call, whatever other episodes have drawn."""

    def enacted() -> Observation:
        seed_process(lambda: seed)
        return _OpenEpisodes.by_number[number].act(call)

    return _told(f"The tool {call.name!r}", enacted)


def close(number: int) -> None:
    """Close an episode; what it raises meanwhile concerns nobody."""
    episode = _OpenEpisodes.by_number.pop(number, None)
    if episode is not None:
        attempt(episode.close)


def _told(doing: str, do: Callable[[], Observation]) -> Observation | EpisodeFailure:
    given = attempt(lambda: _portable(do()))
    if not isinstance(given, Raised):
        return given  # type: ignore[no-any-return]
    error = given.error
    if isinstance(error, PolymeterError):
        return EpisodeFailure(f"{doing}: {error.what}", error.where)
    return EpisodeFailure(f"{doing} raised {type(error).__name__}: {error}", blame(error))


def _portable(observation: Observation) -> Observation:
    """An observation whose images are encoded."""
    try:
        return replace(observation, parts=tuple(map(_portable_part, observation.parts)))
    except DataError as error:
        return replace(observation, parts=(), problem=f"The tool returned an image that cannot be read: {error.what}")


def _portable_part(part: Part) -> Any:
    return Image(part.encoded()[0]) if isinstance(part, Image) else part
