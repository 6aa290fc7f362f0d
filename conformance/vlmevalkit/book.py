"""The cases of a run, and what both drivers write down of one: the leaves of a result, and the cells of predictions."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.frame import plain

CASES = "cases.jsonl"
LONGEST_CELL = 2000
"""Characters of a cell that are kept."""


@dataclass(frozen=True)
class Case:
    """One set, scored in one way.

    Attributes:
        name: The case.
        dataset: The set.
        family: What kind of set it is.
        judge: The name of the judge that ``evaluate`` gets.
        answers: The answers by model and index.
        members: The sets of a collection.
    """

    name: str
    dataset: str
    family: str
    judge: str
    answers: Mapping[str, Mapping[str, Any]]
    members: Sequence[str] = ()


def read_cases(work: Path) -> Iterator[Case]:
    """The cases in a folder, one after the other."""
    with (work / CASES).open(encoding="utf-8") as lines:
        for line in lines:
            yield Case(**json.loads(line))


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in what ``evaluate`` returned, by where it stands. The rows of a table are named by their texts."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = {str(name): value.iloc[:, number].tolist() for number, name in enumerate(value.columns)}
        yield from _table(value, place)
    elif isinstance(value, Mapping):
        lists = [one for one in value.values() if isinstance(one, (list, tuple))]
        if lists and len(lists) == len(value) and len({len(one) for one in lists}) == 1:
            yield from _table({str(key): cells for key, cells in value.items()}, place)
        else:
            for key, one in value.items():
                yield from leaves(one, f"{place}/{key}")
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from leaves(one, f"{place}/{number}")
    elif isinstance(value, str) and os.path.isabs(value):
        yield place or "value", os.path.basename(value)  # each tool has folders of its own
    else:
        yield place or "value", "nan" if value is None or value == "NaN" else plain(value)


def _table(columns: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    columns = {name: cells for name, cells in columns.items() if name != "index"}  # labels, in JSON
    n_rows = len(next(iter(columns.values()), ()))
    for number in range(n_rows):
        texts = [cell for cells in columns.values() if isinstance(cell := cells[number], str) and cell != "NaN"]
        row = ",".join(texts[:3]) or str(number)
        for name, cells in columns.items():
            yield from leaves(cells[number], f"{place}/{row}/{name}")


def predictions_in(file: Path) -> dict[str, dict[str, Any]]:
    """The cells of a prediction file, by index, as pandas reads them; long ones by their beginnings."""
    import pandas as pd

    table = pd.read_excel(file) if file.suffix == ".xlsx" else pd.read_csv(file, sep="\t")
    found: dict[str, dict[str, Any]] = {"columns": {"names": sorted(map(str, table.columns))}}
    for row in table.to_dict("records"):
        found.setdefault(str(row.get("index")), {name: _cell(value) for name, value in row.items()})
    return found


def _cell(value: Any) -> Any:
    if isinstance(value, str) and os.path.isabs(value):
        return os.path.basename(value)  # each tool has folders of its own
    return value[:LONGEST_CELL] if isinstance(value, str) else plain(value)


def own_data(work: Path, label: str) -> Path:
    """A folder with all tables, for this process alone: images are written there."""
    folder = work / f"data-{label}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in (work / "data").glob("*"):
        if file.name != "images":
            (folder / file.name).symlink_to(file)
    return folder
