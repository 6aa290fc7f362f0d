"""Contents of a file of results for tasks written in YAML. lm-eval and lmms-eval write it in one form: a part for each
kind of fact (``results``, ``configs``, ``versions``, ``n-shot``, …), and in it an entry for each task and group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.logs import LoggedGroup, LoggedSample, LoggedTask, StatedResult, damaged, read_json

_ERRORS = ("_stderr", "_stderr_clt", "_stderr_clustered")
_NO_VERSION = (None, "Yaml", "N/A")
_NOTHING: tuple[Any, ...] = (None, [], {}, "")

SamplesOf = Callable[[str, Mapping[str, Any], Sequence[StatedResult]], Callable[[], Iterator[LoggedSample]] | None]
"""From a task's name, configuration and stated results to its samples, if they were logged."""


@dataclass(frozen=True, slots=True)
class StatedResults:
    """A file of results, read.

    Attributes:
        file: The file.
        document: What it holds.
    """

    file: Path
    document: Mapping[str, Any]

    @classmethod
    def of(cls, file: Path, parts: Sequence[str]) -> StatedResults:
        """Read a file.

        Args:
            file: A file of results.
            parts: The parts without which it says nothing.

        Raises:
            DataError: if it is damaged or lacks a part.
        """
        document = read_json(file)
        for part in parts:
            if not isinstance(document.get(part), dict):
                raise damaged(file, f"it has no {part!r}")
        return cls(file, document)

    @property
    def seconds(self) -> float | None:
        """The duration of the run."""
        return number_of(self.document.get("total_evaluation_time_seconds"))

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings of the run."""
        return self.document.get("config") or {}

    @property
    def model(self) -> str:
        """The model's name, or that of its backend."""
        return str(self.document.get("model_name") or self.config.get("model") or "")

    def settings(self, *names: str, without: str = "") -> dict[str, Any]:
        """The settings of the run, with further ones that stand beside them; those that are not set are left out."""
        beside = {name: self.document[name] for name in names if self.document.get(name) is not None}
        found = {**{name: value for name, value in self.config.items() if name != without}, **beside}
        return {name: value for name, value in found.items() if value not in _NOTHING}

    def groups(self) -> dict[str, LoggedGroup]:
        """The groups by name. A name that has members is one; a task that stands in no group has none."""
        stated = {**self.document["results"], **(self.document.get("groups") or {})}
        return {
            name: LoggedGroup(
                name,
                tuple(members),
                self._stated(name, stated.get(name) or {}),
                _alias(stated.get(name) or {}, name),
                self._version(name),
            )
            for name, members in (self.document.get("group_subtasks") or {}).items()
            if members and name not in self.document["configs"]
        }

    def tasks(self, groups: Mapping[str, LoggedGroup], samples_of: SamplesOf) -> Iterator[LoggedTask]:
        """The tasks, in the file's order.

        Raises:
            DataError: if what is stated of one is not an object.
        """
        for name, row in self.document["results"].items():
            if name in groups:
                continue
            if not isinstance(row, dict):
                raise damaged(self.file, f"the results of {name!r} are not an object")
            config = self.document["configs"].get(name) or {}
            stated = self._stated(name, row, _metrics(config))
            samples = samples_of(name, config, stated)
            yield LoggedTask(
                name,
                stated,
                **({} if samples is None else {"samples": samples}),
                alias=_alias(row, name),
                version=self._version(name),
                num_fewshot=_count((self.document.get("n-shot") or {}).get(name)),
                n_samples=self._n_samples(name),
                config=config,
            )

    def _stated(self, name: str, row: Mapping[str, Any], order: Sequence[str] = ()) -> tuple[StatedResult, ...]:
        """Return the results of one entry, from ``metric,filter`` and ``metric_stderr,filter``, in the author's
        order.
        """
        directions = (self.document.get("higher_is_better") or {}).get(name) or {}
        n = _count(row.get("sample_len"))
        found = [
            StatedResult(
                metric,
                filtered,
                value,
                stderr=number_of(row.get(f"{metric}_stderr,{filtered}")),
                n=self._n_samples(name) if n is None else n,
                higher_is_better=directions.get(metric),
            )
            for key, value in row.items()
            for metric, comma, filtered in [key.rpartition(",")]
            if comma and not metric.endswith(_ERRORS)
        ]
        places = {metric: place for place, metric in enumerate(order)}
        return tuple(sorted(found, key=lambda one: places.get(one.metric, len(places))))

    def _n_samples(self, name: str) -> int | None:
        return _count(((self.document.get("n-samples") or {}).get(name) or {}).get("effective"))

    def _version(self, name: str) -> str:
        version = (self.document.get("versions") or {}).get(name)
        return "" if version in _NO_VERSION else str(version)


def number_of(value: Any) -> float | None:
    """A number, also one written as text; ``None`` for what is none, such as ``N/A``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _metrics(config: Mapping[str, Any]) -> list[str]:
    """The metrics as the author orders them."""
    listed = config.get("metric_list")
    entries = listed if isinstance(listed, list) else [listed]
    return [str(entry.get("metric")) for entry in entries if isinstance(entry, dict)]


def _alias(row: Mapping[str, Any], name: str) -> str:
    return str(row.get("alias") or name).lstrip(" -")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None
