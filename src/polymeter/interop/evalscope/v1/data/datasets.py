"""Samples in memory, and datasets by subset."""

from __future__ import annotations

import copy
import hashlib
import math
import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from typing import Any

from polymeter.interop.evalscope.v1.scoring.choice_templates import answer_character, answer_index
from polymeter.interop.evalscope.v1.types.messages import messages_to_markdown
from polymeter.interop.evalscope.v1.types.samples import Sample

Limit = int | float
"""A number of samples, or as a fraction from 0 to 1 a share of them."""


def validate_dataset_limit(limit: Limit | None) -> Limit | None:
    """Return a valid limit.

    Raises:
        ValueError: if it is neither a number from 0 on nor a fraction up to 1.
    """
    is_count = isinstance(limit, int) and limit >= 0
    if limit is None or is_count or (isinstance(limit, float) and math.isfinite(limit) and 0 <= limit <= 1):
        return limit
    raise ValueError(f"A limit is a whole number from 0 on or a fraction from 0.0 to 1.0, not {limit!r}.")


def resolve_dataset_limit(limit: Limit | None, dataset_size: int) -> int | None:
    """The number of samples that a limit lets through, a share rounded down; ``None`` for all.

    Raises:
        ValueError: if it is no limit.
    """
    checked = validate_dataset_limit(limit)
    return int(dataset_size * checked) if isinstance(checked, float) else checked


def shuffled_in_place(data: list[Any], seed: int | None) -> None:
    """Shuffle a list by a generator of its own; without a seed by Python's."""
    (random.Random(seed) if seed is not None else random).shuffle(data)


def repeat_samples(samples: list[Sample], repeats: int) -> list[Sample]:
    """The samples with copies, each beside its original."""
    return [copy.deepcopy(sample) for sample in samples for _ in range(repeats)] if repeats > 1 else samples


class Dataset(Sequence[Sample], ABC):
    """Samples with a name."""

    @property
    @abstractmethod
    def name(self) -> str | None:
        """The name."""

    @property
    @abstractmethod
    def location(self) -> str | None:
        """The place that they come from."""

    @property
    @abstractmethod
    def shuffled(self) -> bool:
        """True once they have been shuffled."""

    @abstractmethod
    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> Dataset:
        """The samples for which the predicate holds."""

    @abstractmethod
    def shuffle(self, seed: int | None = None) -> None:
        """Shuffle the samples in place."""

    @abstractmethod
    def shuffle_choices(self, seed: int | None = None) -> None:
        """Shuffle the options of each sample in place."""

    @abstractmethod
    def reindex(self, group_size: int = 1) -> None:
        """Number the samples."""


class MemoryDataset(Dataset):
    """Samples in a list.

    Args:
        samples: The samples; the list itself is kept.
        name: A name.
        location: Where they come from.
        shuffled: Whether they have been shuffled.
    """

    def __init__(
        self, samples: list[Sample], name: str | None = None, location: str | None = None, shuffled: bool = False
    ) -> None:
        self.samples = samples
        self._name = name
        self._location = location
        self._shuffled = shuffled

    @property
    def name(self) -> str | None:
        """The name."""
        return self._name

    @property
    def location(self) -> str | None:
        """The place that they come from."""
        return self._location

    @property
    def shuffled(self) -> bool:
        """True once they have been shuffled."""
        return self._shuffled

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            return self.samples[index]
        return MemoryDataset(self.samples[index], self.name, self.location, self.shuffled)

    def __len__(self) -> int:
        return len(self.samples)

    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> MemoryDataset:
        """The samples for which the predicate holds, with their numbers."""
        kept = [sample for sample in self.samples if predicate(sample)]
        return MemoryDataset(kept, name or self.name, self.location, self.shuffled)

    def shuffle(self, seed: int | None = None) -> None:
        """Shuffle the samples in place."""
        shuffled_in_place(self.samples, seed)
        self._shuffled = True

    def shuffle_choices(self, seed: int | None = None) -> None:
        """Shuffle the options of each sample in place, and correct its target.

        With a seed, the order depends on the seed and on the sample alone: another filter changes no other sample.

        Raises:
            TypeError: if a target is more than one letter.
            KeyError: if a target is no option.
        """
        unseeded = random.Random()
        for sample in self.samples:
            if not sample.choices:
                continue
            places = list(range(len(sample.choices)))
            (unseeded if seed is None else _generator(sample, seed)).shuffle(places)
            labels = {place: answer_character(at) for at, place in enumerate(places)}
            sample.choices = [sample.choices[place] for place in places]
            if isinstance(sample.target, list):
                sample.target = [labels[answer_index(label)] for label in sample.target]
            else:
                sample.target = labels[answer_index(sample.target)]

    def reindex(self, group_size: int = 1) -> None:
        """Number the samples from 0 on, and the groups of so many neighbours."""
        for at, sample in enumerate(self.samples):
            sample.id = at
            sample.group_id = at // group_size


class DatasetDict:
    """Datasets by subset.

    Args:
        datasets: The datasets.
    """

    def __init__(self, datasets: dict[str, Dataset]) -> None:
        self.datasets = datasets

    def __getitem__(self, key: str) -> Dataset:
        return self.datasets[key]

    def __setitem__(self, key: str, value: Dataset) -> None:
        self.datasets[key] = value

    def __delitem__(self, key: str) -> None:
        del self.datasets[key]

    def __len__(self) -> int:
        return len(self.datasets)

    def get(self, key: str, default: Dataset | None = None) -> Dataset | None:
        """The dataset of a subset, or a default."""
        return self.datasets.get(key, default)

    def items(self) -> ItemsView[str, Dataset]:
        """Subsets with their datasets."""
        return self.datasets.items()

    def keys(self) -> KeysView[str]:
        """The subsets."""
        return self.datasets.keys()

    def values(self) -> ValuesView[Dataset]:
        """The datasets."""
        return self.datasets.values()

    @classmethod
    def from_dataset(
        cls, dataset: Dataset, subset_list: Sequence[str], limit: Limit | None = None, repeats: int = 1
    ) -> DatasetDict:
        """Divide a dataset by the ``subset_key`` of its samples; without one, a sample is of ``default``.

        Args:
            dataset: The dataset; its samples are copied.
            subset_list: The subsets that are kept, in their order. One without samples is empty.
            limit: The number or the share of samples of each.
            repeats: The copies of each sample.

        Raises:
            ValueError: if the limit is none.
        """
        validate_dataset_limit(limit)
        by_subset: dict[str, list[Sample]] = {subset: [] for subset in subset_list}
        for sample in dataset:
            by_subset.get(sample.subset_key or "default", []).append(sample)
        divided: dict[str, Dataset] = {}
        for subset, samples in by_subset.items():
            chosen = samples[: resolve_dataset_limit(limit, len(samples))]
            copies = [copy.deepcopy(sample) for sample in chosen for _ in range(repeats)]
            divided[subset] = MemoryDataset(copies, name=dataset.name)
            divided[subset].reindex(group_size=repeats or 1)
        return cls(divided)

    @classmethod
    def from_dataset_dicts(cls, dataset_dicts: Sequence[DatasetDict]) -> DatasetDict:
        """Join datasets subset by subset. Samples keep their numbers."""
        joined: dict[str, list[Sample]] = defaultdict(list)
        for each in dataset_dicts:
            for subset, dataset in each.items():
                joined[subset].extend(dataset)
        return cls({subset: MemoryDataset(samples, name=subset) for subset, samples in joined.items()})


def _generator(sample: Sample, seed: int) -> random.Random:
    text = sample.input if isinstance(sample.input, str) else messages_to_markdown(sample.input)
    material = "\x00".join([str(seed), text, *sorted(sample.choices or ())])
    return random.Random(int.from_bytes(hashlib.sha256(material.encode("utf-8")).digest()[:8], "big"))
