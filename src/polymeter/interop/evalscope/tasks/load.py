"""From an entry of the index to a spec, without running any of the benchmark's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.catalog import Entry
from polymeter.core.codec import jsonable
from polymeter.core.errors import PlanError
from polymeter.core.format import Loaded
from polymeter.core.identity import source_hash
from polymeter.core.sources import digest
from polymeter.core.task import TaskSpec
from polymeter.guests.sources import files_behind
from polymeter.interop.evalscope.tasks.index import NAME
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, Registration, read_file
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, source_text

_ORDER = (
    "name",
    "pretty_name",
    "tags",
    "description",
    "dataset_id",
    "model_adapter",
    "output_types",
    "subset_list",
    "metric_list",
    "few_shot_num",
    "few_shot_random",
    "train_split",
    "eval_split",
    "prompt_template",
    "system_prompt",
    "query_template",
    "filters",
    "extra_params",
)


def load(entry: Entry) -> Loaded:
    """The spec behind an entry.

    Raises:
        PlanError: The file is broken, or does not register the name any more.
    """
    values = dict(values_of(entry))
    sources = files_behind([entry.file]) if entry.file.is_file() else ()
    text = source_hash(sources) if sources else digest(source_text(entry.file).encode())
    spec = TaskSpec(
        name=entry.name,
        format=NAME,
        file=entry.file,
        config=values,
        source_hash=text,
        sources=sources,
        alias=entry.alias,
    )
    return Loaded((spec,))


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """What the registration says: key, value (its source text where only running it would tell), and the file."""
    written = {} if _is_registered(entry) else registration_of(entry).written
    return [
        (key, written.get(key, value) if value == UNKNOWN else value, entry.file) for key, value in values_of(entry)
    ]


def registration_of(entry: Entry) -> Registration:
    """The registration of an entry, as it is written.

    Raises:
        PlanError: The file is broken, or does not register the name any more.
    """
    for registration in read_file(entry.file).registrations:
        if registration.name == entry.name:
            return registration
    raise PlanError(f"{entry.file.name} does not register {entry.name!r} any more.", where=str(entry.file))


def values_of(entry: Entry) -> Iterator[tuple[str, Any]]:
    """What a registration says, in the order in which people read it."""
    values: Mapping[str, Any]
    if _is_registered(entry):
        meta = BENCHMARK_MAPPINGS.in_file(entry.name, entry.file)
        assert meta is not None
        values = {key: jsonable(value) for key, value in meta.to_dict().items() if key != "data_adapter"}
    else:
        values = registration_of(entry).values
    yield from ((key, values[key]) for key in _ORDER if values.get(key) not in (None, [], {}))
    yield from ((key, value) for key, value in values.items() if key not in _ORDER)


def _is_registered(entry: Entry) -> bool:
    return BENCHMARK_MAPPINGS.by_users().get(entry.name) == entry.file
