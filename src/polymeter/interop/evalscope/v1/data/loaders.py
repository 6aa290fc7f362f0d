"""Loaders: from a hub, from local files, from dictionaries.

All do the same in the same order, which fixes ids and numbers: read, shuffle, limit, convert, repeat, filter, number,
shuffle options. A limit counts records: before the filter, and before a record becomes several samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError
from polymeter.interop.evalscope.tasks.datasets import local_place
from polymeter.interop.evalscope.v1.constants import HubType
from polymeter.interop.evalscope.v1.data.datasets import (
    Dataset,
    Limit,
    MemoryDataset,
    repeat_samples,
    resolve_dataset_limit,
    shuffled_in_place,
    validate_dataset_limit,
)
from polymeter.interop.evalscope.v1.data.fields import (
    MakeSample,
    data_to_samples,
    record_to_sample_fn,
    shuffle_choices_if_requested,
)
from polymeter.interop.evalscope.v1.data.hub import DatasetHub
from polymeter.interop.evalscope.v1.data.media_columns import undecode_media
from polymeter.interop.evalscope.v1.types.samples import FieldSpec, Sample
from polymeter.interop.evalscope.v1.utils.files import csv_to_list, jsonl_to_list, parquet_to_list, tsv_to_list

_READERS: Mapping[str, Callable[[str], list[dict[str, Any]]]] = {
    ".jsonl": jsonl_to_list,
    ".csv": csv_to_list,
    ".tsv": tsv_to_list,
    ".parquet": parquet_to_list,
}


class NoRecordsFileError(DataError, FileNotFoundError):
    """The records of a subset are nowhere. Authors' code may expect the ``FileNotFoundError`` that it is."""


class DataLoader(ABC):
    """Makes samples of records.

    Args:
        data_id_or_path: An id, a file or a folder.
        split: The split.
        sample_fields: Makes samples of a ``record``; or the names of its fields.
        filter_func: Which samples are kept.
        subset: The subset.
        version: The revision.
        limit: The number or the share of records; ``None`` and 0: all.
        data_source: The hub.
        shuffle: Whether to shuffle the records.
        shuffle_choices: Whether to shuffle the options of each sample; a number is the seed.
        seed: The seed.
        auto_id: Whether to number the samples.
        repeats: The copies of each sample.
        trust_remote: Kept for authors: no program of a dataset runs.
        force_redownload: Kept for authors.
        dataset_dir: Where ModelScope keeps copies.
        **kwargs: For the reader of the hub's files.

    Raises:
        ValueError: if the limit is none.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (the signature that adapters are written against)
        self,
        data_id_or_path: str,
        split: str,
        sample_fields: FieldSpec | MakeSample | None = None,
        filter_func: Callable[[Sample], bool] | None = None,
        subset: str = "default",
        version: str | None = None,
        limit: Limit | None = None,
        data_source: str | None = HubType.MODELSCOPE,
        shuffle: bool = False,
        shuffle_choices: bool | int | None = None,
        seed: int | None = None,
        auto_id: bool = True,
        repeats: int = 1,
        trust_remote: bool = True,
        force_redownload: bool = False,
        dataset_dir: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.data_id_or_path = data_id_or_path
        self.split = split
        self.sample_fields = sample_fields
        self.filter_func = filter_func
        self.subset = subset
        self.version = version
        self.limit = validate_dataset_limit(limit)
        self.data_source = data_source
        self.shuffle = shuffle
        self.shuffle_choices = shuffle_choices
        self.seed = seed
        self.auto_id = auto_id
        self.repeats = repeats
        self.trust_remote = trust_remote
        self.force_redownload = force_redownload
        self.dataset_dir = dataset_dir
        self.kwargs = kwargs

    @abstractmethod
    def load(self) -> Dataset:
        """The samples."""

    def _chosen(self, records: list[Any]) -> list[Any]:
        """The records in their order, limited. The list itself is shuffled."""
        if self.shuffle:
            shuffled_in_place(records, self.seed)
        return records[: resolve_dataset_limit(self.limit, len(records))] if self.limit else records

    def _samples(self, records: list[Any]) -> MemoryDataset:
        samples = data_to_samples(records, record_to_sample_fn(self.sample_fields))
        place = self.data_id_or_path
        name = Path(place).stem if place and Path(place).exists() else place
        dataset = MemoryDataset(repeat_samples(samples, self.repeats), name or None, place or None)
        if self.filter_func is not None:
            dataset = dataset.filter(self.filter_func)
        if self.auto_id:
            dataset.reindex(group_size=self.repeats)
        shuffle_choices_if_requested(dataset, self.shuffle_choices, self.seed)
        return dataset


class RemoteDataLoader(DataLoader):
    """A dataset of a hub, or a local copy of one. It is shuffled as the package ``datasets`` shuffles."""

    def load(self) -> Dataset:
        """The samples.

        Raises:
            DataError: if the dataset, the subset or the split is missing.
            PlanError: if the hub is unknown, or its package is not installed.
        """
        hub = DatasetHub(self.data_id_or_path, self.data_source, self.version, cache_dir=self.dataset_dir)
        dataset = undecode_media(hub.load(self.split, self.subset, **self.kwargs))
        if self.shuffle:
            dataset = dataset.shuffle(seed=self.seed)
        if self.limit:
            n = resolve_dataset_limit(self.limit, len(dataset))
            dataset = dataset.select(range(min(n, len(dataset)) if n is not None else len(dataset)))
        return self._samples(list(dataset))


class LocalDataLoader(DataLoader):
    """A local file, or in a folder the first of ``SUBSET_SPLIT`` and ``SUBSET`` with a known ending that holds rows."""

    def load(self) -> Dataset:
        """The samples.

        Raises:
            FileNotFoundError: if there are no rows; the places where they were looked for are named.
        """
        place = local_place(self.data_id_or_path)
        for ending, read in _READERS.items():
            file = next((file for file in self._candidates(place, ending) if Path(file).exists()), None)
            records = read(file) if file is not None else []
            if records:
                return self._samples(self._chosen(records))
        raise self._nothing_found(Path(place))

    def _candidates(self, place: str, ending: str) -> list[str]:
        if Path(place).is_file() and place.endswith(ending):
            return [place]
        return [str(Path(place) / f"{stem}{ending}") for stem in (f"{self.subset}_{self.split}", self.subset)]

    def _nothing_found(self, place: Path) -> NoRecordsFileError:
        endings = ", ".join(_READERS)
        if not place.exists():
            return NoRecordsFileError(f"The dataset {place} does not exist.", where=str(place))
        if place.is_file():
            hint = f"Files with the endings {endings} are read."
            return NoRecordsFileError(f"The file {place} has no records that can be read.", where=str(place), hint=hint)
        held = sorted(child.name for child in place.iterdir() if child.suffix in _READERS)
        return NoRecordsFileError(
            f"The folder {place} has no records of subset {self.subset!r}, split {self.split!r}.",
            where=str(place),
            hint=f"Looked for {self.subset}_{self.split} and {self.subset} with the endings {endings}. It holds: "
            f"{', '.join(held) or 'none of them'}.",
        )


class DictDataLoader(DataLoader):
    """Records that are in memory.

    Args:
        dict_list: The records; the list itself is shuffled.
        **kwargs: As of the other loaders.
    """

    def __init__(self, dict_list: list[Any], **kwargs: Any) -> None:
        super().__init__(data_id_or_path="", split="", **kwargs)
        self.dict_list = dict_list

    def load(self) -> Dataset:
        """The samples."""
        return self._samples(self._chosen(self.dict_list))
