"""The part that the built-in dataset classes share: how their tables are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.data.opening.explaining import refuse_equal_names
from polymeter.data.tables.tsv import columns_of, read_texts, read_tsv
from polymeter.guests.own_classes import is_own_class, own_class
from polymeter.tasks.table.base import ImageBaseDataset

if TYPE_CHECKING:
    import pandas as pd


@own_class
class BuiltIn:
    """A mix-in for the base classes of dataset classes."""

    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str]] = {}

    data: pd.DataFrame
    data_path: str
    dataset_name: str

    if TYPE_CHECKING:

        def _row(self, line: Any) -> Any: ...
        def _found(self, url: str, file_md5: str | None) -> Path: ...
        def dump_image(self, line: Any) -> list[str]: ...

    @property
    def is_thread_safe(self) -> bool:
        """True if rows may be scored at the same time: not if a guest's class derives from this one."""
        return self._is_own

    def read_table(self, path: Path | str) -> pd.DataFrame:
        """The table of a file. Only empty cells are empty: "None" and "NA" are answers and options like any other.

        Cells stay texts, so that what is shown and compared is what is written: ``1.50`` is not shown as ``1.5``. A
        guest's class that derives from this one gets what it expects of pandas: numbers, and such words as missing.

        Raises:
            DataError: if there is no such file, or it is not a table of text in UTF-8, or two columns have one name.
        """
        if not self._is_own:
            return read_tsv(path)
        if Path(path).is_file():
            refuse_equal_names(columns_of(path), Path(path))
        return read_texts(path)

    @property
    def _is_own(self) -> bool:
        """True if only Polymeter's code sees the table."""
        return is_own_class(type(self))

    def images_of(self, row: Any) -> list[dict[str, str]]:
        """The images of a row as items of a message."""
        return [{"type": "image", "value": str(path)} for path in self.dump_image(row)]


@own_class
class EveryRow(ImageBaseDataset):
    """A base with images that keeps rows without one: their prompts have no image.

    Args:
        dataset: The name of a table in the folder of tables.
        skip_noimg: Leave out rows whose ``image`` is empty.
    """

    def __init__(self, dataset: str, skip_noimg: bool = False) -> None:
        super().__init__(dataset, skip_noimg)
