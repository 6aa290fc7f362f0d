"""``vlmeval.dataset.ConcatDataset``: several datasets as one. Its rows are theirs, one dataset after the other, with
the dataset in ``SUB_DATASET`` and the row's index there in ``original_index``; each dataset scores its own rows.

It reads and writes files, and builds datasets by name, with the functions that are importable as the original's: a
class that is found by its name may be this one.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import guest_context
from polymeter.tasks.table.base import ImageBaseDataset, Item

if TYPE_CHECKING:
    import pandas as pd

_PART, _THERE, _INDEX = "SUB_DATASET", "original_index", "index"
_SMP, _DATASETS = "vlmeval.smp", "vlmeval.dataset"


class ConcatDataset(ImageBaseDataset):
    """A collection of datasets, which share one ``TYPE`` and one ``MODALITY``.

    Attributes:
        DATASET_SETS: The datasets of each collection.
        CLASSES: The classes of datasets; others are looked up by their names.
        dataset_map: The datasets, by name.

    Raises:
        PlanError: if there is no such collection, or its datasets are of several types.
    """

    DATASET_SETS: ClassVar[Mapping[str, list[str]]] = {}
    CLASSES: ClassVar[Mapping[str, type]] = {}

    def __init__(self, dataset: str) -> None:
        sets = self.DATASET_SETS
        if sets and dataset not in sets:
            raise PlanError(f"There is no collection {dataset!r}.", hint=did_you_mean(dataset, [*sets]))
        self.dataset_name = dataset
        self.datasets = list(sets.get(dataset, self.CLASSES))
        self.dataset_map = {name: self._build(name) for name in self.datasets}
        self.TYPE = self._shared("TYPE")
        self.MODALITY = self._shared("MODALITY")
        self.data = self._rows()
        self._numbers = {
            name: {index: number for number, index in reversed([*enumerate(one.data[_INDEX])])}
            for name, one in self.dataset_map.items()
        }

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names of the collections."""
        return list(cls.DATASET_SETS)

    def build_prompt(self, line: Any) -> list[Item]:
        """The prompt that the row's own dataset makes of it."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        dataset = self.dataset_map[line[_PART]]
        row = dataset.data.iloc[self._numbers[line[_PART]][line[_THERE]]].copy()
        prompt: list[Item] = dataset.build_prompt(row)
        return prompt

    def dump_image(self, line: Any) -> list[str]:
        """The files of the images of a row, as the row's own dataset gives them."""
        dataset = self.dataset_map[line[_PART]]
        row = dataset.data.iloc[self._numbers[line[_PART]][line[_THERE]]].copy()
        files: list[str] = dataset.dump_image(row)
        return files

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The results of each dataset on its own rows: tables in one, with a column ``DATASET``, else one mapping with
        ``DATASET:KEY``. A dataset of which no row was run is left out.
        """
        import pandas as pd

        smp: Any = importlib.import_module(_SMP)
        rows = smp.load(eval_file)
        tables: list[pd.DataFrame] = []
        values: dict[str, Any] = {}
        for name in self.datasets:
            own = rows[rows[_PART] == name]
            if not len(own):
                continue
            result = self.dataset_map[name].evaluate(self._write_part(own, name, eval_file), **judge_kwargs)
            if isinstance(result, pd.DataFrame):
                tables.append(_named(result, name))
            elif isinstance(result, Mapping):
                values |= {f"{name}:{key}": value for key, value in result.items()}
            else:
                raise TypeError(f"evaluate of {name} gave a {type(result).__name__}, neither a table nor a mapping.")
        if tables:
            table = pd.concat(tables)
            smp.dump(table, smp.get_intermediate_file_path(eval_file, "_acc", "csv"))
            return table
        smp.dump(values, smp.get_intermediate_file_path(eval_file, "_score", "json"))
        return values

    def _build(self, name: str) -> Any:
        cls = self.CLASSES.get(name)
        if cls is None:
            dataset = importlib.import_module(_DATASETS).build_dataset(name)
        else:
            dataset = cls(dataset=name)
        if dataset is None:
            raise PlanError(f"The collection {self.dataset_name!r} has the dataset {name!r}, which no class names.")
        return dataset

    def _shared(self, name: str) -> Any:
        values = {dataset: getattr(one, name, None) for dataset, one in self.dataset_map.items()}
        if len(set(map(str, values.values()))) > 1:
            raise PlanError(f"The datasets of the collection {self.dataset_name!r} differ in {name}: {values}.")
        return next(iter(values.values()))

    def _rows(self) -> pd.DataFrame:
        """The rows of all datasets. Their images stay where they are: a row's own dataset shows them. At parity all are
        written as JPEG first, and the datasets show these files.
        """
        import pandas as pd

        parts = []
        for name, dataset in self.dataset_map.items():
            if "image" in dataset.data and guest_context().parity.on("dumped-image-as-jpeg"):
                dataset.data = importlib.import_module(_SMP).localize_df(dataset.data, name)
            part = dataset.data.drop(columns="image", errors="ignore")
            parts.append(part.assign(**{_PART: name}))
        rows = pd.concat(parts, ignore_index=True)
        rows[_THERE] = rows.pop(_INDEX)
        rows[_INDEX] = range(len(rows))
        return rows

    def _write_part(self, rows: pd.DataFrame, name: str, eval_file: str) -> str:
        """Write the rows of one dataset as its own prediction file, beside the collection's."""
        own = rows.drop(columns=[_INDEX, _PART]).rename(columns={_THERE: _INDEX})
        path = Path(eval_file)
        target = path.with_name(path.name.replace(self.dataset_name, name))
        importlib.import_module(_SMP).dump(own, str(target))
        return str(target)


def collection_of(classes: Mapping[str, type]) -> type[ConcatDataset]:
    """A class of the one collection of these datasets, whatever its name.

    Args:
        classes: The class of each dataset, by its name.
    """
    return type(ConcatDataset.__name__, (ConcatDataset,), {"CLASSES": classes})


def _named(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """A table with its dataset in a column, and as the label of its rows."""
    labels = [name] if len(table) == 1 else [f"{name}/{label}" for label in table.index]
    return table.assign(DATASET=name).set_axis(labels, axis=0)
