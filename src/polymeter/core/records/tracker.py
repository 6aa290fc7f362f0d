"""Trackers receive finished runs: for example a service where a team keeps its experiments.

A tracker is made before the run, so that a misspelt argument or a missing package is found before anything is spent,
and called once, when the run folder is complete. It cannot change a result. Its errors are only reported: the run can
be sent again at any time, because it is sent from its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol

from polymeter.core.errors import PlanError

SampleLimit = int | Literal["all"]
"""The number of samples of each task that a tracker receives: the first ones, or all."""


@dataclass(frozen=True, slots=True)
class TrackedNumber:
    """One number of a run.

    Attributes:
        name: ``task/metric`` or ``task/subset/metric``, with ``,filter`` behind it for answers that were filtered.
        kind: ``task`` or ``group``.
        owner: The task or group.
        subset: Its subset, parts separated by ``/``; empty: of all samples.
        metric: The metric.
        filter: The filter; ``none`` if there is none.
        value: The number.
        stderr: Its standard error, if it has one.
        low: The lower end of its 95 % interval, if it has one.
        high: The upper end.
        n: How many samples it rests on.
        higher_is_better: Whether that is so; ``None`` if nobody says.
    """

    name: str
    kind: str
    owner: str
    subset: str
    metric: str
    filter: str
    value: float
    stderr: float | None
    low: float | None
    high: float | None
    n: int | None
    higher_is_better: bool | None


@dataclass(frozen=True, slots=True)
class TrackedSample:
    """One sample of a run.

    Attributes:
        task: Its task.
        id: Its id.
        subset: Its subset, parts separated by ``/``.
        status: How it ended.
        prompt: The text of its first request.
        answer: What was scored.
        target: What was expected.
        error: Why it has no score; empty if it has one.
        scores: Its numbers by metric.
        shown: Files of the images that the model was shown, as far as previews were kept.
        generated: Files of the images that it made.
    """

    task: str
    id: str
    subset: str
    status: str
    prompt: str
    answer: str | None
    target: str | None
    error: str
    scores: Mapping[str, float]
    shown: tuple[Path, ...]
    generated: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A finished run as trackers see it.

    Attributes:
        name: The name of its folder.
        folder: The run folder.
        model: The model's name.
        tasks: Its tasks, each with what its definition says: title, version, number of samples, dataset.
        config: The settings of the measurement, as plain nested data without keys, tokens and local paths.
        numbers: Its results. Values that are not numbers, or not finite, are left out.
        read_samples: ``(task) → samples``, one at a time.
        write_tables: ``(folder, limit) → files``: writes the samples of each task as Parquet, with their media.
        further: Further files that the user sends along, by the paths that they get.
        usage: The usage of its requests, by ``usage/ROLE/MODEL/COUNT``: the counts of ``ModelUsage`` that are known.
            Tokens, images, seconds of audio, requests and failed tries.
    """

    name: str
    folder: Path
    model: str
    tasks: Mapping[str, Mapping[str, Any]]
    config: Mapping[str, Any]
    numbers: tuple[TrackedNumber, ...]
    read_samples: Callable[[str], Iterator[TrackedSample]]
    write_tables: Callable[[Path, SampleLimit], tuple[Path, ...]]
    further: Mapping[str, Path] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)

    @property
    def files(self) -> tuple[Path, ...]:
        """The results and the report, if they exist."""
        return tuple(path for name in ("results.json", "report.html") if (path := self.folder / name).is_file())

    def samples(self, task: str, limit: SampleLimit) -> Iterator[TrackedSample]:
        """The first samples of a task."""
        return islice(self.read_samples(task), None if limit == "all" else limit)


class Tracker(Protocol):
    """Receives finished runs. Its keyword parameters are its arguments on the command line."""

    def send(self, run: TrackedRun) -> str:
        """Send a run.

        Returns:
            Where it can be looked at: an address or a folder.
        """
        ...


def sample_limit(value: Any) -> SampleLimit:
    """The argument ``samples`` of a tracker.

    Raises:
        PlanError: if it is neither a whole number from 0 nor ``all``.
    """
    if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value  # type: ignore[no-any-return]
    raise PlanError(f"{value!r} is not a number of samples.", hint="Write samples=100, samples=0 or samples=all.")


def flat(config: Mapping[str, Any], before: str = "") -> dict[str, str | int | float | bool]:
    """Nested data as one level, for trackers that know no other: ``options.seed``. Lists become text."""
    found: dict[str, str | int | float | bool] = {}
    for key, value in config.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif value is not None:
            found[name] = value if isinstance(value, (str, int, float, bool)) else str(value)
    return found
