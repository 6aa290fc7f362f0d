"""The samples that an HTML report has room for. A sample counts with the bytes that it adds to the file: its text, and
its embedded images. Tasks take turns, next the one whose samples use least so far, so that a task with large images
leaves room for the others. If all samples fit with their media unchanged, all are in; if not, images are scaled down,
and as many samples are in as then fit.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from polymeter.report.images import Embedded, PageMedia, thumbnail_pool
from polymeter.report.run.choose import SampleOrder
from polymeter.report.run.extract import clip_files, media_files, sample_data, script_json

_AHEAD = 16
"""The number of samples, of all tasks together, whose images are scaled down before their turn."""
_MEDIA_SHARE = 0.25
"""The share of the budget that the media of a single sample may use; more is left out."""
_MISSES = 20
"""The number of consecutive samples that do not fit, after which a task is given up."""
_COMMA = 1

Sample = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cut:
    """A sample as a report holds it.

    Attributes:
        text: The JSON text that its script reads.
        files: The names of its media, each once.
        clips: The names of its videos, which a report holds if there is room left.
    """

    text: str
    files: tuple[str, ...]
    clips: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """The bytes of the text in the file."""
        text = self.text
        return (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) + _COMMA


@dataclass(frozen=True, slots=True)
class TaskSamples:
    """The samples of a task.

    Attributes:
        number: The task's number in the report.
        samples: All of them.
        order: Their order, the most important first.
    """

    number: int
    samples: Sequence[Sample]
    order: SampleOrder

    def cut(self, place: int) -> Cut:
        """The sample at a place."""
        data = sample_data(self.samples[place], self.number, self.order.main)
        files, clips = (tuple(dict.fromkeys(names(data))) for names in (media_files, clip_files))
        return Cut(script_json(data), files, clips)


@dataclass(slots=True)
class Fitting:
    """The contents of a report.

    Attributes:
        places: The places of the samples shown, of each task in dataset order.
        cuts: Those of them that are already made, by task and place.
        thumbnails: The media that are already scaled down; ``None`` for a file that no browser shows. The others are
            embedded unchanged.
        is_smaller: Whether images are scaled down.
        left_out: Media of samples shown that are too large.
    """

    places: list[list[int]]
    cuts: dict[tuple[int, int], Cut] = field(default_factory=dict)
    thumbnails: dict[str, Embedded | None] = field(default_factory=dict)
    is_smaller: bool = False
    left_out: set[str] = field(default_factory=set)


def fit(tasks: Sequence[TaskSamples], media: PageMedia, budget: int) -> Fitting:
    """As many samples as a budget has room for.

    Args:
        tasks: The tasks.
        media: The run's media.
        budget: The bytes that samples and media may use in the file.
    """
    cuts: dict[tuple[int, int], Cut] = {}
    if _all_fit(tasks, media, budget, cuts):
        return Fitting([sorted(task.order.places) for task in tasks], cuts)
    found = Fitting([[] for _ in tasks], is_smaller=True)
    n_ahead, most_misses = max(1, _AHEAD // max(len(tasks), 1)), max(3, _MISSES // max(len(tasks), 1))
    misses = [0] * len(tasks)
    turns = [(0, task.number) for task in tasks]
    left = budget
    with thumbnail_pool() as pool:
        queues = [_Queue(task, _Thumbnails(media, pool, found.thumbnails), n_ahead, cuts) for task in tasks]
        while turns:
            spent, number = heapq.heappop(turns)
            taken = queues[number].take()
            if taken is None:
                continue
            place, cut, thumbnails = taken
            kept, cost = _within(thumbnails, int(_MEDIA_SHARE * budget))
            cost += cut.n_bytes
            misses[number] = misses[number] + 1 if cost > left else 0
            if misses[number] < most_misses:
                heapq.heappush(turns, (spent + (cost if cost <= left else 0), number))
            if cost > left:
                continue
            left -= cost
            found.places[number].append(place)
            found.cuts[number, place] = cut
            found.thumbnails |= kept
            found.left_out |= thumbnails.keys() - kept.keys()
        for queue in queues:
            queue.close()
    for places in found.places:
        places.sort()
    found.left_out -= found.thumbnails.keys()
    return found


def _within(thumbnails: Mapping[str, Embedded | None], budget: int) -> tuple[dict[str, Embedded | None], int]:
    """Those of a sample's media that a budget has room for, the first ones first; and their bytes."""
    kept: dict[str, Embedded | None] = {}
    spent = 0
    for name, one in thumbnails.items():
        n_bytes = 0 if one is None else len(name) + len(one.json()) + len('"":,')
        if spent + n_bytes <= budget:
            kept[name] = one
            spent += n_bytes
    return kept, spent


def _all_fit(tasks: Sequence[TaskSamples], media: PageMedia, budget: int, cuts: dict[tuple[int, int], Cut]) -> bool:
    """Return whether all samples fit with their media unchanged. Ends at the first that does not; ``cuts`` then holds
    those before it, which matter most.
    """
    names: set[str] = set()
    for task, place in _in_turn(tasks):
        cut = cuts[task.number, place] = task.cut(place)
        fresh = [name for name in cut.files if name not in names]
        names.update(fresh)
        budget -= cut.n_bytes + sum(map(media.uri_size, fresh))
        if budget < 0:
            return False
    return True


def _in_turn(tasks: Sequence[TaskSamples]) -> Iterator[tuple[TaskSamples, int]]:
    """All samples: the first of each task, the second of each, and so on."""
    for turn in range(max((len(task.order.places) for task in tasks), default=0)):
        for task in tasks:
            if turn < len(task.order.places):
                yield task, task.order.places[turn]


class _Thumbnails:
    """Images that are scaled down on several threads.

    Args:
        media: The run's media.
        pool: The threads.
        known: Those that are in the report already.
    """

    def __init__(self, media: PageMedia, pool: Executor, known: Mapping[str, Embedded | None]) -> None:
        self._media = media
        self._pool = pool
        self._known = known

    def ask(self, names: Iterable[str]) -> dict[str, Future[Embedded | None]]:
        """Begin with those that are not in the report yet."""
        context = copy_context()
        fresh = (name for name in names if name not in self._known)
        return {name: self._pool.submit(context.copy().run, self._media.small, name) for name in fresh}

    def get(self, asked: Mapping[str, Future[Embedded | None]]) -> dict[str, Embedded | None]:
        """Wait for those that are still not in the report."""
        return {name: future.result() for name, future in asked.items() if name not in self._known}


class _Queue:
    """The samples of a task in their order, a few of which have their images scaled down ahead of their turn."""

    def __init__(
        self, task: TaskSamples, thumbnails: _Thumbnails, n_ahead: int, cuts: Mapping[tuple[int, int], Cut]
    ) -> None:
        self._task = task
        self._thumbnails = thumbnails
        self._n_ahead = n_ahead
        self._cuts = cuts
        self._places = iter(task.order.places)
        self._ahead: deque[tuple[int, Cut, dict[str, Future[Embedded | None]]]] = deque()

    def take(self) -> tuple[int, Cut, dict[str, Embedded | None]] | None:
        """The next sample with those of its media that are not in the report yet; ``None`` if there is no more."""
        while len(self._ahead) <= self._n_ahead and (place := next(self._places, None)) is not None:
            cut = self._cuts.get((self._task.number, place)) or self._task.cut(place)
            self._ahead.append((place, cut, self._thumbnails.ask(cut.files)))
        if not self._ahead:
            return None
        place, cut, asked = self._ahead.popleft()
        return place, cut, self._thumbnails.get(asked)

    def close(self) -> None:
        """Forget what was prepared for samples that get no turn."""
        for _, _, asked in self._ahead:
            for future in asked.values():
                future.cancel()
