"""The datasets of a collection (``MMMB`` of ``MMMB_ar``, ``MMMB_cn``, …), each with the class that owns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog
from polymeter.interop.ulmeval.tasks.listing.registry import Registry, registry_of
from polymeter.interop.ulmeval.tasks.reading import SETS, DatasetClass, read_file

COLLECTION = "ConcatDataset"


@dataclass(frozen=True, slots=True)
class Member:
    """A dataset of a collection.

    Attributes:
        file: The file of its class.
        cls: The name of its class.
    """

    file: str
    cls: str


Members = Mapping[str, Member]
"""The datasets of a collection, by name, in its order."""


def members_of(file: Path, item: DatasetClass, dataset: str, catalog: Catalog) -> Members | None:
    """The datasets of a collection; ``None`` for a dataset that is none.

    Args:
        file: The file that lists it.
        item: The class that lists it.
        dataset: The collection.
        catalog: Where the datasets are looked up first.

    Raises:
        PlanError: if one of them is neither in the catalog nor in this copy of the tool.
    """
    sets = item.values.get(SETS)
    if item.name != COLLECTION or not isinstance(sets, Mapping) or not isinstance(sets.get(dataset), list):
        return None
    registry = registry_of(file)
    found: dict[str, Member] = {}
    for name in map(str, sets[dataset]):
        member = _in_catalog(name, catalog) or _in_copy(name, registry)
        if member is None:
            raise PlanError(
                f"The collection {dataset!r} has the dataset {name!r}, and no class here names it.",
                where=f"{file}:{item.line}",
                hint="Add the file of its class to the copy, or include its folder: --include-path FOLDER.",
            )
        found[name] = member
    return found


def _in_catalog(name: str, catalog: Catalog) -> Member | None:
    entry = catalog.entries.get(name)
    if entry is None or entry.file.suffix != ".py":
        return None
    owner = read_file(entry.file).owner_of(name)
    return None if owner is None else Member(str(entry.file), owner.name)


def _in_copy(name: str, registry: Registry) -> Member | None:
    """The first class in the list of a copy that names a dataset."""
    for cls in registry.order:
        file = registry.file_of(cls)
        owner = None if file is None or cls == COLLECTION else read_file(file).owner_of(name)
        if owner is not None and owner.name == cls:
            return Member(str(file), cls)
    return None
