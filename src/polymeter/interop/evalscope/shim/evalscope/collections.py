"""Collections of datasets, with their weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError


@dataclass
class DatasetInfo:
    """One dataset of a collection.

    Attributes:
        name: Its benchmark.
        weight: Its share among its neighbours.
        task_type: A label.
        tags: Labels.
        args: Its settings, as in ``dataset_args``.
        hierarchy: Names of the collections that contain it, outermost first.
    """

    name: str
    weight: float = 1.0
    task_type: str = ""
    tags: list[str] = field(default_factory=list)
    args: dict[str, Any] = field(default_factory=dict)
    hierarchy: list[str] = field(default_factory=list)

    def get_data(self) -> dict[str, list[Any]]:
        """The prompts of all records of the benchmark, by subset; of a benchmark of 1.x its samples. Runs its code and
        reads its data.

        Raises:
            PlanError: if there is no such benchmark, or its code cannot be loaded.
            DataError: if its data is missing.
        """
        return prompts_of(self.name, self.args)


@dataclass
class CollectionSchema:
    """A collection of datasets and of other collections.

    Attributes:
        name: Its name.
        weight: Its share among its neighbours.
        datasets: Its datasets and collections.
    """

    name: str
    weight: float = 1.0
    datasets: list[DatasetInfo | CollectionSchema] = field(default_factory=list)

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=4)

    def to_dict(self) -> dict[str, Any]:
        """The whole tree as dictionaries."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CollectionSchema:
        """A tree from the result of ``to_dict``."""
        items = data.get("datasets", [])
        parts = [cls.from_dict(item) if "datasets" in item else DatasetInfo(**item) for item in items]
        return cls(data.get("name", ""), data.get("weight", 1.0), parts)

    def dump_json(self, file_path: str | Path) -> None:
        """Write the tree as JSON."""
        Path(file_path).write_text(json.dumps(self.to_dict(), ensure_ascii=False, indent=4), encoding="utf-8")

    @classmethod
    def from_json(cls, file_path: str | Path) -> CollectionSchema:
        """Read a tree that ``dump_json`` has written."""
        return cls.from_dict(json.loads(Path(file_path).read_text(encoding="utf-8")))

    def flatten(self) -> list[DatasetInfo]:
        """All datasets, each with its share of the whole as its weight, and its hierarchy."""
        return _flat(self, (), 1.0)


def prompts_of(name: str, args: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The prompts of a benchmark by subset; of a benchmark of 1.x its samples.

    Args:
        name: The benchmark, built in or below an include path.
        args: Its settings, as in ``dataset_args``.

    Raises:
        PlanError: if there is no such benchmark, it is no data adapter, or its code cannot be loaded.
        DataError: if its data is missing.
    """
    from polymeter.api.settings import read_settings
    from polymeter.core.format import OpenContext
    from polymeter.core.guest_context import guest_context
    from polymeter.interop.evalscope import SYSTEM
    from polymeter.interop.evalscope.tasks import index
    from polymeter.interop.evalscope.tasks.guest import make_all_prompts
    from polymeter.interop.evalscope.v1.tasks import index as index_1x
    from polymeter.interop.evalscope.v1.tasks.guest import make_all_samples
    from polymeter.run.plan.selection import build_catalog

    settings, parity = read_settings(), guest_context().parity
    catalog = build_catalog(settings.include_paths, settings.cache_dir, parity)
    catalog.preferred = (SYSTEM.log_name,)  # as where the collection is run
    entry = catalog.get(name)
    context = OpenContext(data=settings.data, cache_dir=settings.cache_dir, parity=parity)
    if entry.format == index.NAME:
        (spec,) = index.load(entry, catalog).tasks
        return make_all_prompts(spec, args, context)
    if entry.format == index.NAME_1X:
        (spec,) = index_1x.load(entry, catalog).tasks
        return make_all_samples(spec, args, context)
    raise PlanError(
        f"{name!r} is no data adapter of EvalScope, and collections are drawn from those only.",
        where=str(entry.file),
        hint="Write a YAML with a group of the benchmarks (group: NAME, task: [A, B]).",
    )


def _flat(collection: CollectionSchema, above: tuple[str, ...], share: float) -> list[DatasetInfo]:
    total = sum(part.weight for part in collection.datasets)
    names = (*above, collection.name)
    datasets: list[DatasetInfo] = []
    for part in collection.datasets:
        part_share = part.weight / total * share  # in the order of EvalScope: means are rounded
        if isinstance(part, CollectionSchema):
            datasets.extend(_flat(part, names, part_share))
        else:
            datasets.append(replace(part, weight=part_share, hierarchy=list(names)))
    return datasets
