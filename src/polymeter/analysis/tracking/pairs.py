"""The comparisons of a curve: each is made once and stored in a file, since finished runs do not change."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from polymeter import __version__
from polymeter.analysis.comparison.comparing import compare
from polymeter.analysis.comparison.scores import NotCompared, ScoreComparison
from polymeter.core.errors import PlanError
from polymeter.core.text.json_text import as_number
from polymeter.store.folder import RunFolder, write_json

FILE = "comparisons.json"


@dataclass(frozen=True, slots=True)
class CheckpointPair:
    """The comparison of a run with an earlier one.

    Attributes:
        scores: The scores, without the ids of samples and not corrected for the number of tests.
        not_compared: Metrics that cannot be compared.
        warnings: What the reader must know.
        refused: Why the comparison would mislead and is missing; empty otherwise.
    """

    scores: tuple[ScoreComparison, ...] = ()
    not_compared: tuple[NotCompared, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: str = ""


class CheckpointPairs:
    """The comparisons of the runs of one training run.

    Args:
        path: The folder of the run folders.
        metric: Only this metric; empty: all, and the first of each task decides.
        allow: Allowed differences besides the model.
    """

    def __init__(self, path: Path, *, metric: str = "", allow: Collection[str] = ()) -> None:
        self._path = path
        self._metric = metric
        self._allow = sorted(allow)
        self._kept: dict[str, CheckpointPair] = {}
        self._is_new = False
        self._read()

    def compared(self, first: Path, second: Path) -> CheckpointPair:
        """Compare a run with an earlier one.

        Raises:
            StorageError: if a run cannot be read.
        """
        key = json.dumps([__version__, self._metric, self._allow, *map(_stamp, (first, second))])
        if key not in self._kept:
            self._kept[key] = self._compare(first, second)
            self._is_new = True
        return self._kept[key]

    def write(self) -> None:
        """Store the comparisons.

        Raises:
            StorageError: if the file cannot be written.
        """
        if self._is_new:
            write_json(self._path / FILE, {key: asdict(pair) for key, pair in self._kept.items()})
            self._is_new = False

    def _compare(self, first: Path, second: Path) -> CheckpointPair:
        try:
            found = compare(first, second, metric=self._metric, allow=self._allow)
        except PlanError as error:
            return CheckpointPair(refused=str(error.what))
        (other,) = found.others
        scores = tuple(replace(line, gained=(), lost=(), p_corrected=None, family=1) for line in other.scores)
        return CheckpointPair(scores, other.not_compared, other.warnings)

    def _read(self) -> None:
        try:
            content = json.loads((self._path / FILE).read_text(encoding="utf-8"))
            self._kept = {key: _pair(value) for key, value in content.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            self._kept = {}  # compute them again from the runs


def _stamp(run: Path) -> list[Any]:
    stat = RunFolder(run).results.stat()
    return [run.name, stat.st_size, stat.st_mtime_ns]


def _pair(value: Mapping[str, Any]) -> CheckpointPair:
    return CheckpointPair(
        tuple(_line(line) for line in value["scores"]),
        tuple(NotCompared(**one) for one in value["not_compared"]),
        tuple(value["warnings"]),
        value["refused"],
    )


def _line(value: Mapping[str, Any]) -> ScoreComparison:
    interval = None if value["interval"] is None else (value["interval"][0], value["interval"][1])
    numbers = {name: as_number(item) for name, item in value.items() if name not in ("name", "metric", "filter")}
    return ScoreComparison(**{**value, **numbers, "interval": interval, "gained": (), "lost": ()})
