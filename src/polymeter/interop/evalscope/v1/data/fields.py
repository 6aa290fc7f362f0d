"""Samples from records: by an adapter's function, or by the names of fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polymeter.core.errors import DataError
from polymeter.interop.evalscope.v1.data.datasets import Dataset
from polymeter.interop.evalscope.v1.types.samples import FieldSpec, Sample

MakeSample = Callable[..., Sample | list[Sample]]


def record_to_sample_fn(sample_fields: FieldSpec | MakeSample | None = None) -> MakeSample:
    """The function that makes samples of a ``record``.

    Args:
        sample_fields: The function itself, or names of fields; ``None``: the usual ones.
    """
    fields = FieldSpec() if sample_fields is None else sample_fields
    if not isinstance(fields, FieldSpec):
        return fields

    def make(record: Mapping[str, Any]) -> Sample:
        return Sample(
            input=read_input(record.get(fields.input)),
            target=read_target(record.get(fields.target)),
            choices=read_choices(record.get(fields.choices)),
            id=record.get(fields.id),
            metadata=_metadata(record, fields),
            sandbox=read_sandbox(record.get(fields.sandbox)),
            files=read_files(record.get(fields.files)),
            setup=read_setup(record.get(fields.setup)),
        )

    return make


def data_to_samples(data: Iterable[Mapping[str, Any]], data_to_sample: MakeSample) -> list[Sample]:
    """The samples of some records, in their order."""
    return [sample for record in data for sample in as_sample_list(data_to_sample(record=record))]


def as_sample_list(samples: Any) -> list[Sample]:
    """Samples as a list, also a single one.

    Raises:
        DataError: if there is something else.
    """
    found: list[Any] = samples if isinstance(samples, list) else [samples]
    others = [sample for sample in found if not isinstance(sample, Sample)]
    if others:
        raise DataError(
            f"record_to_sample gave {'a list with ' if isinstance(samples, list) else ''}a {type(others[0]).__name__}.",
            hint="It must return a Sample or a list of Samples.",
        )
    return found


def read_input(input_val: Any) -> str:
    """An input as text.

    Raises:
        ValueError: if it is empty.
    """
    if not input_val:
        raise ValueError("A record has no input.")
    return str(input_val)


def read_target(obj: Any) -> str | list[str]:
    """A target as text, or as a list of texts; nothing is the empty text."""
    if obj is None:
        return ""
    return [str(item) for item in obj] if isinstance(obj, list) else str(obj)


def read_choices(obj: Any) -> list[str] | None:
    """Options of a list, or of a text that separates them by commas or else by spaces."""
    if obj is None:
        return None
    if isinstance(obj, list):
        return [str(choice) for choice in obj]
    if not isinstance(obj, str):
        return [str(obj)]
    return [choice.strip() for choice in (obj.split(",") if "," in obj else obj.split())]


def read_setup(setup: Any) -> str | None:
    """A script as text."""
    return None if setup is None else str(setup)


def read_sandbox(sandbox: Any) -> str | None:
    """A container as text; a mapping as JSON.

    Raises:
        ValueError: if it is neither.
    """
    if isinstance(sandbox, dict):
        return json.dumps(sandbox)
    if sandbox is None or isinstance(sandbox, str):
        return sandbox
    raise ValueError(f"The field 'sandbox' of a record is neither text nor a mapping: {type(sandbox).__name__}.")


def read_files(files: Any) -> dict[str, str] | None:
    """Files by their places: a mapping from text to text, which may be written as JSON.

    Raises:
        ValueError: if it is something else.
    """
    read = json.loads(files) if isinstance(files, str) else files
    if read is None or (isinstance(read, dict) and all(isinstance(value, str) for value in read.values())):
        return read
    raise ValueError(f"The field 'files' of a record is no mapping of texts: {type(read).__name__}.")


def shuffle_choices_if_requested(dataset: Dataset, shuffle_choices: bool | int | None, seed: int | None = None) -> None:
    """Shuffle the options of samples where that is wanted.

    Args:
        dataset: The samples.
        shuffle_choices: Whether it is; a number is the seed.
        seed: The seed of the run.
    """
    if shuffle_choices is True:
        dataset.shuffle_choices(seed=seed)
    elif isinstance(shuffle_choices, int) and shuffle_choices is not False:
        dataset.shuffle_choices(seed=shuffle_choices)


def _metadata(record: Mapping[str, Any], fields: FieldSpec) -> dict[str, Any]:
    if fields.metadata:
        return {name: record.get(name) for name in fields.metadata}
    found = record.get("metadata", {})
    read = json.loads(found) if isinstance(found, str) else found
    if not isinstance(read, dict):
        raise ValueError(f"The field 'metadata' of a record is no mapping: {type(read).__name__}.")
    return read
