"""``vlmeval.dataset.video_concat_dataset``: several benchmarks over videos as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.errors import DataError
from polymeter.guests.own_classes import own_class
from polymeter.interop.ulmeval.shim.ulmeval.datasets import build_dataset
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import load
from polymeter.interop.ulmeval.shim.vlmeval.file import dump, get_intermediate_file_path
from polymeter.interop.ulmeval.shim.vlmeval.video.base import VideoBaseDataset

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ConcatVideoDataset"]

_PART, _OWN_INDEX = "SUB_DATASET", "original_index"


class ConcatVideoDataset(VideoBaseDataset):
    """The rows of several benchmarks, each asked and scored by its own class.

    Args:
        dataset: A key of ``DATASET_SETS``.
        **kwargs: Arguments of the classes of its parts.

    Raises:
        DataError: if a part has no class.
    """

    DATASET_SETS: ClassVar[dict[str, list[str]]] = {}
    """Name → names of its parts. Subclasses add theirs when they are made."""
    TYPE: Any

    def __init__(self, dataset: str, **kwargs: Any) -> None:
        import pandas as pd

        self.dataset_name = dataset
        self.datasets = list(self.DATASET_SETS[dataset])
        self.nframe = kwargs.get("nframe", 0)
        self.fps = kwargs.get("fps", -1)
        self.pack = False
        self.dataset_map: dict[str, Any] = {}
        for name in self.datasets:
            part = build_dataset(name, **kwargs)
            if part is None:
                raise DataError(
                    f"There is no dataset {name!r}, a part of {dataset}.", hint="Name its file with --include-path."
                )
            self.dataset_map[name] = part
        self.TYPE = [part.TYPE for part in self.dataset_map.values()]
        tables = [part.data.assign(**{_PART: name}) for name, part in self.dataset_map.items()]
        data = pd.concat(tables)
        data[_OWN_INDEX] = data.pop("index")
        data["index"] = range(len(data))
        self.data = data
        self.videos = sorted(set(data["video"]))

    def show_row(self, row: Any) -> None:
        """Nothing: the parts have the videos."""

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """None by itself; subclasses name theirs."""
        return []

    def build_prompt(self, line: Any, video_llm: bool) -> Any:
        """The message for a row, which the class of its part makes."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        part = self.dataset_map[line[_PART]]
        own = part.data[part.data["index"] == line[_OWN_INDEX]].iloc[0].copy()
        part.show_row(own)
        return part.build_prompt(own, video_llm)

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> pd.DataFrame:
        """Results of a file of predictions: each part's, which its own class computes of a file of its own, and the
        accuracies in percent.

        Raises:
            DataError: if a part gives something else than right answers and answers by name.
        """
        import pandas as pd

        rows: dict[Any, Any] = {}
        table = load(eval_file)
        for name, part in self.dataset_map.items():
            own = table[table[_PART] == name].drop(columns=["index", _PART]).rename(columns={_OWN_INDEX: "index"})
            if own.empty:
                continue  # nothing of it was answered
            file = _file_of_part(eval_file, self.dataset_name, name)
            dump(own, file)
            rows.update(part.evaluate(file, **judge_kwargs))
        result = pd.DataFrame(rows, index=["success", "overall"]).T
        for label, item in result.iterrows():
            result.loc[label, "acc"] = round(item["success"] / item["overall"] * 100, 1)
        dump(result, get_intermediate_file_path(eval_file, "_acc", "csv"))
        return result

    def prepare_dataset(self, dataset: str) -> dict[str, str]:
        """Nothing: the parts have the data."""
        return {}


def _file_of_part(eval_file: str, whole: str, part: str) -> str:
    """The file of predictions of a part, beside that of the whole."""
    path = Path(eval_file)
    return str(path.with_name(path.name.replace(whole, part)))


own_class(ConcatVideoDataset)
