"""The values of a task's samples that can be filtered: columns in Arrow files that are mapped into memory, never read
whole.

An index is a folder with ``numbers.arrow`` (a row for each ended sample, in order), ``texts.arrow`` (the same rows,
texts in lower case) and ``facts.json``, which is written last: a folder without it is not an index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polymeter.core.records.stored_samples import named
from polymeter.report.scales import Scale, axis
from polymeter.report.table import bounds_of
from polymeter.report.value_step import value_step

VERSION = 4
NUMBERS, TEXTS, FACTS = "numbers.arrow", "texts.arrow", "facts.json"
LONGEST_TEXT = 20_000
"""Characters of a text that are searched."""
TEXT_COLUMNS = ("id", "prompt", "answer", "target", "judge", "file")
SCORE, FIELD, CUT = "score:", "field:", "cut:"
NONE = -1
"""The code of a sample that has no value in a column of codes."""
Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MetricAxis:
    """The axis on which the values of a metric are coloured.

    Attributes:
        scale: Its ends; ``None``: they are not known.
        is_lower_better: The metric's direction; ``None``: neither is better.
    """

    scale: Scale | None
    is_lower_better: bool | None

    def step(self, value: float | None) -> int | None:
        """The step of a value on the scale of colours; ``None``: it has none."""
        return value_step(value, self.scale, is_lower_better=self.is_lower_better)


@dataclass(frozen=True, slots=True)
class Main:
    """The metric by which samples are right or wrong.

    Attributes:
        name: Its name among the metrics of the index.
        is_lower_better: Its direction.
        low: The low end of its scale.
        high: The high end.
    """

    name: str
    is_lower_better: bool
    low: float
    high: float

    @property
    def middle(self) -> float:
        """A sample is right whose value is beyond the middle of the scale."""
        return (self.low + self.high) / 2

    @property
    def rule(self) -> str:
        """The rule by which a sample is wrong, in a few words."""
        return f"{self.name} {'≥' if self.is_lower_better else '≤'} {self.middle:.4g}"


@dataclass(frozen=True)
class SampleIndex:
    """The index in a folder.

    Attributes:
        path: The folder.
        facts: Its contents: the ``statuses``, ``subsets`` and ``fields`` that its codes stand for, with their counts,
            the names of the ``metrics``, the least and greatest value of each, and of which ``state`` of the run it is.
    """

    path: Path
    facts: Mapping[str, Any]

    @classmethod
    def at(cls, path: Path) -> SampleIndex | None:
        """Open the index in a folder; ``None`` if it has none that this version reads."""
        try:
            facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return cls(path, facts) if facts.get("version") == VERSION else None

    @property
    def n(self) -> int:
        """The number of its samples."""
        return int(self.facts["n"])

    @property
    def statuses(self) -> dict[str, int]:
        """The number of samples by status."""
        return dict(self.facts["statuses"])

    @property
    def cuts(self) -> dict[str, int]:
        """The number of samples by kind of truncation."""
        return dict(self.facts["cuts"])

    @property
    def subsets(self) -> dict[str, int]:
        """The number of samples by subset."""
        return dict(self.facts["subsets"])

    @property
    def fields(self) -> dict[str, dict[str, int]]:
        """The fields of rows that put them into categories, each with the number of samples by value."""
        return {name: dict(counts) for name, counts in self.facts["fields"].items()}

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics that samples have numbers for."""
        return list(self.facts["metrics"])

    @property
    def has_files(self) -> bool:
        """True if a file of a sample has a name."""
        return bool(self.facts["has_files"])

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers; it is a view of the file."""
        return self._numbers[name]

    def texts(self, name: str) -> Any:
        """A column of texts as an Arrow array in pieces."""
        return self._texts.column(name)

    def codes(self, column: str, values: list[str], known: Mapping[str, int]) -> Mask:
        """The samples that have one of some values in a column of codes."""
        places = [place for place, value in enumerate(known) if value in set(values)]
        return np.isin(self.column(column), np.asarray(places, dtype=np.int64))

    def main(self, task: Mapping[str, Any]) -> Main | None:
        """The metric by which samples are right or wrong: the first of a task's results that samples have numbers for,
        and whose scale is known.

        Args:
            task: The task in ``results.json``.
        """
        for name, found in self.axes(task).items():
            if found.scale is not None:
                return Main(name, found.is_lower_better is True, found.scale.low, found.scale.high)
        return None

    def axes(self, task: Mapping[str, Any]) -> dict[str, MetricAxis]:
        """The axis of each metric of the index that a task's results name, in their order.

        Args:
            task: The task in ``results.json``.
        """
        found: dict[str, MetricAxis] = {}
        for result in task.get("results", ()):
            filtered = str(result.get("filter") or "none")
            name = named(str(result["metric"]), filtered)
            name = name if name in self.facts["metrics"] else named(f"{result['metric']}/score", filtered)
            if result.get("subset") or name not in self.facts["metrics"] or name in found:
                continue
            is_lower_better = None if result.get("higher_is_better") is None else not result["higher_is_better"]
            found[name] = MetricAxis(axis(bounds_of(result), self.facts["metrics"][name]), is_lower_better)
        return found

    def is_wrong(self, main: Main | None) -> Mask:
        """The scored samples that are wrong."""
        return self._beyond(main, is_right=False)

    def is_right(self, main: Main | None) -> Mask:
        """The scored samples that are right."""
        return self._beyond(main, is_right=True)

    def _beyond(self, main: Main | None, *, is_right: bool) -> Mask:
        if main is None:
            return np.zeros(self.n, dtype=np.bool_)
        values = self.column(SCORE + main.name)
        right = values < main.middle if main.is_lower_better else values > main.middle
        return right if is_right else ~right & ~np.isnan(values)

    @cached_property
    def _numbers(self) -> dict[str, npt.NDArray[Any]]:
        table = _mapped(self.path / NUMBERS)
        # One piece each, without nulls: what is missing is NaN or a code of its own.
        return {
            name: table.column(name).chunk(0).to_numpy(zero_copy_only=True) if table.num_rows else np.empty(0)
            for name in table.column_names
        }

    @cached_property
    def _texts(self) -> Any:
        return _mapped(self.path / TEXTS)


def _mapped(path: Path) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
