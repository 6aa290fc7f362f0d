"""Hosts of episodes. A host has one thread, on which it opens, advances and closes its episodes one after the other.

Polymeter's own tools run in this process. Authors' code runs in a process: one that hangs is ended with all of its
episodes, which are opened anew elsewhere.
"""

from __future__ import annotations

from typing import Any, Protocol

from polymeter.core.acting.episodes import Environment, Episode, EpisodeScene, Observation
from polymeter.core.acting.tools import Call
from polymeter.core.content import Image
from polymeter.core.errors import ScoreError
from polymeter.metrics.scoring_process import Reply, ScoringProcess
from polymeter.run.dispatch.acting import child
from polymeter.run.dispatch.acting.child import EpisodeFailure

_MODULE = child.__name__


class EpisodeHost(Protocol):
    """A place for episodes.

    Attributes:
        generation: Raised whenever all of its episodes were lost.
    """

    generation: int

    def begin(self, number: int, environment: Environment, scene: EpisodeScene) -> Observation:
        """Open an episode under a number.

        Raises:
            PolymeterError: if it cannot be opened.
        """
        ...

    def enact(self, number: int, call: Call, seed: int) -> Observation:
        """Enact a call in it.

        Raises:
            PolymeterError: if it fails.
        """
        ...

    def close(self, number: int) -> None:
        """Close it; nothing happens if it was lost."""
        ...

    def end(self) -> None:
        """End the host. May be called on any thread, also while a call is running."""
        ...


class InProcessHost:
    """A host in this process, for tools of Polymeter's own."""

    generation = 0

    def __init__(self) -> None:
        self._episodes: dict[int, Episode] = {}

    def begin(self, number: int, environment: Environment, scene: EpisodeScene) -> Observation:
        """Open an episode."""
        episode = self._episodes[number] = environment.open(scene)
        return episode.begin()

    def enact(self, number: int, call: Call, seed: int) -> Observation:
        """Enact a call; these tools draw no random numbers."""
        return self._episodes[number].act(call)

    def close(self, number: int) -> None:
        """Close an episode."""
        episode = self._episodes.pop(number, None)
        if episode is not None:
            episode.close()

    def end(self) -> None:
        """Nothing outlives this process."""


class ProcessHost:
    """A host in a process with limits, started when it is first needed.

    Args:
        timeout_s: The time limit of one act, in seconds.
        memory_mb: The memory limit of the process, in MB.
    """

    def __init__(self, timeout_s: float, memory_mb: int) -> None:
        self.generation = 0
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._process: ScoringProcess | None = None
        self._is_ended = False

    def begin(self, number: int, environment: Environment, scene: EpisodeScene) -> Observation:
        """Open an episode. It gets the encoded images of its scene."""
        images = tuple(Image(image.encoded()[0]) for image in scene.images)
        sent = EpisodeScene(dict(scene.row), images, scene.seed)
        return self._told(f"Opening the environment {environment.name!r}", "begin", number, environment, sent)

    def enact(self, number: int, call: Call, seed: int) -> Observation:
        """Enact a call."""
        return self._told(f"The tool {call.name!r}", "enact", number, call, seed)

    def close(self, number: int) -> None:
        """Close an episode, if its process still runs."""
        if self._process is not None:
            self._called("close", number)

    def end(self) -> None:
        """End the process."""
        self._is_ended = True
        process = self._process
        if process is not None:
            process.kill()

    def _told(self, doing: str, function: str, *args: Any) -> Observation:
        reply = self._called(function, *args)
        if reply.outcome == "value":
            if isinstance(reply.content, EpisodeFailure):
                raise ScoreError(reply.content.message, where=reply.content.where)
            return reply.content  # type: ignore[no-any-return]
        if reply.outcome == "timeout":
            raise ScoreError(f"{doing} took longer than {self._timeout_s:g} s.", hint="--tool-timeout allows more.")
        if reply.outcome == "memory":
            raise ScoreError(
                f"{doing} needed more memory than {self._memory_mb} MB.", hint="--score-memory allows more."
            )
        if reply.outcome == "raised":
            raise ScoreError(f"{doing}: {reply.content}")
        raise ScoreError(f"{doing} ended its process with status {reply.content}.")

    def _called(self, function: str, *args: Any) -> Reply:
        process = self._process
        if process is None:
            process = self._process = ScoringProcess(self._memory_mb)
            if self._is_ended:
                process.kill()
        reply = process.call(_MODULE, function, args, {}, self._timeout_s)
        if reply.outcome not in ("value", "raised"):
            self._process = None
            self.generation += 1
        return reply
