"""Datasets from records that an adapter has read itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polymeter.interop.evalscope.v1.data.datasets import (
    Dataset,
    DatasetDict,
    Limit,
    MemoryDataset,
    repeat_samples,
    resolve_dataset_limit,
    shuffled_in_place,
)
from polymeter.interop.evalscope.v1.data.fields import MakeSample, data_to_samples, record_to_sample_fn
from polymeter.interop.evalscope.v1.data.hub import DatasetHub, Patterns
from polymeter.interop.evalscope.v1.data.loaders import LocalDataLoader
from polymeter.interop.evalscope.v1.types.samples import FieldSpec, Sample


def build_dataset_from_records(  # noqa: PLR0913  (the signature that adapters are written against)
    records: Iterable[Any],
    sample_fields: FieldSpec | MakeSample,
    *,
    name: str,
    location: str | None,
    limit: Limit | None,
    repeats: int,
    shuffle: bool,
    seed: int | None,
    filter_func: Callable[[Sample], bool] | None = None,
    auto_id: bool = True,
) -> MemoryDataset:
    """Make a dataset of records, in the order of the loaders: shuffle, limit, convert, repeat, filter, number.

    Args:
        records: The records; they stay in their order.
        sample_fields: Makes samples of a ``record``; or the names of its fields.
        name: A name.
        location: Where they come from.
        limit: The number or the share of records; 0 is none of them.
        repeats: The copies of each sample.
        shuffle: Whether to shuffle.
        seed: The seed.
        filter_func: Which samples are kept.
        auto_id: Whether to number them.

    Raises:
        ValueError: if the limit is none.
    """
    chosen = list(records)
    if shuffle:
        shuffled_in_place(chosen, seed)
    chosen = chosen[: resolve_dataset_limit(limit, len(chosen))]
    samples = repeat_samples(data_to_samples(chosen, record_to_sample_fn(sample_fields)), repeats)
    dataset = MemoryDataset(samples, name, location, shuffle)
    if filter_func is not None:
        dataset = dataset.filter(filter_func)
    if auto_id:
        dataset.reindex(group_size=max(repeats, 1))
    return dataset


def build_dataset_dict_from_record_map(  # noqa: PLR0913  (the signature that adapters are written against)
    record_map: Mapping[str, Iterable[Any]],
    sample_fields: FieldSpec | MakeSample,
    *,
    location: str | None,
    limit: Limit | None,
    repeats: int,
    shuffle: bool,
    seed: int | None,
    filter_func: Callable[[Sample], bool] | None = None,
    auto_id: bool = True,
) -> DatasetDict:
    """Make a dataset of the records of each subset; see ``build_dataset_from_records``."""
    datasets: dict[str, Dataset] = {
        subset: build_dataset_from_records(
            records,
            sample_fields,
            name=subset,
            location=location,
            limit=limit,
            repeats=repeats,
            shuffle=shuffle,
            seed=seed,
            filter_func=filter_func,
            auto_id=auto_id,
        )
        for subset, records in record_map.items()
    }
    return DatasetDict(datasets)


def resolve_snapshot_or_local_path(adapter: Any, allow_file_pattern: Patterns = None) -> str:
    """The local folder of an adapter's dataset.

    Args:
        adapter: The adapter.
        allow_file_pattern: Patterns of the files that are wanted; default: all.

    Raises:
        DataError: if they cannot be fetched.
    """
    hub = DatasetHub(
        data_id_or_path=adapter.dataset_id,
        data_source=adapter.dataset_hub,
        revision=adapter.dataset_revision,
        force_redownload=adapter.force_redownload,
        cache_dir=adapter.dataset_dir,
    )
    return hub.download_snapshot(allow_file_pattern=allow_file_pattern)


def load_local_file_dataset(
    adapter: Any,
    dataset_path: str,
    subset: str,
    split: str,
    sample_fields: FieldSpec | MakeSample,
    limit: Limit | None,
    repeats: int,
    shuffle: bool,
) -> Dataset:
    """The samples of a local file or folder, as ``LocalDataLoader`` finds them. No sample is filtered, and the run's
    generator shuffles.

    Raises:
        FileNotFoundError: if there are no rows.
    """
    loader = LocalDataLoader(
        data_id_or_path=dataset_path,
        split=split,
        subset=subset,
        sample_fields=sample_fields,
        limit=limit,
        repeats=repeats,
        shuffle=shuffle,
    )
    return loader.load()
