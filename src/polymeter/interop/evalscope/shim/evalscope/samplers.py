"""Samplers: they draw prompts from the datasets of a collection, for the file that ``data_collection`` evaluates.

They draw with Python's own generator, so ``random.seed`` decides which prompts a script gets.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.shim.evalscope.collections import CollectionSchema, DatasetInfo


@dataclass
class DatasetEntry:
    """One prompt of a collection.

    Attributes:
        index: Its number in the collection.
        prompt: As its benchmark made it.
        tags: Labels of its dataset.
        categories: Names of the collections that contain its dataset, outermost first.
        task_type: A label of its dataset.
        weight: Its dataset's share of the whole; in 1.x, divided among the prompts that are drawn from it.
        dataset_name: Its benchmark.
        subset_name: Its subset.
    """

    index: int = 0
    prompt: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    task_type: str = ""
    weight: float = 0.0
    dataset_name: str = ""
    subset_name: str = ""


class Sampler(ABC):
    """Draws prompts from a collection.

    Args:
        schema: The collection.
    """

    def __init__(self, schema: CollectionSchema) -> None:
        self.schema = schema

    def sample(self, count: int) -> list[dict[str, Any]]:
        """Draw prompts; a dataset that has too few gives all.

        Args:
            count: How many.

        Returns:
            The entries as dictionaries, dataset after dataset.

        Raises:
            PlanError: if a benchmark is not in reach, its code cannot be loaded, or only some are of 1.x.
            DataError: if its data is missing.
        """
        datasets = self.schema.flatten()
        data = [dataset.get_data() for dataset in datasets]
        if len({_is_of_1x(prompts) for prompts in data if prompts}) > 1:
            raise PlanError(
                "This collection has benchmarks of EvalScope 0.17 and of 1.x.", hint="Draw a collection of each."
            )
        counts = self._counts(datasets, data, count)
        # The last dataset gets what rounding down has left over.
        counts = [*counts[:-1], count - sum(counts[:-1])]
        entries = [
            entry
            for dataset, prompts, n in zip(datasets, data, counts, strict=True)
            for entry in _drawn(dataset, prompts, n)
        ]
        return [asdict(entry) | {"index": number} for number, entry in enumerate(entries)]

    @abstractmethod
    def _counts(self, datasets: Sequence[DatasetInfo], data: Sequence[Mapping[str, Any]], count: int) -> list[int]:
        """Return the number of prompts of each dataset."""


class WeightedSampler(Sampler):
    """Draws from each dataset by its weight."""

    def _counts(self, datasets: Sequence[DatasetInfo], data: Sequence[Mapping[str, Any]], count: int) -> list[int]:
        return [int(dataset.weight * count) for dataset in datasets]


class UniformSampler(Sampler):
    """Draws as many prompts from each dataset."""

    def _counts(self, datasets: Sequence[DatasetInfo], data: Sequence[Mapping[str, Any]], count: int) -> list[int]:
        return [count // len(datasets)] * len(datasets)


class StratifiedSampler(Sampler):
    """Draws from each dataset by its number of samples; of 0.17's by its number of subsets, whatever their sizes, as
    EvalScope did.
    """

    def _counts(self, datasets: Sequence[DatasetInfo], data: Sequence[Mapping[str, Any]], count: int) -> list[int]:
        sizes = [sum(map(len, prompts.values())) if _is_of_1x(prompts) else len(prompts) for prompts in data]
        return [int(size / sum(sizes) * count) for size in sizes]


def _is_of_1x(data: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether prompts are samples of EvalScope 1.x."""
    return not any(isinstance(prompt, Mapping) for prompts in data.values() for prompt in prompts[:1])


def _drawn(dataset: DatasetInfo, data: Mapping[str, Any], count: int) -> list[DatasetEntry]:
    count = max(0, min(count, sum(map(len, data.values()))))
    is_of_1x = _is_of_1x(data)
    entries = [
        DatasetEntry(
            prompt=prompt.model_dump(exclude_none=True) if is_of_1x else prompt,
            tags=dataset.tags,
            categories=dataset.hierarchy,
            task_type=dataset.task_type,
            weight=dataset.weight / max(count, 1) if is_of_1x else dataset.weight,
            dataset_name=dataset.name,
            subset_name=subset,
        )
        for subset, prompts in data.items()
        for prompt in prompts
    ]
    return random.sample(entries, k=count)
