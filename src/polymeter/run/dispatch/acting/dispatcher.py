"""The way of acts to episodes.

An episode belongs to one host, and so to one thread. Samples whose environment has a state are bounded: each holds a
place from its first episode until it ends, because a sample that waits for a place with an episode open could wait for
itself.

A run that was killed has the observations of its samples, but not their episodes. When a sample acts again, its episode
is opened anew. The acts that changed its state are enacted again, and each observation is compared with the journal.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from polymeter.core.acting.episodes import Act, Observation
from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.errors import DataError, PolymeterError, Raised, attempt, boundary
from polymeter.core.identity import seed_for
from polymeter.core.request import Error, Output, Response
from polymeter.run.dispatch.acting.hosts import EpisodeHost, InProcessHost, ProcessHost
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.running_samples import PendingRequest, RunningSample
from polymeter.store.media import MediaStore
from polymeter.store.wire import observation_mark

MOST_TEXT = 1_000_000
"""The most characters of an observation: more fit into the window of no model."""
MOST_MEDIA_BYTES = 32 * 2**20
"""The most encoded bytes of the media of an observation."""
_CLOSE_S = 5.0
_DIVERGED = "The environment gave another observation when the act was repeated."

_Job: TypeAlias = Callable[[EpisodeHost], None]
_Key: TypeAlias = tuple[RunningSample, str]


@dataclass(frozen=True, slots=True)
class ActingSettings:
    """The limits of a run's episodes.

    Attributes:
        most_samples: The most samples with open environments, of environments that have a state.
        timeout_s: The time limit of one act of an author's code, in seconds.
        memory_mb: The memory limit of a process of authors' code, in MB.
        n_hosts: The number of processes for authors' code.
    """

    most_samples: int
    timeout_s: float
    memory_mb: int
    n_hosts: int


class DivergedError(Exception):
    """An episode that was opened anew differs from what the journal holds of it."""


@dataclass(slots=True)
class _HeldEpisode:
    """An episode at its host. ``generation``: that of the host when it was opened; -1: it was not yet."""

    host: _HostThread
    number: int
    generation: int = -1


class _HostThread:
    """A host with its thread, which starts with the first job."""

    def __init__(self, host: EpisodeHost, name: str) -> None:
        self.host = host
        self.n_episodes = 0
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"polymeter-{name}", daemon=True)
        self._lock = threading.Lock()

    def submit(self, job: _Job) -> None:
        """Queue a job, which handles its own exceptions."""
        with self._lock:
            if self._thread.ident is None:
                self._thread.start()
        self._jobs.put(job)

    def end(self) -> None:
        """End the host, and its thread after the job that is running."""
        self.host.end()
        self._jobs.put(None)
        if self._thread.ident is not None:
            self._thread.join(_CLOSE_S)
        self.host.end()  # a process that the last job has started

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job(self.host)


class ActingDispatcher:
    """Enacts acts.

    Args:
        events: Where outcomes are reported.
        media: Where media of observations goes.
        write_begun: Writes down, durably, that an act outside begins.
        settings: The limits.
    """

    def __init__(
        self,
        events: Events,
        media: MediaStore,
        write_begun: Callable[[PendingRequest], None],
        settings: ActingSettings,
    ) -> None:
        self._events = events
        self._media = media
        self._write_begun = write_begun
        self._settings = settings
        self._lock = threading.Lock()
        self._open: dict[_Key, _HeldEpisode] = {}
        self._places: set[RunningSample] = set()
        self._waiting: deque[PendingRequest] = deque()
        self._hosts: dict[bool, list[_HostThread]] = {False: [], True: []}
        self._n_numbers = self._n_acting = self._n_acts = self._most_open = 0
        self._seconds = 0.0
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """True if an act is being enacted, whose sample will ask its model again."""
        return self._n_acting > 0

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take acts. Those of a sample without a place wait until another sample ends."""
        with self._lock:
            for one in asked:
                self._n_acting += 1
                if self._has_place(one.running):
                    self._submit(one)
                else:
                    self._waiting.append(one)

    def release(self, running: RunningSample, *, keeps_place: bool = False) -> None:
        """Close the episodes of a sample, which has ended or starts anew."""
        with self._lock:
            for key in [key for key in self._open if key[0] is running]:
                self._close(key)
            if keeps_place or running not in self._places:
                return
            self._places.discard(running)
            for _ in range(len(self._waiting)):
                one = self._waiting.popleft()
                if self._has_place(one.running):
                    self._submit(one)
                else:
                    self._waiting.append(one)

    def history(self) -> Mapping[str, Any]:
        """The statistics of acting, for the run's record; empty if nothing was enacted."""
        if not self._n_acts:
            return {}
        return {"acts": self._n_acts, "seconds": round(self._seconds, 3), "most_open": self._most_open}

    def close(self) -> None:
        """End all hosts with their episodes."""
        with self._lock:
            self._is_closed = True
            threads = [*self._hosts[False], *self._hosts[True]]
        for thread in threads:
            thread.end()

    def _has_place(self, running: RunningSample) -> bool:
        """Return whether a sample may have episodes open, and give it a place if one is free."""
        if running.task.acts_with == "pure" or running in self._places:
            return True
        if len(self._places) >= self._settings.most_samples:
            return False
        self._places.add(running)
        return True

    def _submit(self, one: PendingRequest) -> None:
        key = one.running, one.act.episode
        if key not in self._open:
            environment = one.running.task.task.environment
            thread = self._thread_for(is_foreign=environment is not None and environment.is_foreign)
            thread.n_episodes += 1
            self._n_numbers += 1
            self._open[key] = _HeldEpisode(thread, self._n_numbers)
            self._most_open = max(self._most_open, len(self._open))
        found = self._open[key]
        found.host.submit(lambda host: self._carry_out(host, found, one))

    def _thread_for(self, *, is_foreign: bool) -> _HostThread:
        """The host with the fewest episodes, or a new one."""
        threads = self._hosts[is_foreign]
        free = min(threads, key=lambda thread: thread.n_episodes, default=None)
        if free is not None and (free.n_episodes == 0 or len(threads) >= self._settings.n_hosts):
            return free
        host = ProcessHost(self._settings.timeout_s, self._settings.memory_mb) if is_foreign else InProcessHost()
        threads.append(_HostThread(host, f"episodes-{len(threads)}"))
        return threads[-1]

    def _close(self, key: _Key) -> None:
        found = self._open.pop(key)
        found.host.n_episodes -= 1
        found.host.submit(lambda host: _close_at(host, found))

    def _carry_out(self, host: EpisodeHost, found: _HeldEpisode, one: PendingRequest) -> None:
        began = time.perf_counter()
        outcome = attempt(lambda: self._observation(host, found, one))
        seconds = time.perf_counter() - began
        if not isinstance(outcome, Raised):
            outcome = replace(outcome, attempt=one.running.attempt)
            one.response = Response((Output(observation=outcome),), latency_ms=seconds * 1000)
        elif isinstance(outcome.error, DivergedError):
            one.has_diverged = True
            one.response = Response(error=Error("guest", _DIVERGED))
        elif isinstance(outcome.error, PolymeterError):
            kind: Any = "data" if isinstance(outcome.error, DataError) else "guest"
            one.response = Response(error=Error.from_exception(outcome.error, kind))
        else:
            self._events.failed(outcome.error)
            return
        with self._lock:
            self._n_acting -= 1
            self._n_acts += 1
            self._seconds += seconds
            if self._is_closed:
                return
        self._events.answered([one])

    def _observation(self, host: EpisodeHost, found: _HeldEpisode, one: PendingRequest) -> Observation:
        """Enact an act, in an episode that is opened anew if it was lost or never open in this process.

        Raises:
            DivergedError: if that differs from before.
            PolymeterError: if it fails.
        """
        act, running = one.act, one.running
        environment = running.task.task.environment
        assert environment is not None
        record = running.episode(act.episode)
        if found.generation != host.generation or act.call is None:
            with boundary(DataError, f"Opening the environment {environment.name!r}"):
                opened = self._kept(host.begin(found.number, environment, act.scene))
            found.generation = host.generation
            if act.call is None:
                return opened
            self._enact_again(host, found, record.enacted, (record.opening, observation_mark(opened)))
        if act.effect == "outside":
            self._write_begun(one)
        return self._kept(self._enact(host, found, act, one.fingerprint))

    def _enact_again(
        self, host: EpisodeHost, found: _HeldEpisode, enacted: Sequence[tuple[Act, str, str]], opening: tuple[str, str]
    ) -> None:
        """Enact the acts that have changed an episode's state; nothing, if none has."""
        if enacted and opening[0] != opening[1]:
            raise DivergedError
        for act, mark, fingerprint in enacted:
            if observation_mark(self._kept(self._enact(host, found, act, fingerprint))) != mark:
                raise DivergedError

    def _enact(self, host: EpisodeHost, found: _HeldEpisode, act: Act, fingerprint: str) -> Observation:
        assert act.call is not None
        with boundary(DataError, f"The tool {act.call.name!r}"):
            return host.enact(found.number, act.call, seed_for(act.scene.seed, fingerprint))

    def _kept(self, observation: Observation) -> Observation:
        """An observation whose media are files of the run; one with a problem if they cannot be, or it is too large."""
        texts = sum(len(part.text) for part in observation.parts if isinstance(part, Text))
        if texts > MOST_TEXT:
            problem = f"The tool returned {texts:,} characters, more than the {MOST_TEXT:,} that are passed on."
            return replace(observation, parts=(), problem=problem)
        try:
            return replace(observation, parts=tuple([self._kept_part(part) for part in observation.parts]))
        except DataError as error:
            return replace(observation, parts=(), problem=f"The tool's result cannot be shown: {error.what}")

    def _kept_part(self, part: Part) -> Part:
        if isinstance(part, Text):
            return part
        if isinstance(part, Image):
            part.open()  # raises, if it is not an image or has too many pixels
            data = part.encoded()[0]
        else:
            data = part.original_bytes() or b""
        if len(data) > MOST_MEDIA_BYTES:
            raise DataError(f"It has {len(data):,} bytes, more than the {MOST_MEDIA_BYTES:,} that are passed on.")
        kept = self._media.keep_input(part)
        assert isinstance(kept, (Image, Audio, Video))
        return kept


def _close_at(host: EpisodeHost, found: _HeldEpisode) -> None:
    if found.generation == host.generation:
        with suppress(PolymeterError):
            host.close(found.number)
