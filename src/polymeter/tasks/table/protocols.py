"""The protocol that a benchmark over a table states: a dataset class in its attribute ``PROTOCOL``, a table without a
class in a YAML file beside it, ``TABLE.protocol.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.records.protocol import BenchmarkProtocol, read_protocol
from polymeter.core.text.yaml_text import read_yaml

PROTOCOL = "PROTOCOL"
"""The attribute of a dataset class: one mapping for all its datasets, or one for each, by its name."""
SUFFIX = ".protocol.yaml"


def stated_for(written: Any, dataset: str, datasets: Iterable[str]) -> Any:
    """Return what a class states for one of its datasets.

    Args:
        written: Its attribute ``PROTOCOL``.
        dataset: The dataset.
        datasets: All datasets of the class. If these alone are the keys of the mapping, it has one protocol for each.
    """
    is_by_dataset = isinstance(written, Mapping) and bool(written) and set(written) <= set(datasets)
    return written.get(dataset) if is_by_dataset else written


def class_protocol(instance: Any, dataset: str, where: str) -> BenchmarkProtocol | None:
    """Return the protocol that an instance of a dataset class states; ``None``: it states none.

    Args:
        instance: The instance.
        dataset: Its dataset.
        where: Where the class is written, for messages.

    Raises:
        PlanError: if it has an unknown key, or a value of the wrong type.
    """
    written = getattr(instance, PROTOCOL, None)
    known = getattr(type(instance), "DATASET_URL", None)
    datasets = [dataset, *(known if isinstance(known, Mapping) else ())]
    return read_protocol(stated_for(written, dataset, datasets), where)


def protocol_file(table: Path) -> Path:
    """Return the place of the file with the protocol of a table: ``garden.protocol.yaml`` beside ``garden.tsv``."""
    return table.with_name(f"{table.stem}{SUFFIX}")


def protocol_beside(table: Path) -> tuple[Any, str]:
    """Return what the file beside a table states, and where; ``None`` if there is no such file.

    Raises:
        PlanError: if it cannot be read.
    """
    file = protocol_file(table)
    if not file.is_file():
        return None, ""
    values = read_yaml(file, what="protocol")
    return ({} if values is None else values), f"{file}:1"


def readable_protocol(table: Path) -> Any:
    """Return the same for an index, which leaves a file that cannot be read to loading and checking the table."""
    with suppress(PlanError):
        return protocol_beside(table)[0]
    return None
